"""Reads, writes, hashes and copies JSON."""

from __future__ import annotations

import hashlib
import json
import math
from typing import Any, NoReturn

Json = Any
"""A JSON value: None, a bool, int, float or str, a list of values, or a dict of them by names."""

MAX_DEPTH = 56
"""The levels of nesting of an argument. Servers read 64 in a request."""
MAX_INTEGER_BITS = 4096
"""Python writes integers of many digits slowly, or not at all."""
MAX_VALUES = 200_000
"""The values of the arguments of a call, those within lists and objects included. Servers read as many in a request."""


def canonical(value: Json) -> bytes:
    """The canonical form: names sorted, no white space. Receipts name its SHA-256.

    Raises `TypeError` or `ValueError` for what is not JSON.
    """
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.encode()


def digest(value: Json) -> str:
    """The SHA-256 of the canonical form, as receipts write it."""
    return digest_of_bytes(canonical(value))


def digest_of_bytes(data: bytes) -> str:
    """The SHA-256, as receipts write it."""
    return "sha256:" + hashlib.sha256(data).hexdigest()


def read_json(data: bytes) -> Json:
    """The value of a document in UTF-8. Raises `ValueError` for a name twice, `NaN` and nesting that is too deep."""
    try:
        return json.loads(data.decode(), object_pairs_hook=_members, parse_constant=_not_json)
    except RecursionError:
        raise ValueError("the document is nested too deep") from None


def _members(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("an object has a name twice")
    return members


def _not_json(constant: str) -> NoReturn:
    raise ValueError(f"`{constant}` is not JSON")


class Snapshot:
    """Copies values, so that what was decided on cannot be changed before it is used."""

    def __init__(self) -> None:
        self._left = MAX_VALUES

    def take(self, value: Json, place: str, depth: int = 0) -> Json:
        """A copy of `value` with the same types. Raises `TypeError` for what is not JSON; `place` is where it is."""
        self._left -= 1
        if depth > MAX_DEPTH or self._left < 0:
            raise TypeError(f"{place} is nested too deep, refers to itself, or has more than {MAX_VALUES} values")
        kind = type(value)
        # Only these very types: a subclass can be one thing to JSON and another one to the function.
        if value is None or kind is bool:
            return value
        if kind is int:
            return _short(value, place)
        if kind is float:
            return _finite(value, place)
        if kind is str:
            return _text(value, place)
        if kind is list or kind is tuple:
            copies = [self.take(item, f"{place}[{at}]", depth + 1) for at, item in enumerate(value)]
            return copies if kind is list else tuple(copies)
        if kind is dict:
            return self._object(value, place, depth)
        raise TypeError(f"{place} is of the type `{kind.__name__}`, which is not JSON")

    def _object(self, value: dict[object, object], place: str, depth: int) -> dict[str, Json]:
        members = {}
        for name, item in list(value.items()):
            if type(name) is not str:
                raise TypeError(f"{place} has the name {name!r:.100}, which is not a text")
            members[_text(name, place)] = self.take(item, f"{place}[{name!r:.100}]", depth + 1)
        return members


def _short(value: Json, place: str) -> Json:
    if value.bit_length() > MAX_INTEGER_BITS:
        raise TypeError(f"{place} is an integer of more than {MAX_INTEGER_BITS} bits")
    return value


def _finite(value: Json, place: str) -> Json:
    if not math.isfinite(value):
        raise TypeError(f"{place} is `{value}`, which is not JSON")
    return value


def _text(value: Json, place: str) -> str:
    text = str(value)
    try:
        text.encode()
    except UnicodeEncodeError:
        raise TypeError(f"{place} holds half of a surrogate pair, which is not JSON") from None
    return text
