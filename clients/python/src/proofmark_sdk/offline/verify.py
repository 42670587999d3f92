"""The verification of one document: its format, then its hash in canonical form, then its signature."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from .canonical import PROFILES
from .decision import claims_decision, read_decision
from .head import read_head
from .json import Json, JsonObject, parse
from .number import Profile
from .passkey import check_passkey
from .receipt import Receipt, check_verdict, read_receipt
from .refused import Refused
from .session import claims_session
from .shown import check_shown
from .signature import RESPELT, unsigned, verify_document, verify_signature
from .signer import TrustedSigner
from .text import Source
from .trust import Signers, Trust

Kind: TypeAlias = Literal["receipt", "decision_receipt", "session_entry", "chain_head"]
Answer: TypeAlias = Literal["valid", "invalid", "undecidable"]

# Causes that another canonical form can explain.
_OF_THE_FORM = ("content_hash_mismatch", "number_not_exact", "number_not_finite", "integer_too_long")


@dataclass(frozen=True)
class Verification:
    """The verification of one document. The document counts if `answer` is `valid` and `trust` is `trusted`."""

    kind: Kind
    """What the document says it is."""
    answer: Answer
    """`valid` only if it is exactly what its signer signed, `invalid` if it is not, `undecidable` if it cannot be checked."""
    trust: Trust
    """`trusted` only if it is valid and its signer is one of `trusted`."""
    signer: str | None
    """The signer's id, when valid."""
    cause: str | None
    """A stable code (docs/receipts.md), unless valid."""
    message: str | None
    """The cause, for people."""
    help: str | None
    """What to do about it."""
    would_verify_under: Profile | None
    """Another canonical form that explains the failure. The document is not valid."""
    document: Json
    """What was read, whatever the answer; None if it is not JSON."""


def verify(source: Source, *, trusted: Iterable[TrustedSigner] | None = None, profile: Profile = "vrf") -> Verification:
    """Verifies a receipt, a decision receipt or an entry of a session, whichever the document says it is.

    `source` is the document as received: prefer bytes to text. `trusted` are the signers whom you trust; without any, `trust` is
    `unknown`. `profile` is the canonical form that the issuer hashes. Raises `ValueError` or `TypeError` if an argument is
    not valid, and nothing because of the document.
    """
    if profile not in PROFILES:
        raise ValueError(f"unknown profile: write one of {', '.join(PROFILES)}")
    signers = Signers(trusted)
    try:
        document = parse(source)
    except Refused as refused:
        return _refused_because("receipt", refused, None)
    if isinstance(document, dict) and claims_decision(document):
        decision = document
        return _judged("decision_receipt", document, signers, lambda: _verify_decision(decision))
    if isinstance(document, dict) and claims_session(document):
        entry = document
        return _judged("session_entry", document, signers, lambda: (verify_document(entry), entry.get("at")))
    verification = _judged("receipt", document, signers, lambda: _verify_receipt(document, profile))
    return replace(verification, would_verify_under=_hint(verification, profile))


def verify_head(source: Source, *, trusted: Iterable[TrustedSigner] | None = None) -> Verification:
    """Verifies a signed chain head. Whether a chain ends there is `verify_chain`."""
    signers = Signers(trusted)
    try:
        document = parse(source)
    except Refused as refused:
        return _refused_because("chain_head", refused, None)
    return _judged("chain_head", document, signers, lambda: _verify_head(document))


_Signed: TypeAlias = "tuple[str, Json]"
"""The signer of a document, and its date."""


def _verify_decision(document: JsonObject) -> _Signed:
    signer = verify_document(document)
    # The signature first: a document that its signer did not sign is invalid, whatever its format.
    read_decision(document)
    binding = document["binding"]
    return signer, binding["decided_at"] if isinstance(binding, dict) else None


def _verify_receipt(document: Json, profile: Profile) -> _Signed:
    receipt = read_receipt(document)
    signer = _verify_signature(receipt, profile)
    # An approval that names a passkey is what it says only if the passkey has signed it, too.
    check_passkey(receipt.document)
    check_shown(receipt.document)
    return signer, receipt.document["verified_at"]


def _verify_head(document: Json) -> _Signed:
    head = read_head(document)
    signer = verify_signature(head.document, head.signature, head.document.get("issuer_key"), "vrf")
    return signer, head.document["signed_at"]


def _verify_signature(receipt: Receipt, profile: Profile) -> str:
    document, signature = receipt.document, receipt.signature
    if signature is None:
        raise unsigned()
    metadata = document.get("metadata")
    # A receipt need not name its signer in its signed content.
    default = signature.signer_id
    issuer_key = metadata.get("issuer_key", default) if isinstance(metadata, dict) else default
    signer = verify_signature(document, signature, issuer_key, profile)
    # The signature first: a receipt whose verdict was changed is not what its signer signed.
    check_verdict(document)
    return signer


def _judged(kind: Kind, document: Json, signers: Signers, check: Callable[[], _Signed]) -> Verification:
    try:
        signer, dated = check()
    except Refused as refused:
        return _refused_because(kind, refused, document)
    return Verification(
        kind=kind,
        answer="valid",
        trust=signers.trust(signer, dated),
        signer=signer,
        cause=None,
        message=None,
        help=None,
        would_verify_under=None,
        document=document,
    )


def _refused_because(kind: Kind, refused: Refused, document: Json) -> Verification:
    return Verification(
        kind=kind,
        answer=refused.answer,
        # Anyone can name a trusted signer in a document that is not valid.
        trust="unknown",
        signer=None,
        cause=refused.code,
        message=refused.message,
        help=refused.help,
        would_verify_under=None,
        document=document,
    )


def _hint(verification: Verification, asked: Profile) -> Profile | None:
    """Another profile under which the receipt would verify. It explains the failure and never makes the receipt valid."""
    cause, message = verification.cause, verification.message or ""
    if cause not in _OF_THE_FORM and not (cause == "invalid_signer_id" and message.startswith(RESPELT)):
        return None
    receipt = read_receipt(verification.document)
    return next((profile for profile in PROFILES if profile != asked and _verifies(receipt, profile)), None)


def _verifies(receipt: Receipt, profile: Profile) -> bool:
    try:
        _verify_signature(receipt, profile)
    except Refused:
        return False
    return True
