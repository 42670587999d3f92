"""Requests to a server. This module makes requests and reads answers, and does not send anything."""

from __future__ import annotations

import email.utils
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn, TypeVar, cast
from urllib.parse import quote

from .documents import Json, canonical, read_json
from .errors import ProofmarkError
from .operation import Operation
from .types import (
    Acceptance,
    AnyReceipt,
    Attempt,
    ChainPage,
    DecisionEntry,
    DecisionPage,
    DecisionReceipt,
    Job,
    PlainRequest,
    Receipt,
    Redeemed,
    Reported,
    Reviewed,
    ReviewRequest,
    Terms,
    VerificationRequest,
)

T = TypeVar("T")

MAX_ANSWER = 16 << 20
"""The bytes of an answer. Pages of servers end at 8 MiB of receipts."""
MAX_RETRIES = 4
MAX_RETRY_PAUSE = 20.0
"""The seconds that retries of one request may wait in all."""
MAX_WAIT = 300
"""The seconds that a server waits for a verification at most."""
LAST_STATES = ("done", "failed", "cancelled")


@dataclass(frozen=True)
class Answer:
    """What came back."""

    status: int
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True)
class Call(Operation[T]):
    """A request, and how its answer is read."""

    method: str
    path: str
    read: Callable[[Answer], T]
    body: bytes | None = None
    params: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    wait: float = 0
    """The seconds that the server may take longer than usual."""

    def answer(self, answer: Answer) -> T:
        """What the server said. Raises `ProofmarkError` for a problem, and for anything that is not an answer."""
        if 300 <= answer.status < 400:
            message = f"the server answers {answer.status}, a redirection, and none is followed: name its own address"
            raise ProofmarkError("redirected", message, status=answer.status)
        if not 200 <= answer.status < 300:
            raise problem(answer)
        return self.read(answer)

    def pause(self, answer: Answer, retries: int, paused: float) -> float | None:
        """The seconds after which the request is sent again; `None` if it is not."""
        repeatable = self.method == "GET" or "Idempotency-Key" in self.headers
        if answer.status != 429 and not (answer.status == 503 and repeatable):
            return None
        after = _seconds(answer.headers.get("retry-after"))
        if after is None or retries >= MAX_RETRIES or paused + after > MAX_RETRY_PAUSE:
            return None
        return after


class Gathering:
    """An answer while it arrives."""

    def __init__(self, status: int, headers: Mapping[str, str]) -> None:
        self._status, self._headers = status, headers
        self._chunks: list[bytes] = []
        self._length = 0
        if headers.get("content-encoding", "identity").lower() != "identity":
            raise ProofmarkError("malformed", "the server compressed its answer, which was not asked for", status=status)

    def add(self, chunk: bytes) -> None:
        self._length += len(chunk)
        if self._length > MAX_ANSWER:
            message = f"the answer of the server has more than {MAX_ANSWER} bytes"
            raise ProofmarkError("too_large", message, status=self._status)
        self._chunks.append(chunk)

    def answer(self) -> Answer:
        return Answer(self._status, self._headers, b"".join(self._chunks))


def problem(answer: Answer) -> ProofmarkError:
    """The error that a problem document states."""
    status = answer.status
    try:
        error = read_json(answer.body)["error"]
        code, message, retryable = error["code"], error["message"], error["retryable"]
        if isinstance(code, str) and isinstance(message, str) and isinstance(retryable, bool):
            return ProofmarkError(code, message, retryable, status)
    except (ValueError, KeyError, TypeError, IndexError):
        pass
    return ProofmarkError("malformed", f"the server answers {status}, without saying why", status >= 500, status)


def verify(
    request: VerificationRequest,
    *,
    wait: int = 60,
    chain: str | None = None,
    idempotency_key: str | None = None,
) -> Call[Receipt]:
    """Runs a request, and returns its receipt. A `fail` is an answer, too.

    After `wait` seconds, at most 300, it continues as a job, and this raises `ProofmarkError` with the code `not_finished`.
    """
    if not 1 <= wait <= MAX_WAIT:
        raise ValueError(f"`wait` is {wait}, and it is a number of seconds from 1 to {MAX_WAIT}")
    return _verification(request, f"wait={wait}", chain, idempotency_key, _receipt_or_job, wait)


