"""Canonical forms: the text of a document that is hashed."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from .number import JsonNumber, Profile, check_exact, number_text

if TYPE_CHECKING:
    from .json import Json

PROFILES: tuple[Profile, ...] = ("vrf", "jcs", "py-utf8", "py-ascii")
"""Every profile, the default first."""

_SHORT = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r"}
_ESCAPED = re.compile(r'["\\\x00-\x1f]')
_ESCAPED_ASCII = re.compile(r'["\\]|[^ -~]')


def canonical(value: Json, profile: Profile = "vrf", left_out: str | None = None) -> str:
    """The canonical text of a value. Its UTF-8 is what is hashed.

    `left_out` is a member that is left out, at the top only. Raises `Refused` when the profile cannot write a number, which
    `vrf` always can.
    """
    if isinstance(value, str):
        return _quoted(value, profile)
    if isinstance(value, dict):
        names = sorted(value, key=_utf16) if profile == "jcs" else sorted(value)
        members = [f"{_quoted(name, profile)}:{canonical(value[name], profile)}" for name in names if name != left_out]
        return f"{{{','.join(members)}}}"
    if isinstance(value, list):
        return f"[{','.join([canonical(item, profile) for item in value])}]"
    if isinstance(value, JsonNumber):
        return number_text(value, profile)
    return _literal(value)


def to_text(value: Json) -> str:
    """The document on one line: members in document order, numbers as written."""
    if isinstance(value, dict):
        return f"{{{','.join([f'{_quoted(name)}:{to_text(item)}' for name, item in value.items()])}}}"
    if isinstance(value, list):
        return f"[{','.join([to_text(item) for item in value])}]"
    return canonical(value)


def check_numbers(value: Json, profile: Profile) -> None:
    """Refuses a document with a number that the canonical form does not keep."""
    if isinstance(value, JsonNumber):
        check_exact(value, profile)
    elif isinstance(value, (dict, list)):
        for item in value.values() if isinstance(value, dict) else value:
            check_numbers(item, profile)


def _literal(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    raise TypeError(f"a document has no {type(value).__name__}: numbers are JsonNumber")


def _utf16(name: str) -> bytes:
    """What RFC 8785 sorts names by, section 3.2.3."""
    return name.encode("utf-16-be", "surrogatepass")


def _quoted(text: str, profile: Profile = "vrf") -> str:
    escaped = _ESCAPED_ASCII if profile == "py-ascii" else _ESCAPED
    return f'"{escaped.sub(_escape, text)}"' if escaped.search(text) else f'"{text}"'


def _escape(found: re.Match[str]) -> str:
    short = _SHORT.get(found[0])
    if short is not None:
        return short
    # Python escapes each half of a surrogate pair.
    units = _utf16(found[0]).hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))
