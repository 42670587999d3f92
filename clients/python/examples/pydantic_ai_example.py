"""Pydantic AI: an agent asks before each tool runs. `pip install 'proofmark-sdk[cli,pydantic-ai]'`"""

from pathlib import Path

from pydantic_ai import Agent
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import FunctionModel

from proofmark_sdk import Guard, Local
from proofmark_sdk.adapters.pydantic_ai import GuardCapability

guard = Guard(Local(policy=Path(__file__).parent / "policy.yaml"))
script = iter([{"amount": 20, "ticket": "T-1"}, {"amount": 30}])


def scripted(messages, info):
    """In place of a model."""
    args = next(script, None)
    return ModelResponse([ToolCallPart("refund", args) if args else TextPart("done")])


agent = Agent(FunctionModel(scripted), capabilities=[GuardCapability(guard)])


@agent.tool_plain
def refund(amount: int, ticket: str = "none") -> str:
    """Refunds an amount to the customer of a ticket."""
    return f"refunded {amount}"


for message in agent.run_sync("Refund them.").all_messages():
    for part in message.parts:
        if isinstance(part, ToolReturnPart):
            print(part.content)
