"""In place of Claude: an endpoint that makes the tool calls of a script, one after the other, and then says `done`."""

import json
import threading
from collections.abc import Iterable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


def environment(tool: str, script: Iterable[dict[str, Any]], folder: str) -> dict[str, str]:
    """The environment in which Claude Code asks this endpoint, and keeps its files in `folder`."""
    calls = iter(script)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
            # Requests without tools are for titles and the like.
            body = _events(tool, next(calls, None) if asked.get("tools") else None).encode()
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *words: Any) -> None:
            """Says nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return {
        "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{server.server_port}",
        "ANTHROPIC_API_KEY": "none",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        "CLAUDE_CONFIG_DIR": folder,
        "HOME": folder,
    }


def _events(tool: str, args: dict[str, Any] | None) -> str:
    """An answer of the Messages API, as a stream."""
    if args is None:
        block, delta, reason = {"type": "text", "text": ""}, {"type": "text_delta", "text": "done"}, "end_turn"
    else:
        block = {"type": "tool_use", "id": f"toolu_{args['amount']}", "name": tool, "input": {}}
        delta, reason = {"type": "input_json_delta", "partial_json": json.dumps(args)}, "tool_use"
    usage = {"input_tokens": 1, "output_tokens": 1}
    message = {"id": "msg", "type": "message", "role": "assistant", "model": "scripted", "content": [], "usage": usage}
    events = [
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": None}, "usage": usage},
        {"type": "message_stop"},
    ]
    return "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)
