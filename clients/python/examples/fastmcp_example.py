"""FastMCP: a server asks before each of its tools runs. `pip install 'proofmark-sdk[cli,fastmcp]'`"""

import asyncio
from pathlib import Path

from fastmcp import Client, FastMCP

from proofmark_sdk import Guard, Local
from proofmark_sdk.adapters.fastmcp import GuardMiddleware

guard = Guard(Local(policy=Path(__file__).parent / "policy.yaml"))
server = FastMCP("shop")
server.add_middleware(GuardMiddleware(guard))


@server.tool
def refund(amount: int, ticket: str = "none") -> str:
    """Refunds an amount to the customer of a ticket."""
    return f"refunded {amount}"


async def main():
    async with Client(server) as client:
        for args in ({"amount": 20, "ticket": "T-1"}, {"amount": 30}):
            result = await client.call_tool("refund", args, raise_on_error=False)
            print(result.content[0].text)


asyncio.run(main())
