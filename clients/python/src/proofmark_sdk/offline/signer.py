"""Signers: Ed25519 public keys, and the texts that name them."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TypeAlias

from .ed25519 import sha256
from .json import Json, JsonObject, parse
from .number import JsonNumber
from .refused import Refused
from .text import shown, to_base64, unbase64, unhex

OPENSSH = "ssh-ed25519 "
"""How OpenSSH's public Ed25519 keys begin."""

# The DER of a SubjectPublicKeyInfo before an Ed25519 key's 32 bytes (RFC 8410, section 4).
_SPKI_PREFIX = bytes.fromhex("302a300506032b6570032100")
# The multicodec of Ed25519 public keys, as `did:key` prefixes it.
_DID_KEY_PREFIX = b"\xed\x01"
# What OpenSSH writes before a key's 32 bytes: two lengths and the name of the algorithm.
_OPENSSH_PREFIX = b"\0\0\0\x0bssh-ed25519\0\0\0\x20"
_BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
# An encoding of 34 bytes has at most 47 characters; longer ones would only cost time.
_MAX_DID = 48
_PEM_BEGIN = "-----BEGIN PUBLIC KEY-----"
_PEM_END = "-----END PUBLIC KEY-----"
# White space of Unicode, which is not what `str.strip` takes.
_SPACE = "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
_SPACES = re.compile(f"[{_SPACE}]+")
_JWK_KEY = re.compile(r"[A-Za-z0-9_-]{43}")
# The end of a key is before the year 10000, in milliseconds since 1970.
_MAX_END_MILLIS = 253_402_300_799_999


@dataclass(frozen=True)
class EndingSigner:
    """A signer whose key ends: what is dated at its end or later is not trusted."""

    id: str
    until: int
    """The end, in milliseconds since 1970."""


TrustedSigner: TypeAlias = "str | EndingSigner"
"""A signer's id, in any spelling; or a signer whose key ends."""


def signer_key(text: str) -> bytes:
    """The 32 bytes of a public key in any of its spellings.

    These are base64 of its SubjectPublicKeyInfo or of its 32 bytes, `ed25519:` and 64 hex digits, or `did:key:z6Mk…`.
    """
    if text.startswith("ed25519:"):
        key = unhex(text[8:], 32)
    elif text.startswith("did:key:z"):
        key = _after(_DID_KEY_PREFIX, _base58(text[9:]))
    else:
        key = _after(_SPKI_PREFIX, unbase64(text)) or _after(b"", unbase64(text))
    if key is not None:
        return key
    # A private key given by mistake must not reach a message or a log.
    named = "a private key" if "PRIVATE KEY" in text else shown(text)
    help = "write its SubjectPublicKeyInfo in base64, as `proofmark key show` prints it"
    raise Refused("invalid_signer_id", f"`{named}` is not an Ed25519 public key", help=help)


def signer_id(key: bytes) -> str:
    """The one spelling of a key under profile `vrf`: base64 of its SubjectPublicKeyInfo."""
    return to_base64(_SPKI_PREFIX + key)


def fingerprint(signer: TrustedSigner) -> str:
    """What people compare: the SHA-256 of a key's SubjectPublicKeyInfo, as `proofmark key show` prints it.

    Raises `Refused` when it is not an Ed25519 public key.
    """
    return sha256(_SPKI_PREFIX + signer_key(signer.id if isinstance(signer, EndingSigner) else signer))


def read_signers(text: str) -> list[TrustedSigner]:
    """The signers that a public key file names: PEM, an OpenSSH public key, a JWK, a JWK set, or a signer id.

    Empty when it names none. A JWK with the member `exp` is an `EndingSigner`.
    """
    content = text.strip(_SPACE)
    if content.startswith("-----BEGIN"):
        return _ids(_from_pem(content))
    if content.startswith(OPENSSH):
        return _ids(_from_openssh(content))
    try:
        json = parse(content)
    except Refused:
        return _ids(_from_text(content))
    if not isinstance(json, dict):
        return []
    keys = json.get("keys")
    # A set may hold keys of other kinds; those sign no receipts.
    jwks = keys if isinstance(keys, list) else [json]
    signers = (_from_jwk(jwk) for jwk in jwks if isinstance(jwk, dict))
    return [signer for signer in signers if signer is not None]


def _ids(key: bytes | None) -> list[TrustedSigner]:
    return [] if key is None else [signer_id(key)]


def _from_text(content: str) -> bytes | None:
    try:
        return signer_key(content)
    except Refused:
        return None


def _from_pem(content: str) -> bytes | None:
    if not content.startswith(_PEM_BEGIN) or not content.endswith(_PEM_END):
        return None
    return _after(_SPKI_PREFIX, unbase64(_SPACES.sub("", content[len(_PEM_BEGIN) : -len(_PEM_END)])))


def _from_openssh(content: str) -> bytes | None:
    return _after(_OPENSSH_PREFIX, unbase64(content.split(" ")[1]))


def _from_jwk(jwk: JsonObject) -> TrustedSigner | None:
    """RFC 8037, section 2. Its end is `exp`, as OpenID Federation 1.0 has it for keys of the past."""
    x = jwk.get("x")
    if jwk.get("kty") != "OKP" or jwk.get("crv") != "Ed25519" or not isinstance(x, str) or not _JWK_KEY.fullmatch(x):
        return None
    key = _after(b"", unbase64(x.replace("-", "+").replace("_", "/") + "="))
    if key is None or "exp" not in jwk:
        return None if key is None else signer_id(key)
    until = _end(jwk["exp"])
    # A key whose end cannot be read is not taken for one without an end.
    return None if until is None else EndingSigner(signer_id(key), until)


def _end(exp: Json) -> int | None:
    """The end of a key, from seconds since 1970."""
    millis = float(exp.text) * 1000 if isinstance(exp, JsonNumber) else math.inf
    if not -0.5 < millis < _MAX_END_MILLIS - 0.5:
        return None
    return math.floor(abs(millis) + 0.5)


def _after(prefix: bytes, data: bytes | None) -> bytes | None:
    """The 32 bytes behind a prefix; None when there are others."""
    if data is None or len(data) != len(prefix) + 32 or not data.startswith(prefix):
        return None
    return data[len(prefix) :]


def _base58(text: str) -> bytes | None:
    if len(text) > _MAX_DID:
        return None
    value = 0
    for char in text:
        digit = _BASE58.find(char)
        if digit < 0:
            return None
        value = value * 58 + digit
    zeros = len(text) - len(text.lstrip("1"))
    return bytes(zeros) + value.to_bytes((value.bit_length() + 7) // 8, "big")
