"""Entries of guarded sessions."""

from __future__ import annotations

from .decision import claims_decision
from .json import JsonObject
from .members import receipt_id

_RECORD_TYPE = "proofmark_session_entry"


def claims_session(document: JsonObject) -> bool:
    """Whether a document says that it is an entry of a guarded session."""
    says_so = document.get("record_type") == _RECORD_TYPE
    return says_so and "vrf_version" not in document and not claims_decision(document)


def session_entry_id(document: JsonObject) -> str | None:
    """The id of an entry in lower case; None for a document that is not an entry."""
    id = document.get("entry_id")
    return receipt_id(id) if claims_session(document) and isinstance(id, str) else None
