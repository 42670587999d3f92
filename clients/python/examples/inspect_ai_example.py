"""Inspect: an evaluation whose tool calls are decided on. `pip install 'proofmark-sdk[cli,inspect]'`"""

import tempfile
from pathlib import Path
from unittest.mock import AsyncMock

from inspect_ai import Task, eval
from inspect_ai.approval import ApprovalPolicy
from inspect_ai.dataset import Sample
from inspect_ai.model import ModelOutput, get_model
from inspect_ai.solver import generate, use_tools
from inspect_ai.tool import ToolDef, tool

from proofmark_sdk import Guard, Local
from proofmark_sdk.adapters.inspect_ai import guard_approver

guard = Guard(Local(policy=Path(__file__).parent / "policy.yaml"))


async def execute(amount: int, ticket: str = "none") -> str:
    return f"refunded {amount}"


@tool
def refund():
    named = {"amount": "How much.", "ticket": "For what."}
    return ToolDef(execute, "refund", "Refunds an amount to the customer of a ticket.", named).as_tool()


script = [ModelOutput.for_tool_call("mockllm", "refund", args) for args in ({"amount": 20, "ticket": "T-1"}, {"amount": 30})]
model = get_model("mockllm/model", custom_outputs=[*script, ModelOutput.from_content("mockllm", "done")])
model.api.count_text_tokens = AsyncMock(return_value=1)  # Else it loads a table from the network.
approval = [ApprovalPolicy(guard_approver(guard), "*")]
task = Task(dataset=[Sample("Refund them.")], solver=[use_tools(refund()), generate()], approval=approval)
[log] = eval(task, model=model, display="none", log_dir=tempfile.mkdtemp())
for message in log.samples[0].messages:
    if message.role == "tool":
        print(message.error.message if message.error else message.text)
