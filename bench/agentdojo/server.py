"""An MCP server over a suite's tools, line by line. It serves one client, and its environment stays with who made it."""

import json
import time

from agentdojo.functions_runtime import FunctionsRuntime

from suites import plain


class Server:
    """Serves the tools of a suite over an environment. In prose, a result is what Python prints of it."""

    def __init__(self, suite, env, prose=False):
        self.env, self.prose = env, prose
        self.runtime = FunctionsRuntime(suite.tools)
        # Calls that reached the tools, and how long these took in all.
        self.made, self.seconds = [], 0.0

    def serve(self, lines, out):
        """Answers requests until the lines end."""
        for line in lines:
            message = json.loads(line)
            if "id" not in message or "method" not in message:
                continue
            result = self.answer(message["method"], message.get("params") or {})
            answer = {"jsonrpc": "2.0", "id": message["id"], "result": result}
            out.write(json.dumps(answer, ensure_ascii=False).encode() + b"\n")
            out.flush()

    def answer(self, method, params):
        if method == "initialize":
            server = {"name": "agentdojo", "version": "1"}
            return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": server}
        if method == "tools/list":
            return {"tools": [tool(function) for function in self.runtime.functions.values()]}
        if method == "tools/call":
            started = time.perf_counter()
            result = self.call(params["name"], params.get("arguments") or {})
            self.seconds += time.perf_counter() - started
            return result
        return {}

    def call(self, name, arguments):
        """What a tool answers: as the object that it is and as its text, or as text alone."""
        value, fault = self.runtime.run_function(self.env, name, arguments)
        self.made.append((name, arguments))
        if fault:
            return {"content": [{"type": "text", "text": fault}], "isError": True}
        if self.prose:
            return {"content": [{"type": "text", "text": str(value)}]}
        value = plain(value)
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        # As FastMCP does: only an object can be structured content.
        structured = value if isinstance(value, dict) else {"result": value}
        return {"content": [{"type": "text", "text": text}], "structuredContent": structured}


def tool(function):
    schema = function.parameters.model_json_schema()
    return {"name": function.name, "description": function.description, "inputSchema": schema}
