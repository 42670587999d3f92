"""Checkpoints that logs sign and witnesses cosign (C2SP tlog-checkpoint, tlog-cosignature)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .ed25519 import verify_strictly
from .note import COSIGNATURE_KEY, Note, Vkey, is_key_name, is_signed_by, lines_of, read_note
from .refused import Refused
from .text import decimal, shown, unbase64, utf8

# How many bytes a hash of the tree has.
_HASH_BYTES = 32
# The first line of what a witness signs, which no checkpoint can begin with.
_COSIGNATURE = "cosignature/v1"
# The root of the empty tree, SHA-256 of nothing (RFC 9162, section 2.1.1).
_OF_NOTHING = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
# The latest time of a cosignature, in seconds.
_MAX_TIME = 2**63 - 1
_TIME_BYTES = 8


@dataclass(frozen=True)
class Checkpoint:
    """The head of a log."""

    origin: str
    size: int
    """How many entries the tree has."""
    root: bytes
    """Of the tree, 32 bytes."""


@dataclass(frozen=True)
class Cosigned:
    """A cosignature that verifies."""

    key: Vkey
    """Of the witness."""
    time: int
    """By the clock of the witness, in seconds since 1970."""


def open_checkpoint(data: bytes, logs: Sequence[Vkey], witnesses: Sequence[Vkey]) -> tuple[Checkpoint, list[Cosigned]]:
    """Reads a signed checkpoint and verifies the lines of known keys.

    Nothing is interpreted before it is known to be signed. Raises `Refused` when the checkpoint must not be used.
    """
    note = read_note(data)
    signed_by = [key for key in logs if is_signed_by(note, key)]
    if not signed_by:
        raise Refused("unsigned_by_log", "no known log has signed the checkpoint")
    checkpoint = _read_checkpoint(note.text)
    if all(key.name != checkpoint.origin for key in signed_by):
        message = f"the checkpoint is of `{shown(checkpoint.origin)}`, but signed by the log `{shown(signed_by[0].name)}`"
        raise Refused("wrong_origin", message, answer="invalid")
    cosigned: dict[bytes, Cosigned] = {}
    for key in witnesses:
        time = _cosigned_at(note, key)
        # A witness counts once, also when a caller knows it twice.
        if time is not None and key.key not in cosigned:
            cosigned[key.key] = Cosigned(key, time)
    return checkpoint, list(cosigned.values())


def read_hash(text: str) -> bytes | None:
    """Reads a hash of the tree; None unless it is 32 bytes in base64."""
    data = unbase64(text)
    return data if data is not None and len(data) == _HASH_BYTES else None


def _read_checkpoint(text: str) -> Checkpoint:
    """Reads what is signed, with its last line feed. Extension lines say nothing and are left out."""
    lines = text[:-1].split("\n")
    if len(lines) < 3:
        raise _malformed("the checkpoint has fewer than three lines: it is an origin, a size and a root")
    origin, size, root, *extensions = lines
    if not is_key_name(origin) or origin == _COSIGNATURE:
        faults = f"it is empty, has a space or a plus sign, or is `{_COSIGNATURE}`"
        raise _malformed(f"`{shown(origin)}` is not the origin of a log: {faults}")
    count = decimal(size)
    if count is None:
        raise _malformed(f"`{shown(size)}` is not the size of a tree: write it in decimal, without leading zeros")
    hash = read_hash(root)
    if hash is None:
        raise _malformed(f"the root `{shown(root)}` is not 32 bytes in base64")
    if "" in extensions:
        raise _malformed("an extension line is empty")
    if count == 0 and hash.hex() != _OF_NOTHING:
        raise _malformed("the root of a tree of size 0 is not the hash of nothing")
    return Checkpoint(origin, count, hash)


def _cosigned_at(note: Note, key: Vkey) -> int | None:
    """The time at which a witness has cosigned a note; the latest one if it has done so more than once.

    Raises `Refused` with `cosignature_mismatch` when a line of the key does not verify, which spoils the whole note.
    """
    latest: int | None = None
    for line in lines_of(note, key) if key.type == COSIGNATURE_KEY else []:
        time = _verified_time(note.text, key, line.signature)
        if time is None:
            message = f"the cosignature of `{key.name}` does not verify"
            raise Refused("cosignature_mismatch", message, answer="invalid")
        latest = time if latest is None else max(latest, time)
    return latest


def _verified_time(text: str, key: Vkey, signature: bytes) -> int | None:
    """The time of a cosignature, which is before what signs it; None unless it verifies."""
    if len(signature) <= _TIME_BYTES:
        return None
    time = int.from_bytes(signature[:_TIME_BYTES], "big")
    if time > _MAX_TIME:
        return None
    message = utf8(f"{_COSIGNATURE}\ntime {time}\n{text}")
    return time if verify_strictly(key.key, message, signature[_TIME_BYTES:]) else None


def _malformed(message: str) -> Refused:
    return Refused("malformed_checkpoint", message)
