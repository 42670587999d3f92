"""Signed documents, changed at random: what is signed afterwards, and what is not."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from proofmark_sdk.offline import Json, JsonNumber, JsonObject, canonical, parse, to_text
from proofmark_sdk.offline.ed25519 import digest
from proofmark_sdk.offline.signer import signer_id

DIGEST = "sha256:c53afd08cfab82788db65a6704b692f452ae1cd271187040830e5542c3d6dd78"
TIME = "2026-02-19T00:46:00.000Z"
# Values that a member may get, as they are written.
VALUES = [
    *("null", "true", "false", "0", "1", "-1", "3", "4", "-0", "0.0", "1.0", "1e0", "1.50", "15e-1", "1e400", "-1e400", "1e-400"),
    *("9007199254740991", "9007199254740992", "9007199254740993", "18446744073709551615", "18446744073709551616"),
    *("0e99999999999999999999", "123456789012345678901234567890", "1e21", "1e-7", "0.1", "5e-324", "1E+2", "0.000001", "1e22"),
    *("1" + "0" * 4299, "1" + "0" * 4300, "0." + "3" * 5000, "1e" + "9" * 5000, "1e-" + "9" * 5000),
    *('""', '"x"', '"pass"', '"PASS"', '"allow"', '"1.0"', '"ed25519"', '"é"', '"\\u001b[31m"', '"\U0001f600"', '"\\ud83d\\ude00"'),
    *('"2026-02-30T00:00:00Z"', '"2024-02-29T23:59:59.123456789+00:00"', '"0000-01-01T00:00:00Z"', '"2026-02-19T00:46:00Z\\n"'),
    *(f'"{DIGEST}"', '"sha256:00"', f'"{DIGEST}\\n"', '"٣"', '"2٣26-02-19T00:46:00Z"'),
    *('"f47ac10b-58cc-4372-a567-0e02b2c3d479"', '"F47AC10B-58CC-4372-A567-0E02B2C3D479"', '"00000000-0000-0000-0000-000000000000"'),
    *("[]", "{}", "[{}]", '[{"name":"a","status":"pass"}]', '[{"code":"a","message":"b"}]', '{"":[]}', f'"{"ä" * 70}"'),
]
NAMES = [
    *(
        "",
        "x",
        "é",
        "\U0001f600",
        "\ufb33",
        "__proto__",
        "constructor",
        "__class__",
        "10",
        "9",
        "signature",
        "issuer_key",
        "metadata",
    ),
    *("task", "tests", "vrf_version", "receipt_type", "record_type", "entry_id", "decision_id", "chain_position"),
    *("previous_receipt", "note", "Verdict", "approval"),
]
# Changes of the text: what is replaced, and by what.
TEXTS = [
    *[('"tier":0', f'"tier":{other}') for other in ("-0", "00", "0.0", "NaN", "-", "-Infinity", "0_0", "٣", " 0 ", "0\f", "1e+")],
    *[(":0", f":{other}") for other in ("0x1", ".5", "1.", "1e", "+1", "-01", "1.e1", "0.")],
    *[("order", other) for other in ("\\ud800", "\\ud83d\\ud83d", "\\udc00", "\\u12", "\\x", "or\nder", "or\\/der", "\U0001f600")],
    *[
        ("order", other)
        for other in ("\\ud83d\\u", "\\ud83d\\u12", "\\ud83dx", "\\uD83D\\uDE00", "\\u+123", "\\u 123", "\x7f", "\x85")
    ],
    *[('{"', f"{other}") for other in ('\ufeff{"', '[{"', '{}{"', '{}\n{"', "{'", "{", '{,"', '{"":1,"', '{ \r\t"')],
    *[(",", other) for other in (" ,\n\t", ",,", ",]", ",}", ", ]", ";", "", "/**/,", "\x00")],
    *[
        (":", other)
        for other in ("\u00a0:", "\u200b:", "\u0301", "'", '"', "\\", ":\u2028", "::", "", "\ud7ff", "\U000e0001", "\u0b3e")
    ],
    *[("}", "}}"), ("}", ""), ("}", "]"), ("]", ",]"), ("]", "}"), ("]", ""), ('"tier"', '"verdict":"pass","tier"')],
    *[
        ("true", "tru"),
        ("true", "True"),
        ("true", "trueé"),
        ("null", "nul"),
        ("null", "nullable"),
        ("sha256", "sha\\u00325\\u0036"),
    ],
]

Dice = Callable[[int], int]


@dataclass(frozen=True)
class Key:
    secret: Ed25519PrivateKey
    raw: bytes
    id: str


def dice(seed: int) -> Dice:
    """Numbers that look random and are the same for the same seed."""
    state = seed & 0xFFFFFFFF

    def roll(sides: int) -> int:
        nonlocal state
        state = (state + 0x9E3779B9) & 0xFFFFFFFF
        bits = ((state ^ (state >> 16)) * 0x21F0AAAD) & 0xFFFFFFFF
        bits = ((bits ^ (bits >> 15)) * 0x735A2D97) & 0xFFFFFFFF
        return (bits ^ (bits >> 15)) % sides

    return roll


def known_keys() -> list[Key]:
    """The test keys of `vectors/`: seeds of 32 bytes 01, and of 32 bytes 02."""
    secrets = [Ed25519PrivateKey.from_private_bytes(bytes([seed]) * 32) for seed in (1, 2)]
    raws = [secret.public_key().public_bytes_raw() for secret in secrets]
    return [Key(secret, raw, signer_id(raw)) for secret, raw in zip(secrets, raws, strict=True)]


def sign(document: JsonObject, key: Key, more: dict[str, Any] | None = None) -> JsonObject:
    """The document as its issuer signs it, with what `more` changes in the member `signature`."""
    members = dict(more or {})
    profile, message, hashed = members.pop("profile", "vrf"), members.pop("message", None), members.pop("content_hash", None)
    document.pop("signature", None)
    digits = digest(canonical(document, profile).encode()).hex()
    claimed = hashed(digits) if hashed else digits
    signature = key.secret.sign((message(digits) if message else claimed).encode()).hex()
    due = {"algorithm": "ed25519", "signer_id": key.id, "content_hash": claimed, "signature": signature}
    document["signature"] = {**due, **members}
    return document


def unsigned_document(kind: int, id: str, metadata: dict[str, Any], issuer: str) -> JsonObject:
    """A document as Proofmark signs it; there are a few kinds."""
    build = [_receipt, _decision, _session_entry][kind]
    document = parse(json.dumps(build(id, metadata, issuer)))
    assert isinstance(document, dict)
    return document


def _receipt(id: str, metadata: dict[str, Any], issuer: str) -> dict[str, Any]:
    details = [
        {"name": "one", "status": "pass", "elapsed_ms": 2},
        {"name": "two", "status": "fail", "expected": "[1]", "actual": "[]"},
        {"name": "three", "status": "error", "message": "timed out", "input": None},
    ]
    return {
        "vrf_version": "1.0",
        "receipt_id": id,
        "verified_at": TIME,
        "tier": 0,
        "verdict": "partial",
        "task": {"task_id": "order-17", "description": 'trié, 並べ替え "quoted" \n'},
        "results": {"total": 3, "passed": 1, "failed": 1, "errors": 1, "details": details},
        "hashes": {"specification": DIGEST, "output": DIGEST},
        "metadata": {**metadata, "issuer_key": issuer},
    }


def _decision(id: str, metadata: dict[str, Any], issuer: str) -> dict[str, Any]:
    flags = {"downstream_allowed": True, "local_replan_recommended": False, "upstream_replan_required": False}
    routing = {"direction": "downstream", "target_hint": None, "return_to_node": None, "workflow_id": None, "node_id": None}
    resume = {"retry_this_node": False, "pass_receipt_upstream": False, "pass_new_upstream_context_on_retry": False}
    hashes = dict.fromkeys(("action_hash", "policy_hash", "facts_hash", "fingerprint"), DIGEST)
    binding = {**hashes, "engine": "e/1", "steps": 12, "denied_before": 0, "decided_at": TIME, "expires_at": TIME}
    return {
        "receipt_type": "verifiedx_decision_receipt",
        "decision_id": id,
        "outcome": "allow",
        "action_class": None,
        "safe_to_execute": True,
        "human_review_terminal": False,
        "must_not_retry_same_action": False,
        "reasons": [{"code": "order", "message": "b"}],
        "safe_next_steps": [],
        "viewer_guidance": ["order"],
        "what_would_change_this": [],
        "disposition": {"mode": "continue_downstream", **flags},
        "routing": routing,
        "resume_contract": {**resume, "resume_when": [], "conditions": []},
        "runtime_loopback": None,
        "metadata": metadata,
        "binding": {**binding, "separation": "none", "session": {"name": "order", "entries": 0}},
        "evidence": [{}],
        "issuer_key": issuer,
    }


def _session_entry(id: str, metadata: dict[str, Any], issuer: str) -> dict[str, Any]:
    return {
        "record_type": "proofmark_session_entry",
        "entry_id": id,
        "session": "order",
        "kind": "decided",
        "at": TIME,
        "tool": "mail",
        "allowed": True,
        "seen": [1, {"a": None}],
        "metadata": metadata,
        "issuer_key": issuer,
    }


def mutant(seed: int, number: int, keys: list[Key]) -> bytes:
    """The mutant of this number: bytes that may be a valid document."""
    roll = dice(seed + number * 7919)
    id = f"f47ac10b-58cc-4372-a567-{number:012}"
    metadata = {} if roll(2) else {"chain_position": roll(3)}
    document = unsigned_document([0, 0, 1, 1, 2][roll(5)], id, metadata, keys[0].id)
    sign(document, keys[0])
    for _ in range(roll(3)):
        change(document, roll)
    if roll(4) > 0:
        sign(document, keys[0 if roll(6) else 1], _signed(roll, keys[0]))
    return _bytes_changed(_replaced(to_text(document), roll).encode("utf-8", "surrogatepass"), roll)


def _signed(roll: Dice, key: Key) -> dict[str, Any]:
    """How a document is signed: mostly as it should be."""
    raw = base64.b64encode(key.raw).decode()
    respelt = [f"ed25519:{key.raw.hex()}", raw, f"{key.id}\n", key.id.replace("=", "")]
    rare = [
        (12, lambda: {"content_hash": lambda digits: f"sha256:{digits}"}),
        (20, lambda: {"message": lambda digits: f"sha256:{digits}"}),
        (20, lambda: {"algorithm": "Ed25519"}),
        (14, lambda: {"signer_id": respelt[roll(len(respelt))]}),
        (20, lambda: {NAMES[roll(len(NAMES))]: value(roll)}),
        (30, lambda: {"signature": "00" * 64}),
    ]
    return {name: member for sides, more in rare if roll(sides) == 0 for name, member in more().items()}


def change(at: Json, roll: Dice) -> None:
    """Changes one place, somewhere in the document."""
    if isinstance(at, list):
        _change_items(at, roll)
    elif isinstance(at, dict):
        _change_members(at, roll)


def _change_members(members: JsonObject, roll: Dice) -> None:
    if not members:
        members[NAMES[roll(len(NAMES))]] = _fresh(roll)
        return
    name = list(members)[roll(len(members))]
    inner, choice = members[name], roll(8)
    if choice < 3:
        del members[name]
    if choice == 1:
        members[NAMES[roll(len(NAMES))]] = _fresh(roll)
    elif choice == 2:
        members[name] = inner
    elif choice > 2 and isinstance(inner, (dict, list)):
        change(inner, roll)
    elif choice > 2:
        members[name] = inner + " " if isinstance(inner, str) and roll(3) == 0 else _fresh(roll)


def _change_items(items: list[Json], roll: Dice) -> None:
    at = roll(len(items) + 1)
    if at == len(items) or roll(4) == 0:
        items[at : at + roll(2)] = [_fresh(roll)]
    elif isinstance(items[at], (dict, list)):
        change(items[at], roll)
    else:
        items[at] = _fresh(roll)


def _fresh(roll: Dice) -> Json:
    # Around the deepest nesting that a reader accepts.
    if roll(40) == 0:
        return _nested(58 + roll(8))
    # An object large enough to have its names compared at its end.
    if roll(40) == 0:
        return {f"k{index}": None for index in range(14 + roll(6))}
    return value(roll)


def value(roll: Dice) -> Json:
    return parse(VALUES[roll(len(VALUES))])


def _nested(depth: int) -> Json:
    inner: Json = JsonNumber("1")
    for _ in range(depth):
        inner = [inner]
    return inner


def _replaced(text: str, roll: Dice) -> str:
    if roll(4) > 0:
        return text
    if roll(30) == 0:
        return " " * (1 << 20) + text
    if roll(8) == 0:
        return text[: roll(len(text))]
    if roll(8) == 0:
        return text.replace('"k1":', '"k13":')
    old, new = TEXTS[roll(len(TEXTS))]
    pieces = text.split(old)
    if len(pieces) == 1:
        return text
    at = roll(len(pieces) - 1) + 1
    return old.join(pieces[:at]) + new + old.join(pieces[at:])


def _bytes_changed(data: bytes, roll: Dice) -> bytes:
    """Rarely, bytes that no text has."""
    if roll(20) > 0:
        return data
    at = roll(len(data))
    other = [
        b"\x80",
        b"\xff",
        b"\xc0\xaf",
        b"\xe2\x82",
        b"\xed\xa0\x80",
        b"\xf4\x90\x80\x80",
        b"\xf0\x9f\x98",
        b"\0",
        b"\xef\xbb\xbf",
    ]
    return data[:at] + other[roll(len(other))] + data[at + roll(2) :]
