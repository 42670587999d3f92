"""Google ADK: a plugin asks before each tool call of all agents. `pip install 'proofmark-sdk[cli,google-adk]'`"""

import asyncio
from pathlib import Path

from google.adk.agents import Agent
from google.adk.apps import App
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import InMemoryRunner
from google.genai.types import Content, Part

from proofmark_sdk import Guard, Local
from proofmark_sdk.adapters.google_adk import GuardPlugin

guard = Guard(Local(policy=Path(__file__).parent / "policy.yaml"))
script = iter([{"amount": 20, "ticket": "T-1"}, {"amount": 30}])


def refund(amount: int, ticket: str = "none") -> str:
    """Refunds an amount to the customer of a ticket."""
    return f"refunded {amount}"


class Scripted(BaseLlm):
    """In place of a model."""

    async def generate_content_async(self, request, stream=False):
        args = next(script, None)
        part = Part.from_function_call(name="refund", args=args) if args else Part(text="done")
        yield LlmResponse(content=Content(role="model", parts=[part]))


agent = Agent(name="shop", model=Scripted(model="scripted"), tools=[refund])
runner = InMemoryRunner(app=App(name="shop", root_agent=agent, plugins=[GuardPlugin(guard)]))
for event in asyncio.run(runner.run_debug("Refund them.", quiet=True)):
    for response in event.get_function_responses():
        print(response.response)
