# The official Python client: says what each session of a file of sessions says to it.
import asyncio
import json
import os
import sys

import mcp_types as types
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.shared.exceptions import MCPError


async def sampled(context, params):
    text = types.TextContent(type="text", text="four")
    return types.CreateMessageResult(role="assistant", content=text, model="none")


async def elicited(context, params):
    return types.ElicitResult(action="accept", content={"name": "Ada", "check": True})


async def roots(context):
    return types.ListRootsResult(roots=[types.Root(uri="file:///tmp", name="tmp")])


async def progress(done, total, message):
    # Which progress is told depends on when the answer comes.
    pass


async def step(session, what, *rest):
    match what:
        case "call":
            result = await session.call_tool(*rest, progress_callback=progress)
            return result.model_dump(mode="json")
        case "read":
            return (await session.read_resource(rest[0])).model_dump(mode="json")
        case "subscribe":
            return (await session.subscribe_resource(rest[0])).model_dump(mode="json")
        case "prompt":
            return (await session.get_prompt(*rest)).model_dump(mode="json")
        case "complete":
            reference = types.PromptReference(type="ref/prompt", name=rest[0])
            return (await session.complete(reference, rest[1])).model_dump(mode="json")
        case "lists":
            lists = [session.list_tools, session.list_resources, session.list_resource_templates, session.list_prompts]
            return [(await one()).model_dump(mode="json") for one in lists[: rest[0]]]
        case "ping":
            return (await session.send_ping()).model_dump(mode="json")


async def told(command, steps):
    said = []
    parameters = StdioServerParameters(command=command[0], args=command[1:], env=dict(os.environ))
    callbacks = {"sampling_callback": sampled, "elicitation_callback": elicited, "list_roots_callback": roots}
    async with stdio_client(parameters) as (read, write), ClientSession(read, write, **callbacks) as session:
        said.append((await session.initialize()).model_dump(mode="json"))
        for one in steps:
            try:
                said.append(await step(session, *one))
            except MCPError as error:
                said.append(["error", str(error)])
    return said


async def main():
    sessions = json.load(open(sys.argv[1]))
    print(json.dumps(await asyncio.gather(*(told(one["command"], one["steps"]) for one in sessions))))


asyncio.run(main())
