"""How a decision on a call is asked for."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from . import calls
from .client import AsyncClient, Client
from .decision import Decision, WrongAnswer, decision, read_decision
from .documents import Json, Snapshot
from .errors import ProofmarkError
from .flow import Flow, Pause
from .local import AsyncLocal, Local
from .not_allowed import NoDecision, NotJson, refusal
from .signers import Signers
from .types import Context

Backend = Client | AsyncClient | Local | AsyncLocal
Classes = Mapping[str, str] | Callable[[str, Mapping[str, Any]], str]
ContextOf = Context | Mapping[str, Any] | Callable[[], Context | Mapping[str, Any]]

DEFAULT_CLASS = "generic"
SECONDS_BETWEEN_LOOKS = 0.5
MAX_ERROR_NAME = 200
"""The characters of a report that say how an execution failed."""


@dataclass(frozen=True)
class Asked:
    """A call to decide on."""

    tool: str
    args: Mapping[str, Any]
    call_id: str | None = None
    klass: str | None = None
    target: str | None = None


@dataclass(frozen=True)
class Asking:
    """What all requests of a guard have in common."""

    client: Backend
    classes: Classes | None
    run: str | None
    agent: Mapping[str, str] | None
    wait: float
    policy: str | None
    trust: Signers | None
    context: ContextOf | None

    def __post_init__(self) -> None:
        if not self.wait >= 0:
            raise ValueError(f"`wait` is {self.wait}, and it is a number of seconds")

    def decide(self, asked: Asked) -> Flow[Decision]:
        """The decision on a call, whatever it is."""
        return (yield from self._decide(asked.tool, self._action(asked), asked.call_id))

    def check(self, asked: Asked) -> Flow[Decision]:
        """The decision that allows a call. Where a person has to review it, this waits, and asks again after a review."""
        # Before anything waits: the caller could change the arguments meanwhile.
        action = self._action(asked)
        end = time.monotonic() + self.wait
        while True:
            decision = yield from self._decide(asked.tool, action, asked.call_id)
            if decision.allowed:
                return decision
            if decision.disposition != "human_review" or not (yield from self._is_reviewed(decision, end)):
                raise refusal(asked.tool, decision)

    def report(self, decision: Decision, error: BaseException | None) -> Flow[None]:
        """Reports that what was decided on was executed."""
        failed = None if error is None else type(error).__name__[:MAX_ERROR_NAME]
        report = self.client.operations.report
        # The function has run, and may have had its effect before it failed.
        yield report(decision.id, executed=True, args=decision.args, error=failed)

    def _action(self, asked: Asked) -> dict[str, Json]:
        try:
            args = _object(asked.args)
        except TypeError as error:
            raise NotJson(asked.tool, str(error)) from None
        try:
            klass = self._class(asked.tool, args) if asked.klass is None else asked.klass
        except Exception as error:
            raise NoDecision(asked.tool, "failed", f"its class is not known: {_told(error)}") from error
        boundary = "memory_write" if klass == "memory_write" else "action_execute"
        action = {"tool": asked.tool, "class": klass, "boundary": boundary, "args": args}
        return action if asked.target is None else {**action, "target": asked.target}

    def _class(self, tool: str, args: Mapping[str, Json]) -> str:
        if self.classes is None:
            return DEFAULT_CLASS
        if callable(self.classes):
            klass = self.classes(tool, _object(args))
        else:
            klass = self.classes.get(tool, self.classes.get("*", DEFAULT_CLASS))
        if not isinstance(klass, str):
            raise TypeError(f"`classes` has {klass!r:.100} for it, which is not a text")
        return klass

    def _decide(self, tool: str, action: dict[str, Json], call_id: str | None) -> Flow[Decision]:
        try:
            request, begun = self._request(action, call_id), time.monotonic()
            data = yield self.client.operations.ask(request, self.policy)
            receipt = read_decision(data, request, self._policy_name(), time.monotonic() - begun)
            if self.trust is not None:
                self.trust.check(data)
            return decision(receipt, action, self.client.page(receipt["decision_id"]))
        except WrongAnswer as error:
            raise NoDecision(tool, "wrong_answer", f"the answer does not count: {error}") from error
        except ProofmarkError as error:
            raise NoDecision(tool, error.code, _told(error)) from error
        except Exception as error:
            raise NoDecision(tool, "failed", _told(error)) from error

    def _request(self, action: dict[str, Json], call_id: str | None) -> Any:
        context = self.context() if callable(self.context) else self.context
        facts: dict[str, Json] = dict(context or {})
        agent = {**facts.get("agent", {}), **(self.agent or {})}
        if self.run is not None:
            agent["run"] = self.run
        # A new fact in each request, so that an earlier decision does not count here. The caller's own step comes before it.
        attempt, step = str(uuid.uuid4()), agent.get("step", call_id)
        agent["step"] = attempt if step is None else f"{step}:{attempt}"
        # A copy, because the caller may still change the context.
        return Snapshot().take({**facts, "action": action, "agent": agent}, "the request")

    def _policy_name(self) -> str | None:
        return self.policy if self.client.operations is calls else None

    def _is_reviewed(self, decision: Decision, end: float) -> Flow[bool]:
        """Waits for a review; `False` if there is none until the end."""
        look = self.client.operations.reviewed(decision.id, decision.receipt["binding"]["decided_at"])
        while (left := end - time.monotonic()) > 0:
            yield Pause(min(SECONDS_BETWEEN_LOOKS, left))
            try:
                if (yield look):
                    return True
            except ProofmarkError as error:
                # It still waits for a person, whatever happens to the server meanwhile.
                if not error.retryable:
                    return False
        return False


def _object(args: Mapping[str, Any]) -> dict[str, Json]:
    if not isinstance(args, Mapping):
        raise TypeError(f"the arguments are of the type `{type(args).__name__}`, and they have to have names")
    copy: dict[str, Json] = Snapshot().take(dict(args), "the object of arguments")
    return copy


def _told(error: Exception) -> str:
    text = str(error).rstrip(".")
    return text if isinstance(error, ProofmarkError) else f"{type(error).__name__}: {text}"
