"""Without an allowing decision on exactly this call, nothing runs."""

from __future__ import annotations

import asyncio
import json
import os
import stat
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from conftest import Server
from fake import Fake, Request, gone, problem, response

import proofmark_sdk.asking
from proofmark_sdk import AsyncClient, AsyncLocal, Client, Guard, Local, NoDecision, NotAllowed

AGENT = {"id": "bot"}
ARGS: dict[str, Any] = {"amount": 20, "ticket": "T-1"}
HTTP = httpx.Client()


def attempt(guard: Guard, is_async: bool) -> NotAllowed:
    """Has a guard run a function that must not run; returns why it did not."""
    ran: list[int] = []

    def refund(amount: int, ticket: str) -> None:
        ran.append(amount)

    async def refund_later(amount: int, ticket: str) -> None:
        ran.append(amount)

    refund_later.__name__ = "refund"
    with pytest.raises(NotAllowed) as raised:
        if is_async:
            asyncio.run(guard.acall(refund_later, **ARGS))
        else:
            guard.call(refund, **ARGS)
    assert ran == []
    assert "was not executed" in guard.tool_result(raised.value)
    return raised.value


def no_decision(make: Callable[[Any], Guard], url: str, timeout: float, code: str) -> None:
    """A guard over a server gives no decision, however it is asked."""
    for client, is_async in ((Client, False), (Client, True), (AsyncClient, True)):
        error = attempt(make(client(url, timeout=timeout)), is_async)
        assert isinstance(error, NoDecision)
        assert (error.code, error.decision) == (code, None), error


def guard(client: Any, **options: Any) -> Guard:
    return Guard(client, agent=AGENT, **options)


def test_the_server_is_gone() -> None:
    no_decision(guard, gone(), 30, "unreachable")


def silence(fake: Fake, before: bytes) -> Iterator[bytes]:
    """Sends something, then a byte at a time for ever."""
    yield before
    while not fake.is_over.wait(0.02):
        yield b"x"


@pytest.mark.parametrize(
    "before",
    [b"H", b"HTTP/1.1 200 OK\r\nx-slow: ", b"HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n{"],
    ids=["status", "headers", "body"],
)
def test_the_answer_is_late(fake: Fake, before: bytes) -> None:
    fake.reply = lambda request: silence(fake, before)
    no_decision(guard, fake.url, 0.3, "late")


def test_nothing_at_all_is_answered(fake: Fake) -> None:
    fake.reply = fake.silence
    no_decision(guard, fake.url, 0.3, "late")


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (response(b"{}"), "wrong_answer"),
        (response(b'{"outcome": "allow", "safe_to_execute": true}'), "wrong_answer"),
        (response(b"[]"), "wrong_answer"),
        (response(b"null"), "wrong_answer"),
        (response(b""), "wrong_answer"),
        (response(b"\xff\xfe{}"), "wrong_answer"),
        (response(b"[" * 200_000), "wrong_answer"),
        (response(b"1" * 100_000), "wrong_answer"),
        (response(b"<!doctype html><p>allow", content_type="text/html"), "wrong_answer"),
        (response(b"", "204 No Content"), "wrong_answer"),
        (response(b"{}", content_encoding="gzip"), "malformed"),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{", "broken"),
        (b"allow", "broken"),
        (b"", "broken"),
        (response(b"", "302 Found", location="/v1/decisions"), "redirected"),
        (response(b"", "308 Permanent Redirect", location="http://127.0.0.1:1/"), "redirected"),
        (response(b"<p>not found", "404 Not Found"), "malformed"),
        (problem("422 Unprocessable Content", "no_such_policy"), "no_such_policy"),
        (problem("401 Unauthorized", "unauthorized"), "unauthorized"),
        (problem("503 Service Unavailable", "busy"), "busy"),
    ],
)
def test_the_answer_is_malformed(fake: Fake, answer: bytes, code: str) -> None:
    fake.reply = lambda request: answer
    no_decision(guard, fake.url, 30, code)
    assert len(fake.requests) == 3, "no redirection is followed, and nothing is sent again"


