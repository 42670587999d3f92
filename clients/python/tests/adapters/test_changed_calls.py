"""Calls that are changed around the decision."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from conftest import Server

from proofmark_sdk import Guard

ARGS: dict[str, Any] = {"amount": 20, "ticket": "T-1"}


class Meanwhile(Guard):
    """Does something while a decision is waited for."""

    def __init__(self, server: Server, act: Any) -> None:
        super().__init__(server.client())
        self.act = act

    def check(self, *args: Any, **options: Any) -> Any:
        decision = super().check(*args, **options)
        self.act()
        return decision

    async def acheck(self, *args: Any, **options: Any) -> Any:
        decision = await super().acheck(*args, **options)
        self.act()
        return decision


def test_fastmcp_has_no_other_version_of_a_tool(server: Server) -> None:
    fastmcp = pytest.importorskip("fastmcp")
    from proofmark_sdk.adapters.fastmcp import GuardMiddleware

    ran: list[str] = []
    shop = fastmcp.FastMCP("shop")
    shop.add_middleware(GuardMiddleware(Guard(server.client())))

    def tool(version: str) -> None:
        @shop.tool(name="refund", version=version)
        def refund(amount: int, ticket: str) -> str:
            ran.append(version)
            return "refunded"

    tool("1.0")
    tool("2.0")

    async def run(**options: Any) -> Any:
        async with fastmcp.Client(shop) as client:
            return await client.call_tool("refund", ARGS, **options)

    for options in ({"version": "1.0"}, {"meta": {"fastmcp": {"version": "1.0"}}}, {"version": "2.0"}):
        with pytest.raises(fastmcp.exceptions.ToolError, match="Calls that name a version are not decided on"):
            asyncio.run(run(**options))
    assert ran == []
    asyncio.run(run(meta={"fastmcp": {}, "other": 1}))
    assert ran == ["2.0"]


def test_inspect_runs_what_was_decided_on(server: Server) -> None:
    pytest.importorskip("inspect_ai")
    from inspect_ai.approval import ApprovalPolicy
    from inspect_ai.approval._apply import approval
    from inspect_ai.model import ChatMessageAssistant, execute_tools
    from inspect_ai.tool import Tool, ToolCall, tool

    from proofmark_sdk.adapters.inspect_ai import guard_approver

    ran: list[int] = []
    call = ToolCall(id="call-1", function="refund", arguments=dict(ARGS), type="function")

    @tool
    def refund() -> Tool:
        async def execute(amount: int, ticket: str) -> str:
            """Refunds.

            Args:
                amount: How much.
                ticket: For what.
            """
            ran.append(amount)
            return "refunded"

        return execute

    async def run() -> None:
        guard = Meanwhile(server, lambda: call.arguments.update(amount=777))
        with approval([ApprovalPolicy(guard_approver(guard), "*")]):
            await execute_tools([ChatMessageAssistant(content="", tool_calls=[call])], [refund()])

    asyncio.run(run())
    assert ran == [20]


@pytest.mark.parametrize("is_async", [False, True])
def test_langchain_runs_no_tool_in_place_of_another(server: Server, is_async: bool) -> None:
    pytest.importorskip("langchain")
    from langchain.agents.middleware.types import ToolCallRequest
    from langchain_core.messages import ToolMessage
    from langchain_core.tools import tool

    from proofmark_sdk.adapters.langchain import GuardMiddleware

    ran: list[Any] = []

    @tool
    def refund(amount: int, ticket: str) -> str:
        """Refunds."""
        return "refunded"

    @tool
    def wire(amount: int, ticket: str) -> str:
        """Wires."""
        return "wired"

    def run(guard: Guard, request: ToolCallRequest) -> Any:
        def handler(request: ToolCallRequest) -> ToolMessage:
            ran.append((request.tool and request.tool.name, request.tool_call["name"], request.tool_call["args"]))
            return ToolMessage("done", tool_call_id="call-1")

        async def later(request: ToolCallRequest) -> ToolMessage:
            return handler(request)

        middleware = GuardMiddleware(guard)
        if is_async:
            return asyncio.run(middleware.awrap_tool_call(request, later))
        return middleware.wrap_tool_call(request, handler)

    def request(tool: Any) -> ToolCallRequest:
        call: Any = {"name": "refund", "args": dict(ARGS), "id": "call-1", "type": "tool_call"}
        return ToolCallRequest(tool_call=call, tool=tool, state={}, runtime=None)  # type: ignore[arg-type]

    other = request(wire)
    told = run(Guard(server.client()), other)
    assert (told.status, ran) == ("error", []) and "`refund` was not executed" in told.content
    # Changed while the decision is waited for.
    for own in (refund, None):
        asked = request(own)
        run(Meanwhile(server, lambda asked=asked: asked.tool_call.update(name="wire", args={})), asked)
        assert ran.pop() == (own and "refund", "refund", ARGS)


def test_agent_framework_runs_no_function_in_place_of_another(server: Server) -> None:
    agent_framework = pytest.importorskip("agent_framework")
    from proofmark_sdk.adapters.agent_framework import GuardMiddleware

    ran: list[str] = []

    def function(name: str) -> Any:
        return agent_framework.FunctionTool(name=name, description="", func=lambda amount, ticket: "done")

    async def run(is_changed: bool) -> None:
        context = agent_framework.FunctionInvocationContext(function("refund"), dict(ARGS))

        async def call_next() -> None:
            ran.append(context.function.name)

        def change() -> None:
            if is_changed:
                context.function = function("wire")

        await GuardMiddleware(Meanwhile(server, change)).process(context, call_next)

    with pytest.raises(agent_framework.MiddlewareFailure, match="`refund` was not executed"):
        asyncio.run(run(True))
    assert ran == []
    asyncio.run(run(False))
    assert ran == ["refund"]