def submit(request: VerificationRequest, *, chain: str | None = None, idempotency_key: str | None = None) -> Call[Job]:
    """Runs a request in the background, and returns its job."""
    return _verification(request, "respond-async", chain, idempotency_key, _job, 0)


def job(job_id: str) -> Call[Job]:
    """A job, with its receipt once it is done."""
    return Call("GET", f"/v1/jobs/{_part(job_id)}", _job)


def accept(run: str, step: str, attempt: Attempt, *, begun_by: str | None = None) -> Call[Acceptance]:
    """Judges an attempt at a workflow step."""
    path = f"/v1/steps/{_part(run)}/{_part(step)}/attempts"
    return _post(path, attempt, _members("run", "state", "attempt", "rules", "receipt"), params=_given(begun_by=begun_by))


def decide(request: PlainRequest, *, policy: str | None = None, idempotency_key: str | None = None) -> Call[DecisionReceipt]:
    """Decides on an action. Each call makes a new decision, unless it has the `idempotency_key` of another."""
    return _decision(request, policy, idempotency_key, lambda answer: cast(DecisionReceipt, _decision_receipt(answer)))


def ask(request: PlainRequest, policy: str | None) -> Call[bytes]:
    """As `decide`, with the document as it came."""
    return _decision(request, policy, None, lambda answer: answer.body)


def decision(decision_id: str) -> Call[DecisionEntry]:
    """A decision, with its reviews so far."""
    members = _members("decision_id", "mode", "outcome", "reviews", "receipt")
    return Call("GET", f"/v1/decisions/{_part(decision_id)}", members)


def reviewed(decision_id: str, decided_at: str) -> Call[bool]:
    """Whether a person has reviewed the decision."""
    return Call("GET", f"/v1/decisions/{_part(decision_id)}", _has_reviews)


def report(
    decision_id: str,
    *,
    executed: bool,
    args: Json = None,
    error: str | None = None,
    idempotency_key: str | None = None,
) -> Call[Reported]:
    """Reports what was executed under a decision. `error` says how a failed execution ended."""
    observed: dict[str, Json] = {"decision_id": decision_id, "side_effect_executed": executed}
    observed["status"] = "succeeded" if error is None else "failed"
    if error is not None:
        observed["error"] = error
    if args is not None:
        observed["downstream_trace"] = {"args": args}
    body = {"observed_execution": observed}
    path = "/v4/runtime/boundaries/executions/report"
    return _post(path, body, _members("accepted", "findings"), headers=_key(idempotency_key))


def reviews(
    *,
    whose: str | None = None,
    environment: str | None = None,
    amount: float | None = None,
    since: str | None = None,
    until: str | None = None,
    limit: int | None = None,
    after: str | None = None,
) -> Call[DecisionPage]:
    """The decisions that wait for a review."""
    numbers = {"amount": None if amount is None else str(amount), "limit": None if limit is None else str(limit)}
    texts = _given(whose=whose, environment=environment, since=since, until=until, after=after, **numbers)
    return Call("GET", "/v1/reviews", _members("decisions", "next"), params=texts)


def review(decision_id: str, review: ReviewRequest) -> Call[Reviewed]:
    """Approves or denies the action of a decision."""
    return _post(f"/v1/reviews/{_part(decision_id)}", review, _members("decision_id", "verdict", "approval"))


def receipt(receipt_id: str) -> Call[AnyReceipt]:
    """A stored receipt."""
    return Call("GET", f"/v1/receipts/{_part(receipt_id)}", _any_receipt)


