# The official client over Streamable HTTP: prints what a server says to it. Its arguments are the URL and the mode.
import asyncio
import sys

from mcp import types
from mcp.client.client import Client

url, mode = sys.argv[1:]
heard = []


async def elicit(context, params):
    return types.ElicitResult(action="accept", content={"word": "yes"})


async def progress(done, total, message):
    heard.append((done, total, message))


async def tell(what, asked):
    try:
        result = await asked
        print(what, result.model_dump_json(exclude={"meta"})[:2000])
    except Exception as error:
        print(what, type(error).__name__, error)


async def main():
    async with Client(url, mode=mode, elicitation_callback=elicit) as client:
        print(client.protocol_version, client.server_info, client.instructions, client.server_capabilities)
        await tell("tools", client.list_tools())
        await tell("read", client.call_tool("read", {"path": "ä\u2028 1.0"}))
        await tell("total", client.call_tool("total", {"one": 1, "other": 2}))
        await tell("big", client.call_tool("big", {}))
        await tell("fails", client.call_tool("fails", {}))
        await tell("unknown", client.call_tool("read", {}))
        await tell("steps", client.call_tool("steps", {}, progress_callback=progress))
        print(heard)
        await tell("asks", client.call_tool("asks", {}))
        await tell("templates", client.list_resource_templates())
        await tell("note", client.read_resource("note://a"))
        await tell("prompt", client.get_prompt("greet", {"name": "Ada"}))
        many = await asyncio.gather(*(client.call_tool("read", {"path": str(number)}) for number in range(30)))
        print([result.content[0].text for result in many])


asyncio.run(main())
