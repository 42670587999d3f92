"""The format of signed chain heads."""

from __future__ import annotations

from dataclasses import dataclass

from .json import Json, JsonObject
from .members import Members
from .receipt import Signature, read_signature
from .refused import Refused
from .text import shown

_FORMAT = "proofmark-chain-head/1"


@dataclass(frozen=True)
class Head:
    """A signed statement of a chain's length and last receipt. The signature is not verified."""

    document: JsonObject
    length: int
    tip: str
    """The hash of the last receipt."""
    signature: Signature


def read_head(document: Json) -> Head:
    """Checks every rule of the format except the signature."""
    top = Members.top(document)
    format = top.string("format")
    if format != _FORMAT:
        raise Refused("wrong_format", f"`format` is `{shown(format)}`, expected `{_FORMAT}`")
    top.string("chain")
    top.timestamp("signed_at")
    length, tip = top.count("length"), top.digest("tip")
    return Head(top.members, length, tip, read_signature(top.object("signature")))
