"""The guard: a decision before a function runs."""

from __future__ import annotations

import inspect
import logging
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, ParamSpec, TypeVar, cast, overload

from .arguments import Arguments, is_async
from .asking import Asked, Asking, Backend, Classes, ContextOf
from .decision import Decision
from .flow import later, now
from .local import AsyncLocal, Local
from .not_allowed import NotAllowed
from .signers import Signers

P = ParamSpec("P")
T = TypeVar("T")

logger = logging.getLogger("proofmark_sdk")


class Guard:
    """Asks before a function runs. It fails closed: without an allowing decision on exactly this call, nothing runs.

    `client` is a `Client`, an `AsyncClient`, a `Local` or an `AsyncLocal`. `classes` says which class of actions a tool has: a
    mapping, in which `*` means all others, or a function of the tool and its arguments; without it the class is `generic`.
    `run` and `agent` are who asks. `wait` is the seconds that a call waits for a person. `policy` is the name of a server's
    policy, or the file of one in local mode. With `trust`, a decision counts only if one of these signers has signed it; a text
    that names none raises `ValueError`.
    `context` is more facts of each request, or a function that returns them.

    All methods without `a` before their name need a `Client` or a `Local`. The others take any of the four.
    """

    def __init__(
        self,
        client: Backend,
        *,
        classes: Classes | None = None,
        run: str | None = None,
        agent: Mapping[str, str] | None = None,
        wait: float = 0,
        policy: str | None = None,
        trust: Sequence[str] | None = None,
        context: ContextOf | None = None,
    ) -> None:
        self._client = client
        if policy is not None and isinstance(client, Local | AsyncLocal):
            # Here, because an agent may have changed the working folder when a call is decided on.
            policy = os.path.abspath(policy)
        signers = None if trust is None else Signers(trust)
        self._asking = Asking(client, classes, run, agent, wait, policy, signers, context)

    def decide(
        self,
        tool: str,
        args: Mapping[str, Any],
        *,
        call_id: str | None = None,
        klass: str | None = None,
        target: str | None = None,
    ) -> Decision:
        """The decision on a call of `tool` with `args`, whatever it is. Raises `NoDecision` if there is none."""
        return now(self._client, self._asking.decide(Asked(tool, args, call_id, klass, target)))

    async def adecide(
        self,
        tool: str,
        args: Mapping[str, Any],
        *,
        call_id: str | None = None,
        klass: str | None = None,
        target: str | None = None,
    ) -> Decision:
        """As `decide`."""
        return await later(self._client, self._asking.decide(Asked(tool, args, call_id, klass, target)))

    def check(
        self,
        tool: str,
        args: Mapping[str, Any],
        *,
        call_id: str | None = None,
        klass: str | None = None,
        target: str | None = None,
    ) -> Decision:
        """Returns the decision that allows the call, for one execution. Raises `NotAllowed` if there is none."""
        return now(self._client, self._asking.check(Asked(tool, args, call_id, klass, target)))

    async def acheck(
        self,
        tool: str,
        args: Mapping[str, Any],
        *,
        call_id: str | None = None,
        klass: str | None = None,
        target: str | None = None,
    ) -> Decision:
        """As `check`."""
        return await later(self._client, self._asking.check(Asked(tool, args, call_id, klass, target)))

    def call(self, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Runs `function` if that is allowed, with copies of the arguments that were decided on."""
        return cast(T, self._execute(Arguments.of(function, args, kwargs)))

    @overload
    async def acall(self, function: Callable[P, Awaitable[T]], /, *args: P.args, **kwargs: P.kwargs) -> T: ...

    @overload
    async def acall(self, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T: ...

    async def acall(self, function: Callable[P, Any], /, *args: P.args, **kwargs: P.kwargs) -> Any:
        """As `call`, for coroutine functions and others."""
        return await self._aexecute(Arguments.of(function, args, kwargs))

    def _execute(self, arguments: Arguments, *, klass: str | None = None, target: str | None = None) -> Any:
        """Runs a function with bound arguments, if that is allowed."""
        if is_async(arguments.function):
            raise TypeError(f"`{arguments.tool}` is a coroutine function: use `acall`")
        decision = self.check(arguments.tool, arguments.named, klass=klass, target=target)
        try:
            result = arguments.run()
        except Exception as error:
            self.report(decision, error=error)
            raise
        except BaseException as error:
            _not_reported(decision, error)
            raise
        self.report(decision)
        return result

    async def _aexecute(self, arguments: Arguments, *, klass: str | None = None, target: str | None = None) -> Any:
        """As `_execute`."""
        decision = await self.acheck(arguments.tool, arguments.named, klass=klass, target=target)
        try:
            result = arguments.run()
            if inspect.isawaitable(result):
                result = await result
        except Exception as error:
            await self.areport(decision, error=error)
            raise
        except BaseException as error:
            # A caller that cancels does not wait for a report.
            _not_reported(decision, error)
            raise
        await self.areport(decision)
        return result

    def report(self, decision: Decision, *, error: BaseException | None = None) -> None:
        """Reports that the action of `decision` was executed; with `error`, that it failed.

        In local mode this does nothing. A report that cannot be made is a warning in the log, and changes nothing.
        """
        try:
            now(self._client, self._asking.report(decision, error))
        except Exception as failure:
            _not_reported(decision, failure)

    async def areport(self, decision: Decision, *, error: BaseException | None = None) -> None:
        """As `report`."""
        try:
            await later(self._client, self._asking.report(decision, error))
        except Exception as failure:
            _not_reported(decision, failure)

    @property
    def wait(self) -> float:
        """The seconds that a call waits for a person."""
        return self._asking.wait

    @staticmethod
    def tool_result(error: NotAllowed) -> str:
        """The text for the model in place of the tool's result."""
        return str(error)


def _not_reported(decision: Decision, error: BaseException) -> None:
    logger.warning("the execution under the decision %s was not reported: %s: %s", decision.id, type(error).__name__, error)
