"""The format of decision receipts. What they say about continuing is derived from one disposition."""

from __future__ import annotations

from collections.abc import Callable

from .json import Json, JsonObject
from .members import is_digest, receipt_id, unix_millis
from .number import JsonNumber
from .refused import Refused

_RECEIPT_TYPE = "verifiedx_decision_receipt"
# Outcome, `disposition.mode` and `routing.direction` of each disposition.
_DISPOSITIONS = (
    ("allow", "continue_downstream", "downstream"),
    ("allow_with_warning", "continue_downstream", "downstream"),
    ("replan_required", "local_replan", "local"),
    ("replan_required", "upstream_replan", "upstream"),
    ("replan_required", "human_review", "human"),
    ("goal_fail_terminal", "terminal_block", "stop"),
)
# The values of `binding.separation`.
_SEPARATIONS = ("none", "account", "host")


def _every(value: Json, holds: Callable[[Json], bool]) -> bool:
    return isinstance(value, list) and all(holds(item) for item in value)


def _is_text(value: Json) -> bool:
    return isinstance(value, str)


def _is_count(value: Json) -> bool:
    # Larger integers are not the same number for every reader of JSON.
    return isinstance(value, JsonNumber) and value.is_safe and value.count is not None


def _is_hash(value: Json) -> bool:
    return isinstance(value, str) and is_digest(value)


def _is_coded(value: Json) -> bool:
    return isinstance(value, dict) and isinstance(value.get("code"), str) and isinstance(value.get("message"), str)


_TYPES: dict[str, Callable[[Json], bool]] = {
    "text": _is_text,
    "text_or_null": lambda value: value is None or isinstance(value, str),
    "flag": lambda value: isinstance(value, bool),
    "count": _is_count,
    "id": lambda value: isinstance(value, str) and receipt_id(value) is not None,
    "digest": _is_hash,
    "time": lambda value: isinstance(value, str) and unix_millis(value) is not None,
    "texts": lambda value: _every(value, _is_text),
    "coded": lambda value: _every(value, _is_coded),
    "objects": lambda value: _every(value, lambda item: isinstance(item, dict)),
    "object": lambda value: isinstance(value, dict),
    "object_or_null": lambda value: value is None or isinstance(value, dict),
}

# Every member of the format: the object that holds it (`""` is the top), its name and its type.
_FORMAT = (
    ("", "decision_id", "id"),
    ("", "outcome", "text"),
    ("", "action_class", "text_or_null"),
    ("", "safe_to_execute", "flag"),
    ("", "human_review_terminal", "flag"),
    ("", "must_not_retry_same_action", "flag"),
    ("", "reasons", "coded"),
    ("", "safe_next_steps", "coded"),
    ("", "viewer_guidance", "texts"),
    ("", "what_would_change_this", "texts"),
    ("", "disposition", "object"),
    ("", "routing", "object"),
    ("", "resume_contract", "object"),
    ("", "runtime_loopback", "object_or_null"),
    ("", "metadata", "object"),
    ("", "binding", "object"),
    ("", "evidence", "objects"),
    ("disposition", "mode", "text"),
    ("routing", "direction", "text"),
    ("routing", "target_hint", "text_or_null"),
    ("routing", "return_to_node", "text_or_null"),
    ("routing", "workflow_id", "text_or_null"),
    ("routing", "node_id", "text_or_null"),
    ("resume_contract", "retry_this_node", "flag"),
    ("resume_contract", "pass_receipt_upstream", "flag"),
    ("resume_contract", "pass_new_upstream_context_on_retry", "flag"),
    ("resume_contract", "resume_when", "texts"),
    ("resume_contract", "conditions", "objects"),
    ("binding", "action_hash", "digest"),
    ("binding", "policy_hash", "digest"),
    ("binding", "facts_hash", "digest"),
    ("binding", "fingerprint", "digest"),
    ("binding", "engine", "text"),
    ("binding", "steps", "count"),
    ("binding", "denied_before", "count"),
    ("binding", "decided_at", "time"),
    ("binding", "expires_at", "time"),
)


def claims_decision(document: JsonObject) -> bool:
    """Whether a document says that it is a decision receipt. With `vrf_version` it is a VRF receipt, whatever else it holds."""
    return document.get("receipt_type") == _RECEIPT_TYPE and "vrf_version" not in document


def read_decision(document: JsonObject) -> str:
    """Checks every rule of the format except the signature, and gives the id in lower case."""
    for place, name, type in _FORMAT:
        members = _object(document, place)
        if name not in members or not _TYPES[type](members[name]):
            raise _missing(f"{place}.{name}" if place else name)
    _check_optional(_object(document, "binding"))
    _check_disposition(document)
    return receipt_id(str(document["decision_id"])) or ""


def _check_optional(binding: JsonObject) -> None:
    """Checks what receipts of earlier decisions do not say."""
    if "separation" in binding and binding["separation"] not in _SEPARATIONS:
        raise _missing("binding.separation")
    for name in ("account", "policy"):
        if name in binding and not _is_text(binding[name]):
            raise _missing(f"binding.{name}")
    if "session" in binding and not _is_session_head(binding["session"]):
        raise _missing("binding.session")


def _is_session_head(session: Json) -> bool:
    """Whether a decision says well in which session it was made."""
    if not isinstance(session, dict) or not _is_text(session.get("name")):
        return False
    entries = session.get("entries")
    if not isinstance(entries, JsonNumber) or not _is_count(entries):
        return False
    # Only a session without entries has no last one.
    if "last_entry" not in session:
        return entries.count == 0
    return entries.count != 0 and _is_hash(session["last_entry"])


def _check_disposition(document: JsonObject) -> None:
    """Refuses a document of which a field contradicts the outcome."""
    disposition, routing = _object(document, "disposition"), _object(document, "routing")
    mode = disposition["mode"]
    direction = next((to for outcome, its, to in _DISPOSITIONS if outcome == document["outcome"] and its == mode), None)
    if direction is None:
        raise _contradiction("disposition.mode")
    allows = mode == "continue_downstream"
    flags = {
        "downstream_allowed": allows,
        "local_replan_recommended": mode == "local_replan",
        "upstream_replan_required": mode == "upstream_replan",
    }
    rules = (
        ("safe_to_execute", document["safe_to_execute"] is allows),
        ("human_review_terminal", document["human_review_terminal"] is (mode == "human_review")),
        ("routing.direction", routing["direction"] == direction),
        ("disposition", all(disposition.get(name) is due for name, due in flags.items())),
        ("runtime_loopback", (document["runtime_loopback"] is None) is allows),
    )
    for name, holds in rules:
        if not holds:
            raise _contradiction(name)


def _missing(path: str) -> Refused:
    return Refused("missing_field", f"`{path}` is missing or of the wrong type")


def _contradiction(name: str) -> Refused:
    return Refused("contradiction", f"`{name}` contradicts the outcome")


def _object(document: JsonObject, place: str) -> JsonObject:
    """The object of this name, or the top; empty where there is none."""
    found = document.get(place) if place else document
    return found if isinstance(found, dict) else {}
