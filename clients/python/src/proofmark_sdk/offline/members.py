"""Reads the members of one object, naming the place of what is missing or of the wrong type."""

from __future__ import annotations

import calendar
import re
from collections.abc import Iterator, Sequence

from .json import Json, JsonObject
from .number import JsonNumber
from .refused import Refused
from .text import shown, unhex

_TIMESTAMP = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]{1,9}))?(?:Z|\+00:00)")
_RECEIPT_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", re.ASCII | re.IGNORECASE)


class Members:
    def __init__(self, members: JsonObject, path: str = "") -> None:
        """`path` is how places in it begin, as in `results.`."""
        self.members = members
        self.path = path

    @staticmethod
    def top(document: Json) -> Members:
        if isinstance(document, dict):
            return Members(document)
        raise _wrong_type("document", "an object", document)

    def object(self, name: str) -> Members:
        found = self.optional_object(name)
        if found is None:
            raise self.missing(name)
        return found

    def optional_object(self, name: str) -> Members | None:
        if name not in self.members:
            return None
        value = self.members[name]
        if isinstance(value, dict):
            return Members(value, f"{self.path}{name}.")
        raise _wrong_type(self.path + name, "an object", value)

    def objects(self, name: str) -> Iterator[Members]:
        """The objects of an array, each read when it is reached."""
        items = self.required(name)
        if not isinstance(items, list):
            raise _wrong_type(self.path + name, "an array", items)
        for index, item in enumerate(items):
            place = f"{self.path}{name}[{index}]"
            if not isinstance(item, dict):
                raise _wrong_type(place, "an object", item)
            yield Members(item, f"{place}.")

    def only(self, names: Sequence[str]) -> None:
        """Refuses members other than these: no signature covers them."""
        for name in self.members:
            if name not in names:
                message = f"`{self.path}{name}` is not covered by the signature"
                raise Refused("unsigned_member", message, help="remove it")

    def string(self, name: str) -> str:
        value = self.required(name)
        if isinstance(value, str):
            return value
        raise _wrong_type(self.path + name, "a string", value)

    def optional_string(self, name: str) -> str | None:
        return self.string(name) if name in self.members else None

    def number(self, name: str) -> JsonNumber:
        value = self.required(name)
        if isinstance(value, JsonNumber):
            return value
        raise _wrong_type(self.path + name, "an integer", value)

    def count(self, name: str) -> int:
        number = self.number(name)
        place = self.path + name
        if not number.is_integer:
            raise not_an_integer(place)
        count = number.count
        if count is not None:
            return count
        message = f"`{place}` is {shown(number.text)}, expected an integer from 0 to 2^64\u22121"
        raise Refused("count_out_of_range", message)

    def optional_count(self, name: str) -> int | None:
        return self.count(name) if name in self.members else None

    def digest(self, name: str) -> str:
        text = self.string(name)
        if is_digest(text):
            return text
        message = f"`{self.path}{name}`: `{shown(text)}` is not a SHA-256 digest"
        raise Refused("invalid_hash", message, help="write `sha256:` and 64 lower-case hex digits")

    def optional_digest(self, name: str) -> str | None:
        return self.digest(name) if name in self.members else None

    def timestamp(self, name: str) -> str:
        text = self.string(name)
        if unix_millis(text) is not None:
            return text
        message = f"`{self.path}{name}`: `{shown(text)}` is not an ISO 8601 time in UTC"
        raise Refused("invalid_timestamp", message, help="write it as in `2026-02-19T00:46:00Z`")

    def word(self, name: str, what: str, words: Sequence[str]) -> str:
        """One of some words."""
        found = self.string(name)
        if found in words:
            return found
        message = f"`{self.path}{name}`: unknown {what} `{shown(found)}`"
        listed = ", ".join(f"`{word}`" for word in words)
        raise Refused(f"unknown_{what}", message, help=f"write one of {listed}")

    def optional_word(self, name: str, what: str, words: Sequence[str]) -> str | None:
        return self.word(name, what, words) if name in self.members else None

    def required(self, name: str) -> Json:
        if name not in self.members:
            raise self.missing(name)
        return self.members[name]

    def missing(self, name: str) -> Refused:
        return Refused("missing_field", f"missing field `{self.path}{name}`")


def not_an_integer(place: str) -> Refused:
    return _expected(place, "an integer", "number with a fraction or exponent")


def _wrong_type(place: str, expected: str, found: Json) -> Refused:
    return _expected(place, expected, _type_name(found))


def _expected(place: str, expected: str, found: str) -> Refused:
    return Refused("wrong_type", f"`{place}`: expected {expected}, found {found}")


def _type_name(value: Json) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, str):
        return "string"
    if isinstance(value, JsonNumber):
        return "number"
    return "array" if isinstance(value, list) else "object"


def is_digest(text: str) -> bool:
    return text.startswith("sha256:") and unhex(text[7:], 32) is not None


def unix_millis(text: str) -> int | None:
    """Milliseconds since 1970 of an instant in UTC, finer fractions cut off; None unless it is one, on the calendar."""
    found = _TIMESTAMP.fullmatch(text)
    if not found:
        return None
    year, month, day, hour, minute, second = (int(part) for part in found.groups()[:6])
    if year < 1 or not 1 <= month <= 12 or not 1 <= day <= calendar.monthrange(year, month)[1]:
        return None
    if hour > 23 or minute > 59 or second > 59:
        return None
    return calendar.timegm((year, month, day, hour, minute, second)) * 1000 + int((found[7] or "")[:3].ljust(3, "0"))


def receipt_id(text: str) -> str | None:
    """A UUID version 4 in lower case, from a text in either case; None for any other text."""
    return text.lower() if _RECEIPT_ID.fullmatch(text) else None
