"""Numbers as tokens: what a document says, not what a parser makes of it."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Literal, TypeAlias

from .refused import Refused
from .text import shown

Profile: TypeAlias = Literal["vrf", "jcs", "py-utf8", "py-ascii"]
"""A canonical form."""

MAX_COUNT = 2**64 - 1
_MAX_SAFE = 2**53 - 1
# Python reads no longer integers by default (`sys.get_int_max_str_digits`), and this profile is what Python writes.
_MAX_INTEGER_DIGITS = 4300
# No double has an exponent near this one.
_FAR = 10**12
_ADVICE = "write the number as a string"
_NOT_AN_INTEGER = re.compile(r"[.eE]")
_COUNT = re.compile(r"[0-9]{1,20}")
_PARTS = re.compile(r"(-?)([0-9]+)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]+))?")


@dataclass(frozen=True, slots=True)
class JsonNumber:
    """A JSON number as the text it was written with: `1.50`, `1.5` and `15e-1` stay three different tokens."""

    text: str

    @property
    def is_integer(self) -> bool:
        """Whether it has neither a fraction nor an exponent."""
        return _NOT_AN_INTEGER.search(self.text) is None

    @property
    def is_safe(self) -> bool:
        """Whether every reader of JSON keeps it: an integer within ±(2^53-1), and not `-0`."""
        text = self.text
        return len(text) <= 17 and text != "-0" and self.is_integer and abs(int(text)) <= _MAX_SAFE

    @property
    def count(self) -> int | None:
        """The value of an integer from 0 to 2^64-1; None for others."""
        if self.text == "-0":
            return 0
        value = int(self.text) if _COUNT.fullmatch(self.text) else None
        return value if value is not None and value <= MAX_COUNT else None

    def __str__(self) -> str:
        return self.text


def number_text(number: JsonNumber, profile: Profile) -> str:
    """What a profile writes for a number."""
    token = number.text
    if profile == "vrf":
        return token
    if profile != "jcs" and number.is_integer:
        if len(token.removeprefix("-")) > _MAX_INTEGER_DIGITS:
            message = f"the integer `{shown(token)}` has more than 4300 digits, which profile `{profile}` cannot read"
            raise Refused("integer_too_long", message, help=_ADVICE)
        return "0" if token == "-0" else token
    value = float(token)
    if math.isinf(value):
        message = f"the number `{shown(token)}` overflows to infinity under profile `{profile}`"
        raise Refused("number_not_finite", message, help=_ADVICE)
    return _ecmascript(value) if profile == "jcs" else repr(value)


def check_exact(number: JsonNumber, profile: Profile) -> None:
    """Refuses a number whose canonical form has another value, or one that not every reader keeps."""
    if number.is_safe:
        return
    if profile != "vrf" and _value(number_text(number, profile)) == _value(number.text):
        return
    message = f"profile `{profile}` does not keep the number `{shown(number.text)}` exactly"
    raise Refused("number_not_exact", message, help=_ADVICE)


def _value(token: str) -> tuple[str, str, int]:
    """The value of a number: its sign, its digits without zeros at either end, and the power of ten of the last digit."""
    parts = _PARTS.fullmatch(token)
    if parts is None:
        raise ValueError(f"`{shown(token)}` is not a JSON number")
    sign, whole, fraction, exponent = parts.groups("")
    written = whole + fraction
    significant = written.rstrip("0")
    digits = significant.lstrip("0")
    if digits == "":
        # Zero is zero with any exponent, but its sign counts: Python and ECMAScript write `-0` as `0`.
        return sign, "0", 0
    # Beyond `_FAR` it is zero or infinite as a double, and the digits tell. As a double, because `int` reads no long texts.
    power = int(max(-_FAR, min(_FAR, float(exponent or "0"))))
    return sign, digits, power - len(fraction) + len(written) - len(significant)


def _ecmascript(value: float) -> str:
    """Number::toString of ECMAScript (RFC 8785, section 3.2.2.3): the digits of `repr`, with a point or an exponent elsewhere."""
    sign, digits, power = _value(repr(value))
    if digits == "0":
        return "0"
    # How many digits are before the point.
    point = len(digits) + power
    if 0 < point <= 21:
        whole, fraction = digits[:point].ljust(point, "0"), digits[point:]
        return f"{sign}{whole}.{fraction}" if fraction else f"{sign}{whole}"
    if -6 < point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    mantissa = digits if len(digits) == 1 else f"{digits[0]}.{digits[1:]}"
    return f"{sign}{mantissa}e{point - 1:+d}"
