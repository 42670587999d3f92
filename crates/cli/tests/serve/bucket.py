"""A store that speaks S3: moto, behind a check of each signature by botocore. It fails as the file says whose path is given, and notes what it
wrote in another one. It prints its port."""

import base64
import hashlib
import io
import sys
import urllib.parse

from botocore.auth import S3SigV4QueryAuth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from moto.server import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import WSGIRequestHandler, make_server
from werkzeug.test import Client
from werkzeug.wrappers import Request, Response

KEY, SECRET, TOKEN, REGION = "AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", "session/token+==", "eu-central-1"
MODE, JOURNAL = sys.argv[1:]


def error(status, code):
    return Response(f"<?xml version='1.0'?><Error><Code>{code}</Code></Error>", status, mimetype="application/xml")


def signature(request, target):
    """What botocore signs for the same request."""
    address, _, query = target.partition("?")
    pairs = [pair for pair in query.split("&") if not pair.startswith("X-Amz-Signature=")]
    signed = request.args["X-Amz-SignedHeaders"].split(";")
    headers = {name: request.headers[name] for name in signed if name != "host"}
    again = AWSRequest(request.method, f"http://{request.host}{address}?{'&'.join(pairs)}", headers)
    again.context["timestamp"] = request.args["X-Amz-Date"]
    auth = S3SigV4QueryAuth(Credentials(KEY, SECRET, TOKEN), "s3", REGION)
    return auth.signature(auth.string_to_sign(again, auth.canonical_request(again)), again)


def refused(request, target, body):
    """Why a request is not passed on."""
    with open(MODE) as mode:
        mode = mode.read().strip()
    if mode == "down":
        return error(503, "SlowDown")
    if mode == "redirect":
        return Response("", 307, {"location": f"http://{request.host}/elsewhere/checkpoint"})
    if mode == "huge":
        return Response(b"x" * (1 << 22), 200)
    # Conditions that a store does not know.
    if mode == "old" and ("if-match" in request.headers or "if-none-match" in request.headers):
        return error(501, "NotImplemented")
    # The bucket is public.
    if request.method == "GET" and "?" not in target:
        return None
    if request.args.get("X-Amz-Security-Token") != TOKEN or request.args["X-Amz-Signature"] != signature(request, target):
        return error(403, "SignatureDoesNotMatch")
    if request.method == "PUT":
        digest = base64.b64encode(hashlib.sha256(body).digest()).decode()
        if "x-amz-checksum-sha256" not in request.args["X-Amz-SignedHeaders"].split(";"):
            return error(400, "MissingDigest")
        if request.headers["x-amz-checksum-sha256"] != digest:
            return error(400, "BadDigest")
    return None


def guarded(inner):
    def answer(environ, start_response):
        request = Request(environ)
        body = environ["wsgi.input"].read(request.content_length or 0)
        target = environ["RAW_URI"]
        response = refused(request, target, body)
        if response is None:
            environ["wsgi.input"] = io.BytesIO(body)
            # What everybody may read, moto shows only to those who sign.
            if request.method == "GET":
                environ["HTTP_AUTHORIZATION"] = f"AWS4-HMAC-SHA256 Credential={KEY}/20260101/{REGION}/s3/aws4_request"
            response = Response.from_app(inner, environ)
            if request.method == "PUT" and response.status_code == 200:
                with open(JOURNAL, "a") as journal:
                    journal.write(urllib.parse.unquote(target.partition("?")[0]) + "\n")
        return response(environ, start_response)

    return answer


class Quiet(WSGIRequestHandler):
    def log_request(self, *_):
        pass


application = DomainDispatcherApplication(create_backend_app)
place = {"LocationConstraint": REGION}
made = Client(application).put(
    "/logs", base_url="http://localhost", data=f"<CreateBucketConfiguration><LocationConstraint>{REGION}</LocationConstraint></CreateBucketConfiguration>"
)
assert made.status_code == 200, made.text
server = make_server("127.0.0.1", 0, guarded(application), threaded=True, request_handler=Quiet)
print(server.port, flush=True)
server.serve_forever()
