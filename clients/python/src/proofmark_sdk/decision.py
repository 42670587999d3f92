"""Decisions, and the checks that an answer must pass before a call may run."""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, cast

from .documents import Json, digest, read_json

Disposition = Literal["continue_downstream", "local_replan", "upstream_replan", "human_review", "terminal_block"]

DISPOSITIONS = {
    ("allow", "continue_downstream"): "downstream",
    ("allow_with_warning", "continue_downstream"): "downstream",
    ("replan_required", "local_replan"): "local",
    ("replan_required", "upstream_replan"): "upstream",
    ("replan_required", "human_review"): "human",
    ("goal_fail_terminal", "terminal_block"): "stop",
}
"""`routing.direction` of each outcome and `disposition.mode`."""

_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")


@dataclass(frozen=True)
class Decision:
    """What was decided on one action. It is valid for one execution.

    `disposition` says how to continue: `continue_downstream`, `local_replan`, `upstream_replan`, `human_review` or
    `terminal_block`. `reasons` and `next_steps` are sentences. `url` is the page where a person sees the decision, and `receipt` is
    the signed document. `action` is what was decided on: run it with `args`.
    """

    id: str
    outcome: str
    disposition: Disposition
    allowed: bool
    reasons: tuple[str, ...]
    next_steps: tuple[str, ...]
    url: str | None
    receipt: dict[str, Any] = field(repr=False)
    action: dict[str, Any] = field(repr=False)

    @property
    def args(self) -> dict[str, Any]:
        """A copy of the arguments that were decided on. The caller may have changed its own since."""
        return copy.deepcopy(self.action["args"])

    @property
    def must_not_retry(self) -> bool:
        """Whether the same action must not be requested again."""
        return self.receipt.get("must_not_retry_same_action") is True


class WrongAnswer(ValueError):
    """A document that is not a decision on the request."""


def read_decision(data: bytes, request: Mapping[str, Json], policy: str | None, seconds: float) -> dict[str, Any]:
    """The decision receipt on `request`, which was sent this many seconds ago. Raises `WrongAnswer` for any other document."""
    try:
        receipt = read_json(data)
    except ValueError as error:
        raise WrongAnswer(f"it is not JSON: {error}") from None
    if not isinstance(receipt, dict) or receipt.get("receipt_type") != "verifiedx_decision_receipt":
        raise WrongAnswer("it is not a decision receipt")
    _check_format(receipt)
    _check_disposition(receipt)
    _check_request(receipt, request, policy)
    if seconds > lifetime(receipt["binding"]):
        raise WrongAnswer("it has expired")
    return receipt


def decision(receipt: dict[str, Any], action: dict[str, Json], url: str | None) -> Decision:
    """What a receipt says that `read_decision` has read."""
    return Decision(
        id=receipt["decision_id"],
        outcome=receipt["outcome"],
        disposition=cast(Disposition, receipt["disposition"]["mode"]),
        allowed=receipt["safe_to_execute"],
        reasons=_messages(receipt["reasons"]),
        next_steps=_messages(receipt["safe_next_steps"]),
        url=url,
        receipt=receipt,
        action=action,
    )


def lifetime(binding: dict[str, Any]) -> float:
    """The seconds that a decision is valid. The decider's clock may differ, so its times are not compared with this one."""
    return (_time(binding, "expires_at") - _time(binding, "decided_at")).total_seconds()


def _check_format(receipt: dict[str, Any]) -> None:
    binding, signature = receipt.get("binding"), receipt.get("signature")
    disposition, routing = receipt.get("disposition"), receipt.get("routing")
    if not all(isinstance(part, dict) for part in (binding, signature, disposition, routing)):
        raise WrongAnswer("`binding`, `disposition`, `routing` or `signature` is not an object")
    binding = cast("dict[str, Any]", binding)
    if not _matches(_ID, receipt.get("decision_id")):
        raise WrongAnswer("`decision_id` is not an id")
    for name in ("action_hash", "facts_hash", "policy_hash", "fingerprint"):
        if not _matches(_DIGEST, binding.get(name)):
            raise WrongAnswer(f"`binding.{name}` is not a digest")
    for name in ("reasons", "safe_next_steps"):
        if not _is_coded(receipt.get(name)):
            raise WrongAnswer(f"`{name}` is not a list of codes and messages")


def _check_disposition(receipt: dict[str, Any]) -> None:
    flags, outcome = receipt["disposition"], receipt.get("outcome")
    mode = flags.get("mode")
    direction = DISPOSITIONS.get((outcome, mode)) if isinstance(outcome, str) and isinstance(mode, str) else None
    if direction is None:
        raise WrongAnswer(f"the outcome {outcome!r:.60} with the disposition {mode!r:.60} is not known")
    allows = mode == "continue_downstream"
    agree = (
        receipt.get("safe_to_execute") is allows,
        receipt.get("human_review_terminal") is (mode == "human_review"),
        receipt["routing"].get("direction") == direction,
        flags.get("downstream_allowed") is allows,
        flags.get("local_replan_recommended") is (mode == "local_replan"),
        flags.get("upstream_replan_required") is (mode == "upstream_replan"),
        (receipt.get("runtime_loopback", "") is None) is allows,
    )
    if not all(agree):
        raise WrongAnswer("it contradicts its own outcome")


def _check_request(receipt: dict[str, Any], request: Mapping[str, Json], policy: str | None) -> None:
    binding, action = receipt["binding"], request["action"]
    if receipt.get("action_class") != action["class"] or binding["action_hash"] != digest(action):
        raise WrongAnswer("it is on another action")
    # All facts are bound, and one of them is new in each request: an earlier decision on the same action does not match.
    if binding["facts_hash"] != digest(request):
        raise WrongAnswer("it is on another request")
    if policy is not None and binding.get("policy") != policy:
        raise WrongAnswer(f"it was made by another policy than `{policy}`")


def _matches(pattern: re.Pattern[str], value: object) -> bool:
    return isinstance(value, str) and pattern.fullmatch(value) is not None


def _is_coded(value: object) -> bool:
    return isinstance(value, list) and all(
        isinstance(item, dict) and isinstance(item.get("code"), str) and isinstance(item.get("message"), str) for item in value
    )


def _time(binding: dict[str, Any], name: str) -> datetime:
    text = binding.get(name)
    try:
        # Python 3.10 reads no `Z`.
        time = datetime.fromisoformat(str(text).replace("Z", "+00:00"))
    except ValueError:
        raise WrongAnswer(f"`binding.{name}` is not a time") from None
    if time.tzinfo is None:
        raise WrongAnswer(f"`binding.{name}` is not a time in UTC")
    return time


def _messages(coded: list[dict[str, str]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(item["message"] for item in coded))
