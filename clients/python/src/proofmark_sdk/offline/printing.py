"""How verifications are printed: text that no terminal or log acts on."""

from __future__ import annotations

import errno
import io
import json
import os
import re
from collections.abc import Callable
from typing import TextIO

from .trust import Trust
from .verify import Verification

_TRUST_WORDS: dict[Trust, str] = {"trusted": "trusted", "untrusted": "not trusted", "unknown": "unknown"}
# Characters that cannot be seen, that turn the direction of writing (Unicode UAX 9), or that no text may have.
_UNSEEN = re.compile(
    "[\x00-\x08\n-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u2800\u3164"
    "\ud800-\udfff\ufdd0-\ufdef\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
    + "".join(f"{chr(plane + 0xFFFE)}{chr(plane + 0xFFFF)}" for plane in range(0x10000, 0x110000, 0x10000))
    + "]"
)
# What GitHub Actions and Azure Pipelines would run as a command.
_LOG_COMMAND = re.compile(r"#(?=#\[|#vso\[)")
_SHORT = {"\t": r"\t", "\n": r"\n", "\r": r"\r"}


def text_of(label: str, verification: Verification) -> str:
    """A verification as lines for people."""
    lines = [f"{verification.answer} {printable(label)}"]
    if verification.cause is not None:
        lines.append(f"  {verification.cause}: {printable(verification.message or '')}")
    if verification.help is not None:
        lines.append(f"  help: {printable(verification.help)}")
    if verification.would_verify_under is not None:
        lines.append(f"  help: its issuer hashes another canonical form; use `--profile {verification.would_verify_under}`")
    if verification.signer is not None:
        lines.append(f"  signed by {verification.signer} ({_TRUST_WORDS[verification.trust]})")
    return "\n".join(lines)


def json_of(label: str, verification: Verification) -> str:
    """A verification as a line for programs, with the members that `proofmark receipt verify --json` prints."""
    members = {
        "document": verification.kind,
        "source": label,
        "answer": verification.answer,
        "trust": verification.trust,
        "cause": verification.cause,
        "message": verification.message,
        "help": verification.help,
        "signer_id": verification.signer,
        "would_verify_under": verification.would_verify_under,
    }
    return _json({name: value for name, value in members.items() if value is not None})


def error_of(message: str, as_json: bool) -> str:
    """Why there is no result. The message completes "failed to"."""
    return _json({"error": f"failed to {message}"}) if as_json else f"error: failed to {printable(message)}"


def printable(text: str) -> str:
    """The text on one line, with what terminals, logs and CI systems act on escaped."""
    safe = _LOG_COMMAND.sub(lambda found: _code_point(found[0]), text)
    return _UNSEEN.sub(lambda found: _SHORT.get(found[0]) or _code_point(found[0]), safe)


def _json(members: dict[str, str]) -> str:
    # What is not ASCII is escaped in it. What is left are a control character and the commands of CI systems.
    return _LOG_COMMAND.sub(r"\\u0023", json.dumps(members)).replace("\x7f", r"\u007f")


def _code_point(char: str) -> str:
    return f"\\u{{{ord(char):x}}}"


class Output:
    """Standard output. Writing to it never fails, so that the exit code tells the result also when the reader has closed it."""

    def __init__(self, stream: TextIO | None) -> None:
        self._stream = stream
        self.error = OSError(errno.EBADF, os.strerror(errno.EBADF)) if stream is None else None
        """Why output was lost, unless its reader has closed it."""
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")

    def line(self, text: str) -> None:
        self._attempt(lambda stream: stream.write(f"{text}\n"))

    def flush(self) -> None:
        self._attempt(lambda stream: stream.flush())

    def _attempt(self, write: Callable[[TextIO], object]) -> None:
        if self._stream is None:
            return
        try:
            write(self._stream)
        except OSError as error:
            self.error = None if isinstance(error, BrokenPipeError) else error
            # Python flushes what is left at its end, and would fail once more.
            os.dup2(os.open(os.devnull, os.O_WRONLY), self._stream.fileno())
            self._stream = None
