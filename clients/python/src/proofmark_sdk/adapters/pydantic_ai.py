"""Pydantic AI: a capability that asks before each tool runs."""

from __future__ import annotations

from typing import Any

from pydantic_ai import RunContext
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.exceptions import ApprovalRequired, SkipToolExecution
from pydantic_ai.messages import ToolCallPart
from pydantic_ai.tools import ToolDefinition

from ..decision import Decision
from ..guard import Guard
from ..not_allowed import NeedsReview, NotAllowed, Terminal, Upstream
from . import Running


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
        self.running: Running[Decision] = Running()

    async def before_tool_execute(
        self, ctx: RunContext[Any], *, call: ToolCallPart, tool_def: ToolDefinition, args: dict[str, Any]
    ) -> dict[str, Any]:
        try:
            decision = await self.guard.acheck(call.tool_name, args, call_id=call.tool_call_id)
        except (Upstream, Terminal):
            raise
        except NeedsReview as error:
            if self.defers and not ctx.tool_call_approved:
                raise ApprovalRequired({"decision_id": error.decision.id, "url": error.url}) from error
            raise SkipToolExecution(Guard.tool_result(error)) from error
        except NotAllowed as error:
            raise SkipToolExecution(Guard.tool_result(error)) from error
        self.running.begin(call.tool_call_id, decision)
        return decision.args

    async def after_tool_execute(
        self, ctx: RunContext[Any], *, call: ToolCallPart, tool_def: ToolDefinition, args: dict[str, Any], result: Any
    ) -> Any:
        await self._report(call, None)
        return result

    async def on_tool_execute_error(
        self, ctx: RunContext[Any], *, call: ToolCallPart, tool_def: ToolDefinition, args: dict[str, Any], error: Exception
    ) -> Any:
        await self._report(call, error)
        raise error

    async def _report(self, call: ToolCallPart, error: Exception | None) -> None:
        if decision := self.running.end(call.tool_call_id):
            await self.guard.areport(decision, error=error)
