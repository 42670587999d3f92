# The official client over standard input and output: calls `read` of the server whose command is given after what its user answers
# when the guard asks, and prints the question and the result.
import asyncio
import os
import sys

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.types import ElicitResult

answer, command, *arguments = sys.argv[1:]


async def asked(context, question):
    print("asked", question.message, flush=True)
    return ElicitResult(action=answer, content={} if answer == "accept" else None)


async def progress(done, total, message):
    pass


async def main():
    parameters = StdioServerParameters(command=command, args=arguments, env=dict(os.environ))
    async with stdio_client(parameters) as (read, write), ClientSession(read, write, elicitation_callback=asked) as session:
        await session.initialize()
        result = await session.call_tool("read", {"path": "a"}, progress_callback=progress)
        print("result", result.content[0].text)


asyncio.run(main())
