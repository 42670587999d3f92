"""Bytes, and text from outside in messages."""

from __future__ import annotations

import base64
import re
from typing import TypeAlias

from .unseen import is_unseen

Source: TypeAlias = "str | bytes | bytearray | memoryview"
"""Text or bytes, as received."""

SURROGATE = re.compile("[\ud800-\udfff]")

_MAX_SHOWN = 64
_MAX_U64 = 2**64 - 1
_BASE64 = re.compile(r"[A-Za-z0-9+/]+={0,2}")
_HEX = re.compile(r"[0-9a-f]*")
_DECIMAL = re.compile(r"0|[1-9][0-9]{0,19}")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_SHORT = {"\t": r"\t", "\n": r"\n", "\r": r"\r"}
_QUOTED = {**_SHORT, "\0": r"\0", "\\": "\\\\", '"': r"\"", "'": r"\'"}


def utf8(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def copied(source: bytes | bytearray | memoryview) -> bytes:
    """The bytes, which cannot change while they are verified."""
    # `bytes(7)` would be seven zeros.
    if isinstance(source, (bytes, bytearray, memoryview)):
        return bytes(source)
    raise TypeError(f"a document is str, bytes, bytearray or memoryview, not {type(source).__name__}")


def received(source: Source) -> bytes | None:
    """The bytes of a source; None for text with half of a surrogate pair, which has no UTF-8."""
    if not isinstance(source, str):
        return copied(source)
    return None if SURROGATE.search(source) else source.encode()


def shown(text: str) -> str:
    """Text for a message: control characters escaped, cut after 64 characters."""
    cut = text[:_MAX_SHOWN] + ("…" if len(text) > _MAX_SHOWN else "")
    return _CONTROL.sub(lambda found: _SHORT.get(found[0]) or _code_point(found[0]), cut)


def shown_character(char: str) -> str:
    """One character for a message, as Rust's `escape_debug` writes it."""
    return _QUOTED.get(char) or (_code_point(char) if is_unseen(char) else char)


def _code_point(char: str) -> str:
    return f"\\u{{{ord(char):x}}}"


def unhex(digits: str, length: int) -> bytes | None:
    """The bytes of lower-case hex digits; None unless they are exactly this many."""
    if len(digits) != length * 2 or not _HEX.fullmatch(digits):
        return None
    return bytes.fromhex(digits)


def unbase64(text: str) -> bytes | None:
    """The bytes of canonical base64, in which each text is the one spelling; None for other texts, and for an empty one."""
    if len(text) % 4 != 0 or not _BASE64.fullmatch(text):
        return None
    data = base64.b64decode(text)
    return data if to_base64(data) == text else None


def to_base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def from_utf8(data: bytes) -> str | None:
    """The text; None unless it is UTF-8."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None


def lossy(data: bytes) -> str:
    """Text for a message: what is not UTF-8 is replaced."""
    return data.decode("utf-8", "replace")


def decimal(text: str) -> int | None:
    """A number up to 2^64-1 in decimal, without sign, leading zeros or spaces; None for other texts."""
    value = int(text) if _DECIMAL.fullmatch(text) else None
    return value if value is not None and value <= _MAX_U64 else None
