# A server without an SDK that does what the name of a tool says: `server.py RECORD`. It records what it was told (RECORD.server)
# and what it said (RECORD.client), and for each call that ran a line of its first argument (RECORD.effects).
import json
import os
import sys
import time

record = sys.argv[1]
told, said, effects = (open(record + end, "ab", buffering=0) for end in (".server", ".client", ".effects"))
TOOLS = ["read", "delete", "progress", "asks", "input", "structured", "big", "late", "dies", "hangs", "floods", "half",
         "other", "twice", "forges"]
SHAPE = {"type": "object", "properties": {"n": {}}}
ASKED = [
    ("roots/list", {}),
    ("sampling/createMessage", {"messages": [], "maxTokens": 5}),
    ("elicitation/create", {"message": "Name?", "requestedSchema": {"type": "object", "properties": {}}}),
]
late = []


def write(line):
    said.write(line + b"\n")
    sys.stdout.buffer.write(line + b"\n")
    sys.stdout.buffer.flush()


def say(message):
    write(json.dumps({"jsonrpc": "2.0", **message}).encode())


def answer(id, result):
    say({"id": id, "result": result})


def text(text, **more):
    return {"content": [{"type": "text", "text": text}], **more}


def next_message():
    line = sys.stdin.buffer.readline()
    if not line:
        sys.exit()
    told.write(line)
    return json.loads(line)


def call(id, params):
    name, arguments, meta = params["name"], params.get("arguments") or {}, params.get("_meta") or {}
    effects.write(f"{name} {json.dumps(arguments.get('n'))}\n".encode())
    match name:
        case "progress":
            for done in range(1, 4):
                progress = {"progressToken": meta["progressToken"], "progress": done, "total": 3, "message": "on"}
                say({"method": "notifications/progress", "params": progress})
            answer(id, text("done"))
        case "asks":
            answers = []
            for number, (method, params) in enumerate(ASKED):
                say({"id": f"s{number}", "method": method, "params": params})
                answers.append(next_message())
            answer(id, text(json.dumps(answers)))
        case "input":
            if "inputResponses" in params:
                return answer(id, text("complete", resultType="complete"))
            asked = {"who": {"method": ASKED[2][0], "params": {"mode": "form", **ASKED[2][1]}}}
            answer(id, {"resultType": "input_required", "inputRequests": asked, "requestState": "state"})
        case "structured":
            answer(id, text("{}", structuredContent={"a": [1.50, 10**20, "\u2028"]}, _meta={"x.example/y": None}))
        case "big":
            answer(id, text("a \"line\" with ä, \u2028 and \U0001f600\n" * (10 * 2**20 // 36)))
        case "late":
            late.append((id, arguments["n"]))
            if len(late) == arguments["of"]:
                for id, n in reversed(late):
                    answer(id, text(f"late {n}"))
        case "dies":
            sys.stdout.write('{"jsonrpc":"2.0","id":%s,"result":{"content":[' % json.dumps(id))
            sys.stdout.flush()
            os._exit(3)
        case "hangs":
            pass
        case "floods":
            for number in range(20000):
                print("noise", number)
            print("[" * (5 << 20), flush=True)
            answer(id, text("after the flood"))
        case "half":
            line = json.dumps({"jsonrpc": "2.0", "id": id, "result": text("in pieces")}).encode()
            for at in range(0, len(line), 7):
                sys.stdout.buffer.write(line[at : at + 7])
                sys.stdout.buffer.flush()
                time.sleep(0.005)
            write(b"")
        case "other":
            answer(arguments["id"], text("of another"))
            answer(id, text("of this"))
        case "twice":
            answer(id, text("first"))
            answer(id, text("second"))
        case "forges":
            answer(arguments["id"], text("forged"))
            answer(id, text("done"))
        case _:
            answer(id, text("ok"))


def handle(message):
    method, id, params = message.get("method"), message.get("id"), message.get("params") or {}
    match method:
        case "initialize":
            capabilities = {"tools": {"listChanged": True}, "resources": {"subscribe": True}, "prompts": {}, "logging": {}}
            server = {"name": "plays", "version": "1"}
            version = params["protocolVersion"]
            answer(id, {"protocolVersion": version, "capabilities": capabilities, "serverInfo": server})
        case "server/discover":
            answer(id, {"resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}})
        case "tools/list":
            tools = [{"name": name, "inputSchema": SHAPE, "annotations": {"readOnlyHint": True}} for name in TOOLS]
            answer(id, {"tools": tools, "ttlMs": 5, "cacheScope": "public"})
        case "resources/list":
            answer(id, {"resources": [{"uri": "a:b", "name": "b"}]})
        case "resources/templates/list":
            answer(id, {"resourceTemplates": []})
        case "prompts/list":
            answer(id, {"prompts": [{"name": "p"}]})
        case "tools/call":
            call(id, params)
        case "resources/subscribe":
            answer(id, {})
            say({"method": "notifications/resources/updated", "params": {"uri": params["uri"]}})
        case "subscriptions/listen":
            say({"method": "notifications/subscriptions/acknowledged",
                 "params": {"_meta": {"io.modelcontextprotocol/subscriptionId": id}}})
        case "resources/read":
            answer(id, {"contents": [{"uri": params["uri"], "text": "text"}]})
        case "prompts/get":
            answer(id, {"messages": []})
        case "completion/complete":
            answer(id, {"completion": {"values": []}})
        case "unknown/method":
            say({"id": id, "error": {"code": -32601, "message": "Method not found", "data": {"x": 1.0}}})
        case _ if id is not None and method:
            answer(id, {})


while True:
    handle(next_message())
