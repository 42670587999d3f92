"""LangChain and LangGraph: a middleware that asks before each tool call."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

from langchain.agents.middleware import AgentMiddleware
from langchain.agents.middleware.types import ToolCallRequest
from langchain_core.messages import ToolCall, ToolMessage
from langgraph.types import Command, interrupt

from ..decision import Decision
from ..guard import Guard
from ..not_allowed import NeedsReview, NotAllowed
from . import areporting, reporting, told

Result: TypeAlias = "ToolMessage | Command[Any]"


class GuardMiddleware(AgentMiddleware[Any, Any]):
    """Asks `guard` before each tool call: `create_agent(…, middleware=[GuardMiddleware(guard)])`.

    Put it last in the list, next to the tools: a middleware behind it can change the call that was decided on. A call that is
    not allowed is answered to the model with the reasons. With `interrupts`, a call that needs a review interrupts the graph,
    which needs a checkpointer; when it is resumed, the call is decided on again. `Upstream` and `Terminal` are raised, and
    end the run.
    """

    def __init__(self, guard: Guard, *, interrupts: bool = False) -> None:
        super().__init__()
        self.guard = guard
        self.interrupts = interrupts

    def wrap_tool_call(self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Result]) -> Result:
        asked = _Asked.of(request)
        try:
            decision = self.guard.check(*asked.named(), call_id=asked.call["id"])
        except NotAllowed as error:
            return self._not_allowed(asked, error)
        with reporting(self.guard, decision):
            return cast(Result, handler(asked.decided(request, decision)))

    async def awrap_tool_call(self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[Result]]) -> Result:
        asked = _Asked.of(request)
        try:
            decision = await self.guard.acheck(*asked.named(), call_id=asked.call["id"])
        except NotAllowed as error:
            return self._not_allowed(asked, error)
        async with areporting(self.guard, decision):
            return cast(Result, await handler(asked.decided(request, decision)))

    def _not_allowed(self, asked: _Asked, error: NotAllowed) -> ToolMessage:
        if self.interrupts and isinstance(error, NeedsReview):
            # The first time this ends the step. Once the graph is resumed, the step begins again, with a new decision.
            interrupt({"decision_id": error.decision.id, "url": error.url, "said": str(error)})
        return ToolMessage(told(error), tool_call_id=asked.call["id"], name=asked.call["name"], status="error")


@dataclass(frozen=True)
class _Asked:
    """A call and its tool as they were when the decision was asked for."""

    call: ToolCall
    tool: Any

    @classmethod
    def of(cls, request: ToolCallRequest) -> _Asked:
        call: Any = dict(request.tool_call)
        return cls(call, request.tool)

    def named(self) -> tuple[str, dict[str, Any]]:
        """The tool and its arguments. Raises `NotAllowed` if another tool than the named one would run."""
        name = self.call["name"]
        if self.tool is not None and self.tool.name != name:
            raise NotAllowed(name, f"A middleware has put `{self.tool.name}` in its place.")
        return name, self.call["args"]

    def decided(self, request: ToolCallRequest, decision: Decision) -> ToolCallRequest:
        call = {**self.call, "args": decision.args}
        decided: ToolCallRequest = request.override(tool_call=call, tool=self.tool)
        return decided
