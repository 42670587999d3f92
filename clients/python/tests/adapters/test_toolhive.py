"""The webhook for ToolHive, with requests as ToolHive signs them."""

from __future__ import annotations

import hashlib
import hmac
import importlib.util
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest
from conftest import Server
from fake import Fake, gone, problem, response

from proofmark_sdk import Client, Guard, Local

WEBHOOK = Path(__file__).parents[2] / "examples/toolhive_webhook.py"
SECRET = "a secret"
SECONDS_OF_TOOLHIVE = 10
"""How long ToolHive waits for a webhook, unless it is told otherwise."""


@pytest.fixture(scope="module")
def url(binary: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    place = tmp_path_factory.mktemp("webhook")
    (place / "proofmark").symlink_to(binary)
    env = {**os.environ, "PATH": f"{place}:{os.environ['PATH']}", "PROOFMARK_HOME": str(place / "home"), "TOOLHIVE_SECRET": SECRET}
    argv = [sys.executable, str(WEBHOOK), "0"]
    process = subprocess.Popen(argv, env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        assert process.stdout is not None
        yield process.stdout.readline().split()[-1]
    finally:
        process.terminate()
        process.communicate()


def asked(url: str, message: Any, *, secret: str = SECRET, at: int | None = None, text: str | None = None) -> httpx.Response:
    context = {"server_name": "shop", "source_ip": "127.0.0.1", "transport": "sse"}
    request = {"version": "v0.1.0", "uid": "7", "principal": None, "mcp_request": message, "context": context}
    body = (text or json.dumps(request)).encode()
    at = at or int(time.time())
    signature = hmac.new(secret.encode(), f"{at}.".encode() + body, hashlib.sha256).hexdigest()
    headers = {"X-ToolHive-Timestamp": str(at), "X-ToolHive-Signature": f"sha256={signature}"}
    return httpx.post(url, content=body, headers=headers, timeout=30)


def call(**args: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "refund", "arguments": args}}


@pytest.mark.parametrize(
    ("message", "allowed", "said"),
    [
        (call(amount=20, ticket="T-1"), True, ""),
        ({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}, True, ""),
        (call(amount=20), False, "The refund names no ticket."),
        (call(amount=200), False, "A person must review it first"),
        ({"jsonrpc": "2.0", "id": 1, "method": "tools/call"}, False, "no decision"),
        ([call(amount=20, ticket="T-1")], False, "not a request"),
        (None, False, "not a request"),
        ({**call(), "params": {"name": "list", "Arguments": {"amount": 500}}}, False, "other letters"),
    ],
)
def test_only_allowed_calls_pass(url: str, message: Any, allowed: bool, said: str) -> None:
    answer = asked(url, message).json()
    assert (answer["version"], answer["uid"], answer["allowed"]) == ("v0.1.0", "7", allowed)
    assert said in answer["message"]


@pytest.mark.parametrize("text", ["[]", "{", '{"mcp_request": {"method": "tools/list", "Method": "tools/call"}}', "[" * 100_000])
def test_what_can_be_read_in_two_ways_does_not_pass(url: str, text: str) -> None:
    assert asked(url, None, text=text).json()["allowed"] is False


def test_who_has_not_signed_is_not_answered(url: str) -> None:
    assert asked(url, call(amount=20, ticket="T-1"), secret="another").status_code == 401
    assert asked(url, call(amount=20, ticket="T-1"), at=int(time.time()) - 3600).status_code == 401


def test_it_does_not_start_without_a_secret(binary: str, tmp_path: Path) -> None:
    (tmp_path / "proofmark").symlink_to(binary)
    env = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "TOOLHIVE_SECRET": ""}
    done = subprocess.run([sys.executable, str(WEBHOOK), "0"], env=env, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and "TOOLHIVE_SECRET" in done.stderr and "Traceback" not in done.stderr


@pytest.fixture
def webhook(binary: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The webhook as a module, in which a test puts another guard."""
    (tmp_path / "proofmark").symlink_to(binary)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setenv("TOOLHIVE_SECRET", SECRET)
    spec = importlib.util.spec_from_file_location("toolhive_webhook", WEBHOOK)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def does_not_pass(webhook: Any, guard: Any) -> str:
    """Has the webhook asked about a call that the policy allows; returns what the agent is told."""
    webhook.guard = guard
    with ThreadingHTTPServer(("127.0.0.1", 0), webhook.Handler) as server:
        # The pause in which it looks whether it is to end.
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        try:
            answer = asked(f"http://127.0.0.1:{server.server_port}", call(amount=20, ticket="T-1")).json()
        finally:
            server.shutdown()
    assert answer["allowed"] is False
    return str(answer["message"])


def test_the_server_is_gone(webhook: Any) -> None:
    assert "was not executed" in does_not_pass(webhook, Guard(Client(gone())))


def test_the_answer_is_late(webhook: Any, fake: Fake) -> None:
    fake.reply = fake.silence
    assert "was not executed" in does_not_pass(webhook, Guard(Client(fake.url, timeout=0.3)))


def test_the_webhook_answers_before_toolhive_gives_up(webhook: Any, policy: Path, tmp_path: Path) -> None:
    assert webhook.SECONDS_TO_READ + webhook.SECONDS_TO_DECIDE < SECONDS_OF_TOOLHIVE
    assert webhook.guard._client._timeout == webhook.SECONDS_TO_DECIDE
    slow = tmp_path / "slow"
    slow.write_text("#!/bin/sh\nexec sleep 60\n")
    slow.chmod(0o755)
    said = does_not_pass(webhook, Guard(Local(policy=policy, home=tmp_path, binary=slow, timeout=0.3)))
    assert "the binary has not answered within 0.3 seconds" in said


@pytest.mark.parametrize(
    "answer",
    [
        response(b"{}"),
        response(b'{"outcome": "allow", "safe_to_execute": true}'),
        response(b"<p>allow"),
        problem("503 Service Unavailable", "busy"),
    ],
)
def test_the_answer_is_malformed(webhook: Any, fake: Fake, answer: bytes) -> None:
    fake.reply = lambda request: answer
    assert "was not executed" in does_not_pass(webhook, Guard(Client(fake.url)))


def test_the_answer_is_on_another_call(webhook: Any, fake: Fake, server: Server) -> None:
    other = Guard(server.client()).check("refund", {"amount": 1, "ticket": "T-1"}).receipt
    fake.reply = lambda request: response(json.dumps(other).encode())
    assert "was not executed" in does_not_pass(webhook, Guard(Client(fake.url)))


def test_the_guard_itself_fails(webhook: Any) -> None:
    assert "There is no decision on it" in does_not_pass(webhook, None)
