"""The methods of both clients against the real server, and what they send."""

from __future__ import annotations

import asyncio
import inspect
import json
import pickle
import subprocess
import sys
from collections.abc import Iterator
from datetime import datetime, timezone
from email.utils import format_datetime
from typing import Any

import pytest
from conftest import Server
from fake import Fake, problem, response

from proofmark_sdk import AsyncClient, AsyncLocal, Client, Local, ProofmarkError
from proofmark_sdk.event_stream import EventStream
from proofmark_sdk.types import VerificationRequest


@pytest.fixture(scope="module")
def request_to_verify(server: Server) -> VerificationRequest:
    request: VerificationRequest = json.loads((server.home / "examples/sort.json").read_text())
    return request


def test_work_is_verified(server: Server, request_to_verify: VerificationRequest) -> None:
    with server.client() as client:
        receipt = client.verify(request_to_verify, chain="nightly")
        assert receipt["verdict"] == "pass"
        assert client.receipt(receipt["receipt_id"]) == receipt
        page = client.chain(receipt["receipt_id"], limit=10)
        assert (page["chain"], page["receipts"][-1]["receipt_id"]) == ("nightly", receipt["receipt_id"])
        redeemed = client.redeem(receipt["receipt_id"], {"output": receipt["hashes"]["output"]})
        assert (redeemed["verdict"], redeemed["by"]) == ("pass", "bot")
        with pytest.raises(ProofmarkError) as raised:
            client.redeem(receipt["receipt_id"])
        assert raised.value.status == 409


def test_a_job_is_followed(server: Server, request_to_verify: VerificationRequest) -> None:
    with server.client() as client:
        job = client.submit(request_to_verify)
        states = list(client.events(job["job_id"]))
        assert states[-1]["state"] == "done"
        assert client.job(job["job_id"])["receipt"]["receipt_id"] == job["job_id"]  # type: ignore[index]
        with pytest.raises(ProofmarkError) as raised:
            list(client.events("0f6ad4d9-1be5-4d3c-8a3d-2f1d4cf0e9b1"))
        assert raised.value.status == 404


def test_the_same_for_those_who_await(server: Server, request_to_verify: VerificationRequest) -> None:
    async def all_of_it() -> None:
        async with AsyncClient(server.url, server.agent) as client:
            receipt = await client.verify(request_to_verify)
            assert await client.receipt(receipt["receipt_id"]) == receipt
            job = await client.submit(request_to_verify)
            states = [state["state"] async for state in client.events(job["job_id"])]
            assert states[-1] == "done"
            with pytest.raises(ProofmarkError) as raised:
                await client.redeem("0f6ad4d9-1be5-4d3c-8a3d-2f1d4cf0e9b1")
            assert raised.value.status == 404

    asyncio.run(all_of_it())


def test_a_step_is_accepted_or_not(server: Server) -> None:
    examples = server.home / "examples/accept"
    attempt: Any = {
        "workflow": (examples / "workflow.yaml").read_text(),
        "response": (examples / "attempt1.md").read_text(),
        "trace": json.loads((examples / "trace1.json").read_text()),
    }
    acceptance = server.client().accept("r1", "implement", attempt)
    assert (acceptance["state"], acceptance["attempt"]) == ("retry", 1)


def test_reviews_are_listed(server: Server) -> None:
    request: Any = {"action": {"tool": "refund", "class": "generic", "args": {"amount": 900}}}
    decision = server.client().decide(request)
    with Client(server.url, server.reviewer) as reviewer:
        ids = [entry["decision_id"] for entry in reviewer.reviews(limit=1000)["decisions"]]
        assert decision["decision_id"] in ids
        done = reviewer.review(decision["decision_id"], {"verdict": "deny", "note": "no", "expires_in": 1})
        assert (done["verdict"], done["approval"]) == ("denied", None)


def test_a_key_has_the_same_answer(server: Server) -> None:
    request: Any = {"action": {"tool": "echo", "class": "generic", "args": {}}}
    client = server.client()
    first, second = (client.decide(request, idempotency_key="one") for _ in range(2))
    assert first["decision_id"] == second["decision_id"] != client.decide(request)["decision_id"]
    request["action"]["args"] = {"n": 1}
    with pytest.raises(ProofmarkError):
        client.decide(request, idempotency_key="one")


@pytest.mark.parametrize("after", ["0", format_datetime(datetime(2020, 1, 1, tzinfo=timezone.utc), usegmt=True)])
@pytest.mark.parametrize("status", ["429 Too Many Requests", "503 Service Unavailable"])
def test_a_request_is_sent_again_with_the_same_key(fake: Fake, after: str, status: str) -> None:
    def reply(request: object) -> bytes:
        if len(fake.requests) % 3:
            return problem(status, "busy", retry_after=after)
        return response(b'{"accepted": true, "findings": []}')

    async def awaits() -> None:
        async with AsyncClient(fake.url) as client:
            await client.report("d", executed=True)

    fake.reply = reply
    Client(fake.url).report("d", executed=True)
    asyncio.run(awaits())
    keys = [request.headers["idempotency-key"] for request in fake.requests]
    assert len(set(keys[:3])) == len(set(keys[3:])) == 1 and keys[0] != keys[3]


