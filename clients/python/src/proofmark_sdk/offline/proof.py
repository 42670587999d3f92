"""Proofs that a document is in a transparency log (C2SP tlog-proof)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

from .canonical import canonical
from .checkpoint import Checkpoint, open_checkpoint, read_hash
from .ed25519 import digest
from .json import parse
from .members import Members
from .note import MAX_NOTE_BYTES, Vkey, read_vkey
from .policy import Policy, is_met_by, read_policy
from .refused import Refused
from .text import Source, copied, decimal, lossy, received, shown, unbase64, unhex, utf8

_HEADER = b"c2sp.org/tlog-proof@v1"
# How many hashes a proof has at most.
_MAX_HASHES = 63
# How many bytes of extra data a proof file has at most: a receipt has at most 1 MiB.
_MAX_EXTRA_BYTES = 1 << 20
# Extra data in base64, the path, the other lines and a note.
_MAX_FILE_BYTES = -(-_MAX_EXTRA_BYTES // 3) * 4 + _MAX_HASHES * 45 + 128 + MAX_NOTE_BYTES
# The tag of `COSE_Sign1` (RFC 9052, section 4.2). No JSON begins with it.
_COSE_SIGN1 = b"\xd2"
# What is hashed before an entry, and before two nodes (RFC 9162, section 2.1.1).
_LEAF, _NODE = b"\0", b"\1"
# What is shown of a line is cut after 64 characters, so no more need be decoded.
_SHOWN_BYTES = 512


@dataclass(frozen=True)
class Cosignature:
    """Of a witness of the policy. The caller judges how old a proof may be."""

    witness: str
    time: int
    """In seconds since 1970."""


@dataclass(frozen=True)
class ProofVerification:
    """The verification of a proof file. Its words are those of `proofmark log verify`.

    A proof counts if `answer` is `valid` and, with a policy, `witnessed` is `met`.
    """

    answer: Literal["valid", "invalid", "undecidable"]
    """`valid` only if a known log has signed a tree that has the entry."""
    code: str | None = None
    """A stable code: why it is not valid, or `quorum_not_met`."""
    reason: str | None = None
    """The code in words, for people."""
    log: Literal["trusted", "unknown"] = "unknown"
    """Whether a known log has signed the checkpoint."""
    witnessed: Literal["met", "not_met", "unknown"] = "unknown"
    """Whether witnesses of the policy are enough; `unknown` without a policy."""
    index: int | None = None
    """Where the file says the entry is: proven when the answer is valid."""
    size: int | None = None
    """How many entries the signed tree has."""
    origin: str | None = None
    """Of the log."""
    cosignatures: tuple[Cosignature, ...] = ()
    document: bytes | None = None
    """The one inside the file, when it is what is proven to be logged."""


def verify_proof(file: Source, entry: Source, *, log_keys: Iterable[str] = (), policy: Source | None = None) -> ProofVerification:
    """Verifies that a proof file proves a document to be logged.

    `entry` is the document, or its entry: 64 lower-case hex digits, with or without `sha256:`. `log_keys` are verifier keys of
    logs, beside those of `policy`, the content of a policy file; without it no witness is known, and no quorum asked for. Whether
    the document's own signature is good is another question, for `verify`. Raises `ValueError` or `TypeError` if an argument is not
    valid, and nothing because of the file or the document.
    """
    data = received(file)
    document = entry if isinstance(entry, str) else copied(entry)
    logs, known = _read_log_keys(log_keys), _read_policy(policy)
    of_policy = known or Policy((), (), None)
    found = ProofVerification("valid")
    try:
        due = _entry_of(document)
        proof = read_proof_file(data)
        found = replace(found, index=proof.index)
        # In the order: log, checkpoint, cosignatures, quorum, inclusion.
        checkpoint, cosigned = open_checkpoint(proof.checkpoint, [*logs, *of_policy.logs], of_policy.witnesses)
        found = replace(
            found,
            log="trusted",
            cosignatures=tuple(Cosignature(cosignature.key.name, cosignature.time) for cosignature in cosigned),
            witnessed="unknown" if known is None else "met" if is_met_by(known, cosigned) else "not_met",
            origin=checkpoint.origin,
            size=checkpoint.size,
        )
        _check_inclusion(digest(_LEAF + due), proof, checkpoint)
    except Refused as error:
        if error.code == "cosignature_mismatch":
            # This is judged after the log's signature.
            found = replace(found, log="trusted")
        return replace(found, answer=error.answer, code=error.code, reason=error.message)
    # It is in canonical form, so an entry is the digest of its bytes; other spellings of a document are not taken.
    if proof.extra is not None and digest(proof.extra) == due:
        found = replace(found, document=proof.extra)
    if found.witnessed == "not_met":
        reason = "too few witnesses of the policy have cosigned the checkpoint"
        return replace(found, code="quorum_not_met", reason=reason)
    return found


@dataclass(frozen=True)
class ProofFile:
    extra: bytes | None
    """Data that nothing authenticates."""
    index: int
    path: tuple[bytes, ...]
    """Siblings from the leaf up."""
    checkpoint: bytes
    """Signed, not read."""


def _read_log_keys(log_keys: Iterable[str]) -> list[Vkey]:
    if isinstance(log_keys, str):
        raise TypeError("`log_keys` is a list of verifier keys, not one text")
    try:
        return [read_vkey(key) for key in log_keys]
    except Refused as error:
        # A key that is left out would make a refusal of what somebody wanted to trust.
        raise ValueError(f"`log_keys`: {error.message}") from None


def _read_policy(source: Source | None) -> Policy | None:
    if source is None:
        return None
    data = received(source)
    if data is None:
        raise ValueError("`policy` has half of a surrogate pair")
    try:
        return read_policy(data)
    except Refused as error:
        raise ValueError(f"`policy`: {error.message}") from None


def _entry_of(document: str | bytes) -> bytes:
    """The entry of a document: SHA-256 of the canonical form `vrf` of JSON, signature included, or of a tagged `COSE_Sign1`.

    Also reads the digits of an entry, which are no document. Raises `Refused` when it is neither.
    """
    digits = unhex(document.removeprefix("sha256:"), 32) if isinstance(document, str) else None
    if digits is not None:
        return digits
    data = received(document)
    if data is not None and data.startswith(_COSE_SIGN1):
        return digest(data)
    return digest(utf8(canonical(Members.top(parse(document)).members)))


def read_proof_file(data: bytes | None) -> ProofFile:
    """Reads a proof file. Nothing of it is verified. Raises `Refused` with `malformed_proof` or `too_large`."""
    if data is None:
        raise _malformed("the proof file has half of a surrogate pair")
    if len(data) > _MAX_FILE_BYTES:
        raise Refused("too_large", f"the proof file has {len(data)} bytes: at most {_MAX_FILE_BYTES} are read")
    lines = _Lines(data)
    if lines.next() != _HEADER:
        raise _malformed(f"the proof file does not begin with the line `{_HEADER.decode()}`")
    line = lines.next()
    extra = None
    if line.startswith(b"extra "):
        extra = unbase64(line[6:].decode("latin-1"))
        if extra is None or len(extra) > _MAX_EXTRA_BYTES:
            raise _malformed(f"the extra data of the proof file is not 1 to {_MAX_EXTRA_BYTES} bytes in base64")
        line = lines.next()
    index = decimal(line[6:].decode("latin-1")) if line.startswith(b"index ") else None
    if index is None:
        raise _malformed(f"`{_quoted(line)}` is not the line `index <decimal>` of a proof file")
    return ProofFile(extra, index, _read_path(lines), lines.rest())


def _read_path(lines: _Lines) -> tuple[bytes, ...]:
    path: list[bytes] = []
    while line := lines.next():
        if len(path) == _MAX_HASHES:
            raise _malformed(f"the path of the proof file has more than {_MAX_HASHES} hashes")
        hash = read_hash(line.decode("latin-1"))
        if hash is None:
            raise _malformed(f"`{_quoted(line)}` is not a hash of the path in base64, nor the empty line behind the path")
        path.append(hash)
    return tuple(path)


class _Lines:
    """The lines of a proof file, up to its checkpoint."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def next(self) -> bytes:
        end = self._data.find(b"\n", self._at)
        if end < 0:
            raise _malformed("the proof file ends before its checkpoint")
        line = self._data[self._at : end]
        self._at = end + 1
        return line

    def rest(self) -> bytes:
        return self._data[self._at :]


