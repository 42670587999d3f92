"""What every adapter does, in an agent of its framework."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from adapters.hosts import HOSTS, NO_REPORTS, OWN_REVIEWS, Host, is_installed
from adapters.more_hosts import APART
from conftest import Server
from fake import Fake, gone, response

from proofmark_sdk import Client, Guard, NotAllowed

ARGS: dict[str, Any] = {"amount": 20, "ticket": "T-1"}
AGENT = {"id": "bot"}
REQUIRED = os.environ.get("PROOFMARK_REQUIRE_ADAPTERS") == "1"


@pytest.fixture(params=HOSTS)
def host(request: pytest.FixtureRequest) -> Host:
    run, module = HOSTS[request.param]
    if not is_installed(request.param):
        assert not REQUIRED or request.param in APART, f"`{module}` is not installed"
        pytest.skip(f"`{module}` is not installed")
    return run


def guard(client: Client, **options: Any) -> Guard:
    return Guard(client, agent=AGENT, **options)


def does_not_run(host: Host, guard: Guard) -> str:
    """Has an agent make a call that is not allowed; returns what the model was told."""
    ran: list[dict[str, Any]] = []
    try:
        said = host(guard, ARGS, ran)
    except Exception as error:
        said = _causes(error)
    assert ran == []
    return said


def _causes(error: BaseException | None) -> str:
    """An error with all that it was raised from: frameworks wrap it."""
    said = []
    while error is not None:
        said += [str(error)] + [_causes(inner) for inner in getattr(error, "exceptions", ())]
        error = error.__cause__ or error.__context__
    return " ".join(said)


def test_the_server_is_gone(host: Host) -> None:
    assert "was not executed" in does_not_run(host, guard(Client(gone())))


def test_the_answer_is_late(host: Host, fake: Fake) -> None:
    fake.reply = fake.silence
    assert "was not executed" in does_not_run(host, guard(Client(fake.url, timeout=0.3)))


@pytest.mark.parametrize("answer", [b"{}", b'{"outcome": "allow", "safe_to_execute": true}', b"<p>allow"])
def test_the_answer_is_malformed(host: Host, fake: Fake, answer: bytes) -> None:
    fake.reply = lambda request: response(answer)
    assert "was not executed" in does_not_run(host, guard(Client(fake.url)))


def test_the_answer_is_on_another_call(host: Host, fake: Fake, server: Server) -> None:
    other = guard(server.client()).check("refund", {"amount": 1, "ticket": "T-1"}).receipt
    fake.reply = lambda request: response(json.dumps(other).encode())
    assert "was not executed" in does_not_run(host, guard(Client(fake.url)))


def test_the_guard_itself_fails(host: Host, server: Server) -> None:
    broken = guard(server.client())
    for method in ("check", "acheck", "decide", "adecide"):
        setattr(broken, method, _raises)
    does_not_run(host, broken)


def _raises(*arguments: Any, **named: Any) -> Any:
    raise RuntimeError("the guard is broken")


def test_an_allowed_call_runs_once_and_is_reported(
    host: Host, server: Server, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    ran: list[dict[str, Any]] = []
    reports: list[BaseException | None] = []
    own = guard(server.client())
    for name in ("report", "areport"):
        method = getattr(own, name)

        def counted(decision: Any, *, error: BaseException | None = None, method: Any = method) -> Any:
            reports.append(error)
            return method(decision, error=error)

        monkeypatch.setattr(own, name, counted)
    assert "refunded 20" in host(own, ARGS, ran)
    assert ran == [ARGS]
    assert reports == ([] if request.node.callspec.params["host"] in NO_REPORTS else [None])


def test_a_blocked_call_is_told_to_the_model(host: Host, server: Server, request: pytest.FixtureRequest) -> None:
    ran: list[dict[str, Any]] = []
    # Another action: one that was denied several times has to be reviewed.
    amount = 2 + list(HOSTS).index(request.node.callspec.params["host"])
    said = host(guard(server.client()), {"amount": amount}, ran)
    assert ran == []
    assert "The refund names no ticket." in said and "Put the ticket into the arguments" in said


def test_a_call_that_needs_a_person_does_not_run(host: Host, server: Server, request: pytest.FixtureRequest) -> None:
    ran: list[dict[str, Any]] = []
    try:
        said = host(guard(server.client()), {"amount": 200, "ticket": "T-2"}, ran)
    except NotAllowed as error:
        said = str(error)
    assert ran == []
    if request.node.callspec.params["host"] not in OWN_REVIEWS:
        assert "A person must review it first" in said and "/ui/decisions/" in said


def test_a_call_in_local_mode_is_decided_without_a_server(host: Host, policy: Path, home: Path, binary: str) -> None:
    from proofmark_sdk import Local

    ran: list[dict[str, Any]] = []
    local = Guard(Local(policy=policy, home=home, binary=binary), agent=AGENT)
    assert "refunded 20" in host(local, ARGS, ran)
    assert ran == [ARGS]
