"""Requests and answers, by the names that they have in `/openapi.json`."""

from __future__ import annotations

from typing import Any, Literal, TypedDict

VerdictName = Literal["pass", "fail", "partial", "error"]
OutcomeName = Literal["allow", "allow_with_warning", "replan_required", "goal_fail_terminal"]
ModeName = Literal["continue_downstream", "local_replan", "upstream_replan", "human_review", "terminal_block"]
DefinitionState = Literal["pinned", "changed", "renamed", "shadowing", "ambiguous", "not_listed"]
FindingCode = Literal[
    "executed_undecided",
    "executed_blocked",
    "executed_other_arguments",
    "executed_twice",
    "executed_after_expiry",
    "never_reported",
]


class Signature(TypedDict):
    algorithm: Literal["ed25519"]
    signer_id: str
    content_hash: str
    signature: str


class AnyReceipt(TypedDict):
    """A VRF receipt of any issuer. It has more members than these, such as `task`."""

    vrf_version: Literal["1.0"]
    receipt_id: str
    verified_at: str
    tier: int
    verdict: VerdictName
    results: dict[str, Any]
    hashes: dict[str, Any]


class Receipt(AnyReceipt):
    """A receipt that the server has issued."""

    metadata: dict[str, Any]
    signature: Signature


# `class` is a word of Python, so these two are written as calls.
_ActionNeeds = TypedDict("_ActionNeeds", {"tool": str, "class": str})
_CallMadeMore = TypedDict(
    "_CallMadeMore",
    {
        "args": Any,
        "status": Literal["succeeded", "failed", "doubtful", "blocked", "pending"],
        "class": str,
        "at": str,
        "source": str,
        "surface": str,
        "server": str,
        "origin": str,
        "origin_sha256": str,
        "origin_state": DefinitionState,
        "process": str,
    },
    total=False,
)


class CallMade(_CallMadeMore):
    """A call that was made before."""

    tool: str


class Action(_ActionNeeds, total=False):
    """What is about to happen."""

    boundary: Literal["action_execute", "memory_write"]
    source: str
    surface: str
    origin: str
    origin_sha256: str
    origin_state: DefinitionState
    method: str
    target: str
    args: Any
    crossing: bool
    server: str
    via: str
    outer_args: Any
    recipient: Any
    amount: float
    definition: str
    definition_state: DefinitionState
    paths: list[str]


class Agent(TypedDict, total=False):
    """The agent that asks."""

    id: str
    org: str
    project: str
    environment: str
    run: str
    process: str
    step: str
    sensitivity: str


class Fact(TypedDict, total=False):
    type: str
    payload: Any
    source: str
    at: str


class Taint(TypedDict, total=False):
    signal: str
    source: str
    at: str


class Deny(TypedDict, total=False):
    decision_id: str
    outcome: str
    reason_codes: list[str]
    at: str


class Task(TypedDict, total=False):
    system: str
    first: str
    latest: str


class Context(TypedDict, total=False):
    """Facts around an action. A fact that is left out is unknown, and a rule about it blocks."""

    agent: Agent
    facts: list[Fact]
    calls: list[CallMade]
    memory: list[Any]
    taint: list[Taint]
    denies: list[Deny]
    task: Task
    upstream: Any
    context_fill_pct: float


class _PlainRequestMore(Context, total=False):
    proofs: list[str]
    """Proof files of a transparency log, with a receipt in each. They do not count as facts. Only a server takes them."""


class PlainRequest(_PlainRequestMore):
    """What a decision is asked about."""

    action: Action


class Coded(TypedDict):
    code: str
    message: str


class _ReasonMore(TypedDict, total=False):
    cause: str
    detail: str


class Reason(Coded, _ReasonMore):
    rule: str


class DispositionFlags(TypedDict):
    mode: ModeName
    downstream_allowed: bool
    local_replan_recommended: bool
    upstream_replan_required: bool


