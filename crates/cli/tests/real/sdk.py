# A server by the Python SDK whose tool `delete` writes a file: `sdk.py FILE`.
import sys

from mcp.server.mcpserver import MCPServer

server = MCPServer("sdk")


@server.tool()
def delete(path: str = "", x: str = "") -> str:
    open(sys.argv[1], "a").write("delete\n")
    return "deleted"


@server.tool()
def read(path: str = "") -> str:
    return "ok read"


server.run("stdio")