def _quoted(line: bytes) -> str:
    return shown(lossy(line[:_SHOWN_BYTES]))


def _check_inclusion(leaf: bytes, proof: ProofFile, checkpoint: Checkpoint) -> None:
    """Checks that `leaf` is the hash of the proven entry in the tree of the checkpoint (RFC 9162, section 2.1.3.2)."""
    size = checkpoint.size
    if proof.index >= size:
        raise _not_included(f"a tree of {size} entries has no entry {proof.index}")
    wrong_length = _not_included(f"the proof has {len(proof.path)} hashes, which is not the number that it needs")
    node, last, hash = proof.index, size - 1, leaf
    for sibling in proof.path:
        if last == 0:
            raise wrong_length
        if node % 2 == 1 or node == last:
            hash = digest(_NODE + sibling + hash)
            while node % 2 == 0 and node != 0:
                node, last = node >> 1, last >> 1
        else:
            hash = digest(_NODE + hash + sibling)
        node, last = node >> 1, last >> 1
    if last != 0:
        raise wrong_length
    if hash != checkpoint.root:
        raise _not_included("the hashes of the proof do not lead to the root")


def _not_included(message: str) -> Refused:
    return Refused("inclusion_mismatch", f"the entry is not proven to be at this index: {message}", answer="invalid")


def _malformed(message: str) -> Refused:
    return Refused("malformed_proof", message)