@pytest.mark.parametrize(
    ("status", "after", "requests"),
    [
        ("429 Too Many Requests", "0", 5),
        ("429 Too Many Requests", "3600", 1),
        ("429 Too Many Requests", "soon", 1),
        ("429 Too Many Requests", "-1", 1),
        ("429 Too Many Requests", "9" * 400, 1),
        ("500 Internal Server Error", "0", 1),
    ],
)
def test_retries_have_an_end(fake: Fake, status: str, after: str, requests: int) -> None:
    fake.reply = lambda request: problem(status, "busy", retry_after=after)
    with pytest.raises(ProofmarkError) as raised:
        Client(fake.url).decide({"action": {"tool": "echo", "class": "generic"}})
    assert (raised.value.code, raised.value.retryable, len(fake.requests)) == ("busy", True, requests)


@pytest.mark.parametrize(
    ("method", "args", "requests"),
    [
        ("accept", ("run", "step", {}), 1),
        ("review", ("d", {"verdict": "approve", "note": "n"}), 1),
        ("redeem", ("r",), 1),
        ("verify", ({},), 5),
        ("submit", ({},), 5),
        ("decide", ({},), 5),
        ("job", ("7",), 5),
        ("reviews", (), 5),
    ],
)
def test_what_has_no_key_and_is_no_get_is_not_sent_again(fake: Fake, method: str, args: tuple[Any, ...], requests: int) -> None:
    fake.reply = lambda request: problem("503 Service Unavailable", "busy", retry_after="0")
    with pytest.raises(ProofmarkError):
        getattr(Client(fake.url), method)(*args)
    assert len(fake.requests) == requests


JOB = b'{"job_id": "7", "state": "running", "created_at": "2026-03-01T12:00:00Z", "checks": {"done": 0, "total": 1}}'


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"{", b'{"job_id": "7"}', b'{"job_id": "7", "job_id": "8"}', b"\xff", b'{"job_id": NaN}']
)
def test_answers_that_are_none(fake: Fake, body: bytes) -> None:
    fake.reply = lambda request: response(body)
    with pytest.raises(ProofmarkError) as raised:
        Client(fake.url).job("7")
    assert raised.value.code == "malformed"


def test_a_verification_that_takes_longer_is_a_job(fake: Fake, request_to_verify: VerificationRequest) -> None:
    fake.reply = lambda request: response(JOB, "202 Accepted")
    with pytest.raises(ProofmarkError, match="as the job `7`") as raised:
        Client(fake.url).verify(request_to_verify, wait=2)
    assert (raised.value.code, raised.value.retryable) == ("not_finished", True)
    assert fake.requests[0].headers["prefer"] == "wait=2"
    for wait in (0, 301):
        with pytest.raises(ValueError, match="`wait`"):
            Client(fake.url).verify(request_to_verify, wait=wait)


@pytest.mark.parametrize(
    ("events", "code"),
    [
        (b"data: " + JOB + b"\n\n", "broken"),
        (b"", "broken"),
        (b"data: [\n\n", "malformed"),
        (b"data: {}\r\n\r\n", "malformed"),
        (b"data: " + b"x" * (17 << 20), "too_large"),
        (b"data:\n" * (3 << 20), "too_large"),
        (b"data: " + JOB + b"\n" + b"id: 1\n" * (3 << 20), "too_large"),
    ],
    ids=["cut", "empty", "not_json", "no_job", "huge", "empty_lines", "other_lines"],
)
def test_streams_of_events_that_are_none(fake: Fake, events: bytes, code: str) -> None:
    fake.reply = lambda request: response(events, content_type="text/event-stream")
    with pytest.raises(ProofmarkError) as raised:
        list(Client(fake.url).events("7"))
    assert raised.value.code == code


def test_a_stream_ends_with_the_last_state(fake: Fake) -> None:
    def goes_on(request: object) -> Iterator[bytes]:
        yield b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n"
        done = JOB.replace(b"running", b"done")
        yield b"data: " + JOB + b"\n\n" + b"data: " + done + b"\n\n" + b"data: " + JOB + b"\n\n"
        fake.is_over.wait(10)
        yield b"data: " + JOB + b"\n\n"

    async def later() -> list[str]:
        async with AsyncClient(fake.url) as client:
            return [state["state"] async for state in client.events("7")]

    fake.reply = goes_on
    assert [state["state"] for state in Client(fake.url).events("7")] == ["running", "done"]
    assert asyncio.run(later()) == ["running", "done"]


