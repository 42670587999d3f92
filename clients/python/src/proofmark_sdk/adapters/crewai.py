"""CrewAI: tools that ask before they run.

Not by a hook (`before_tool_call`), for four reasons. CrewAI swallows what goes wrong in a hook, and runs the tool. It asks hooks
once where it runs a tool again after an error, and not at all where one is run outside of an agent's loop. A hook behind this one
could change the arguments after the decision. And of a call that a hook blocks, the model reads only that a hook did so.
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Iterable
from typing import Any

from crewai.hooks import get_after_tool_call_hooks, register_after_tool_call_hook
from crewai.hooks.dispatch import HookAborted
from crewai.hooks.tool_hooks import ToolCallHookContext
from crewai.tools.base_tool import BaseTool, Tool
from crewai.tools.tool_failure import ToolFailure

from ..arguments import Arguments, refuse_generator
from ..guard import Guard
from ..not_allowed import NotAllowed, Terminal, Upstream


def guarded_tools(guard: Guard, tools: Iterable[BaseTool]) -> list[BaseTool]:
    """Tools in place of these, which ask `guard` before they run: `Agent(…, tools=guarded_tools(guard, [refund]))`.

    The guard needs a `Client` or a `Local`: agents of CrewAI do not await their tools. In the policy a tool has its own name, of
    which CrewAI may show the model another form. A call that is not allowed is answered to the model with the reasons, as a
    `ToolFailure`. After `Upstream` and `Terminal`, a hook behind the call ends the run with `HookAborted`. Results are not kept in
    CrewAI's cache: each call is decided on.
    """
    if _end not in get_after_tool_call_hooks():
        register_after_tool_call_hook(_end)
    return [_GuardedTool(guard, tool) for tool in tools]


class _GuardedTool(BaseTool):
    # Private, so that no checkpoint has them: a tool that is restored from one has no guard, and cannot be made.
    _guard: Guard
    _tool: Any

    def __init__(self, guard: Guard, tool: BaseTool) -> None:
        if not isinstance(tool, BaseTool):
            raise TypeError(f"{tool!r:.200} is not a tool of CrewAI")
        refuse_generator(_function(tool, "_run"))
        # All that CrewAI knows of a tool, also what later versions add.
        fields = {name: getattr(tool, name) for name in BaseTool.model_fields}
        super().__init__(**{**fields, "cache_function": _never})
        self._guard = guard
        self._tool = tool

    def _run(self, *args: Any, **kwargs: Any) -> Any:
        try:
            function = _now(_function(self._tool, "_run"))
            return self._guard._execute(Arguments.of(function, args, kwargs, tool=self._tool.name))
        except NotAllowed as error:
            return _refused(error)

    async def _arun(self, *args: Any, **kwargs: Any) -> Any:
        if type(self._tool)._arun is BaseTool._arun:
            raise NotImplementedError(f"`{self._tool.name}` has no `_arun`")
        try:
            function = _function(self._tool, "_arun")
            return await self._guard._aexecute(Arguments.of(function, args, kwargs, tool=self._tool.name))
        except NotAllowed as error:
            return _refused(error)

    def format_output_for_agent(self, raw_result: Any) -> str:
        if isinstance(raw_result, ToolFailure):
            return str(raw_result.as_agent_message())
        return str(self._tool.format_output_for_agent(raw_result))


class _Ending(ToolFailure):
    """A refusal after which the run ends."""

    _error: NotAllowed


def _refused(error: NotAllowed) -> ToolFailure:
    told = Guard.tool_result(error)
    if not isinstance(error, Upstream | Terminal):
        return ToolFailure(message=told)
    ending = _Ending(message=told)
    ending._error = error
    return ending


def _end(context: ToolCallHookContext) -> None:
    """CrewAI answers the model with what a tool raises, and goes on. It ends the run for this exception of a hook."""
    if isinstance(context.raw_tool_result, _Ending):
        raise HookAborted(context.raw_tool_result.message, "proofmark") from context.raw_tool_result._error


def _never(args: Any = None, result: Any = None) -> bool:
    """Whether a result is cached."""
    return False


def _function(tool: Any, method: str) -> Callable[..., Any]:
    """What a method of the tool calls in the end: the names of its parameters are those of the arguments."""
    is_plain = getattr(type(tool), method) is getattr(Tool, method, None)
    function: Callable[..., Any] = tool.func if is_plain else getattr(tool, method)
    return function


def _now(function: Callable[..., Any]) -> Callable[..., Any]:
    """Runs a coroutine to its end, as `BaseTool.run` does, so that its end is what is reported."""

    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        result = function(*args, **kwargs)
        return asyncio.run(result) if asyncio.iscoroutine(result) else result

    return run
