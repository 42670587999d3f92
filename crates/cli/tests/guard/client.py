# The official client: prints what a server, whose command is given, says to it.
import asyncio
import os
import sys

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client


async def main():
    parameters = StdioServerParameters(command=sys.argv[1], args=sys.argv[2:], env=dict(os.environ))
    async with stdio_client(parameters) as (read, write), ClientSession(read, write) as session:
        print((await session.initialize()).model_dump_json())
        print((await session.list_tools()).model_dump_json())
        print((await session.call_tool("read", {"path": "ä\u2028 1.0"})).model_dump_json())
        print((await session.call_tool("big", {})).model_dump_json()[:100])
        await session.send_ping()


asyncio.run(main())
