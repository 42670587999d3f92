"""Strands Agents: a hook provider that asks before each tool call."""

from __future__ import annotations

import asyncio
import math
from typing import Any

from strands.hooks import AfterToolCallEvent, BeforeToolCallEvent, HookProvider, HookRegistry

from ..decision import Decision
from ..guard import Guard
from ..not_allowed import NeedsReview, NotAllowed
from . import Running, ToolFailed, told

LAST = math.inf
"""Behind the hooks that can change a call or retry it."""


class GuardHooks(HookProvider):
    """Asks `guard` before each tool call: `Agent(…, hooks=[GuardHooks(guard)])`.

    It runs behind other hooks, and decides on the call as they left it. A call that is not allowed is cancelled with the
    reasons. With `interrupts`, a call that needs a review interrupts the agent; when it is resumed, the call is decided on again,
    so the approval has to be given to Proofmark, whatever the response is. `Upstream` and `Terminal` are raised, and end the run.
    A tool that runs in the background is not retried: there would be no decision on the second run.
    """

    def __init__(self, guard: Guard, *, interrupts: bool = False) -> None:
        self.guard = guard
        self.interrupts = interrupts
        # With the task that asked for the decision.
        self.running: Running[tuple[Decision, Any]] = Running()

    def register_hooks(self, registry: HookRegistry, **named: Any) -> None:
        registry.add_callback(BeforeToolCallEvent, self.before, order=LAST)
        registry.add_callback(AfterToolCallEvent, self.after, order=LAST)

    async def before(self, event: BeforeToolCallEvent) -> None:
        use, tool = event.tool_use, event.selected_tool
        if event.cancel_tool:
            return
        if tool is not None and tool.tool_name != use["name"]:
            # Which of the two runs depends on why they differ.
            event.cancel_tool = f"`{use['name']}` was not executed: another hook has put `{tool.tool_name}` in its place"
            return
        try:
            decision = await self.guard.acheck(use["name"], use["input"], call_id=use["toolUseId"])
        except NotAllowed as error:
            if self.interrupts and isinstance(error, NeedsReview):
                # The first time this ends the run. Once it is resumed, this returns, and there is still no approval.
                event.interrupt("proofmark", {"decision_id": error.decision.id, "url": error.url, "said": str(error)})
            event.cancel_tool = told(error)
            return
        event.tool_use = {**use, "input": decision.args}
        self.running.begin(use["toolUseId"], (decision, asyncio.current_task()))

    async def after(self, event: AfterToolCallEvent) -> None:
        decision, task = self.running.end(event.tool_use["toolUseId"]) or (None, None)
        if event.retry and task is not asyncio.current_task():
            # In the background, where no decision is asked for before the next run.
            event.retry = False
        if decision and event.cancel_message is None:
            failed = ToolFailed(str(event.result["content"])) if event.result["status"] == "error" else None
            await self.guard.areport(decision, error=event.exception or failed)
