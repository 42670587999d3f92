# An MCP server that is what a file says at the moment: `{"tools": […], "prompts": […], "instructions": "…", "text": "…"}`. Each
# call that ran is a line of the file in its second argument.
import json, sys

told, effects = sys.argv[1:]


def answer(method, params):
    with open(told) as file:
        now = json.load(file)
    if method == "initialize":
        info = {"name": "told", "version": "1"}
        return {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": info, "instructions": now.get("instructions", "")}
    if method in ("tools/list", "prompts/list"):
        member = method.split("/")[0]
        return {member: now.get(member, [])}
    if method in ("tools/call", "prompts/get"):
        with open(effects, "a") as file:
            file.write(params["name"] + "\n")
        return {"content": [{"type": "text", "text": now.get("text", "ok")}]}


for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        result = answer(message["method"], message.get("params") or {})
        answered = {"error": {"code": -32601, "message": "unknown"}} if result is None else {"result": result}
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **answered}), flush=True)
