"""Decisions, reviews, reports, and what agents are told."""

from __future__ import annotations

import asyncio
import json
import logging
import pickle
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from conftest import Server
from fake import Fake, Request, problem, response
from test_fails_closed import Through, as_it_is

from proofmark_sdk import (
    AsyncClient,
    Blocked,
    Client,
    Guard,
    NeedsReview,
    NoDecision,
    NotAllowed,
    NotJson,
    Terminal,
    Upstream,
)


def guard(server: Server, **options: Any) -> Guard:
    return Guard(server.client(), agent={"id": "bot", "environment": "prod"}, **options)


def approve(server: Server, decision_id: str, verdict: Any = "approve") -> None:
    with Client(server.url, server.reviewer) as reviewer:
        reviewer.review(decision_id, {"verdict": verdict, "note": "checked with the customer"})


def waiting(server: Server, amount: float) -> str:
    """The decision about this amount, once it waits."""
    with Client(server.url, server.reviewer) as reviewer:
        for _ in range(600):
            for entry in reviewer.reviews(limit=1000)["decisions"]:
                if (entry["action"] or {})["args"].get("amount") == amount:
                    return entry["decision_id"]
            threading.Event().wait(0.05)
    raise AssertionError("no decision waits")


@pytest.mark.parametrize("kind", ["reasons", "next", "error"])
def test_a_text_of_the_server_is_cut(fake: Fake, server: Server, kind: str) -> None:
    long = [{"code": "long", "message": "x" * 1_000_000}]
    document = {"error": {"code": "long", "message": long[0]["message"], "retryable": False}}

    def change(receipt: dict[str, Any]) -> None:
        receipt["reasons" if kind == "reasons" else "safe_next_steps"] = long

    fake.reply = Through(server, as_it_is, change)
    if kind == "error":
        fake.reply = lambda request: response(json.dumps(document).encode(), "409 Conflict")
    with pytest.raises(NotAllowed) as raised:
        Guard(Client(fake.url)).check("refund", {"amount": 20, "ticket": ""})
    said = Guard.tool_result(raised.value)
    assert 4_000 < len(said) < 4_500
    assert "x …" in said and "Do not say that it was done." in said
    assert len(str(raised.value.__cause__)) < 4_100
    assert str(pickle.loads(pickle.dumps(raised.value))) == said


def test_a_decision_says_what_was_decided(server: Server) -> None:
    decision = guard(server, run="r1").decide("refund", {"amount": 20, "ticket": ""}, call_id="call_7", target="customer-7")
    assert (decision.outcome, decision.disposition, decision.allowed) == ("replan_required", "local_replan", False)
    assert decision.reasons == ("The refund names no ticket.",)
    assert decision.next_steps[0] == "Put the ticket into the arguments, then request the refund again."
    assert decision.url == f"{server.url}/ui/decisions/{decision.id}"
    assert decision.receipt["binding"]["agent"] == "bot"
    stored = server.client().decision(decision.id)
    assert stored["action"] == decision.action
    assert stored["action"]["target"] == "customer-7"


def test_what_is_sent(fake: Fake) -> None:
    context = {"taint": [], "agent": {"id": "from context", "org": "acme"}}
    asked = Guard(Client(fake.url), agent={"id": "bot"}, run="r1", context=lambda: context, policy="payments")
    with pytest.raises(NoDecision):
        asked.decide("remember", {"a": (1, 2)}, call_id="call_7", klass="memory_write")
    request = fake.requests[0]
    body = json.loads(request.body)
    step = body["agent"].pop("step")
    assert step.startswith("call_7:")
    assert body == {
        "action": {"tool": "remember", "class": "memory_write", "boundary": "memory_write", "args": {"a": [1, 2]}},
        "agent": {"id": "bot", "org": "acme", "run": "r1"},
        "taint": [],
    }
    assert request.path == "/v1/decisions?policy=payments"
    with pytest.raises(NoDecision):
        Guard(Client(fake.url), agent={"step": "step-1"}).decide("echo", {}, call_id="call_7")
    assert json.loads(fake.requests[-1].body)["agent"]["step"].startswith("step-1:")


def test_another_policy_has_decided(server: Server, fake: Fake) -> None:
    fake.reply = lambda request: Through(server, as_it_is, as_it_is)(
        Request(request.method, "/v1/decisions", request.headers, request.body)
    )
    assert Guard(Client(fake.url), policy="default").check("echo", {}).allowed
    with pytest.raises(NoDecision, match="by another policy"):
        Guard(Client(fake.url), policy="payments").check("echo", {})


