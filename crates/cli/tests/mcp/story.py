"""Asks everything there is to ask with the official client: `story.py MODE URL`, or `story.py MODE COMMAND ARGUMENT…`."""

import asyncio
import json
import os
import sys

from mcp import Client, StdioServerParameters
from mcp.shared.exceptions import MCPError

mode, where, *arguments = sys.argv[1:]
PATIENCE = 50  # seconds: less than what is cancelled below would take to run into its own limit

RIGHT = "def f(x):\n    return x * 2\n"
WORKFLOW = """
name: release
class: readonly
onFailure: {maxAttempts: 3}
steps:
  - id: build
    verification:
      evidence:
        - {path: deploy_id, expect: present, rejectMessage: "deploy_id is missing"}
"""


def request(content, tests):
    tests = [{"name": f"test {x}", "input": [x], "expected_output": x * 2} for x in tests]
    block = {"kind": "test_suite", "language": "python", "entrypoint": "f", "tests": tests}
    block["limits"] = {"timeout_ms": 60000, "total_timeout_ms": 600000}
    return {"task": {"task_id": "double"}, "output": {"content": content}, "verification": block}


def connected():
    server = where
    if arguments:
        server = StdioServerParameters(command=where, args=arguments, env=dict(os.environ))
    return Client(server, mode=mode, read_timeout_seconds=PATIENCE)


def refused(result, *words):
    assert result.is_error and result.structured_content is None, result
    for word in words:
        assert word in result.content[0].text, result


async def lists(client):
    # The client holds every structured answer below against the schemas it is given here.
    tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    names = ["accept_step", "cb_verify_work", "collect_reviews", "decide_action", "get_receipt", "verify_receipt"]
    assert sorted(tools) == names, tools
    assert all(tool.output_schema and tool.input_schema for tool in tools.values())
    templates = (await client.list_resource_templates()).resource_templates
    assert sorted(one.uri_template for one in templates) == ["decision://{id}", "receipt://{id}"]


async def verifies(client):
    told = []

    async def progress(done, total, message):
        told.append((done, total))

    work = request(RIGHT, [1, 2, 3])
    result = await client.call_tool("cb_verify_work", work, progress_callback=progress)
    receipt = result.structured_content
    assert not result.is_error and receipt["verdict"] == "pass", result
    assert json.loads(result.content[0].text) == receipt
    assert told and told[-1] == (3, 3) and told == sorted(told), told

    wrong = await client.call_tool("cb_verify_work", request("def f(x):\n    return x\n", [0, 1]))
    assert wrong.structured_content["verdict"] == "partial" and not wrong.is_error
    refused(await client.call_tool("cb_verify_work", {"output": {"content": "x"}}), "`verification`", "write")
    refused(await client.call_tool("cb_verify_work", {**work, "colour": "red"}), "`colour`")
    return result.content[0].text, receipt["receipt_id"]


async def checks(client, text):
    for receipt in (text, json.loads(text)):
        checked = (await client.call_tool("verify_receipt", {"receipt": receipt})).structured_content
        assert (checked["answer"], checked["trust"]) == ("valid", "trusted"), checked
    other = "MCowBQYDK2VwAyEA11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo="
    checked = await client.call_tool("verify_receipt", {"receipt": text, "trust": [other]})
    assert checked.structured_content["trust"] == "untrusted", checked
    checked = await client.call_tool("verify_receipt", {"receipt": text.replace('"double"', '"triple"')})
    assert checked.structured_content["answer"] == "invalid", checked
    checked = await client.call_tool("verify_receipt", {"receipt": "{"})
    assert checked.structured_content["answer"] == "undecidable", checked
    refused(await client.call_tool("verify_receipt", {"receipt": text, "trust": ["/etc/passwd"]}), "signer id")


async def gets(client, text, id):
    assert (await client.call_tool("get_receipt", {"id": id})).content[0].text == text
    [contents] = (await client.read_resource(f"receipt://{id}")).contents
    assert contents.text == text and contents.mime_type == "application/vrf+json"
    refused(await client.call_tool("get_receipt", {"id": "a1b2c3d4-e5f6-4890-abcd-ef1234567890"}), "no receipt")
    refused(await client.call_tool("collect_reviews", {"reviews": [id], "threshold": 1}), "1 reviews, expected 2 to 64")
    for uri in ("receipt://nothing", "file:///etc/passwd", "decision://nothing"):
        try:
            await client.read_resource(uri)
            raise AssertionError(uri)
        except MCPError as error:
            assert "no such resource" in str(error), error


async def accepts(client):
    done = 'done\n```result\n{"deploy_id": "d-1"}\n```\n'
    attempt = {"workflow": WORKFLOW, "step": "build", "run": f"story-{mode}"}
    retry = (await client.call_tool("accept_step", {**attempt, "response": "It is deployed."})).structured_content
    assert retry["state"] == "retry" and retry["next_attempt"] == 2 and "deploy_id" in retry["prompt"], retry
    accepted = (await client.call_tool("accept_step", {**attempt, "response": done, "attempt": 2})).structured_content
    assert accepted["state"] == "accepted", accepted
    refused(await client.call_tool("accept_step", {**attempt, "response": done, "step": "fly"}), "`fly`")
    refused(await client.call_tool("accept_step", {"workflow": "steps: [", "step": "a", "response": ""}), "workflow")


async def decides(client):
    note = {"action": {"tool": "add_note", "class": "record_mutation", "args": {"price": 1.50}}}
    decided = await client.call_tool("decide_action", note)
    receipt = decided.structured_content
    [contents] = (await client.read_resource(f"decision://{receipt['decision_id']}")).contents
    assert contents.text == decided.content[0].text
    assert (await client.call_tool("get_receipt", {"id": receipt["decision_id"]})).content[0].text == contents.text
    refused(await client.call_tool("decide_action", {"action": {"tool": 1}}), "action.tool")


async def cancels(client):
    """More endless loops than there are cores are cancelled; what comes next is not behind them in the queue."""
    endless = request("def f(x):\n    while x > 1:\n        pass\n    return x * 2\n", [1, 2])
    for _ in range((os.cpu_count() or 1) + 1):
        begun = asyncio.Event()

        async def progress(done, total, message):
            begun.set()

        call = asyncio.create_task(client.call_tool("cb_verify_work", endless, progress_callback=progress))
        # The first test has ended, so the second, which never does, is running.
        await asyncio.wait_for(begun.wait(), PATIENCE)
        call.cancel()
        await asyncio.gather(call, return_exceptions=True)
    result = await client.call_tool("cb_verify_work", request(RIGHT, [1]))
    assert result.structured_content["verdict"] == "pass", result


async def main():
    async with connected() as client:
        await lists(client)
        text, id = await verifies(client)
        await checks(client, text)
        await gets(client, text, id)
        await accepts(client)
        await decides(client)
        await cancels(client)
        try:
            await client.session.call_tool("no_such_tool", {})
            raise AssertionError("there is no such tool")
        except MCPError as error:
            assert "tools/list" in str(error), error
    print("ok")


asyncio.run(main())
