"""Whose signatures count."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, TypeAlias

from .json import Json
from .members import unix_millis
from .refused import Refused
from .signer import EndingSigner, TrustedSigner, signer_id, signer_key

Trust: TypeAlias = Literal["trusted", "untrusted", "unknown"]


class Signers:
    """The signers whom the caller trusts. Raises `ValueError` when one of them is not a signer."""

    def __init__(self, trusted: Iterable[TrustedSigner] | None) -> None:
        if isinstance(trusted, (str, EndingSigner)):
            raise TypeError("`trusted` is a list of signers, not one signer")
        self._ends = [_read(signer) for signer in trusted or ()]

    def ids(self, dated: Json) -> list[str]:
        """Those who count for a document of this date: without a date, those whose key does not end."""
        millis = unix_millis(dated) if isinstance(dated, str) else None
        return [id for id, until in self._ends if until is None or (millis is not None and millis < until)]

    def trust(self, signer: str, dated: Json) -> Trust:
        """The trust in the signer of a valid document of this date."""
        if not self._ends:
            return "unknown"
        return "trusted" if signer in self.ids(dated) else "untrusted"


def _read(signer: TrustedSigner) -> tuple[str, int | None]:
    """The id in its one spelling, and the end of the key."""
    text, until = (signer.id, signer.until) if isinstance(signer, EndingSigner) else (signer, None)
    if not isinstance(text, str):
        raise TypeError(f"`trusted`: a signer is str or EndingSigner, not {type(text).__name__}")
    try:
        return signer_id(signer_key(text)), until
    except Refused as error:
        # A key that is left out would make a refusal of what somebody wanted to trust, or of nothing.
        raise ValueError(f"`trusted`: {error.message}") from None
