"""A strict reader of JSON (RFC 8259).

What two programs could read differently is refused: duplicate keys, lone surrogates, a byte order mark, deep nesting.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeAlias

from .number import JsonNumber
from .refused import Refused
from .text import SURROGATE, Source, copied, shown, shown_character, utf8

JsonObject: TypeAlias = "dict[str, Json]"
"""Members in document order."""
Json: TypeAlias = "bool | str | JsonNumber | list[Json] | dict[str, Json] | None"

MAX_BYTES = 1 << 20
"""The largest document, in bytes."""
MAX_DEPTH = 64
"""How many arrays and objects may be inside each other."""
MAX_VALUES = MAX_BYTES // 2
"""How many values a document may have: as many as fit into the largest one."""

# Objects of more members say at their end that a name is there twice, as `proofmark` does.
_FEW_MEMBERS = 16
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_ESCAPES = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_LITERALS: dict[str, bool | None] = {"null": None, "true": True, "false": False}
_BEGINS_NUMBER = frozenset("-0123456789")
_SPACES = frozenset(" \t\n\r")
_SPACE = re.compile(r"[ \t\n\r]*")
_COMMA = re.compile(r"[ \t\n\r]*,[ \t\n\r]*")
_WORD = re.compile(r"[A-Za-z0-9]*")
_PLAIN = re.compile(r'[^"\\\x00-\x1f]*')
_PLAIN_STRING = re.compile(r'"([^"\\\x00-\x1f]*)"')
# A string without escapes, or a number with what may follow it, so that nothing else can belong to it.
_SCALAR = re.compile(rf"{_PLAIN_STRING.pattern}|(-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)(?=[,\]}} \t\n\r])")
_DIGITS = re.compile(r"[0-9]*")
_FOUR_HEX = re.compile(r"[0-9A-Fa-f]{0,4}")
_CONTINUATION = bytes(range(0x80, 0xC0))


def parse(source: Source) -> Json:
    """Reads one document, with numbers as they are written.

    Raises `Refused` with a code of `docs/receipts.md`, and the line and column.
    """
    data = utf8(source) if isinstance(source, str) else copied(source)
    if len(data) > MAX_BYTES:
        message = f"the document is larger than {MAX_BYTES} bytes"
        raise _located("too_large", message, "make the document smaller", _place_in_bytes(data, MAX_BYTES))
    if data.startswith(_BYTE_ORDER_MARK):
        help = "save it as UTF-8 without a byte order mark"
        raise _located("byte_order_mark", "the document starts with a byte order mark", help, (1, 1))
    return _Reader(_well_formed(source) if isinstance(source, str) else _decoded(data)).document()


def _decoded(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        place = _place_in_bytes(data, error.start)
    raise _located("invalid_utf8", "invalid UTF-8", "save it as UTF-8", place)


def _well_formed(text: str) -> str:
    """Text with half of a surrogate pair has no UTF-8."""
    lone = SURROGATE.search(text)
    if lone:
        raise _located("invalid_utf8", "invalid UTF-8", "save it as UTF-8", _place(text, lone.start()))
    return text


def _located(code: str, message: str, help: str, place: tuple[int, int]) -> Refused:
    return Refused(code, f"{message} at line {place[0]}, column {place[1]}", help=help)


def _place_in_bytes(data: bytes, offset: int) -> tuple[int, int]:
    before = data[:offset]
    # A character is counted at its first byte.
    last_line = before[before.rfind(b"\n") + 1 :].translate(None, _CONTINUATION)
    return before.count(b"\n") + 1, len(last_line) + 1


def _place(text: str, offset: int) -> tuple[int, int]:
    return text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset)


class _Reader:
    """Recurses once for each level, of which there are at most `MAX_DEPTH`."""

    __slots__ = ("at", "depth", "text", "values")

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.depth = 0
        self.values = 0

    def document(self) -> Json:
        self.skip_space()
        value = self.value()
        self.skip_space()
        if self.at < len(self.text):
            raise self.refused("trailing_data", "more text after the document", "remove it")
        return value

    def value(self) -> Json:
        if self.values == MAX_VALUES:
            raise self.refused("too_many_values", f"more than {MAX_VALUES} values", "make the document smaller")
        self.values += 1
        # Most values are strings without escapes and numbers.
        found = _SCALAR.match(self.text, self.at)
        if found:
            self.at = found.end()
            text, number = found.groups()
            return JsonNumber(number) if text is None else text
        first = self.here()
        if first == '"':
            return self.string()
        if first == "{":
            return self.nested(self.object)
        if first == "[":
            return self.nested(self.array)
        if first in _BEGINS_NUMBER:
            return self.number()
        if first.isascii() and first.isalpha():
            return self.literal()
        raise self.unexpected("a value")

    def nested(self, read: Callable[[], Json]) -> Json:
        if self.depth == MAX_DEPTH:
            raise self.refused("too_deep", f"nested deeper than {MAX_DEPTH} levels", "flatten the document")
        self.depth += 1
        self.at += 1
        self.skip_space()
        value = read()
        self.depth -= 1
        return value

    def array(self) -> Json:
        items: list[Json] = []
        if self.eat("]"):
            return items
        items.append(self.value())
        while self.comma_or("]"):
            items.append(self.value())
        return items

    def object(self) -> Json:
        members: JsonObject = {}
        if self.eat("}"):
            return members
        repeated: Refused | None = None
        count = 0
        more = True
        while more:
            start = self.at
            if self.here() != '"':
                raise self.unexpected("a key in double quotes")
            # Names are compared unescaped: `"a"` and `"\u0061"` are one name.
            name = self.string()
            if name in members:
                repeated = repeated or self.repeated(name, start)
                if count < _FEW_MEMBERS:
                    raise repeated
            count += 1
            self.skip_space()
            if not self.eat(":"):
                raise self.unexpected("`:`")
            self.skip_space()
            members[name] = self.value()
            more = self.comma_or("}")
        if repeated:
            raise repeated
        return members

    def comma_or(self, close: str) -> bool:
        """Whether another item follows."""
        found = _COMMA.match(self.text, self.at)
        if found and self.text[found.end() : found.end() + 1] != close:
            self.at = found.end()
            return True
        self.skip_space()
        if self.eat(close):
            return False
        if self.here() == ",":
            raise self.refused("trailing_comma", "a comma before the closing bracket", "remove it")
        raise self.unexpected(f"`,` or `{close}`")

    def number(self) -> JsonNumber:
        start = self.at
        self.eat("-")
        whole = self.at
        self.digits()
        if self.at - whole > 1 and self.text[whole] == "0":
            raise self.refused("leading_zero", "a number with a leading zero", "remove the zero", whole)
        if self.eat("."):
            self.digits()
        if self.eat("e") or self.eat("E"):
            if not self.eat("+"):
                self.eat("-")
            self.digits()
        return JsonNumber(self.text[start : self.at])

    def digits(self) -> None:
        """Skips one digit or more."""
        if self.matched(_DIGITS):
            return
        if self.at == len(self.text):
            raise self.ended()
        raise self.refused("invalid_number", "a number that lacks a digit", "write it as in `0.5` or `1e9`")

    def literal(self) -> bool | None:
        start = self.at
        # The whole word, so that `nullable` is an invalid literal and not `null` with more text after it.
        word = self.matched(_WORD)
        if word in _LITERALS:
            return _LITERALS[word]
        if self.at == len(self.text) and any(literal.startswith(word) for literal in _LITERALS):
            raise self.ended()
        help = "write `true`, `false` or `null`, or put a string in double quotes"
        raise self.refused("invalid_literal", f"`{shown(word)}` is not a JSON value", help, start)

    def string(self) -> str:
        # Most strings have no escape.
        found = _PLAIN_STRING.match(self.text, self.at)
        if found:
            self.at = found.end()
            return found[1]
        return self.string_by_parts()

    def string_by_parts(self) -> str:
        self.at += 1
        parts = []
        while True:
            parts.append(self.matched(_PLAIN))
            next = self.here()
            if next == '"':
                break
            if next == "":
                raise self.ended()
            if next != "\\":
                help = f"write `\\u{ord(next):04x}`"
                raise self.refused("control_character", "a bare control character in a string", help)
            parts.append(self.escape())
        self.at += 1
        return "".join(parts)

    def escape(self) -> str:
        start = self.at
        letter = self.text[start + 1 : start + 2]
        if letter == "":
            raise self.ended()
        self.at += 2
        if letter == "u":
            return self.unicode_escape(start)
        plain = _ESCAPES.get(letter)
        if plain is None:
            raise self.invalid_escape(start)
        return plain

    def unicode_escape(self, start: int) -> str:
        unit = self.four_hex(start)
        if not 0xD800 <= unit <= 0xDFFF:
            return chr(unit)
        if unit > 0xDBFF or not self.text.startswith("\\u", self.at):
            raise self.lone_surrogate(start)
        second = self.at
        self.at += 2
        low = self.four_hex(second)
        if not 0xDC00 <= low <= 0xDFFF:
            raise self.lone_surrogate(start)
        return chr(0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00))

    def four_hex(self, escape: int) -> int:
        """Reads four digits of the escape that begins there."""
        digits = self.matched(_FOUR_HEX)
        if len(digits) == 4:
            return int(digits, 16)
        raise self.ended() if self.at == len(self.text) else self.invalid_escape(escape)

    def skip_space(self) -> None:
        if self.text[self.at : self.at + 1] in _SPACES:
            self.matched(_SPACE)

    def matched(self, pattern: re.Pattern[str]) -> str:
        """What the pattern, which can match nothing, matches here, which is skipped."""
        found = pattern.match(self.text, self.at)
        text = found[0] if found else ""
        self.at += len(text)
        return text

    def here(self) -> str:
        """The next character; empty at the end."""
        return self.text[self.at : self.at + 1]

    def eat(self, char: str) -> bool:
        if self.text[self.at : self.at + 1] != char:
            return False
        self.at += 1
        return True

    def refused(self, code: str, message: str, help: str, at: int | None = None) -> Refused:
        return _located(code, message, help, _place(self.text, self.at if at is None else at))

    def ended(self) -> Refused:
        message = "the document ends in the middle of a value"
        return self.refused("unexpected_end", message, "is it cut off?", len(self.text))

    def repeated(self, name: str, at: int) -> Refused:
        return self.refused("duplicate_key", f"duplicate key `{shown(name)}`", "keep one of them", at)

    def lone_surrogate(self, at: int) -> Refused:
        message = "half of a surrogate pair in a `\\u` escape"
        return self.refused("lone_surrogate", message, "write both halves, or the character itself", at)

    def invalid_escape(self, at: int) -> Refused:
        return self.refused("invalid_escape", "invalid escape in a string", "write `\\\\` for a backslash", at)

    def unexpected(self, expected: str) -> Refused:
        found = self.here()
        if found == "":
            return self.ended()
        message = f"expected {expected}, found `{shown_character(found)}`"
        return self.refused("unexpected_character", message, f"write {expected} here")
