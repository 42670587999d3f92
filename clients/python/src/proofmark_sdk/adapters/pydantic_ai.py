"""Pydantic AI: a capability that asks before each tool runs."""

from __future__ import annotations

from typing import Any

from pydantic_ai import RunContext
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.exceptions import ApprovalRequired, SkipToolExecution
from pydantic_ai.messages import ToolCallPart
from pydantic_ai.tools import ToolDefinition

from ..guard import Guard
from ..not_allowed import NeedsReview, NotAllowed
from . import Executions, told


class GuardCapability(AbstractCapability[Any]):
    """Asks `guard` before each tool runs: `Agent(…, capabilities=[GuardCapability(guard)])`.

    Put it last in the list: a capability behind it can change the arguments that were decided on. A call that is not allowed
    is answered to the model with the reasons. With `defers`, a call that needs a review is deferred as one that requires
    approval; once it is resumed with `ToolApproved`, it is decided on again, so the approval has to be given to Proofmark,
    too. `Upstream` and `Terminal` end the run.
    """

    def __init__(self, guard: Guard, *, defers: bool = False) -> None:
        self.guard = guard
        self.defers = defers
        self.running = Executions(guard)

    async def before_tool_execute(
        self, ctx: RunContext[Any], *, call: ToolCallPart, tool_def: ToolDefinition, args: dict[str, Any]
    ) -> dict[str, Any]:
        try:
            decision = await self.guard.acheck(call.tool_name, args, call_id=call.tool_call_id)
        except NotAllowed as error:
            if isinstance(error, NeedsReview) and self.defers and not ctx.tool_call_approved:
                raise ApprovalRequired({"decision_id": error.decision.id, "url": error.url}) from error
            raise SkipToolExecution(told(error)) from error
        self.running.begin(call.tool_call_id, decision)
        return decision.args

    async def after_tool_execute(
        self, ctx: RunContext[Any], *, call: ToolCallPart, tool_def: ToolDefinition, args: dict[str, Any], result: Any
    ) -> Any:
        await self.running.report(call.tool_call_id)
        return result

    async def on_tool_execute_error(
        self, ctx: RunContext[Any], *, call: ToolCallPart, tool_def: ToolDefinition, args: dict[str, Any], error: Exception
    ) -> Any:
        await self.running.report(call.tool_call_id, error)
        raise error
