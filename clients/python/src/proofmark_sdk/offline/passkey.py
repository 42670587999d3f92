"""The passkey that has signed an approval (WebAuthn Level 3, section 7.2)."""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass

from .canonical import canonical
from .ed25519 import digest, verify_p256, verify_strictly
from .json import Json, JsonObject, parse
from .refused import Refused
from .text import unhex, utf8

_MAX_CREDENTIAL = 2046
_MAX_CLIENT_DATA = 4096
_MAX_HOST = 253
_DATA_BYTES = 37
# Flags of the authenticator (WebAuthn Level 3, section 6.1): the user is present and verified; more data follows.
_USER_VERIFIED = 0x05
_MORE_DATA = 0xC0
_LABEL = r"[0-9a-z](?:[0-9a-z-]*[0-9a-z])?"
_ORIGIN = re.compile(rf"(https?)://({_LABEL}(?:\.{_LABEL})*)(?::([1-9][0-9]{{0,4}}))?")
_NUMERIC_HOST = re.compile(r"(?:^|\.)[0-9]+\Z")
# Why an assertion does not count.
_MALFORMED = "it is not complete, or longer than it may be"
_CLIENT_DATA = "its client data is not what a browser writes for an approval"
_CHALLENGE = "it is over something else than this approval"
_OTHER_ORIGIN = "it was made on a page of another origin"
_RELYING_PARTY = "it is for another relying party"
_USER = "the authenticator has not verified the user"
_SIGNATURE = "its signature is not that of the passkey"


@dataclass(frozen=True)
class _Assertion:
    key: bytes
    host: str
    origin: str
    data: bytes
    client_data: str
    signature: bytes


def check_passkey(receipt: JsonObject) -> None:
    """Checks that the passkey that an approval names has signed exactly this approval.

    A receipt that names none is not looked at. The format of the receipt was checked before.
    """
    approval = _object(_object(receipt.get("metadata")).get("approval"))
    if "passkey" not in approval:
        return
    assertion = _read_assertion(_object(approval["passkey"]))
    if assertion is None:
        raise _refused(_MALFORMED)
    _check_client_data(assertion.client_data, _challenge_of(receipt, approval), assertion.origin)
    relying_party, flags = assertion.data[:32], assertion.data[32]
    if relying_party != digest(utf8(assertion.host)):
        raise _refused(_RELYING_PARTY)
    if flags & _USER_VERIFIED != _USER_VERIFIED:
        raise _refused(_USER)
    if flags & _MORE_DATA:
        raise _refused(_MALFORMED)
    verify = verify_p256 if len(assertion.key) == 64 else verify_strictly
    if not verify(assertion.key, assertion.data + digest(utf8(assertion.client_data)), assertion.signature):
        raise _refused(_SIGNATURE)


def _read_assertion(kept: JsonObject) -> _Assertion | None:
    texts = [kept.get(name) for name in ("key", "credential", "client_data", "authenticator_data", "signature")]
    passkey, credential, client_data, data_digits, signature_digits = (text if isinstance(text, str) else None for text in texts)
    data, signature = unhex(data_digits or "", _DATA_BYTES), unhex(signature_digits or "", 64)
    if passkey is None or credential is None or client_data is None or data is None or signature is None:
        return None
    if len(utf8(credential)) > _MAX_CREDENTIAL or len(utf8(client_data)) > _MAX_CLIENT_DATA:
        return None
    written, at, origin = passkey.partition("@")
    key, host = _read_key(written), _host_of(origin)
    if not at or key is None or host is None:
        return None
    return _Assertion(key, host, origin, data, client_data, signature)


def _read_key(text: str) -> bytes | None:
    """The key of `es256:` and x and y, or of `eddsa:` and the key, in hex."""
    if text.startswith("es256:"):
        return unhex(text[6:], 64)
    return unhex(text[6:], 32) if text.startswith("eddsa:") else None


def _host_of(origin: str) -> str | None:
    """The host of an origin as browsers write it, to which they bind passkeys; None if it is not one."""
    found = _ORIGIN.fullmatch(origin)
    if not found:
        return None
    scheme, host, port = found[1], found[2], found[3]
    is_secure = scheme == "https" or host == "localhost"
    is_port = port is None or (int(port) <= 65535 and port != ("443" if scheme == "https" else "80"))
    return host if is_secure and is_port and len(host) <= _MAX_HOST and not _NUMERIC_HOST.search(host) else None


def _challenge_of(receipt: JsonObject, approval: JsonObject) -> str:
    """What the passkey signs, in base64url."""
    statement: JsonObject = {name: receipt.get(name) for name in ("receipt_id", "verified_at", "hashes")}
    statement["approval"] = {name: value for name, value in approval.items() if name != "passkey"}
    return base64.urlsafe_b64encode(digest(utf8(canonical(statement)))).decode().rstrip("=")


def _check_client_data(text: str, challenge: str, origin: str) -> None:
    try:
        client_data = _object(parse(text))
    except Refused:
        client_data = {}
    is_framed = "topOrigin" in client_data or client_data.get("crossOrigin", False) is not False
    if client_data.get("type") != "webauthn.get" or is_framed:
        raise _refused(_CLIENT_DATA)
    if client_data.get("challenge") != challenge:
        raise _refused(_CHALLENGE)
    if client_data.get("origin") != origin:
        raise _refused(_OTHER_ORIGIN)


def _object(value: Json) -> JsonObject:
    """The object; empty for what is none."""
    return value if isinstance(value, dict) else {}


def _refused(why: str) -> Refused:
    return Refused("passkey_mismatch", f"the passkey that the approval names has not signed it: {why}", answer="invalid")
