"""What only the OpenAI Agents SDK does."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

pytest.importorskip("agents", reason="`agents` is not installed")

from agents import Agent, FunctionTool, RunConfig, RunContextWrapper, RunHooks, Runner, function_tool
from agents.testing import ScriptedModel, assistant_message, function_call
from conftest import Server

import proofmark_sdk.adapters.openai_agents as adapter
from proofmark_sdk import Guard
from proofmark_sdk.adapters.openai_agents import guarded_tools

ARGS: dict[str, Any] = {"amount": 20, "ticket": "T-1"}
AGENT = {"id": "bot"}


def refund_tool(ran: list[Any], **options: Any) -> FunctionTool:
    @function_tool(**options)
    def refund(amount: int, ticket: str = "none") -> str:
        """Refunds."""
        ran.append({"amount": amount, "ticket": ticket})
        return f"refunded {amount}"

    return refund


def run(tool: FunctionTool, args: dict[str, Any] = ARGS, **options: Any) -> Any:
    script = [[function_call("refund", json.dumps(args), call_id="call-1")], [assistant_message("done")]]
    agent = Agent(name="shop", model=ScriptedModel(script), tools=[tool])
    return asyncio.run(Runner.run(agent, "refund", run_config=RunConfig(tracing_disabled=True), **options))


def told(done: Any) -> str:
    return next(str(item.output) for item in done.new_items if item.type == "tool_call_output_item")


class Changes(RunHooks[Any]):
    """A hook that changes the call after its guardrails."""

    def __init__(self, arguments: str) -> None:
        self.arguments = arguments

    async def on_tool_start(self, context: Any, agent: Any, tool: Any) -> None:
        context.tool_call.arguments = self.arguments


@pytest.mark.parametrize(
    "arguments", ['{"amount": 999999, "ticket": "T-1"}', '{"amount": 20.0, "ticket": "T-1"}', "{}", "[", '{"amount": NaN}']
)
def test_a_call_that_is_changed_after_the_decision_does_not_run(server: Server, arguments: str) -> None:
    ran: list[Any] = []
    [tool] = guarded_tools(Guard(server.client()), [refund_tool(ran)])
    assert "no decision on the call as it is now" in told(run(tool, hooks=Changes(arguments)))
    assert ran == []


def test_what_runs_is_what_was_decided_on(server: Server) -> None:
    ran: list[Any] = []
    [tool] = guarded_tools(Guard(server.client()), [refund_tool(ran)])
    # The text differs, and says the same.
    run(tool, hooks=Changes('{"ticket":"T-1","amount":999,"amount":20}'))
    assert ran == [ARGS]


def test_a_tool_with_the_plain_context_runs(server: Server) -> None:
    ran: list[str] = []

    async def invoke(context: RunContextWrapper[Any], arguments: str) -> str:
        ran.append(arguments)
        return "refunded"

    [tool] = guarded_tools(Guard(server.client()), [FunctionTool("refund", "Refunds.", {}, invoke, strict_json_schema=False)])
    assert told(run(tool)) == "refunded"
    assert [json.loads(arguments) for arguments in ran] == [ARGS]
    # No guardrail has decided on these.
    for args, runs in (({"amount": 20}, 1), (ARGS, 2)):
        told_now = asyncio.run(tool.on_invoke_tool(RunContextWrapper(None), json.dumps(args)))  # type: ignore[arg-type]
        assert len(ran) == runs and ("was not executed" in told_now) is (runs == 1)


async def asks(context: Any, args: dict[str, Any], call_id: str) -> bool:
    return bool(args["amount"] == 20)


@pytest.mark.parametrize("interrupts", [False, True])
@pytest.mark.parametrize("own", [True, asks])
def test_the_approval_that_the_tool_needs_itself_is_asked_for(server: Server, own: Any, interrupts: bool) -> None:
    ran: list[Any] = []
    tool = refund_tool(ran, needs_approval=own)
    [guarded] = guarded_tools(Guard(server.client(), agent=AGENT), [tool], interrupts=interrupts)
    assert len(run(guarded).interruptions) == 1
    assert ran == []
    if own is asks:
        assert run(guarded, {**ARGS, "amount": 21}).interruptions == []
        assert [args["amount"] for args in ran] == [21]
        # The tool would get another argument than that which its function is asked about.
        assert len(run(guarded, {**ARGS, "amount": "21"}).interruptions) == 1


@pytest.mark.parametrize("other", [True, 1.0])
def test_a_decision_is_on_one_type_of_number(server: Server, other: Any) -> None:
    tool = adapter._Tool(Guard(server.client()), refund_tool([]))
    asyncio.run(tool.needs_approval(RunContextWrapper(None), {**ARGS, "amount": 1}, "call-1"))
    assert tool._made("call-1", {**ARGS, "amount": other}) is None


def test_a_decision_is_kept_no_longer_than_it_is_valid(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    tool = adapter._Tool(Guard(server.client()), refund_tool([]))
    for lifetime, is_used in ((0.0, False), (20.0, True)):
        monkeypatch.setattr(adapter, "lifetime", lambda binding, lifetime=lifetime: lifetime)
        asyncio.run(tool.needs_approval(RunContextWrapper(None), ARGS, "call-1"))
        assert (tool._made("call-1", ARGS) is not None) is is_used
