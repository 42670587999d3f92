"""OpenAI Agents SDK: function tools ask before they run. `pip install 'proofmark-sdk[cli,openai-agents]'`"""

import json
from pathlib import Path

from agents import Agent, RunConfig, Runner, function_tool
from agents.testing import ScriptedModel, assistant_message, function_call

from proofmark_sdk import Guard, Local
from proofmark_sdk.adapters.openai_agents import guarded_tools

guard = Guard(Local(policy=Path(__file__).parent / "policy.yaml"))


@function_tool
def refund(amount: int, ticket: str = "none") -> str:
    """Refunds an amount to the customer of a ticket."""
    return f"refunded {amount}"


def call(number, **args):
    return [function_call("refund", json.dumps(args), call_id=f"call-{number}")]


model = ScriptedModel([call(1, amount=20, ticket="T-1"), call(2, amount=30), [assistant_message("done")]])
agent = Agent(name="shop", model=model, tools=[*guarded_tools(guard, [refund])])
done = Runner.run_sync(agent, "Refund them.", run_config=RunConfig(tracing_disabled=True))
for item in done.new_items:
    if item.type == "tool_call_output_item":
        print(item.output)