def chain(receipt_id: str, *, limit: int | None = None, after: str | None = None) -> Call[ChainPage]:
    """The receipts of the chain of a receipt, first to last, and the signed head of the chain."""
    params = _given(limit=None if limit is None else str(limit), after=after)
    path = f"/v1/receipts/{_part(receipt_id)}/chain"
    return Call("GET", path, _members("chain", "head", "receipts", "next"), params=params)


def redeem(receipt_id: str, terms: Terms | None = None) -> Call[Redeemed]:
    """Spends a receipt: the first caller gets an answer, and all others an error."""
    path = f"/v1/receipts/{_part(receipt_id)}/redeem"
    return _post(path, terms or {}, _members("receipt_id", "verdict", "redeemed_at"))


def _verification(
    request: VerificationRequest,
    prefer: str,
    chain: str | None,
    key: str | None,
    read: Callable[[Answer], T],
    wait: float,
) -> Call[T]:
    headers = {**_key(key), "Prefer": prefer}
    return _post("/v1/verifications", request, read, headers=headers, params=_given(chain=chain), wait=wait)


def _decision(request: PlainRequest, policy: str | None, key: str | None, read: Callable[[Answer], T]) -> Call[T]:
    return _post("/v1/decisions", request, read, headers=_key(key), params=_given(policy=policy))


def _post(path: str, body: Any, read: Callable[[Answer], T], **more: Any) -> Call[T]:
    headers = {"Content-Type": "application/json", **more.pop("headers", {})}
    return Call("POST", path, read, canonical(body), headers=headers, **more)


def _key(key: str | None) -> dict[str, str]:
    return {"Idempotency-Key": key or str(uuid.uuid4())}


def _given(**params: str | None) -> dict[str, str]:
    return {name: value for name, value in params.items() if value is not None}


def _part(text: str) -> str:
    """A part of a path. A part that has only dots would lead elsewhere."""
    if not text.strip("."):
        raise ValueError(f"`{text}` is not an id")
    return quote(text, safe="")


def _object(answer: Answer) -> dict[str, Json]:
    try:
        document = read_json(answer.body)
    except ValueError as error:
        _malformed(answer, f"is not JSON: {error}")
    if not isinstance(document, dict):
        _malformed(answer, "is not an object")
    return document


def _members(*names: str) -> Callable[[Answer], Any]:
    """Reads an object that has these members."""

    def read(answer: Answer) -> dict[str, Json]:
        document = _object(answer)
        for name in names:
            if name not in document:
                _malformed(answer, f"has no `{name}`")
        return document

    return read


_job: Callable[[Answer], Job] = _members("job_id", "state", "created_at", "checks")
_any_receipt: Callable[[Answer], AnyReceipt] = _members("vrf_version", "receipt_id", "verdict", "results", "hashes")
_receipt: Callable[[Answer], Receipt] = _members("vrf_version", "receipt_id", "verdict", "results", "hashes", "signature")
_decision_receipt = _members("receipt_type", "decision_id", "outcome", "disposition", "binding", "signature")


def _receipt_or_job(answer: Answer) -> Receipt:
    if answer.status != 202:
        return _receipt(answer)
    job = _job(answer)
    message = f"the verification has not ended yet, and continues as the job `{job['job_id']}`"
    raise ProofmarkError("not_finished", message, True, answer.status)


def _has_reviews(answer: Answer) -> bool:
    reviews = _members("reviews")(answer)["reviews"]
    if not isinstance(reviews, list):
        _malformed(answer, "has no list `reviews`")
    return bool(reviews)


def _malformed(answer: Answer, what: str) -> NoReturn:
    raise ProofmarkError("malformed", f"the answer of the server {what}", status=answer.status)


def _seconds(retry_after: str | None) -> float | None:
    """What `Retry-After` says: a number of seconds, or a date (RFC 9110, section 10.2.3)."""
    if retry_after is None:
        return None
    if retry_after.strip().isdecimal():
        return float(retry_after) if len(retry_after) < 10 else None
    try:
        return max(0.0, email.utils.parsedate_to_datetime(retry_after).timestamp() - time.time())
    except (ValueError, OverflowError):
        return None
