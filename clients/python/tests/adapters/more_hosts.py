"""More hosts, as in `hosts.py`."""

from __future__ import annotations

import asyncio
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from proofmark_sdk import Guard

if TYPE_CHECKING:
    from adapters.hosts import Args, Host, Ran

sys.path.append(str(Path(__file__).parents[2] / "examples"))


REFUND = "mcp__shop__refund"


def claude_agent_sdk(guard: Guard, args: Args, ran: Ran) -> str:
    from proofmark_sdk.adapters.claude_agent_sdk import hooks

    return claude(hooks(guard, names={REFUND: "refund"}), args, ran)[0]


def claude(hooks: Any, args: Args, ran: Ran, **more: Any) -> list[str]:
    """Claude Code with these hooks: what the model was told of its call, and what it said afterwards."""
    import scripted_claude
    from claude_agent_sdk import (
        AssistantMessage,
        ClaudeAgentOptions,
        TextBlock,
        ToolResultBlock,
        UserMessage,
        create_sdk_mcp_server,
        query,
        tool,
    )

    named = {"amount": {"type": "integer"}, "ticket": {"type": "string"}}

    @tool("refund", "Refunds.", {"type": "object", "properties": named, "required": ["amount"]})
    async def refund(given: Args) -> Args:
        ran.append(given)
        if given["amount"] == 1:
            raise OSError("the bank is closed")
        return {"content": [{"type": "text", "text": f"refunded {given['amount']}"}]}

    async def run(folder: str) -> list[str]:
        options = ClaudeAgentOptions(
            tools=[],
            mcp_servers={"shop": create_sdk_mcp_server("shop", tools=[refund])},
            allowed_tools=[REFUND],
            hooks=hooks,
            setting_sources=[],
            cwd=folder,
            # Root needs the last one for the mode without permissions.
            env={**scripted_claude.environment(REFUND, [args], folder), "IS_SANDBOX": "1"},
            **more,
        )
        said: list[str] = []
        async for message in query(prompt="Refund.", options=options):
            blocks = message.content if isinstance(message, UserMessage | AssistantMessage) else ()
            said += [str(block.content) for block in blocks if isinstance(block, ToolResultBlock)]
            said += [block.text for block in blocks if isinstance(block, TextBlock)]
        return said

    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(run(folder))


def strands(guard: Guard, args: Args, ran: Ran) -> str:
    from proofmark_sdk.adapters.strands import GuardHooks

    agent = strands_agent(args, ran, [GuardHooks(guard)])
    agent("Refund.")
    return strands_told(agent)


def strands_agent(args: Args, ran: Ran, hooks: list[Any], **more: Any) -> Any:
    import json

    from strands import Agent, tool
    from strands.models import Model

    script = iter([args])

    @tool
    def refund(amount: int, ticket: str = "none") -> str:
        """Refunds."""
        ran.append({"amount": amount, "ticket": ticket})
        if amount == 1:
            raise OSError("the bank is closed")
        return f"refunded {amount}"

    class Scripted(Model):
        get_config = update_config = structured_output = lambda self, *given, **named: {}

        async def stream(self, messages: Any, *given: Any, **named: Any) -> Any:
            if call := next(script, None):
                yield {"contentBlockStart": {"start": {"toolUse": {"toolUseId": "call-1", "name": "refund"}}}}
                yield {"contentBlockDelta": {"delta": {"toolUse": {"input": json.dumps(call)}}}}
                yield {"contentBlockStop": {}}
            yield {"messageStop": {"stopReason": "tool_use" if call else "end_turn"}}

    return Agent(Scripted(), tools=[refund], hooks=hooks, callback_handler=None, **more)


def strands_told(agent: Any) -> str:
    blocks = [block for message in agent.messages for block in message["content"]]
    return next(str(block["toolResult"]["content"][0]["text"]) for block in blocks if "toolResult" in block)


def crewai(guard: Guard, args: Args, ran: Ran) -> str:
    return _crewai(guard, args, ran, is_native=True)


def crewai_text(guard: Guard, args: Args, ran: Ran) -> str:
    return _crewai(guard, args, ran, is_native=False)


def _crewai(guard: Guard, args: Args, ran: Ran, is_native: bool) -> str:
    _crewai_sends_nothing()
    from proofmark_sdk.adapters.crewai import guarded_tools

    told: list[str] = []
    crew = crewai_crew(args, guarded_tools(guard, [crewai_refund(ran)]), told, is_native)
    crew.kickoff()
    return told[0]


def crewai_refund(ran: Ran) -> Any:
    _crewai_sends_nothing()
    from crewai.tools import tool

    @tool
    def refund(amount: int, ticket: str = "none") -> str:
        """Refunds."""
        ran.append({"amount": amount, "ticket": ticket})
        if amount == 1:
            raise OSError("the bank is closed")
        return f"refunded {amount}"

    return refund


def crewai_crew(args: Args, tools: list[Any], told: list[str], is_native: bool = True, tasks: int = 1) -> Any:
    """A crew whose model calls `refund` once for each task, in a structure or in its text; `told` gets what it reads then."""
    import json

    _crewai_sends_nothing()
    from crewai import Agent, Crew, Task
    from crewai.llms.base_llm import BaseLLM

    class Scripted(BaseLLM):
        def supports_function_calling(self) -> bool:
            return is_native

        def call(self, messages: Any, *given: Any, **named: Any) -> Any:
            # In text, a result stands behind what the model said.
            results = [message["content"] for message in messages if message["role"] in ("tool", "assistant")]
            told.extend(str(result) for result in results if result)
            if results:
                return "done" if is_native else "Thought: done\nFinal Answer: done"
            if is_native:
                return [{"id": "call-1", "type": "function", "function": {"name": "refund", "arguments": json.dumps(args)}}]
            return f"Thought: I refund.\nAction: refund\nAction Input: {json.dumps(args)}"

    agent = Agent(role="shop", goal="refund", backstory="none", llm=Scripted(model="scripted"), tools=tools)
    refunds = [Task(description="Refund.", expected_output="done", agent=agent) for _ in range(tasks)]
    return Crew(agents=[agent], tasks=refunds, cache=True)


def _crewai_sends_nothing() -> None:
    import os

    os.environ.update(CREWAI_DISABLE_TELEMETRY="true", CREWAI_DISABLE_TRACKING="true", OTEL_SDK_DISABLED="true")


MORE_HOSTS: dict[str, tuple[Host, str]] = {
    "claude_agent_sdk": (claude_agent_sdk, "claude_agent_sdk"),
    "strands": (strands, "strands"),
    "crewai": (crewai, "crewai"),
    "crewai_text": (crewai_text, "crewai"),
}

APART = {"strands", "crewai", "crewai_text"}
"""Hosts that cannot be installed beside the others."""
