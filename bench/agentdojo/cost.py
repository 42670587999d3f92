"""What a decision on where values come from costs: a call after 1 MB of results, beside the same guard without origins."""

import json
import pathlib
import random
import statistics
import sys
import tempfile
import time

from agent import HERE, Guarded

# As many results, of so many bytes each, come before the calls that are measured.
RESULTS, BYTES, CALLS = 20, 50_000, 300
WORDS = 8_000


class Server:
    """Answers `read` with a letter of many words, and `send` with nothing."""

    def __init__(self):
        self.made = []
        chance = random.Random(1)
        words = ["".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=7)) for _ in range(WORDS)]
        self.letters = [" ".join(chance.choices(words, k=BYTES // 8)) for _ in range(RESULTS)]

    def serve(self, lines, out):
        for line in lines:
            message = json.loads(line)
            if "id" in message and "method" in message:
                result = self.answer(message["method"], message.get("params") or {})
                out.write(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}).encode() + b"\n")
                out.flush()

    def answer(self, method, params):
        if method == "initialize":
            return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": {"name": "cost", "version": "1"}}
        if method == "tools/list":
            return {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in ("read", "send")]}
        self.made.append(params.get("name"))
        text = self.letters[params["arguments"]["number"]] if params.get("name") == "read" else "sent"
        return {"content": [{"type": "text", "text": text}]}


def measured(proofmark, policy, place):
    """The waits of calls in µs before and after the results, and by how many KiB the guard has grown."""
    server = Server()
    session = Guarded(proofmark, policy, place, server, "Send what the letters say to ann@example.com.")
    send = lambda number: session.call("send", {"to": "ann@example.com", "body": f"See letter {number}: " + server.letters[number % RESULTS][100:300]})
    before, size = waits(send), resident(session)
    for number in range(RESULTS):
        session.call("read", {"number": number})
    after, grown = waits(send), resident(session) - size
    session.end()
    return before, after, grown


def waits(call):
    taken = []
    for number in range(CALLS):
        started = time.perf_counter()
        _, held = call(number)
        taken.append(1e6 * (time.perf_counter() - started))
        if held:
            sys.exit(f"a call was held: {json.dumps(held)}")
    return statistics.median(taken)


def resident(session):
    status = pathlib.Path(f"/proc/{session.process.pid}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0])


def main():
    proofmark = pathlib.Path(sys.argv[1]).absolute()
    for name in ("nothing", "cost"):
        with tempfile.TemporaryDirectory(prefix="flow-") as place:
            before, after, grown = measured(proofmark, HERE / f"{name}.yaml", pathlib.Path(place))
        print(json.dumps({"policy": name, "before": before, "after": after, "grown": grown, "text": RESULTS * BYTES // 1024}), flush=True)


if __name__ == "__main__":
    main()
