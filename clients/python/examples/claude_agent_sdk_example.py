"""Claude Agent SDK: hooks ask before each tool call. `pip install 'proofmark-sdk[cli,claude-agent-sdk]'`"""

import asyncio
import tempfile
from pathlib import Path

import scripted_claude
from claude_agent_sdk import ClaudeAgentOptions, ToolResultBlock, UserMessage, create_sdk_mcp_server, query, tool

from proofmark_sdk import Guard, Local
from proofmark_sdk.adapters.claude_agent_sdk import hooks

guard = Guard(Local(policy=Path(__file__).parent / "policy.yaml"))
REFUND = "mcp__shop__refund"


@tool("refund", "Refunds an amount to the customer of a ticket.", {"amount": int})
async def refund(args):
    return {"content": [{"type": "text", "text": f"refunded {args['amount']}"}]}


async def main(folder):
    options = ClaudeAgentOptions(
        tools=[],
        mcp_servers={"shop": create_sdk_mcp_server("shop", tools=[refund])},
        allowed_tools=[REFUND],
        hooks=hooks(guard, names={REFUND: "refund"}),
        setting_sources=[],
        env=scripted_claude.environment(REFUND, [{"amount": 20, "ticket": "T-1"}, {"amount": 30}], folder),
    )
    async for message in query(prompt="Refund them.", options=options):
        if isinstance(message, UserMessage):
            print(*[block.content for block in message.content if isinstance(block, ToolResultBlock)])


with tempfile.TemporaryDirectory() as folder:
    asyncio.run(main(folder))
