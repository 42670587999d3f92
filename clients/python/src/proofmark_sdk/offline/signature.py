"""Signatures of documents."""

from __future__ import annotations

from .canonical import canonical, check_numbers
from .ed25519 import sha256, verify_strictly
from .json import Json, JsonObject
from .members import Members
from .number import Profile
from .receipt import Signature, read_signature
from .refused import Refused
from .signer import signer_id, signer_key
from .text import shown, unhex, utf8

RESPELT = "`signature.signer_id` is not in the one spelling"
"""How the message begins of a signer id that another profile may take."""


def verify_signature(document: JsonObject, signature: Signature, issuer_key: Json, profile: Profile) -> str:
    """Verifies the signature of a document that holds it, and gives the signer's id:

    1. `content_hash` = hex(SHA-256(canonical(document without `signature`)));
    2. Ed25519-verify-strict(`signer_id`, ASCII(`content_hash`), `signature`);
    3. `issuer_key` = `signer_id`: it is signed, and `signer_id` is not.
    """
    if signature.algorithm != "ed25519":
        message = f"`signature.algorithm` is `{shown(signature.algorithm)}`, expected `ed25519`"
        raise Refused("unknown_algorithm", message)
    key = _signer(signature.signer_id, profile)
    claimed = signature.content_hash.removeprefix("sha256:")
    if unhex(claimed, 32) is None:
        raise Refused("invalid_content_hash", "`signature.content_hash` is not 64 lower-case hex digits")
    signed = unhex(signature.signature, 64)
    if signed is None:
        raise Refused("invalid_signature", "`signature.signature` is not 128 lower-case hex digits")
    # A number that two readers understand differently may stand for two values under one hash.
    check_numbers(document, profile)
    if sha256(canonical(document, profile, "signature")) != f"sha256:{claimed}":
        raise _invalid(
            "content_hash_mismatch",
            "the content does not match `signature.content_hash`: "
            "it was changed after signing, or hashed in another canonical form",
        )
    # The text as written: an issuer who begins it with `sha256:` has signed that, too.
    if not verify_strictly(key, utf8(signature.content_hash), signed):
        message = "the signature is not that of `signature.signer_id` over `signature.content_hash`"
        raise _invalid("signature_mismatch", message)
    # The same text, not the same key: a key has several spellings, of which the issuer has signed one.
    if issuer_key != signature.signer_id:
        raise _invalid(
            "issuer_key_mismatch",
            "the signed `issuer_key` is not the same text as `signature.signer_id`: "
            "another key signed the same content, or the key was respelled",
        )
    return signer_id(key)


def verify_document(document: JsonObject) -> str:
    """Verifies a document of another format than VRF, which must name its signer in `issuer_key`, at the top."""
    if "signature" not in document:
        raise unsigned()
    signature = read_signature(Members(document).object("signature"))
    return verify_signature(document, signature, document.get("issuer_key"), "vrf")


def unsigned() -> Refused:
    return Refused("unsigned", "no `signature`: an unsigned claim")


def _signer(text: str, profile: Profile) -> bytes:
    """The key that `signer_id` names.

    `signer_id` is not signed, so under the profile `vrf` it has one spelling: otherwise anyone could respell it in a receipt that
    stays valid, and change the receipt's hash.
    """
    try:
        key = signer_key(text)
    except Refused as error:
        raise Refused(error.code, f"`signature.signer_id`: {error.message}", help=error.help) from None
    if profile == "vrf" and signer_id(key) != text:
        raise Refused(
            "invalid_signer_id",
            f"{RESPELT} of profile `vrf`, base64 of the key's SubjectPublicKeyInfo: "
            "the receipt is of another issuer, or the key was respelled",
        )
    return key


def _invalid(code: str, message: str) -> Refused:
    return Refused(code, message, answer="invalid")
