"""Cases of which each says what is due. Each suite returns what was wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from proofmark_sdk.offline import EndingSigner, Refused, Verification, canonical, parse, read_signers, verify, verify_head
from proofmark_sdk.offline.chain import Chain
from proofmark_sdk.offline.ed25519 import verify_strictly
from proofmark_sdk.offline.head import read_head
from proofmark_sdk.offline.signer import signer_id, signer_key

# What makes a signature of C2SP/CCTV one that a strict verifier refuses.
NOT_STRICT = {"low_order_A", "low_order_R", "low_order_residue", "non_canonical_A", "non_canonical_R", "reencoded_k"}


def vectors(file: str, cases: list[dict[str, Any]]) -> list[str]:
    """The cases of a file of `vectors/` that are not answered as they should be."""
    if file not in VECTORS or not cases:
        return [f"{file} is not known, or has no cases"]
    found = [(one, VECTORS[file](one)) for one in cases]
    return [f"{file} {one['name']}: {said} where {one['expect']} is due" for one, said in found if said != one["expect"]]


def signatures(wycheproof: Any, cctv: Any, speccheck: Any) -> tuple[int, list[str]]:
    """How many outside signatures there are, and those that are judged otherwise than strictly."""
    tests = [(group["publicKey"]["pk"], test) for group in wycheproof["testGroups"] for test in group["tests"]]
    cases = [
        *((key, bytes.fromhex(test["msg"]), test["sig"], test["result"] == "valid") for key, test in tests),
        *((one["key"], one["msg"].encode(), one["sig"], not NOT_STRICT & set(one.get("flags") or ())) for one in cctv),
        # Only number 3, of mixed order and without a cofactor, verifies strictly (Chalkias et al., 2020, table 5).
        *((one["pub_key"], bytes.fromhex(one["message"]), one["signature"], at == 3) for at, one in enumerate(speccheck)),
    ]
    wrong = [
        f"{key} {signature}: {not due}"
        for key, message, signature, due in cases
        if verify_strictly(bytes.fromhex(key), message, bytes.fromhex(signature)) != due
    ]
    return len(cases), wrong


def as_printed(found: Verification) -> dict[str, str]:
    """A verification with the members that the binary prints."""
    printed = {
        "document": found.kind,
        "answer": found.answer,
        "trust": found.trust,
        "cause": found.cause,
        "message": found.message,
        "help": found.help,
        "signer_id": found.signer,
        "would_verify_under": found.would_verify_under,
    }
    return {name: value for name, value in printed.items() if value is not None}


def attempt(read: Callable[[], Any]) -> tuple[Any, str | None]:
    """What is read, and the code of why it is refused."""
    try:
        return read(), None
    except Refused as error:
        return None, error.code


def bytes_of(one: dict[str, Any], text: str, digits: str) -> bytes:
    data = bytes.fromhex(one[digits]) if digits in one else (one[text] + one.get("then", "") * one.get("times", 0)).encode()
    return b" " * one.get("spaces_before", 0) + data


def _json(one: dict[str, Any]) -> str | None:
    read, code = attempt(lambda: parse(bytes_of(one, "text", "hex")))
    if code:
        return code
    for profile, due in one["canonical"].items():
        text, refused = attempt(lambda profile=profile: canonical(read, profile))
        if (refused or text) != (due["error"] if isinstance(due, dict) else due):
            return f"{refused or text} under {profile}"
    return "ok"


def _receipt(one: dict[str, Any]) -> str:
    return _told(one, verify(bytes_of(one, "receipt", "receipt_hex"), **_options(one)))


def _document(one: dict[str, Any]) -> str:
    found = verify(one["document"], **_options(one))
    return _told(one, found) if found.kind == one["kind"] else f"kind {found.kind}"


def _head(one: dict[str, Any]) -> str:
    return _told(one, verify_head(bytes_of(one, "head", "head_hex"), trusted=one.get("trusted")))


def _chain(one: dict[str, Any]) -> str:
    links = Chain()
    for text in one.get("receipts") or one.get("documents") or ():
        links.add(parse(text))
    trusted = [signer_id(signer_key(key)) for key in one.get("trusted", ())]
    broken = links.finish(read_head(parse(one["head"])) if "head" in one else None, trusted)
    stated = ",".join(f"{loss.position}:{loss.lost.position}" for loss in links.losses)
    if stated != one.get("losses", ""):
        return f"losses {stated}"
    return "ok" if broken is None else broken.code


def _signer(one: dict[str, Any]) -> str:
    key, code = attempt(lambda: signer_key(one["text"]).hex())
    return code or ("ok" if key == one["key"] else key)


def _key_file(one: dict[str, Any]) -> str:
    signers = read_signers(one["text"])
    read = [
        {"key": signer_key(found.id).hex(), "until": found.until}
        if isinstance(found, EndingSigner)
        else {"key": signer_key(found).hex()}
        for found in signers
    ]
    if read != one.get("signers", []):
        return repr(read)
    if "document" in one:
        found = verify(one["document"], trusted=signers)
        if (found.answer, found.trust) != ("valid", one["trust"]):
            return f"{found.answer}, {found.trust}"
    return "ok" if signers else "no_key"


VECTORS = {
    "json.json": _json,
    "receipt.json": _receipt,
    "chain.json": _chain,
    "linked.json": _chain,
    "head.json": _head,
    "decision.json": _document,
    "passkey.json": _document,
    "signer.json": _signer,
    "keyfile.json": _key_file,
}


def _told(one: dict[str, Any], found: Verification) -> str:
    """The cause, or `valid`; or what else is not as the case says."""
    is_valid = one["answer"] == "valid"
    if one["answer"] != found.answer:
        return f"{found.answer}, {found.cause}"
    if one.get("trust", found.trust) != found.trust:
        return f"trust {found.trust}"
    if one.get("hint") != found.would_verify_under:
        return f"hint {found.would_verify_under}"
    if (found.signer is not None) != is_valid:
        return f"signer {found.signer}"
    if (found.message is None) != is_valid:
        return f"message {found.message}"
    return found.cause or "valid"


def _options(one: dict[str, Any]) -> dict[str, Any]:
    return {"trusted": one.get("trusted"), "profile": one.get("profile", "vrf")}
