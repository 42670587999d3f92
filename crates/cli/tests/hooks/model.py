"""A model that says what a script says, in the protocols of the hosts that are tested.

model.py SCRIPT LOG: SCRIPT is a JSON list of turns, {"say": text} or {"call": tool, "args": {...}}. Each request takes the next
turn, the last one again and again; requests that offer no tools (hosts ask for titles and the like) take none. "$session" in an
argument becomes the number of the program that still runs. Requests that take a turn are appended to LOG, one JSON object a line.
The port is printed first.
"""

import http.server
import json
import re
import sys
import threading

script = json.load(open(sys.argv[1]))
log = open(sys.argv[2], "a")
lock = threading.Lock()
taken = 0


def filled(value, text):
    if value == "$session":
        found = re.findall(r"session ID (\d+)", text)
        return int(found[-1]) if found else 0
    if isinstance(value, dict):
        return {name: filled(item, text) for name, item in value.items()}
    return value


def events(listed):
    return "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in listed)


def codex(turn, number):
    if "call" in turn:
        item = {"type": "function_call", "id": f"item_{number}", "call_id": f"call_{number}", "name": turn["call"],
                "arguments": json.dumps(turn["args"])}
        if "namespace" in turn:
            item["namespace"] = turn["namespace"]
    else:
        content = [{"type": "output_text", "text": turn["say"], "annotations": []}]
        item = {"type": "message", "id": f"item_{number}", "role": "assistant", "status": "completed", "content": content}
    listed = [
        {"type": "response.created", "response": {"id": f"response_{number}"}},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": {"id": f"response_{number}", "usage": {
            "input_tokens": 1, "output_tokens": 1, "total_tokens": 2}}},
    ]
    return events(listed)


def gemini(turn, number):
    part = {"functionCall": {"name": turn["call"], "args": turn["args"]}} if "call" in turn else {"text": turn["say"]}
    event = {"candidates": [{"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}],
             "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}}
    return f"data: {json.dumps(event)}\n\n"


def claude(turn, number):
    """The events of Anthropic's Messages API."""
    if "call" in turn:
        block = {"type": "tool_use", "id": f"toolu_{number}", "name": turn["call"], "input": {}}
        delta, reason = {"type": "input_json_delta", "partial_json": json.dumps(turn["args"])}, "tool_use"
    else:
        block, delta, reason = {"type": "text", "text": ""}, {"type": "text_delta", "text": turn["say"]}, "end_turn"
    usage = {"input_tokens": 1, "output_tokens": 1}
    message = {"id": f"msg_{number}", "type": "message", "role": "assistant", "model": "claude-sonnet-4-5", "content": [],
               "stop_reason": None, "stop_sequence": None, "usage": usage}
    return events([
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": None}, "usage": usage},
        {"type": "message_stop"},
    ])


def completions(turn, number):
    """The chunks of OpenAI's chat completions."""
    if "call" in turn:
        call = {"name": turn["call"], "arguments": json.dumps(turn["args"])}
        delta = {"tool_calls": [{"index": 0, "id": f"call_{number}", "type": "function", "function": call}]}
        reason = "tool_calls"
    else:
        delta, reason = {"content": turn["say"]}, "stop"
    chunk = {"id": f"chatcmpl-{number}", "object": "chat.completion.chunk", "created": 1, "model": "scripted"}
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    choices = [
        [{"index": 0, "delta": {"role": "assistant", **delta}, "finish_reason": None}],
        [{"index": 0, "delta": {}, "finish_reason": reason}],
    ]
    chunks = [{**chunk, "choices": choice} for choice in choices] + [{**chunk, "choices": [], "usage": usage}]
    return "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks) + "data: [DONE]\n\n"


# The end of a path, without its query, and the answers of that protocol.
PROTOCOLS = {
    "/responses": codex,
    ":streamGenerateContent": gemini,
    "/v1/messages": claude,
    "/chat/completions": completions,
}


class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def answer(self, kind, text):
        body = text.encode()
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        self.answer("application/json", '{"models": [], "data": []}')

    def do_POST(self):
        global taken
        text = self.rfile.read(int(self.headers.get("content-length", 0))).decode()
        path = self.path.split("?")[0]
        protocol = next((answers for end, answers in PROTOCOLS.items() if path.endswith(end)), None)
        if not protocol:
            return self.answer("application/json", '{"candidates": [], "totalTokens": 1, "input_tokens": 1}')
        asked = json.loads(text)
        if not asked.get("tools"):
            return self.answer("text/event-stream", protocol({"say": "a title"}, 0))
        with lock:
            log.write(json.dumps(asked) + "\n")
            log.flush()
            number, taken = taken, taken + 1
        turn = dict(script[min(number, len(script) - 1)])
        if "args" in turn:
            turn["args"] = filled(turn["args"], text)
        self.answer("text/event-stream", protocol(turn, number))


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
