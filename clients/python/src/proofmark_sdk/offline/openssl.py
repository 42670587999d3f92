"""Signatures by `cryptography`. They are as strict as OpenSSL is: `ed25519` is what refuses more."""

from __future__ import annotations

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ec import ECDSA, SECP256R1, EllipticCurvePublicKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA256

from .ed25519 import ELSEWHERE
from .refused import Refused


def verify_ed25519(key: bytes, message: bytes, signature: bytes) -> bool:
    try:
        Ed25519PublicKey.from_public_bytes(key).verify(signature, message)
    except UnsupportedAlgorithm as error:
        raise _cannot_check("Ed25519") from error
    except (InvalidSignature, ValueError):
        return False
    return True


def verify_p256(key: bytes, message: bytes, signature: bytes) -> bool:
    """`key` is x and y, `signature` is r and s."""
    r, s = int.from_bytes(signature[:32], "big"), int.from_bytes(signature[32:], "big")
    try:
        point = EllipticCurvePublicKey.from_encoded_point(SECP256R1(), b"\x04" + key)
        point.verify(encode_dss_signature(r, s), message, ECDSA(SHA256()))
    except UnsupportedAlgorithm as error:
        raise _cannot_check("ECDSA over P-256") from error
    except (InvalidSignature, ValueError):
        # It is not the signature; or the key is not a point of the curve, or encodes one otherwise than with its coordinates.
        return False
    return True


def _cannot_check(algorithm: str) -> Refused:
    message = f"the OpenSSL of this Python cannot check {algorithm} signatures"
    return Refused("cannot_check_here", message, help=f"install `cryptography` from its wheel, {ELSEWHERE}")
