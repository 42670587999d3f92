"""A paid resource (x402): `POST /verify` sells the verification of a request, with the receipt in a header.

    python3 examples/commerce/paid_resource.py 8402

It answers 402 until a payment is attached, and settles the payment only with an answer below 400. So a verdict `fail`
is an answer like any other, HTTP 200: the buyer paid for the judgment, not for good news. Where nothing was judged the
answer is 503, and nothing is settled. `check` and `settle` are where a facilitator is asked.
"""

import json
import os
import subprocess
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PROOFMARK = os.environ.get("PROOFMARK", "proofmark")
MAX_BODY = 4 << 20
PRICE = {"scheme": "exact", "network": "eip155:84532", "amount": "1000", "payTo": "0x" + "00" * 20}


def check(payment):
    """Whether the payment would settle. Ask the facilitator's `/verify` here."""
    return bool(payment)


def settle(payment):
    """Settles the payment, and returns the facilitator's answer. Ask its `/settle` here."""
    print("settled", payment, flush=True)
    return "settled"


def run(arguments, stdin):
    done = subprocess.run([PROOFMARK, *arguments], input=stdin, capture_output=True)
    return done.returncode, done.stdout, done.stderr


class Resource(BaseHTTPRequestHandler):
    def do_POST(self):
        length = int(self.headers.get("content-length") or 0)
        if self.path != "/verify" or not 0 < length <= MAX_BODY:
            return self.answer(404 if self.path != "/verify" else 413, {"error": "POST a request to /verify"})
        body = self.rfile.read(length)
        # The header of version 2, and that of version 1.
        payment = self.headers.get("PAYMENT-SIGNATURE") or self.headers.get("X-PAYMENT")
        if not check(payment):
            return self.answer(402, {"x402Version": 2, "accepts": [PRICE]})
        status, answer, headers = self.verified(body)
        if status < 400:
            headers["PAYMENT-RESPONSE"] = settle(payment)
        self.answer(status, answer, headers)

    def verified(self, body):
        code, receipt, said = run(["verify", "-", "--json"], body)
        # One line for the one request: its receipt, or why there is none.
        document = json.loads(receipt) if receipt else {"error": said.decode(errors="replace").strip()}
        if "error" in document:
            return 400, document, {}
        if code == 2:
            return 503, document, {}
        _, lines, _ = run(["x402", "encode", "-"], receipt)
        headers = dict(line.split(": ", 1) for line in lines.decode().splitlines())
        # A browser reads only the headers that are named here.
        headers["Access-Control-Expose-Headers"] = "X-VRF-Receipt, Link, PAYMENT-RESPONSE"
        return 200, {"verdict": document["verdict"]}, headers

    def answer(self, status, document, headers=()):
        body = json.dumps(document).encode()
        self.send_response(status)
        for name, value in dict(headers).items():
            self.send_header(name, value)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1]) if len(sys.argv) > 1 else 8402), Resource)
    print(f"listening on {server.server_address[1]}", flush=True)
    server.serve_forever()