def test_classes_are_of_a_table_or_a_function(server: Server) -> None:
    table = guard(server, classes={"refund": "payment", "*": "system_change"})
    assert table.decide("refund", {"amount": 1, "ticket": "T-1"}).receipt["action_class"] == "payment"
    assert table.decide("echo", {}).receipt["action_class"] == "system_change"
    assert table.decide("echo", {}, klass="upload").receipt["action_class"] == "upload"
    function = guard(server, classes=lambda tool, args: args["of"])
    assert function.decide("echo", {"of": "webhook_call"}).receipt["action_class"] == "webhook_call"
    assert guard(server).decide("echo", {}).receipt["action_class"] == "generic"


def test_a_function_of_classes_changes_nothing(server: Server) -> None:
    def change(tool: str, args: Any) -> str:
        args["amount"] = 5000
        return "payment"

    decision = guard(server, classes=change).check("refund", {"amount": 20, "ticket": "T-1"})
    assert decision.action["args"]["amount"] == 20


def test_what_is_raised_says_how_to_go_on(server: Server) -> None:
    asked = guard(server, context={"upstream": {"parent_node": "planner"}})
    cases: list[tuple[str, dict[str, Any], type[NotAllowed], list[str]]] = [
        ("refund", {"amount": 20, "ticket": "x"}, Blocked, ["names no ticket", "What to do next: Put the ticket"]),
        ("refund", {"amount": 60.5}, NeedsReview, ["A person must review it first at http", "Finance has not approved"]),
        ("publish", {}, Upstream, ["The planner has not said that it is ready."]),
        ("drop_database", {"name": "all"}, Terminal, ["No agent drops a database.", "Do not request the same action again."]),
        ("unknown", {}, Blocked, ["was not executed"]),
    ]
    for tool, args, kind, said in cases:
        with pytest.raises(NotAllowed) as raised:
            asked.check(tool, args)
        error = raised.value
        assert type(error) is kind
        text = Guard.tool_result(error)
        assert error.decision is not None and error.decision.id in text and f"`{tool}` was not executed" in text
        assert [part for part in said if part not in text] == [], text
        again = pickle.loads(pickle.dumps(error))
        assert (type(again), str(again), again.tool, again.decision) == (kind, text, tool, error.decision)
    assert issubclass(Terminal, Blocked) and issubclass(Upstream, Blocked) and not issubclass(NeedsReview, Blocked)


def test_a_decision_keeps_the_arguments(server: Server) -> None:
    mine: dict[str, Any] = {"to": ["ann"]}
    decision = guard(server).check("echo", mine)
    mine["to"].append("mallory")
    decision.args["to"].append("mallory")
    assert decision.args == {"to": ["ann"]}


def test_warnings_do_not_block(server: Server) -> None:
    decision = guard(server).check("echo", {"loud": True})
    assert (decision.outcome, decision.reasons) == ("allow_with_warning", ("That is loud.",))


def approve_waiting(server: Server, amount: float) -> None:
    approve(server, waiting(server, amount))


def refund(amount: float, ticket: str = "T-1") -> str:
    return f"refunded {amount}"


async def refund_later(amount: float, ticket: str = "T-1") -> str:
    return f"refunded {amount}"


refund_later.__name__ = "refund"


def test_a_call_runs_once_it_is_approved(server: Server) -> None:
    asked = guard(server)
    with pytest.raises(NeedsReview) as raised:
        asked.call(refund, 501)
    assert raised.value.url == raised.value.decision.url
    approve(server, raised.value.decision.id)
    assert asked.call(refund, 501) == "refunded 501"
    with pytest.raises(NeedsReview):
        asked.call(refund, 501)


def test_a_call_waits_for_its_review(server: Server) -> None:
    with ThreadPoolExecutor(1) as pool:
        call = pool.submit(guard(server, wait=60).call, refund, 502)
        approve(server, waiting(server, 502))
        assert call.result() == "refunded 502"


def test_a_call_waits_for_its_review_async(server: Server) -> None:
    async def both() -> None:
        async with AsyncClient(server.url, server.agent) as client:
            for amount, asked in ((503, Guard(client, wait=60)), (504, guard(server, wait=60))):
                call = asyncio.create_task(asked.acall(refund_later, amount))
                await asyncio.to_thread(approve_waiting, server, amount)
                assert await call == f"refunded {amount}"

    asyncio.run(both())


def test_what_a_person_denies_does_not_run(server: Server) -> None:
    with ThreadPoolExecutor(1) as pool:
        call = pool.submit(guard(server, wait=60).call, refund, 505)
        approve(server, waiting(server, 505), "deny")
        with pytest.raises(Terminal, match="checked with the customer"):
            call.result()


def test_the_wait_has_an_end(server: Server) -> None:
    with pytest.raises(NeedsReview):
        guard(server, wait=0.1).call(refund, 506)


def test_a_server_that_fails_meanwhile_does_not_end_the_wait(server: Server, fake: Fake) -> None:
    real, looks = Through(server, as_it_is, as_it_is), []

    def reply(request: Request) -> bytes:
        if request.method == "POST":
            return real(request)
        looks.append(request.path)
        if len(looks) == 1:
            return problem("500 Internal Server Error", "internal")
        if len(looks) == 2:
            approve(server, request.path.rpartition("/")[2])
        return response(Client(server.url, server.agent).send(look(request.path)))

    fake.reply = reply
    assert Guard(Client(fake.url), agent={"id": "bot"}, wait=60).check("refund", {"amount": 507}).allowed
    assert len(looks) == 2


