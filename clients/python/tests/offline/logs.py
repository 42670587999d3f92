"""Logs: outside cases of which each says what is due; and logs of the tests' own."""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from proofmark_sdk.offline import Refused, verify_proof
from proofmark_sdk.offline.checkpoint import Cosigned, open_checkpoint
from proofmark_sdk.offline.ed25519 import digest
from proofmark_sdk.offline.note import is_signed_by, read_note, read_vkey
from proofmark_sdk.offline.policy import is_met_by, read_policy

# Which codes are found in a proof that a known log has signed.
JUDGED = ("ok", "quorum_not_met", "inclusion_mismatch")
LOG_FILES = {"note.json": 15, "checkpoint.json": 49, "cosignature.json": 16, "policy.json": 26, "proof.json": 33}
"""The files of cases, and how many cases each has."""


def log_cases(file: str, data: Any) -> tuple[int, list[str]]:
    """How many cases a file of `conformance/tlog` has, and those that are not answered as they should be."""
    shared = {name: data[name] for name in ("log", "witnesses") if name in data}
    if file == "note.json":
        cases = [*((_of_note, one) for one in data["notes"]), *((_of_vkey, one) for one in data["vkeys"])]
    else:
        cases = [(_CASES[file], {**shared, **one}) for one in data["cases"]]
    wrong = []
    for answer, one in cases:
        try:
            found = answer(one)
        except Refused as error:
            found = error.code
        if found != one["expect"]:
            wrong.append(f"{file} {one.get('name', one.get('from'))}: {found} where {one['expect']} is due")
    return len(cases), wrong


def _of_note(one: dict[str, Any]) -> str:
    key = read_vkey(one["vkey"])
    if not is_signed_by(read_note(one["note"].encode()), key):
        return "not signed"
    try:
        is_signed_by(read_note(one["note"].replace("e", "f", 1).encode()), key)
    except Refused as error:
        return "ok" if error.code == "log_signature_mismatch" else f"changed: {error.code}"
    return "changed: signed"


def _of_vkey(one: dict[str, Any]) -> str:
    key = read_vkey(one["vkey"])
    return "ok" if f"{key.name}+{key.id}+{to_base64(bytes([key.type]) + key.key)}" == one["vkey"] else "respelt"


def _of_checkpoint(one: dict[str, Any]) -> str:
    checkpoint, _ = open_checkpoint(_note_of(one), [read_vkey(one["log"])], [])
    is_due = checkpoint.size == int(one["size"]) and to_base64(checkpoint.root) == one["root"]
    return "ok" if is_due else f"size {checkpoint.size}"


def _of_cosignatures(one: dict[str, Any]) -> str:
    witnesses = [read_vkey(key) for key in one["witnesses"]]
    _, cosigned = open_checkpoint(_note_of(one), [read_vkey(one["log"])], witnesses)
    found = [(cosignature.key.name, cosignature.time) for cosignature in cosigned]
    return "ok" if found == [(due["name"], due["time"]) for due in one["cosigned_by"]] else f"{found}"


def _of_policy(one: dict[str, Any]) -> str:
    policy = read_policy(one["policy"].encode())
    vkeys = dict(re.findall(r"^[ \t]*witness[ \t]+(\S+)[ \t]+(\S+)", one["policy"], re.MULTILINE))
    for due, sets in ((True, one["enough"]), (False, one["too_few"])):
        for names in sets:
            if is_met_by(policy, [Cosigned(read_vkey(vkeys[name]), 1) for name in names]) != due:
                return f"{names}: {not due}"
    return "ok"


def _of_proof(one: dict[str, Any]) -> str:
    # Its entry has 64 bytes, and those of this log have 32.
    if len(one["entry"]) != 64:
        return str(one["expect"]) if one["name"] == "node_as_leaf" else "an entry of another length"
    found = verify_proof(one["proof"], one["entry"], policy=one["policy"])
    code = found.code or "ok"
    is_judged = code in JUDGED
    due = {
        "reason": (found.reason is None) == (found.code is None),
        "answer": (found.answer == "valid") == (code in ("ok", "quorum_not_met")),
        "document": (found.document is not None) == (one["name"] == "receipt_inside"),
        "witnessed": (found.witnessed != "unknown") == is_judged,
        "log": (found.log == "trusted") == (is_judged or code == "cosignature_mismatch"),
        "size": (found.size is not None) == is_judged and (found.origin is not None) == is_judged,
    }
    return code if all(due.values()) else f"{due} of {found}"


_CASES = {
    "checkpoint.json": _of_checkpoint,
    "cosignature.json": _of_cosignatures,
    "policy.json": _of_policy,
    "proof.json": _of_proof,
}


def _note_of(one: dict[str, Any]) -> bytes:
    return bytes.fromhex(one["note_hex"]) if "note" not in one else one["note"].encode()


def to_base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


@dataclass(frozen=True)
class LogKey:
    """A new key of a log (type 1) or a witness (type 4), and what it signs."""

    name: str
    type: int
    secret: Ed25519PrivateKey

    @staticmethod
    def new(name: str, type: int) -> LogKey:
        return LogKey(name, type, Ed25519PrivateKey.generate())

    @property
    def vkey(self) -> str:
        return f"{self.name}+{self._id().hex()}+{to_base64(self._typed())}"

    def signed(self, text: str) -> str:
        return f"{text}\n{self._line(self.secret.sign(text.encode()))}"

    def cosignature(self, text: str, seconds: int) -> str:
        message = f"cosignature/v1\ntime {seconds}\n{text}".encode()
        return self._line(seconds.to_bytes(8, "big") + self.secret.sign(message))

    def _typed(self) -> bytes:
        return bytes([self.type]) + self.secret.public_key().public_bytes_raw()

    def _id(self) -> bytes:
        return digest(f"{self.name}\n".encode() + self._typed())[:4]

    def _line(self, data: bytes) -> str:
        return f"\u2014 {self.name} {to_base64(self._id() + data)}\n"


def root(entries: list[bytes]) -> bytes:
    """MTH of some entries (RFC 9162, section 2.1.1)."""
    if len(entries) <= 1:
        return digest(b"".join(b"\0" + entry for entry in entries))
    half = _split_at(len(entries))
    return digest(b"\1" + root(entries[:half]) + root(entries[half:]))


def _path(index: int, entries: list[bytes]) -> list[bytes]:
    """PATH of an entry, from the leaf up (RFC 9162, section 2.1.3.1)."""
    if len(entries) <= 1:
        return []
    half = _split_at(len(entries))
    left, right = entries[:half], entries[half:]
    return [*_path(index, left), root(right)] if index < half else [*_path(index - half, right), root(left)]


def _split_at(count: int) -> int:
    """The largest power of two below `count`."""
    return 1 << (count - 1).bit_length() - 1


def entries_of(count: int) -> list[bytes]:
    return [digest(f"entry {index}".encode()) for index in range(count)]


def checkpoint_text(origin: str, entries: list[bytes]) -> str:
    return f"{origin}\n{len(entries)}\n{to_base64(root(entries))}\n"


def proof_file(index: int, entries: list[bytes], note: str, extra: str | None = None) -> str:
    hashes = "".join(f"{to_base64(hash)}\n" for hash in _path(index, entries))
    inside = "" if extra is None else f"extra {to_base64(extra.encode())}\n"
    return f"c2sp.org/tlog-proof@v1\n{inside}index {index}\n{hashes}\n{note}"
