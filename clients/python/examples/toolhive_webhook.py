"""A validating webhook for ToolHive: each `tools/call` of its MCP servers is decided on. `pip install 'proofmark-sdk[cli]'`

    TOOLHIVE_SECRET=… python3 toolhive_webhook.py 8701

Configure it with `failure_policy: fail`, the same HMAC secret, and HTTPS in front of it. Its `timeout` has to be longer than
`SECONDS_TO_DECIDE`. ToolHive does not say how a call ended, so no execution is reported.
"""

import hashlib
import hmac
import json
import os
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from proofmark_sdk import Guard, Local, NotAllowed

MAX_BYTES = 1 << 20
MAX_AGE = 300
# ToolHive waits 10 seconds for a webhook, unless it is told otherwise. After that its failure policy decides, and with
# `failure_policy: ignore` the call passes.
SECONDS_TO_DECIDE = 5
SECONDS_TO_READ = 3

secret = os.environ.get("TOOLHIVE_SECRET", "").encode()
guard = Guard(Local(policy=Path(__file__).parent / "policy.yaml", timeout=SECONDS_TO_DECIDE))


def once(pairs):
    """An object in which no name comes twice: the next reader of the call could take the other one."""
    if len({name.lower() for name, _ in pairs}) < len(pairs):
        raise ValueError("a name comes twice")
    return dict(pairs)


def answered(asked):
    """What is wrong with a request to an MCP server, if anything."""
    call = asked["mcp_request"]
    if not isinstance(call, dict) or not isinstance(call.get("method"), str):
        return "the message is not a request"
    if call["method"] != "tools/call":
        return None
    params = call["params"]
    if {name.lower() for name in params} & {"name", "arguments"} - set(params):
        # Some servers read these, too.
        return "the message has `name` or `arguments` in other letters"
    try:
        guard.check(params["name"], params.get("arguments") or {}, target=asked["context"]["server_name"])
    except NotAllowed as error:
        return Guard.tool_result(error)
    return None


class Handler(BaseHTTPRequestHandler):
    timeout = SECONDS_TO_READ

    def do_POST(self):
        length = int(self.headers.get("content-length", 0))
        body = self.rfile.read(length) if 0 < length <= MAX_BYTES else b""
        if not self.is_signed(body):
            self.send_error(401)
            return
        asked = {}
        try:
            asked = json.loads(body, object_pairs_hook=once)
            said = answered(asked)
        except Exception as error:
            said = f"There is no decision on it: {type(error).__name__}."
        uid = asked.get("uid", "") if isinstance(asked, dict) else ""
        answer = {"version": "v0.1.0", "uid": uid, "allowed": said is None, "message": said or ""}
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.end_headers()
        self.wfile.write(json.dumps(answer).encode())

    def is_signed(self, body):
        at = self.headers.get("x-toolhive-timestamp", "")
        is_recent = at.isascii() and at.isdigit() and len(at) < 12 and abs(time.time() - int(at)) < MAX_AGE
        mine = "sha256=" + hmac.new(secret, at.encode() + b"." + body, hashlib.sha256).hexdigest()
        return is_recent and hmac.compare_digest(mine.encode(), self.headers.get("x-toolhive-signature", "").encode())


if __name__ == "__main__":
    if not secret:
        sys.exit("failed to start: set TOOLHIVE_SECRET to the HMAC secret of the webhook")
    server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler)
    print(f"serving on http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()