def look(path: str) -> Any:
    from proofmark_sdk.calls import Call

    return Call("GET", path, lambda answer: answer.body)


def test_executions_are_reported(server: Server) -> None:
    asked, admin = guard(server), Client(server.url, server.admin)

    def fails(why: str) -> None:
        raise OSError(why)

    assert asked.call(refund, 21) == "refunded 21"
    with pytest.raises(OSError, match="disk"):
        asked.call(fails, "disk")
    again = asked.check("echo", {"n": 1})
    asked.report(again)
    asked.report(again, error=OSError())
    findings = admin.send(look("/v1/findings"))
    assert [(f["decision_id"], f["code"]) for f in json.loads(findings)["findings"]] == [(again.id, "executed_twice")]


def test_the_report_says_what_was_executed(server: Server, fake: Fake) -> None:
    real = Through(server, as_it_is, as_it_is)
    done = response(b'{"accepted": true, "findings": []}')
    fake.reply = lambda request: real(request) if request.path == "/v1/decisions" else done

    def fails(n: int, rest: Any = None) -> None:
        raise ValueError("with what is secret")

    with pytest.raises(ValueError, match="secret"):
        Guard(Client(fake.url)).call(fails, 1)
    report = json.loads(fake.requests[1].body)["observed_execution"]
    decision_id = report.pop("decision_id")
    assert decision_id
    assert report == {
        "side_effect_executed": True,
        "status": "failed",
        "error": "ValueError",
        "downstream_trace": {"args": {"n": 1, "rest": None}},
    }


def test_a_report_that_fails_is_a_warning(server: Server, fake: Fake, caplog: pytest.LogCaptureFixture) -> None:
    real = Through(server, as_it_is, as_it_is)
    fake.reply = lambda request: real(request) if request.path == "/v1/decisions" else problem("500 Internal", "internal")
    assert Guard(Client(fake.url)).call(refund, 22) == "refunded 22"
    assert asyncio.run(Guard(Client(fake.url)).acall(refund_later, 22)) == "refunded 22"
    assert [record.levelno for record in caplog.records if record.name == "proofmark_sdk"] == [logging.WARNING] * 2
    assert "was not reported" in caplog.text


def test_an_interrupt_is_no_execution_that_is_reported(server: Server, caplog: pytest.LogCaptureFixture) -> None:
    def echo() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        guard(server).call(echo)
    assert "was not reported: KeyboardInterrupt" in caplog.text


@pytest.mark.parametrize("args", [[], "amount", None, 7, {1: 2}, {"a": object()}, {"a": float("nan")}, {"a": {"b": {1, 2}}}])
def test_arguments_that_are_not_json(fake: Fake, args: Any) -> None:
    with pytest.raises(NotJson) as raised:
        Guard(Client(fake.url)).check("refund", args)
    assert isinstance(raised.value, TypeError) and isinstance(raised.value, NotAllowed)
    assert fake.requests == []


def test_wrong_uses_are_errors(server: Server, fake: Fake) -> None:
    with pytest.raises(TypeError, match="signers"):
        Guard(server.client(), trust=[])
    with pytest.raises(TypeError, match="signers"):
        Guard(server.client(), trust="ed25519:00")
    with pytest.raises(ValueError, match="wait"):
        Guard(server.client(), wait=float("nan"))
    asynchronous = Guard(AsyncClient(fake.url))
    with pytest.raises(TypeError, match="AsyncClient"):
        asynchronous.check("echo", {})
    with pytest.raises(TypeError, match="acall"):
        guard(server).call(refund_later, 1)  # type: ignore[unused-coroutine]
    assert fake.requests == []


def test_a_hundred_threads_get_a_decision_each(server: Server) -> None:
    asked, ran = guard(server), []

    def echo(n: int) -> int:
        ran.append(n)
        return n

    with ThreadPoolExecutor(100) as pool:
        assert sorted(pool.map(lambda n: asked.call(echo, n), range(100))) == list(range(100))
        ids = set(pool.map(lambda _: asked.check("echo", {"n": 7}).id, range(100)))
    assert (len(ran), len(ids)) == (100, 100)


def test_a_hundred_tasks_get_a_decision_each(server: Server) -> None:
    async def all_at_once() -> list[str]:
        async with AsyncClient(server.url, server.agent) as client:
            asked = Guard(client)
            decisions = await asyncio.gather(*(asked.acheck("echo", {"n": 7}) for _ in range(100)))
            return [decision.id for decision in decisions]

    assert len(set(asyncio.run(all_at_once()))) == 100
