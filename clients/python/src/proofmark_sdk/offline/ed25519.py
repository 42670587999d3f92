"""SHA-256, strict Ed25519 and ECDSA over P-256, by `cryptography`.

OpenSSL alone is not strict: verifiers differ on keys and commitments of small order and on encodings that are not canonical.
These are refused first, so that every verifier gives the same answer.
"""

from __future__ import annotations

import functools
import hashlib

from .refused import Refused
from .text import utf8

_PRIME = 2**255 - 19
_ORDER = 2**252 + 27742317777372353535851937790883648493
# The y-coordinate of a point of order 8: a root of d·y⁴ + 2·y² = 1.
_ORDER_8 = 0x05FC536D880238B13933C6D305ACDFD5F098EFF289F4C345B027B2C28F95E826
# The y-coordinates of the eight points whose order divides 8.
_SMALL_ORDER = frozenset((0, 1, _PRIME - 1, _ORDER_8, _PRIME - _ORDER_8))
# RFC 8032, section 7.1, test 2.
_KNOWN_KEY = bytes.fromhex("3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c")
_KNOWN_SIGNATURE = bytes.fromhex(
    "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
    "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00"
)

ELSEWHERE = "or run `proofmark receipt verify`"
"""What to do where signatures cannot be checked, beside what would let them be checked."""


def sha256(data: str | bytes) -> str:
    """The digest of some bytes or of a text's UTF-8: `sha256:` and 64 lower-case hex digits."""
    return f"sha256:{digest(utf8(data) if isinstance(data, str) else data).hex()}"


def digest(data: bytes) -> bytes:
    """The SHA-256 of some bytes."""
    return hashlib.sha256(data).digest()


def verify_strictly(key: bytes, message: bytes, signature: bytes) -> bool:
    """Ed25519-verify-strict(`key`, `message`, `signature`): no point of small order, no encoding that is not canonical.

    Raises `Refused` with `cannot_check_here` where OpenSSL has no Ed25519.
    """
    _check_openssl()
    if len(key) != 32 or len(signature) != 64:
        return False
    if not (_is_of_large_order(key) and _is_of_large_order(signature[:32])):
        return False
    if int.from_bytes(signature[32:], "little") >= _ORDER:
        return False
    return _verify_by_openssl(key, message, signature)


def verify_p256(key: bytes, message: bytes, signature: bytes) -> bool:
    """ECDSA-verify over P-256 with SHA-256. `key` is x and y, `signature` is r and s, each of 32 bytes."""
    if len(key) != 64 or len(signature) != 64:
        return False
    try:
        from .openssl import verify_p256 as verify_by_openssl
    except ImportError as error:
        raise _without_package(error) from error
    return verify_by_openssl(key, message, signature)


def _is_of_large_order(encoded: bytes) -> bool:
    """Whether this encodes canonically the y of a point whose order does not divide 8; whether there is such a point is not
    looked at."""
    # The highest bit is the sign of x.
    y = int.from_bytes(encoded, "little") & (2**255 - 1)
    return y < _PRIME and y not in _SMALL_ORDER


def _verify_by_openssl(key: bytes, message: bytes, signature: bytes) -> bool:
    # Without the package, documents can be read, and signatures decide nothing.
    try:
        from .openssl import verify_ed25519
    except ImportError as error:
        raise _without_package(error) from error
    return verify_ed25519(key, message, signature)


@functools.cache
def _check_openssl() -> None:
    """Tries OpenSSL once on a known signature: what cannot tell it from a changed one decides nothing here."""
    good = _verify_by_openssl(_KNOWN_KEY, b"\x72", _KNOWN_SIGNATURE)
    if not good or _verify_by_openssl(_KNOWN_KEY, b"\x73", _KNOWN_SIGNATURE):
        message = "the OpenSSL of this Python cannot tell Ed25519 signatures from others"
        raise Refused("cannot_check_here", message, help=f"install `cryptography` from its wheel, {ELSEWHERE}")


def _without_package(error: ImportError) -> Refused:
    message = f"signatures cannot be checked without the package `cryptography`: {error}"
    return Refused("cannot_check_here", message, help=f"run `pip install proofmark-sdk[verify]`, {ELSEWHERE}")