def test_a_heartbeat_is_no_part_of_an_event() -> None:
    stream = EventStream()
    for _ in range(17):
        assert list(stream.feed(b":" + b"x" * (1 << 20) + b"\n\n")) == []
    assert [job["job_id"] for job in stream.feed(b"data: " + JOB + b"\n\n")] == ["7"]


def test_the_environment_names_the_server(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROOFMARK_URL", f"{server.url}/")
    monkeypatch.setenv("PROOFMARK_API_KEY", server.agent)
    # A proxy would get what is meant for this host.
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:1")
    assert Client().decide({"action": {"tool": "echo", "class": "generic"}})["safe_to_execute"]


NOT_INSTALLED = """
import importlib.metadata

def version(name):
    raise importlib.metadata.PackageNotFoundError(name)

importlib.metadata.version = version
import proofmark_sdk

client = proofmark_sdk.Client("http://127.0.0.1")
print(proofmark_sdk.__version__, client.address.options()["headers"]["User-Agent"])
"""


def test_sources_that_are_not_installed_work() -> None:
    done = subprocess.run([sys.executable, "-c", NOT_INSTALLED], capture_output=True, text=True, timeout=60)
    assert done.stdout == "0+source proofmark-sdk/0+source\n", done.stderr


LOOPBACK = ("127.0.0.1", "localhost", "LOCALHOST", "127.0.0.2", "[::1]", "[0:0:0:0:0:0:0:1]", "[::ffff:127.0.0.1]")


@pytest.mark.parametrize("host", LOOPBACK)
def test_no_proxy_sees_what_is_sent_to_this_host(fake: Fake, monkeypatch: pytest.MonkeyPatch, host: str) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, fake.url)
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    # No server listens on port 1.
    with Client(f"http://{host}:1", "secret-key", timeout=5) as client, pytest.raises(ProofmarkError) as raised:
        client.job("1")
    assert (raised.value.code, fake.requests) == ("unreachable", [])

    async def later() -> None:
        async with AsyncClient(f"http://{host}:1", "secret-key", timeout=5) as client:
            await client.job("1")

    with pytest.raises(ProofmarkError):
        asyncio.run(later())
    assert fake.requests == []
    # Other hosts are reached through it.
    with Client("http://proofmark.example") as client, pytest.raises(ProofmarkError):
        client.job("1")
    assert len(fake.requests) == 1


def test_keys_stay_secret(fake: Fake) -> None:
    client = Client(fake.url, "pmk_secret")
    assert "secret" not in repr(client) + repr(client.address) + repr(vars(client))
    with pytest.raises(ProofmarkError) as raised:
        client.job("1")
    assert "secret" not in str(raised.value)
    assert fake.requests[0].headers["authorization"] == "Bearer pmk_secret"


@pytest.mark.parametrize(
    ("url", "key"),
    [
        ("ftp://127.0.0.1", None),
        ("127.0.0.1:8700", None),
        ("http://", None),
        ("http://user:secret@127.0.0.1", None),
        ("http://127.0.0.1?policy=a", None),
        ("http://proofmark.example.org", "pmk_secret"),
        ("http://127.0.0.1", "pmk_secret\n"),
        ("http://127.0.0.1", "pmk_se\u00e9cret"),
    ],
)
def test_addresses_and_keys_that_are_refused(url: str, key: str | None) -> None:
    for kind in (Client, AsyncClient):
        with pytest.raises(ValueError, match=r".") as raised:
            kind(url, key)
        assert "secret" not in str(raised.value)


@pytest.mark.parametrize("name", ["", ".", "..", "a/../b", "a?b=c", "a#b", "ä"])
def test_ids_lead_nowhere_else(fake: Fake, name: str) -> None:
    client = Client(fake.url)
    with pytest.raises((ValueError, ProofmarkError)):
        client.receipt(name)
    for request in fake.requests:
        assert request.path.startswith("/v1/receipts/") and request.path.count("/") == 3 and "?" not in request.path


def test_clients_and_local_mode_have_the_same_methods() -> None:
    names = [name for name in vars(Client) if not name.startswith("_") and name not in ("close", "send", "operations")]
    assert len(names) >= 14
    url, binary = "http://127.0.0.1", "/bin/true"
    instances = [Client(url), AsyncClient(url), Local(binary=binary), AsyncLocal(binary=binary)]
    # The binary finds a chain only by its name.
    names.remove("chain")
    for name in names:
        parameters = [list(inspect.signature(getattr(instance, name)).parameters.values()) for instance in instances]
        assert all(other == parameters[0] for other in parameters), name


def test_errors_can_be_pickled() -> None:
    error = pickle.loads(pickle.dumps(ProofmarkError("busy", "it is busy", True, 429)))
    assert (error.code, error.message, error.retryable, error.status) == ("busy", "it is busy", True, 429)
