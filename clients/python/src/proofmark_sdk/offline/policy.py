"""Which logs and witnesses are known, and which witnesses are enough (C2SP tlog-policy)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

from .checkpoint import Cosigned
from .note import COSIGNATURE_KEY, NOTE_KEY, Vkey, read_vkey
from .refused import Refused
from .text import decimal, from_utf8, lossy, shown

# How many bytes a policy has at most.
_MAX_BYTES = 256 << 10
# How many logs, witnesses and groups a policy has at most, of each.
_MAX_ITEMS = 256
# The quorum that asks for no witness.
_NONE = b"none"
_KEYWORDS = (b"log", b"witness", b"group", b"quorum")
_CONTROL = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")
_SPACES = re.compile(rb"[ \t]+")


@dataclass(frozen=True)
class Group:
    threshold: int
    members: tuple[Member, ...]


Member: TypeAlias = "Vkey | Group"
"""A witness or a group."""


@dataclass(frozen=True)
class Policy:
    logs: tuple[Vkey, ...]
    witnesses: tuple[Vkey, ...]
    """Known ones, whether the quorum asks for them or not."""
    quorum: Member | None
    """None when it asks for none."""


def read_policy(data: bytes) -> Policy:
    """Reads a policy file.

    Raises `Refused` with `malformed_policy` or `too_large`, which names the first line that is wrong.
    """
    if len(data) > _MAX_BYTES:
        raise Refused("too_large", f"the policy has {len(data)} bytes: at most {_MAX_BYTES} are read")
    reader = _Reader()
    # Names are bytes, which need not be UTF-8.
    *lines, rest = data.split(b"\n")
    for number, line in enumerate([*lines, rest], 1):
        try:
            if number > len(lines) and line:
                raise _fault("it does not end with a line feed")
            reader.line(line)
        except Refused as error:
            raise Refused(error.code, f"line {number} of the policy: {error.message}") from None
    if not reader.has_quorum:
        raise _fault("the policy has no `quorum` line: write `quorum <name>`, or `quorum none`")
    return Policy(tuple(reader.logs), tuple(reader.witnesses), reader.quorum)


def is_met_by(policy: Policy, cosigned: Iterable[Cosigned]) -> bool:
    """Whether these cosignatures are enough. Those of other witnesses do not count."""
    keys = {cosignature.key.key for cosignature in cosigned}
    return policy.quorum is None or _has(policy.quorum, keys)


def _has(member: Member, keys: set[bytes]) -> bool:
    # Every witness and group is a member of one group at most, so this looks at each once.
    if isinstance(member, Vkey):
        return member.key in keys
    return sum(_has(inner, keys) for inner in member.members) >= member.threshold


class _Reader:
    """What the lines read so far have defined."""

    def __init__(self) -> None:
        self.logs: list[Vkey] = []
        self.witnesses: list[Vkey] = []
        self.groups = 0
        self.has_quorum = False
        self.quorum: Member | None = None
        self.names: dict[bytes, Member] = {}
        self.grouped: set[bytes] = set()

    def line(self, line: bytes) -> None:
        """Reads a line without its line feed."""
        if _CONTROL.search(line):
            raise _fault("it has a control character other than tabs")
        words = [word for word in _SPACES.split(line) if word]
        if words and not words[0].startswith(b"#"):
            self.definition(words[0], words[1:])

    def definition(self, keyword: bytes, words: list[bytes]) -> None:
        if keyword == b"log" and len(words) in (1, 2):
            self.log(words[0])
        elif keyword == b"witness" and len(words) in (2, 3):
            self.witness(words[0], words[1])
        elif keyword == b"group" and len(words) >= 2:
            self.group(words[0], words[1], words[2:])
        elif keyword == b"quorum" and len(words) == 1:
            self.set_quorum(words[0])
        elif keyword in _KEYWORDS:
            raise _fault(f"`{_quoted(keyword)}` has another number of words")
        else:
            raise _fault(f"`{_quoted(keyword)}` is not `log`, `witness`, `group` or `quorum`")

    def log(self, vkey: bytes) -> None:
        self.logs.append(_new_key(vkey, NOTE_KEY, self.logs))

    def witness(self, name: bytes, vkey: bytes) -> None:
        key = _new_key(vkey, COSIGNATURE_KEY, self.witnesses)
        self.witnesses.append(key)
        self.define(name, key)

    def group(self, name: bytes, word: bytes, names: list[bytes]) -> None:
        members = tuple(self.member(member) for member in names)
        threshold = {b"all": len(members), b"any": 1}.get(word)
        if threshold is None:
            threshold = decimal(word.decode("latin-1")) or 0
        if not 1 <= threshold <= len(members):
            raise _fault("a group is `group <name> all|any|<k> <name>…`, with `k` from 1 to the number of members")
        _check_count(self.groups)
        self.groups += 1
        self.define(name, Group(threshold, members))

    def member(self, name: bytes) -> Member:
        """A witness or a group that becomes a member of a group."""
        member = self.named(name)
        # So each witness counts in one way only.
        if name in self.grouped:
            raise _fault(f"`{_quoted(name)}` is a member of a group before")
        self.grouped.add(name)
        return member

    def set_quorum(self, name: bytes) -> None:
        quorum = None if name == _NONE else self.named(name)
        if self.has_quorum:
            raise _fault("a second `quorum`")
        self.has_quorum = True
        self.quorum = quorum

    def define(self, name: bytes, member: Member) -> None:
        if name == _NONE:
            raise _fault("the name `none` has a meaning of its own")
        if name in self.names:
            raise _fault(f"the name `{_quoted(name)}` is defined on a line before")
        self.names[name] = member

    def named(self, name: bytes) -> Member:
        if name not in self.names:
            raise _fault(f"`{_quoted(name)}` is not defined on a line before")
        return self.names[name]


def _new_key(word: bytes, type: int, known: list[Vkey]) -> Vkey:
    """Reads a key of this type that is not among those of the lines before."""
    text = from_utf8(word)
    if text is None:
        raise _fault("the verifier key is not UTF-8")
    try:
        key = read_vkey(text)
    except Refused as error:
        raise _fault(error.message) from None
    if key.type != type:
        raise _fault(
            "the key of a log is of type 1, and this one is of type 4"
            if type == NOTE_KEY
            else "the key of a witness is of type 4, and this one is of type 1"
        )
    if any(other.key == key.key for other in known):
        raise _fault(f"the key of `{shown(key.name)}` stands on a line before")
    _check_count(len(known))
    return key


def _check_count(count: int) -> None:
    """Checks how many of a kind there are without the next."""
    if count >= _MAX_ITEMS:
        raise Refused("too_large", f"more than {_MAX_ITEMS} of a kind")


def _fault(message: str) -> Refused:
    return Refused("malformed_policy", message)


def _quoted(word: bytes) -> str:
    return shown(lossy(word))
