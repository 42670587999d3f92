"""What only Claude Code does."""

from __future__ import annotations

import math
from typing import Any

import pytest

pytest.importorskip("claude_agent_sdk", reason="`claude_agent_sdk` is not installed")

from adapters.more_hosts import REFUND, claude
from conftest import Server
from fake import Fake

from proofmark_sdk import AsyncClient, Guard
from proofmark_sdk.adapters.claude_agent_sdk import hooks

ARGS: dict[str, Any] = {"amount": 20, "ticket": "T-1"}


def test_a_decision_that_takes_longer_than_claude_code_waits_does_not_count(fake: Fake) -> None:
    fake.reply = fake.silence
    ran: list[dict[str, Any]] = []
    said = claude(hooks(Guard(AsyncClient(fake.url, timeout=60)), timeout=1), ARGS, ran)
    assert ran == []
    # So Claude Code says, before there is an answer.
    assert "did not respond before its timeout" in said[0]


@pytest.mark.parametrize(("wait", "timeout"), [(0, 60), (300, 360), (math.inf, 86_400)])
def test_claude_code_waits_longer_than_the_guard(wait: float, timeout: float) -> None:
    own = Guard(AsyncClient("http://127.0.0.1"), wait=wait)
    assert hooks(own)["PreToolUse"][0].timeout == timeout


def test_a_timeout_that_ends_before_the_guard_does_is_refused() -> None:
    own = Guard(AsyncClient("http://127.0.0.1"), wait=60)
    with pytest.raises(ValueError, match="longer than the 60 that the guard waits"):
        hooks(own, timeout=60)
    assert hooks(own, timeout=61)["PreToolUse"][0].timeout == 61


def test_a_blocked_call_is_denied_where_permissions_are_bypassed(server: Server) -> None:
    ran: list[dict[str, Any]] = []
    own = hooks(Guard(server.client()), names={REFUND: "refund"})
    said = claude(own, {"amount": 20}, ran, permission_mode="bypassPermissions")
    assert ran == []
    assert "The refund names no ticket." in said[0]


@pytest.mark.parametrize("tool", ["publish", "drop_database"])
def test_what_the_agent_cannot_change_ends_the_run(server: Server, tool: str) -> None:
    ran: list[dict[str, Any]] = []
    own = Guard(server.client(), context={"upstream": {"ready": False}})
    said = claude(hooks(own, names={REFUND: tool}), ARGS, ran)
    assert ran == []
    assert "done" not in said


def test_an_execution_that_fails_is_reported(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[dict[str, Any]] = []
    reports: list[BaseException | None] = []
    own = Guard(server.client())

    async def report(decision: Any, *, error: BaseException | None = None) -> None:
        reports.append(error)

    monkeypatch.setattr(own, "areport", report)
    claude(hooks(own, names={REFUND: "refund"}), {"amount": 1, "ticket": "T-1"}, ran)
    assert len(ran) == 1
    assert "the bank is closed" in str(reports[0])
