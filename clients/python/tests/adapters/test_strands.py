"""What only Strands does."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

pytest.importorskip("strands", reason="`strands` is not installed")

from adapters.more_hosts import strands_agent, strands_told
from conftest import Server, run
from strands.hooks import AfterToolCallEvent, BeforeToolCallEvent, HookProvider, HookRegistry
from strands.types.exceptions import EventLoopException

from proofmark_sdk import Guard, Terminal, Upstream
from proofmark_sdk.adapters.strands import GuardHooks

AGENT = {"id": "bot"}


class Changes(HookProvider):
    """A hook of another author."""

    def __init__(self, order: float = 0, **changes: Any) -> None:
        self.order = order
        self.changes = changes

    def register_hooks(self, registry: HookRegistry, **named: Any) -> None:
        registry.add_callback(BeforeToolCallEvent, self.change, order=self.order)

    def change(self, event: BeforeToolCallEvent) -> None:
        event.tool_use = {**event.tool_use, **self.changes}


class Retries(HookProvider):
    """A hook that has each call made three times."""

    def __init__(self) -> None:
        self.count = 0

    def register_hooks(self, registry: HookRegistry, **named: Any) -> None:
        registry.add_callback(AfterToolCallEvent, self.retry, order=1000)

    def retry(self, event: AfterToolCallEvent) -> None:
        self.count += 1
        event.retry = self.count < 3


@pytest.mark.parametrize("order", [0, 1000])
def test_the_call_that_another_hook_has_changed_is_decided_on(server: Server, order: float) -> None:
    ran: list[dict[str, Any]] = []
    own = GuardHooks(Guard(server.client()))
    # It is added later, and yet runs first.
    agent = strands_agent({"amount": 20, "ticket": "T-1"}, ran, [own, Changes(order, input={"amount": 20})])
    agent("Refund.")
    assert ran == []
    assert "The refund names no ticket." in strands_told(agent)


@pytest.mark.parametrize("is_background", [False, True])
def test_each_run_of_a_tool_has_a_decision(server: Server, is_background: bool) -> None:
    ran: list[dict[str, Any]] = []
    decided: list[str] = []
    guard = Guard(server.client())
    check = guard.acheck

    async def counted(*args: Any, **named: Any) -> Any:
        decision = await check(*args, **named)
        decided.append(decision.id)
        return decision

    guard.acheck = counted  # type: ignore[method-assign]
    background = {"background_tasks": {"always": ["refund"]}} if is_background else {}
    agent = strands_agent({"amount": 20, "ticket": "T-1"}, ran, [GuardHooks(guard), Retries()], **background)

    async def run() -> None:
        await agent.invoke_async("Refund.")
        # What runs in the background.
        others = asyncio.all_tasks() - {asyncio.current_task()}
        await asyncio.wait(others, timeout=30) if others else None

    asyncio.run(run())
    assert len(ran) == len(set(decided)) == (1 if is_background else 3)


def test_a_call_of_a_tool_in_place_of_another_is_cancelled(server: Server) -> None:
    ran: list[dict[str, Any]] = []
    own = GuardHooks(Guard(server.client()))
    agent = strands_agent({"amount": 20, "ticket": "T-1"}, ran, [Changes(name="echo"), own])
    agent("Refund.")
    assert ran == []
    assert "`echo` was not executed" in strands_told(agent)


@pytest.mark.parametrize(("tool", "kind"), [("publish", Upstream), ("drop_database", Terminal)])
def test_what_the_agent_cannot_change_ends_the_run(server: Server, tool: str, kind: type[Exception]) -> None:
    own = Guard(server.client(), context={"upstream": {"ready": False}})
    check = own.acheck
    own.acheck = lambda name, args, **named: check(tool, args, **named)  # type: ignore[method-assign, assignment, misc]
    ran: list[dict[str, Any]] = []
    with pytest.raises(EventLoopException) as raised:
        strands_agent({"amount": 20, "ticket": "T-1"}, ran, [GuardHooks(own)])("Refund.")
    assert isinstance(raised.value.__cause__, kind)
    assert ran == []


@pytest.mark.parametrize("is_approved", [False, True])
def test_an_interrupted_call_runs_only_with_an_approval(server: Server, binary: str, is_approved: bool) -> None:
    ran: list[dict[str, Any]] = []
    amount = 300 + (1 if is_approved else 0)
    own = GuardHooks(Guard(server.client(), agent=AGENT), interrupts=True)
    agent = strands_agent({"amount": amount, "ticket": "T-1"}, ran, [own])
    done = agent("Refund.")
    assert done.stop_reason == "interrupt" and ran == []
    [interrupt] = done.interrupts
    if is_approved:
        said = ("--key", "ann", "--note", "it is fine", "--yes")
        run(binary, server.home, "decision", "approve", interrupt.reason["decision_id"], *said)
    # Whatever the response says, the word of a person counts only where Proofmark has it.
    agent([{"interruptResponse": {"interruptId": interrupt.id, "response": "approved"}}])
    assert [args["amount"] for args in ran] == ([amount] if is_approved else [])
    if not is_approved:
        assert "A person must review it first" in strands_told(agent)


def test_an_execution_that_fails_is_reported(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[dict[str, Any]] = []
    reports: list[BaseException | None] = []
    own = Guard(server.client())

    async def report(decision: Any, *, error: BaseException | None = None) -> None:
        reports.append(error)

    monkeypatch.setattr(own, "areport", report)
    strands_agent({"amount": 1, "ticket": "T-1"}, ran, [GuardHooks(own)])("Refund.")
    assert len(ran) == 1
    assert "the bank is closed" in str(reports[0])
