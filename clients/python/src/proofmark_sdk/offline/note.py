"""Signed notes, and the keys by which they verify (C2SP signed-note)."""

from __future__ import annotations

import re
from dataclasses import dataclass

from .ed25519 import digest, verify_strictly
from .refused import Refused
from .text import from_utf8, shown, unbase64, utf8

MAX_NOTE_BYTES = 256 << 10
"""How many bytes a note has at most."""
MAX_NOTE_LINES = 64
"""How many signature lines a note has at most."""
NOTE_KEY = 1
"""The type of a key that signs the text of a note, as logs do."""
COSIGNATURE_KEY = 4
"""The type of a key that signs a checkpoint and a time, as witnesses do."""

# What every signature line begins with.
_DASH = "\u2014 "
# What the name of a key must not have: white space, control characters and a plus sign.
_NOT_IN_A_NAME = re.compile("[\x00-\x20\x7f-\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000+]")
_CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f]")


@dataclass(frozen=True)
class Vkey:
    """A verifier key of a log or a witness."""

    name: str
    """That of a log is its origin."""
    type: int
    """What it signs: `NOTE_KEY` or `COSIGNATURE_KEY`."""
    key: bytes
    """32 bytes."""
    id: str
    """The key id: 8 lower-case hex digits."""


@dataclass(frozen=True)
class NoteLine:
    name: str
    id: str
    """Of the key: 8 lower-case hex digits."""
    signature: bytes
    """Not verified."""


@dataclass(frozen=True)
class Note:
    text: str
    """What is signed, with its last line feed; not to be interpreted before a known key has signed it."""
    lines: tuple[NoteLine, ...]


def read_vkey(text: str) -> Vkey:
    """Reads a verifier key: `<name>+<key id>+<base64 of type and key>`. Raises `Refused` with `malformed_vkey`."""
    # The base64 may have plus signs of its own, so only the first two part.
    parts = text.split("+", 2)
    if len(parts) != 3:
        raise _malformed_vkey(f"`{shown(text)}` is not a verifier key: write `<name>+<key id>+<base64>`")
    name, id, encoded = parts
    data = unbase64(encoded)
    not_a_key = _malformed_vkey(f"`{shown(encoded)}` is not a type and an Ed25519 key in base64")
    if data is None:
        raise not_a_key
    type = data[0]
    if type not in (NOTE_KEY, COSIGNATURE_KEY):
        raise _malformed_vkey(f"the type {type} of the key is not known: it is 1 for a log, and 4 for a witness or a mirror")
    if len(data) != 33:
        raise not_a_key
    if not is_key_name(name):
        faults = "it is empty, or has a space, a plus sign or a control character"
        raise _malformed_vkey(f"`{shown(name)}` is not the name of a key: {faults}")
    expected = digest(utf8(f"{name}\n") + data)[:4].hex()
    if id != expected:
        raise _malformed_vkey(f"the key id `{shown(id)}` is not that of this name and key, `{expected}`")
    return Vkey(name, type, data[1:], id)


def is_key_name(name: str) -> bool:
    """Whether a key can have this name."""
    return name != "" and not _NOT_IN_A_NAME.search(name)


def read_note(data: bytes) -> Note:
    """Reads a note. Nothing of it is verified. Raises `Refused` with `malformed_note` or `too_large`."""
    if len(data) > MAX_NOTE_BYTES:
        raise Refused("too_large", f"the note has {len(data)} bytes: at most {MAX_NOTE_BYTES} are read")
    note = from_utf8(data)
    if note is None:
        raise _malformed_note("the note is not UTF-8")
    if _CONTROL.search(note):
        raise _malformed_note("the note has a control character other than line feeds")
    end = note.rfind("\n\n")
    signatures = note[end + 2 :]
    if end < 0 or signatures == "":
        raise _malformed_note("the note has no empty line between its text and its signatures")
    if not signatures.endswith("\n"):
        raise _malformed_note("the note does not end with a line feed")
    lines: list[NoteLine] = []
    for line in signatures[:-1].split("\n"):
        if len(lines) == MAX_NOTE_LINES:
            raise Refused("too_large", f"the note has more than {MAX_NOTE_LINES} signature lines")
        lines.append(_read_line(line))
    return Note(note[: end + 1], tuple(lines))


def _read_line(line: str) -> NoteLine:
    rest = line[len(_DASH) :] if line.startswith(_DASH) else ""
    name, _, encoded = rest.partition(" ")
    data = unbase64(encoded)
    if not is_key_name(name) or data is None or len(data) <= 4:
        raise _malformed_note(f"`{shown(line)}` is not a signature line: it is `{_DASH}<key name> <base64>`")
    return NoteLine(name, data[:4].hex(), data[4:])


def lines_of(note: Note, key: Vkey) -> list[NoteLine]:
    """The lines with the name and the id of a key, verified or not.

    Lines with the same name and another key id belong to other keys.
    """
    return [line for line in note.lines if line.id == key.id and line.name == key.name]


def is_signed_by(note: Note, key: Vkey) -> bool:
    """Whether a key has signed a note; one of another type than `NOTE_KEY` has not.

    Raises `Refused` with `log_signature_mismatch` when a line of the key does not verify, which spoils the whole note.
    """
    lines = lines_of(note, key) if key.type == NOTE_KEY else []
    for line in lines:
        if not verify_strictly(key.key, utf8(note.text), line.signature):
            message = f"the signature line of the log `{key.name}` does not verify: the checkpoint was changed, or is forged"
            raise Refused("log_signature_mismatch", message, answer="invalid")
    return bool(lines)


def _malformed_vkey(message: str) -> Refused:
    return Refused("malformed_vkey", message)


def _malformed_note(message: str) -> Refused:
    return Refused("malformed_note", message)
