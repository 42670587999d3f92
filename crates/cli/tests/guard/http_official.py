# A server of the official Python library over Streamable HTTP. It prints its port.
import socket
import sys

import uvicorn
from mcp.server.mcpserver import Context, MCPServer
from pydantic import BaseModel

server = MCPServer("official", instructions="Be kind.")


class Answer(BaseModel):
    word: str


@server.tool()
def read(path: str) -> str:
    return "ok " + path


@server.tool()
def total(one: int, other: int) -> dict[str, int]:
    return {"total": one + other}


@server.tool()
def big() -> str:
    return "x" * (1 << 20)


@server.tool()
def fails() -> str:
    raise ValueError("it failed")


@server.tool()
async def steps(ctx: Context) -> str:
    for step in (1, 2, 3):
        await ctx.report_progress(step, 3, "step %d" % step)
    return "done"


@server.tool()
async def asks(ctx: Context) -> str:
    answer = await ctx.elicit("Which word?", Answer)
    return "asked: " + (answer.data.word if answer.action == "accept" else answer.action)


@server.resource("note://{name}")
def note(name: str) -> str:
    return "note " + name


@server.prompt()
def greet(name: str) -> str:
    return "Greet " + name


app = server.streamable_http_app(json_response="json" in sys.argv, stateless_http="stateless" in sys.argv)
listening = socket.socket()
listening.bind(("127.0.0.1", 0))
print(listening.getsockname()[1], flush=True)
uvicorn.Server(uvicorn.Config(app, log_level="error")).run(sockets=[listening])
