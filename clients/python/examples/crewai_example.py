"""CrewAI: tools ask before they run. `pip install 'proofmark-sdk[cli,crewai]'`"""

import os
from pathlib import Path

os.environ |= {"CREWAI_DISABLE_TELEMETRY": "true", "OTEL_SDK_DISABLED": "true"}

from crewai import Agent
from crewai.llms.base_llm import BaseLLM
from crewai.tools import tool

from proofmark_sdk import Guard, Local
from proofmark_sdk.adapters.crewai import guarded_tools

guard = Guard(Local(policy=Path(__file__).parent / "policy.yaml"))
script = iter([{"amount": 20, "ticket": "T-1"}, {"amount": 30}])


@tool
def refund(amount: int, ticket: str = "none") -> str:
    """Refunds an amount to the customer of a ticket."""
    return f"refunded {amount}"


class Scripted(BaseLLM):
    """In place of a model."""

    def call(self, messages, *args, **named):
        if refunded := next(script, None):
            return [{"id": f"call-{refunded['amount']}", "function": {"name": "refund", "arguments": refunded}}]
        return "done"

    def supports_function_calling(self):
        return True


agent = Agent(role="shop", goal="refunds", backstory="", llm=Scripted(model="scripted"), tools=guarded_tools(guard, [refund]))
for message in agent.kickoff("Refund them.").messages:
    if message["role"] == "tool":
        print(message["content"])