class DecisionReceipt(TypedDict):
    """A signed decision."""

    receipt_type: Literal["verifiedx_decision_receipt"]
    decision_id: str
    outcome: OutcomeName
    action_class: str | None
    safe_to_execute: bool
    human_review_terminal: bool
    must_not_retry_same_action: bool
    reasons: list[Reason]
    safe_next_steps: list[Coded]
    viewer_guidance: list[str]
    what_would_change_this: list[str]
    disposition: DispositionFlags
    routing: dict[str, Any]
    resume_contract: dict[str, Any]
    runtime_loopback: dict[str, Any] | None
    metadata: dict[str, Any]
    binding: dict[str, Any]
    evidence: list[dict[str, Any]]
    issuer_key: str
    signature: Signature


class Review(TypedDict):
    decision_id: str
    verdict: Literal["approved", "denied"]
    reviewer: str
    role: str | None
    note: str
    reviewed_at: str
    until: str


class Reviewed(Review):
    approval: Receipt | None


class DecisionEntry(TypedDict):
    """A stored decision."""

    decision_id: str
    decided_at: str
    outcome: OutcomeName
    mode: ModeName
    action_class: str | None
    agent: str | None
    action: dict[str, Any] | None
    facts: dict[str, Any] | None
    reviews: list[Review]
    receipt: DecisionReceipt


class _DecisionPageMore(TypedDict, total=False):
    changed: list[str]


class DecisionPage(_DecisionPageMore):
    decisions: list[DecisionEntry]
    next: str | None


class _ReviewRequestMore(TypedDict, total=False):
    role: str
    expires_in: int
    scope: dict[str, Any]
    shown: str
    passkey: dict[str, Any]


class ReviewRequest(_ReviewRequestMore):
    verdict: Literal["approve", "deny"]
    note: str


class Reported(TypedDict):
    accepted: bool
    findings: list[FindingCode]


class ExecutionReport(TypedDict):
    observed_execution: dict[str, Any]


class _VerificationRequestMore(TypedDict, total=False):
    task: dict[str, Any]
    task_id: str
    task_type: str
    specification: Any
    tier: Literal[0, 1]


class VerificationRequest(_VerificationRequestMore):
    """Work, and the suite that it must pass."""

    output: dict[str, Any]
    verification: dict[str, Any]


class JobChecks(TypedDict):
    done: int
    total: int


class _JobMore(TypedDict, total=False):
    error: str
    lacking: str
    receipt: Receipt | None


class Job(_JobMore):
    """A verification that the server runs."""

    job_id: str
    state: Literal["waiting", "running", "done", "failed", "cancelled"]
    created_at: str
    checks: JobChecks


class _AttemptMore(TypedDict, total=False):
    attempt: int
    trace: Any
    context: dict[str, Any]
    receipts: list[dict[str, Any] | str]
    proofs: list[str]
    """Proof files of a transparency log, with a receipt in each. Only a server takes them."""


class Attempt(_AttemptMore):
    """A response to a workflow step."""

    workflow: dict[str, Any] | str
    response: str


class _AcceptanceMore(TypedDict, total=False):
    prompt: str
    next_attempt: int
    not_before_ms: int
    action: str
    awaits: dict[str, Any]
    next: str | None
    out_of_order: bool
    trace: str


class Acceptance(_AcceptanceMore):
    """The result of an attempt at a workflow step."""

    run: str
    state: str
    attempt: int
    rules: list[dict[str, Any]]
    receipt: Receipt


class ChainPage(TypedDict):
    chain: str
    head: dict[str, Any]
    next: str | None
    receipts: list[AnyReceipt]


class Terms(TypedDict, total=False):
    """What is accepted of a receipt that is redeemed, and what it has to be about."""

    accept: list[Literal["fail", "partial", "error", "untrusted"]]
    task_id: str
    specification: str
    tests: str
    output: str


class Redeemed(TypedDict):
    receipt_id: str
    verdict: VerdictName
    trust: Literal["trusted", "untrusted", "unknown"]
    issued_here: bool
    superseded_by: str | None
    task_id: str | None
    hashes: dict[str, Any]
    redeemed_at: str
    by: str
