"""Adapters for agent frameworks. Each needs the package of its framework, and is imported by its own name."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Generic, TypeVar

from ..decision import Decision
from ..guard import Guard
from ..not_allowed import NotAllowed, Terminal, Upstream

__all__ = ["Executions", "Running", "ToolFailed", "areporting", "reporting", "told"]

T = TypeVar("T")

MAX_RUNNING = 1000
"""The calls of one adapter that are in progress at once. Above that, the end of the oldest one is not reported."""


class ToolFailed(Exception):
    """The framework says that the tool failed, without its exception."""


class Running(Generic[T]):
    """The decisions on calls in progress, by the ids of the calls.

    Frameworks do not tell the end of each call: something else denies it after the decision, or its run is cancelled. So there
    is a limit, above which the oldest decision is dropped.
    """

    def __init__(self, limit: int = MAX_RUNNING) -> None:
        self._limit = limit
        # Not a `dict`: threads can share an adapter, and of these only an `OrderedDict` drops its oldest entry in one step.
        self._decisions: OrderedDict[str, T] = OrderedDict()

    def begin(self, call_id: str, decision: T) -> None:
        """A call with this id begins. An earlier one with the same id is dropped."""
        self._decisions[call_id] = decision
        self._decisions.move_to_end(call_id)
        if len(self._decisions) > self._limit:
            self._decisions.popitem(last=False)

    def end(self, call_id: str) -> T | None:
        """Removes the decision on a call; `None` if there is none."""
        return self._decisions.pop(call_id, None)


class Executions(Running[Decision]):
    """The calls that a guard allowed, until the framework says how they ended."""

    def __init__(self, guard: Guard) -> None:
        super().__init__()
        self._guard = guard

    async def report(self, call_id: str, error: BaseException | None = None) -> None:
        """Reports that a call has ended, if it is in progress."""
        if decision := self.end(call_id):
            await self._guard.areport(decision, error=error)


def told(error: NotAllowed) -> str:
    """The text for the model in place of a result. Raises `Upstream` and `Terminal` again: they end the run."""
    if isinstance(error, Upstream | Terminal):
        raise error
    return Guard.tool_result(error)


@contextmanager
def reporting(guard: Guard, decision: Decision) -> Iterator[None]:
    """Reports how the execution inside ends."""
    try:
        yield
    except Exception as error:
        guard.report(decision, error=error)
        raise
    guard.report(decision)


@asynccontextmanager
async def areporting(guard: Guard, decision: Decision) -> AsyncIterator[None]:
    """As `reporting`."""
    try:
        yield
    except Exception as error:
        await guard.areport(decision, error=error)
        raise
    await guard.areport(decision)
