"""LangChain and LangGraph: a middleware that asks before each tool call."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias, cast

from langchain.agents.middleware import AgentMiddleware
from langchain.agents.middleware.types import ToolCallRequest
from langchain_core.messages import ToolMessage
from langgraph.types import Command, interrupt

from ..decision import Decision
from ..guard import Guard
from ..not_allowed import NeedsReview, NotAllowed, Terminal, Upstream
from . import areporting, reporting

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
        call = request.tool_call
        try:
            decision = self.guard.check(call["name"], call["args"], call_id=call["id"])
        except NotAllowed as error:
            return self._refused(request, error)
        with reporting(self.guard, decision):
            return cast(Result, handler(_decided(request, decision)))

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[Result]]
    ) -> Result:
        call = request.tool_call
        try:
            decision = await self.guard.acheck(call["name"], call["args"], call_id=call["id"])
        except NotAllowed as error:
            return self._refused(request, error)
        async with areporting(self.guard, decision):
            return cast(Result, await handler(_decided(request, decision)))

    def _refused(self, request: ToolCallRequest, error: NotAllowed) -> ToolMessage:
        if isinstance(error, Upstream | Terminal):
            raise error
        if self.interrupts and isinstance(error, NeedsReview):
            # The first time this ends the step. Once the graph is resumed, the step begins again, with a new decision.
            interrupt({"decision_id": error.decision.id, "url": error.url, "said": str(error)})
        call = request.tool_call
        return ToolMessage(Guard.tool_result(error), tool_call_id=call["id"], name=call["name"], status="error")


def _decided(request: ToolCallRequest, decision: Decision) -> ToolCallRequest:
    decided: ToolCallRequest = request.override(tool_call={**request.tool_call, "args": decision.args})
    return decided