def test_the_answer_is_huge(fake: Fake) -> None:
    def huge(request: Request) -> Iterator[bytes]:
        yield b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
        while not fake.is_over.is_set():
            yield b"100000\r\n" + b" " * 0x100000 + b"\r\n"

    fake.reply = huge
    no_decision(guard, fake.url, 30, "too_large")


class Through:
    """Sends on to the real server, with changes."""

    def __init__(self, server: Server, change_request: Callable[[dict[str, Any]], None], change: Callable[[dict[str, Any]], None]):
        self.server, self.change_request, self.change = server, change_request, change

    def __call__(self, request: Request) -> bytes:
        body = json.loads(request.body)
        self.change_request(body)
        headers = {"authorization": f"Bearer {self.server.agent}"}
        answer = HTTP.request(request.method, self.server.url + request.path, json=body, headers=headers).json()
        self.change(answer)
        return response(json.dumps(answer).encode())


def as_it_is(document: dict[str, Any]) -> None:
    pass


def put(*path: str, to: Any) -> Callable[[dict[str, Any]], None]:
    def change(document: dict[str, Any]) -> None:
        for name in path[:-1]:
            document = document[name]
        document[path[-1]] = to

    return change


@pytest.mark.parametrize(
    "change_request",
    [
        put("action", "args", "amount", to=10),
        put("action", "args", "more", to=1),
        put("action", "class", to="payment"),
        put("action", "target", to="somebody"),
        put("agent", "id", to="another"),
        put("agent", "step", to="an earlier one"),
        put("taint", to=[]),
    ],
    ids=["args", "more_args", "class", "target", "agent", "step", "facts"],
)
def test_the_decision_is_on_something_else(fake: Fake, server: Server, change_request: Callable[[dict[str, Any]], None]) -> None:
    fake.reply = Through(server, change_request, as_it_is)
    no_decision(guard, fake.url, 30, "wrong_answer")


@pytest.mark.parametrize(
    "change",
    [
        put("outcome", to="allowed"),
        put("outcome", to=["allow"]),
        put("outcome", to="replan_required"),
        put("disposition", "mode", to="local_replan"),
        put("safe_to_execute", to=1),
        put("human_review_terminal", to=True),
        put("reasons", to="none"),
        put("reasons", to=[{"code": 1, "message": "m"}]),
        put("decision_id", to="../../v1/reviews"),
        put("binding", "decided_at", to="yesterday"),
        put("binding", "decided_at", to="2999-01-01T00:00:00Z"),
        put("binding", "decided_at", to="2020-01-01T00:00:00"),
        put("binding", "facts_hash", to=None),
        put("binding", "policy_hash", to="sha256:0"),
        put("binding", to=[]),
        put("signature", to=None),
        put("receipt_type", to="vrf"),
        put("action_class", to=None),
        put("runtime_loopback", to={}),
    ],
)
def test_the_decision_contradicts_itself(fake: Fake, server: Server, change: Callable[[dict[str, Any]], None]) -> None:
    fake.reply = Through(server, as_it_is, change)
    no_decision(guard, fake.url, 30, "wrong_answer")


def test_an_unchanged_decision_is_one(fake: Fake, server: Server) -> None:
    """What the two tests above change is all that is wrong there."""
    fake.reply = Through(server, as_it_is, as_it_is)
    assert guard(Client(fake.url)).check("refund", ARGS).allowed


def test_the_decision_has_expired(fake: Fake, server: Server) -> None:
    def soon(receipt: dict[str, Any]) -> None:
        """A decision of one millisecond, less than any answer takes to arrive."""
        binding = receipt["binding"]
        decided = datetime.fromisoformat(binding["decided_at"].replace("Z", "+00:00"))
        binding["expires_at"] = (decided + timedelta(milliseconds=1)).isoformat()

    def slow(request: Request) -> bytes:
        answer = real(request)
        fake.is_over.wait(0.01)
        return answer

    real = Through(server, as_it_is, soon)
    fake.reply = slow
    no_decision(guard, fake.url, 30, "wrong_answer")


