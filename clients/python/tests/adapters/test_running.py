"""The calls in progress of an adapter."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest

import proofmark_sdk.adapters as adapters
from proofmark_sdk import Guard
from proofmark_sdk.adapters import Running


def test_a_decision_is_there_until_its_call_ends() -> None:
    running: Running[str] = Running()
    running.begin("call-1", "first")
    running.begin("call-2", "second")
    assert (running.end("call-1"), running.end("call-1"), running.end("call-2")) == ("first", None, "second")


def test_the_oldest_call_is_dropped_at_the_limit() -> None:
    running: Running[str] = Running(limit=2)
    running.begin("call-1", "first")
    running.begin("call-2", "second")
    # This call has begun again, so the other one is the oldest.
    running.begin("call-1", "third")
    running.begin("call-3", "fourth")
    assert [running.end(f"call-{number}") for number in (1, 2, 3)] == ["third", None, "fourth"]


class Reports:
    """A guard that allows each call, and lists the ids of the calls that are reported."""

    wait = 0.0

    def __init__(self) -> None:
        self.calls: list[str] = []

    async def acheck(self, tool: str, args: Any, *, call_id: str) -> str:
        return call_id

    async def areport(self, decision: str, *, error: BaseException | None = None) -> None:
        self.calls.append(decision)


def test_the_end_of_a_dropped_call_is_not_reported() -> None:
    pytest.importorskip("claude_agent_sdk", reason="`claude_agent_sdk` is not installed")
    from proofmark_sdk.adapters.claude_agent_sdk import hooks

    reports = Reports()
    matchers = hooks(cast(Guard, reports))
    [before], [after] = matchers["PreToolUse"][0].hooks, matchers["PostToolUse"][0].hooks
    given = [{"tool_name": "refund", "tool_input": {}, "tool_use_id": str(n)} for n in range(adapters.MAX_RUNNING + 1)]

    async def run() -> None:
        for call in given:
            await before(cast(Any, call), None, cast(Any, None))
        for call in given:
            await after(cast(Any, call), None, cast(Any, None))

    asyncio.run(run())
    assert reports.calls == [call["tool_use_id"] for call in given[1:]]
