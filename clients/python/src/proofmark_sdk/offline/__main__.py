"""`python -m proofmark_sdk.offline`: verifies files of documents, as `proofmark receipt verify` does."""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from .canonical import PROFILES
from .chain import Document, on_line, split_documents
from .json import MAX_BYTES
from .printing import Output, error_of, json_of, text_of
from .refused import Refused
from .signer import OPENSSH, TrustedSigner, read_signers, signer_id, signer_key
from .text import from_utf8, shown
from .verify import Verification, verify

# The exit codes. Of several results the largest counts.
VALID, INVALID, UNDECIDABLE, INTERRUPTED = 0, 1, 2, 130

STDIN = "-"
# The largest file of documents, and of keys, in bytes.
MAX_FILE_BYTES = 1 << 30
MAX_KEY_BYTES = 1 << 20
# How many documents may be undecidable, one after the other.
MAX_OTHERS = 10_000
# How texts begin that are never the path of a file.
BEGINS_LIKE_SIGNER = ("MCowBQYDK2VwAyEA", "ed25519:", "did:key:", OPENSSH)
EPILOG = """\
examples:
  python -m proofmark_sdk.offline receipt.json --trust issuer.pem
  python -m proofmark_sdk.offline receipts.jsonl --json

exit codes: 0 valid; 1 invalid, or the signer is not trusted; 2 undecidable, or what cannot be read.
Valid means that the signer signed exactly this, and not that the work passed.
"""


class Failure(Exception):
    """Why there is no result. The message completes "failed to"."""


def main(arguments: list[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    output = Output(sys.stdout)
    try:
        code = _verify_files(options, output)
        output.flush()
        if output.error is not None:
            raise Failure(f"write to standard output: {_why(output.error)}")
    except Failure as failure:
        output.flush()
        print(error_of(str(failure), options.json), file=sys.stderr)
        return UNDECIDABLE
    except KeyboardInterrupt:
        return INTERRUPTED
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m proofmark_sdk.offline",
        description="Verify receipts, decision receipts and entries of sessions offline: format, hash, signature, signer.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("files", nargs="+", metavar="FILE", help="a file with one document or one per line, or - for standard input")
    trust = "trust this signer: a public key file (PEM, OpenSSH, JWK or JWK set) or a signer id; can be repeated"
    add("--trust", action="append", metavar="KEYFILE", help=trust)
    add("--profile", choices=PROFILES, default="vrf", help="the canonical form that the issuer hashes [default: vrf]")
    add("--json", action="store_true", help="print one JSON object per document")
    return parser


def _verify_files(options: argparse.Namespace, output: Output) -> int:
    trusted = None if options.trust is None else [signer for text in options.trust for signer in _signers(text)]
    worst, others = VALID, 0
    with contextlib.ExitStack() as stack:
        # All are opened before anything is printed.
        files = [(name, stack.enter_context(_opened(name))) for name in options.files]
        for label, document in (found for name, file in files for found in _documents(name, file)):
            verification = verify(document, trusted=trusted, profile=options.profile)
            output.line((json_of if options.json else text_of)(label, verification))
            code = _exit_code(verification)
            worst = max(worst, code)
            others = others + 1 if code == UNDECIDABLE else 0
            if others >= MAX_OTHERS:
                raise Failure(f"verify the rest: {MAX_OTHERS} documents one after the other are undecidable")
    return worst


def _exit_code(verification: Verification) -> int:
    if verification.answer == "undecidable":
        return UNDECIDABLE
    return VALID if verification.answer == "valid" and verification.trust != "untrusted" else INVALID


def _signers(text: str) -> list[TrustedSigner]:
    """The signers that a text stands for: a signer's id, or the path of a key file.

    A file can never stand for a signer's id, nor for a name of the trust store, which this command does not have.
    """
    signers = _written_out(text)
    if signers or text.startswith(BEGINS_LIKE_SIGNER):
        if not signers:
            raise Failure(f"find the signer `{shown(text)}`: it begins like a signer id and is not one")
        return signers
    if not any(mark in text for mark in (".", "/", os.sep)):
        raise Failure(
            f"find the signer `{shown(text)}`: it is not a signer id; write `./{shown(text)}` for a key file of that name"
        )
    try:
        with Path(text).open("rb") as file:
            data = file.read(MAX_KEY_BYTES + 1)
    except (OSError, ValueError) as error:
        raise Failure(f"read the trusted key `{text}`: {_why(error)}") from None
    if len(data) > MAX_KEY_BYTES:
        raise Failure(f"read the trusted key `{text}`: larger than any key set")
    signers = read_signers(from_utf8(data) or "")
    if not signers:
        raise Failure(f"read the trusted key `{text}`: it holds no Ed25519 public key (PEM, OpenSSH, JWK, JWK set or signer id)")
    return signers


def _written_out(text: str) -> list[TrustedSigner]:
    """The signer that the text itself is, if it is one."""
    if text.startswith(OPENSSH):
        return read_signers(text)
    try:
        return [signer_id(signer_key(text))]
    except Refused:
        return []


def _opened(name: str) -> contextlib.AbstractContextManager[BinaryIO]:
    if name == STDIN:
        if sys.stdin is None:
            raise Failure("read standard input: it is closed")
        return contextlib.nullcontext(sys.stdin.buffer)
    try:
        return Path(name).open("rb")
    except (OSError, ValueError) as error:
        raise Failure(f"read `{name}`: {_why(error)}") from None


def _documents(name: str, file: BinaryIO) -> Iterator[tuple[str, bytes]]:
    """The documents of a file with their names, of which one is in memory at a time."""
    label = "standard input" if name == STDIN else name
    try:
        start = file.read(MAX_BYTES + 1)
        # No document is larger than `MAX_BYTES`, so more than that are several.
        documents = split_documents(start) if len(start) <= MAX_BYTES else _lines(label, start, file)
        for one in documents:
            yield (label if one.line is None else f"{label}:{one.line}"), one.source
    except OSError as error:
        raise Failure(f"read `{label}`: {_why(error)}") from None


def _lines(label: str, start: bytes, file: BinaryIO) -> Iterator[Document]:
    read = number = 0
    begins = True
    for part in _parts(start, file):
        read += len(part)
        if read > MAX_FILE_BYTES:
            raise Failure(f"read `{label}`: it is larger than {MAX_FILE_BYTES} bytes")
        if begins:
            number += 1
            yield from on_line(number, part.removesuffix(b"\n"))
        # The rest of a line that is too long is not looked at.
        begins = part.endswith(b"\n")


def _parts(start: bytes, file: BinaryIO) -> Iterator[bytes]:
    """The lines of what was read of a file and of the rest of it; those that are too long for a document in parts."""
    whole, feed, last = start.rpartition(b"\n")
    yield from io.BytesIO(whole + feed)
    part = last + file.readline(MAX_BYTES + 1)
    while part:
        yield part
        part = file.readline(MAX_BYTES + 1)


def _why(error: OSError | ValueError) -> str:
    return getattr(error, "strerror", None) or str(error)


if __name__ == "__main__":
    sys.exit(main())
