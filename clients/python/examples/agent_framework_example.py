"""Microsoft Agent Framework: an agent asks before each function runs. `pip install 'proofmark-sdk[cli,agent-framework]'`"""

import asyncio
import json
from pathlib import Path

from agent_framework import Agent, BaseChatClient, ChatResponse, Content, FunctionInvocationLayer, Message

from proofmark_sdk import Guard, Local
from proofmark_sdk.adapters.agent_framework import GuardMiddleware

guard = Guard(Local(policy=Path(__file__).parent / "policy.yaml"))
script = iter([{"amount": 20, "ticket": "T-1"}, {"amount": 30}])


def refund(amount: int, ticket: str = "none") -> str:
    """Refunds an amount to the customer of a ticket."""
    return f"refunded {amount}"


class Scripted(FunctionInvocationLayer, BaseChatClient):
    """In place of a model."""

    async def _inner_get_response(self, *, messages, stream, options, **named):
        args = next(script, None)
        call = args and Content.from_function_call(f"call-{args['amount']}", "refund", arguments=json.dumps(args))
        return ChatResponse(messages=[Message(role="assistant", contents=[call or "done"])])


agent = Agent(client=Scripted(), tools=[refund], middleware=[GuardMiddleware(guard)])
for message in asyncio.run(agent.run("Refund them.")).messages:
    for content in message.contents:
        if content.type == "function_result":
            print(content.result)
