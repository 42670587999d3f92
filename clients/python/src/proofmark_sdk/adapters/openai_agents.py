"""OpenAI Agents SDK: function tools that ask before they run."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from agents import FunctionTool, ToolGuardrailFunctionOutput, ToolInputGuardrail, ToolOutputGuardrail
from agents.run_context import RunContextWrapper
from agents.tool_guardrails import ToolInputGuardrailData, ToolOutputGuardrailData

from ..decision import Decision
from ..guard import Guard
from ..not_allowed import NeedsReview, NotAllowed, Terminal, Upstream

SECONDS_KEPT = 30
"""How long a decision that was made before an approval was asked for is used."""


def guarded_tools(guard: Guard, tools: Iterable[FunctionTool], *, interrupts: bool = False) -> list[FunctionTool]:
    """Copies of function tools that ask `guard` before they run: `Agent(tools=guarded_tools(guard, [refund]))`.

    A call that is not allowed is answered to the model with the reasons. With `interrupts`, a call that needs a review
    interrupts the run as a tool with `needs_approval` does; when the run is resumed after `RunState.approve`, the call is
    decided on again, so the approval has to be given to Proofmark, too. `Upstream` and `Terminal` end the run.
    """
    return [_Tool(guard, tool).guarded(interrupts) for tool in tools]


class _Tool:
    def __init__(self, guard: Guard, tool: FunctionTool) -> None:
        self.guard = guard
        self.tool = tool
        # By the id of the call: the decisions on calls that have begun.
        self.made: dict[str, tuple[float, Decision]] = {}
        self.running: dict[str, Decision] = {}

    def guarded(self, interrupts: bool) -> FunctionTool:
        before = ToolInputGuardrail(self.before, name="proofmark")
        after = ToolOutputGuardrail(self.after, name="proofmark")
        guarded = replace(
            self.tool,
            # Behind those of the tool: none of them can reject a call that counts as executed.
            tool_input_guardrails=[*(self.tool.tool_input_guardrails or []), before],
            tool_output_guardrails=[after, *(self.tool.tool_output_guardrails or [])],
        )
        return replace(guarded, needs_approval=self.needs_approval) if interrupts else guarded

    async def before(self, data: ToolInputGuardrailData) -> ToolGuardrailFunctionOutput:
        context = data.context
        try:
            args = json.loads(context.tool_arguments or "{}")
            decision = self._made(context.tool_call_id, args)
            if decision is None:
                decision = await self.guard.acheck(self.tool.name, args, call_id=context.tool_call_id)
        except (Upstream, Terminal):
            raise
        except NotAllowed as error:
            return ToolGuardrailFunctionOutput.reject_content(Guard.tool_result(error))
        self.running[context.tool_call_id] = decision
        return ToolGuardrailFunctionOutput.allow({"decision_id": decision.id})

    async def after(self, data: ToolOutputGuardrailData) -> ToolGuardrailFunctionOutput:
        if decision := self.running.pop(data.context.tool_call_id, None):
            await self.guard.areport(decision)
        return ToolGuardrailFunctionOutput.allow()

    async def needs_approval(self, context: RunContextWrapper[Any], args: dict[str, Any], call_id: str) -> bool:
        try:
            self.made[call_id] = time.monotonic(), await self.guard.acheck(self.tool.name, args, call_id=call_id)
        except NeedsReview:
            return True
        except NotAllowed:
            # The guardrail asks again, and tells the model why.
            return False
        return False

    def _made(self, call_id: str, args: Any) -> Decision | None:
        """The decision on this call, if it was made a moment ago. It is good for one execution."""
        at, decision = self.made.pop(call_id, (0.0, None))
        recent = {made: kept for made, kept in self.made.items() if time.monotonic() - kept[0] < SECONDS_KEPT}
        self.made = recent
        is_good = decision is not None and decision.action["args"] == args and time.monotonic() - at < SECONDS_KEPT
        return decision if is_good else None
