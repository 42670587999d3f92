"""LangChain: an agent asks before each tool call. `pip install 'proofmark-sdk[cli,langchain]'`"""

from pathlib import Path

from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import tool

from proofmark_sdk import Guard, Local
from proofmark_sdk.adapters.langchain import GuardMiddleware

guard = Guard(Local(policy=Path(__file__).parent / "policy.yaml"))


@tool
def refund(amount: int, ticket: str = "none") -> str:
    """Refunds an amount to the customer of a ticket."""
    return f"refunded {amount}"


class Scripted(GenericFakeChatModel):
    """In place of a model."""

    def bind_tools(self, tools, **options):
        return self


def call(number, **args):
    return AIMessage("", tool_calls=[{"name": "refund", "args": args, "id": f"call-{number}"}])


model = Scripted(messages=iter([call(1, amount=20, ticket="T-1"), call(2, amount=30), AIMessage("done")]))
agent = create_agent(model, [refund], middleware=[GuardMiddleware(guard)])
for message in agent.invoke({"messages": [{"role": "user", "content": "Refund them."}]})["messages"]:
    if isinstance(message, ToolMessage):
        print(message.content)
