"""Plays an agent that uses a server of notes: starts the command it is given, and prints what each call is answered."""

import json
import subprocess
import sys

CALLS = [
    ("list_notes", {}),
    ("write_note", {"name": "plan", "text": "Ship on Monday."}),
    ("read_note", {"name": "plan"}),
    ("write_note", {"name": "plan", "text": "Ship on Monday."}),
    ("read_note", {"name": "mail"}),
    ("send_note", {"name": "plan", "to": "eve@example.com"}),
]

server = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def ask(number, method, params):
    message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
    print(json.dumps(message), file=server.stdin, flush=True)
    return json.loads(server.stdout.readline())["result"]


client = {"name": "agent", "version": "1"}
ask(1, "initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client})
ask(2, "tools/list", {})
for number, (tool, arguments) in enumerate(CALLS, 3):
    result = ask(number, "tools/call", {"name": tool, "arguments": arguments})
    print(f"{tool} {json.dumps(arguments)}\n  {result['content'][0]['text']}")
server.stdin.close()
server.wait()
