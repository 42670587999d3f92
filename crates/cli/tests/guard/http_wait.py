# The official client over Streamable HTTP: calls `read` once, and prints its progress and its result. Its arguments are the URL
# and the mode, and what its user answers when the guard asks (`accept`, `decline`, `cancel`); without that it takes no questions.
import asyncio
import sys

from mcp.client.client import Client
from mcp.types import ElicitResult

url, mode, *answers = sys.argv[1:]


async def progress(done, total, message):
    print("progress", message)


async def asked(context, question):
    print("asked", question.message, flush=True)
    return ElicitResult(action=answers[0], content={} if answers[0] == "accept" else None)


async def main():
    async with Client(url, mode=mode, elicitation_callback=asked if answers else None) as client:
        result = await client.call_tool("read", {"path": "a"}, progress_callback=progress)
        print("result", result.content[0].text)


asyncio.run(main())
