"""Google ADK: a plugin of the runner that asks before each tool call."""

from __future__ import annotations

from typing import Any

from google.adk.plugins.base_plugin import BasePlugin
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.tool_context import ToolContext

from ..guard import Guard
from ..not_allowed import NotAllowed
from . import Executions, told


class GuardPlugin(BasePlugin):
    """Asks `guard` before each tool call of all agents: `App(…, plugins=[GuardPlugin(guard)])`.

    Put it last in the list: a plugin behind it, and a `before_tool_callback` of an agent, can change the call that was decided
    on. A call that is not allowed is answered to the model with `{"error": reasons}`. `Upstream` and `Terminal` end the run.
    """

    def __init__(self, guard: Guard, name: str = "proofmark") -> None:
        super().__init__(name)
        self.guard = guard
        self.running = Executions(guard)

    async def before_tool_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: ToolContext
    ) -> dict[str, Any] | None:
        call_id = tool_context.function_call_id
        try:
            decision = await self.guard.acheck(tool.name, tool_args, call_id=call_id)
        except NotAllowed as error:
            return {"error": told(error)}
        tool_args.clear()
        tool_args.update(decision.args)
        if call_id is not None:
            self.running.begin(call_id, decision)
        return None

    async def after_tool_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: ToolContext, result: dict[str, Any]
    ) -> None:
        await self.running.report(tool_context.function_call_id or "")

    async def on_tool_error_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: ToolContext, error: Exception
    ) -> None:
        await self.running.report(tool_context.function_call_id or "", error)
