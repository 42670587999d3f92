"""Why a function did not run."""

from __future__ import annotations

from typing import Any

from .decision import Decision
from .errors import shortened

MAX_SAID = 12
"""The reasons and next steps that a text names."""


class NotAllowed(Exception):
    """The function did not run. The text is written for the agent that asked for it.

    `tool` is what was asked for. `decision` is `None` where none was made.
    """

    def __init__(self, tool: str, said: str, decision: Decision | None = None) -> None:
        super().__init__(f"`{shortened(tool)}` was not executed. {said}")
        self.tool = tool
        self.decision = decision

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (type(self), self.args, self.__dict__)


class Blocked(NotAllowed):
    """A decision says that the action may not execute now. The agent can continue without it."""

    decision: Decision

    def __init__(self, tool: str, decision: Decision) -> None:
        super().__init__(tool, _said(decision), decision)


class Upstream(Blocked):
    """The caller of the agent must supply what is missing."""


class Terminal(Blocked):
    """This path ends: neither the agent nor a person can have the action allowed."""


class NeedsReview(NotAllowed):
    """A person must review the action first, on the page `url` where there is one."""

    decision: Decision

    def __init__(self, tool: str, decision: Decision, url: str | None) -> None:
        where = f" at {url}" if url else f": `proofmark decision show {decision.id}` shows it"
        super().__init__(tool, f"A person must review it first{where}. {_said(decision)}", decision)
        self.url = url


class NoDecision(NotAllowed):
    """No decision counts: the answer is missing or late, or does not decide on this action.

    `code` is that of a `ProofmarkError`, or `wrong_answer`, or `failed` for an error in a function that the guard called.
    """

    def __init__(self, tool: str, code: str, why: str) -> None:
        super().__init__(tool, f"There is no decision on it: {_sentence(shortened(why))} Do not say that it was done.")
        self.code = code


class NotJson(NotAllowed, TypeError):
    """An argument is not JSON, so no decision can be made on it."""

    def __init__(self, tool: str, why: str) -> None:
        super().__init__(tool, _sentence(shortened(why[:1].upper() + why[1:])))


def refusal(tool: str, decision: Decision) -> NotAllowed:
    """What is raised for a decision that does not allow its action."""
    if decision.disposition == "human_review":
        return NeedsReview(tool, decision, decision.url)
    kinds = {"upstream_replan": Upstream, "terminal_block": Terminal}
    return kinds.get(decision.disposition, Blocked)(tool, decision)


def _restored(kind: type[NotAllowed], args: tuple[Any, ...], members: dict[str, Any]) -> NotAllowed:
    """An error that comes from another process."""
    error = kind.__new__(kind)
    error.args = args
    error.__dict__.update(members)
    return error


def _said(decision: Decision) -> str:
    said = [_sentence(reason) for reason in decision.reasons[:MAX_SAID]]
    if decision.next_steps:
        said += ["What to do next:", *(_sentence(step) for step in decision.next_steps[:MAX_SAID])]
    said = [shortened(" ".join(said))] if said else []
    if decision.must_not_retry:
        said.append(
            "Do not request the same action again before that." if decision.next_steps else "Do not request the same action again."
        )
    return " ".join([*said, "Do not say that it was done.", f"(decision {decision.id})"])


def _sentence(text: str) -> str:
    return text if text.endswith((".", "!", "?", "…")) else f"{text}."