@pytest.mark.parametrize("agent", [AGENT, {**AGENT, "step": "step-1"}])
def test_an_earlier_decision_is_answered_again(fake: Fake, server: Server, agent: dict[str, str]) -> None:
    real, answers = Through(server, as_it_is, as_it_is), list[bytes]()

    def again(request: Request) -> bytes:
        answers.append(answers[0] if answers else real(request))
        return answers[0]

    fake.reply = again
    asked = Guard(Client(fake.url), agent=agent)
    assert asked.check("refund", ARGS).allowed
    error = attempt(asked, False)
    assert isinstance(error, NoDecision) and "another request" in str(error)


def raises(*_: object) -> Any:
    raise RuntimeError("our own hook")


@pytest.mark.parametrize("option", ["classes", "context"])
def test_our_own_hook_raises(server: Server, option: str) -> None:
    for is_async in (False, True):
        error = attempt(guard(server.client(), **{option: raises}), is_async)
        assert isinstance(error, NoDecision) and error.code == "failed" and "our own hook" in str(error)


@pytest.mark.parametrize("name", ["read_decision", "decision", "digest", "refusal"])
def test_our_own_code_raises(server: Server, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    place = proofmark_sdk.asking if hasattr(proofmark_sdk.asking, name) else proofmark_sdk.decision
    monkeypatch.setattr(place, name, raises)
    ran: list[int] = []
    with pytest.raises((NoDecision, RuntimeError)):
        guard(server.client()).call(lambda amount: ran.append(amount), 100)
    assert ran == []


@pytest.mark.parametrize("klass", [1, None, ["generic"]])
def test_a_class_is_no_text(server: Server, klass: Any) -> None:
    assert attempt(guard(server.client(), classes={"refund": klass}), False)


SCRIPTS = {
    "late": ("exec sleep 60", "late"),
    "children": ("sleep 60 & exit 0", "late"),
    "garbage": ("echo allow", "malformed"),
    "empty": ("exit 0", "failed"),
    "no_result": ('echo \'{"error": "no", "code": "unreadable"}\'; exit 2', "unreadable"),
    "killed": ("kill -9 $$", "failed"),
    "endless": ("exec yes", "too_large"),
    "other": ("cat other.json", "wrong_answer"),
    "other_code": ("cat other.json; exit 1", "malformed"),
    "two": ("cat other.json other.json", "malformed"),
}


@pytest.mark.parametrize("script", SCRIPTS)
def test_the_binary_answers_wrongly(server: Server, policy: Path, tmp_path: Path, script: str) -> None:
    text, code = SCRIPTS[script]
    other = tmp_path / "other.json"
    request: Any = {"action": {"tool": "echo", "class": "generic", "args": {}}}
    other.write_text(json.dumps(server.client().decide(request)))
    binary = tmp_path / "proofmark"
    binary.write_text(f"#!/bin/sh\n{text.replace('other.json', str(other))}\n")
    binary.chmod(binary.stat().st_mode | stat.S_IXUSR)
    for local, is_async in ((Local, False), (Local, True), (AsyncLocal, True)):
        timeout = 0.5 if code == "late" else 30
        error = attempt(guard(local(policy=policy, home=tmp_path, binary=binary, timeout=timeout)), is_async)
        assert isinstance(error, NoDecision) and error.code == code, error


def test_the_binary_or_the_policy_is_gone(policy: Path, tmp_path: Path, binary: str) -> None:
    error = attempt(guard(Local(policy=policy, binary=tmp_path / "none")), False)
    assert isinstance(error, NoDecision) and error.code == "no_binary"
    copy = tmp_path / "policy.yaml"
    copy.write_text(policy.read_text())
    local = Local(policy=copy, home=tmp_path, binary=binary)
    assert guard(local).check("refund", ARGS).allowed
    os.remove(copy)
    assert isinstance(attempt(guard(local), False), NoDecision)
