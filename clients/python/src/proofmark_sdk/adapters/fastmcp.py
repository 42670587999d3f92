"""FastMCP: a middleware of a server that asks before each tool runs."""

from __future__ import annotations

from typing import Any

from fastmcp.exceptions import ToolError
from fastmcp.server.middleware import CallNext, Middleware, MiddlewareContext
from fastmcp.tools import ToolResult
from mcp.types import CallToolRequestParams

from ..guard import Guard
from ..not_allowed import NotAllowed
from . import areporting


class GuardMiddleware(Middleware):
    """Asks `guard` before each tool of a server runs: `server.add_middleware(GuardMiddleware(guard))`.

    Add it last: a middleware behind it can change the call that was decided on. A call that is not allowed is answered with
    an error that has the reasons. So is one that names a version of the tool, because policies do not see versions. It sees
    calls of tools; reads of resources and prompts are not decided on.
    """

    def __init__(self, guard: Guard) -> None:
        self.guard = guard

    async def on_call_tool(
        self, context: MiddlewareContext[CallToolRequestParams], call_next: CallNext[CallToolRequestParams, ToolResult]
    ) -> ToolResult:
        call = context.message
        if "version" in ((call.meta or {}).get("fastmcp") or {}):
            raise ToolError(f"`{call.name}` was not executed. Calls that name a version are not decided on: name none.")
        try:
            decision = await self.guard.acheck(call.name, call.arguments or {})
        except NotAllowed as error:
            raise ToolError(Guard.tool_result(error)) from error
        decided: Any = call.model_copy(update={"arguments": decision.args})
        async with areporting(self.guard, decision):
            return await call_next(context.copy(message=decided))
