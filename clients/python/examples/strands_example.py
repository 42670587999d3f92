"""Strands Agents: an agent asks before each tool call. `pip install 'proofmark-sdk[cli,strands]'`"""

import json
from pathlib import Path

from strands import Agent, tool
from strands.models import Model

from proofmark_sdk import Guard, Local
from proofmark_sdk.adapters.strands import GuardHooks

guard = Guard(Local(policy=Path(__file__).parent / "policy.yaml"))
script = iter([{"amount": 20, "ticket": "T-1"}, {"amount": 30}])


@tool
def refund(amount: int, ticket: str = "none") -> str:
    """Refunds an amount to the customer of a ticket."""
    return f"refunded {amount}"


class Scripted(Model):
    """In place of a model."""

    get_config = update_config = structured_output = lambda self, *args, **named: {}

    async def stream(self, messages, *args, **named):
        if call := next(script, None):
            yield {"contentBlockStart": {"start": {"toolUse": {"toolUseId": f"call-{call['amount']}", "name": "refund"}}}}
            yield {"contentBlockDelta": {"delta": {"toolUse": {"input": json.dumps(call)}}}}
            yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "tool_use" if call else "end_turn"}}


agent = Agent(Scripted(), tools=[refund], hooks=[GuardHooks(guard)], callback_handler=None)
agent("Refund them.")
for message in agent.messages:
    for block in message["content"]:
        if "toolResult" in block:
            print(block["toolResult"]["content"][0]["text"])
