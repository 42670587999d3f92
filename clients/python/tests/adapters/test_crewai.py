"""What only CrewAI does."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("crewai", reason="`crewai` is not installed")

from adapters.more_hosts import crewai_crew, crewai_refund
from conftest import Server

from proofmark_sdk import Guard, Terminal, Upstream

ARGS: dict[str, Any] = {"amount": 20, "ticket": "T-1"}
WAYS = pytest.mark.parametrize("is_native", [True, False])


@pytest.fixture(autouse=True)
def no_hooks() -> Iterator[None]:
    from crewai.hooks import clear_all_tool_call_hooks

    clear_all_tool_call_hooks()
    yield
    clear_all_tool_call_hooks()


def counted(guard: Guard) -> tuple[list[str], list[BaseException | None]]:
    """The decisions that allow a call, and how the executions end that are reported."""
    decided: list[str] = []
    reports: list[BaseException | None] = []
    check = guard.check

    def checked(*args: Any, **named: Any) -> Any:
        decision = check(*args, **named)
        decided.append(decision.id)
        return decision

    def report(decision: Any, *, error: BaseException | None = None) -> None:
        reports.append(error)

    guard.check = checked  # type: ignore[method-assign]
    guard.report = report  # type: ignore[method-assign]
    return decided, reports


def guarded(guard: Guard, *tools: Any) -> list[Any]:
    from proofmark_sdk.adapters.crewai import guarded_tools

    return guarded_tools(guard, tools)


def run(guard: Guard, args: dict[str, Any], is_native: bool = True, tasks: int = 1) -> tuple[list[dict[str, Any]], list[str]]:
    """The arguments with which the tool ran, and what its model was told."""
    ran: list[dict[str, Any]] = []
    told: list[str] = []
    crewai_crew(args, guarded(guard, crewai_refund(ran)), told, is_native, tasks).kickoff()
    return ran, told


@WAYS
def test_each_run_of_a_tool_has_a_decision_and_a_report(server: Server, is_native: bool) -> None:
    guard = Guard(server.client())
    decided, reports = counted(guard)
    ran, told = run(guard, {"amount": 1, "ticket": "T-1"}, is_native)
    # CrewAI tries a call of the text again and again that fails.
    assert len(ran) == len(set(decided)) == len(reports) and (len(ran) == 1) == is_native
    assert {str(error) for error in reports} == {"the bank is closed"}
    assert "the bank is closed" in told[0]


@WAYS
def test_the_call_that_another_hook_has_changed_is_decided_on(server: Server, is_native: bool) -> None:
    from crewai.hooks import register_before_tool_call_hook

    register_before_tool_call_hook(lambda context: context.tool_input.update(ticket="none"))
    ran, told = run(Guard(server.client()), ARGS, is_native)
    assert ran == []
    assert "The refund names no ticket." in told[0]


@WAYS
def test_a_tool_runs_with_what_was_decided_on(server: Server, is_native: bool) -> None:
    guard = Guard(server.client())
    decided: list[Any] = []
    check = guard.check

    def checked(name: str, args: Any, **named: Any) -> Any:
        decision = check(name, args, **named)
        decided.append(dict(args))
        args.clear()
        return decision

    guard.check = checked  # type: ignore[method-assign, assignment]
    # CrewAI reads the arguments for the types of the tool.
    ran, _ = run(guard, {"amount": "20", "ticket": "T-1"}, is_native)
    assert ran == decided == [ARGS]


@WAYS
@pytest.mark.parametrize(("tool", "kind"), [("publish", Upstream), ("drop_database", Terminal)])
def test_what_the_agent_cannot_change_ends_the_run(server: Server, tool: str, kind: type[Exception], is_native: bool) -> None:
    from crewai.hooks.dispatch import HookAborted

    guard = Guard(server.client(), context={"upstream": {"ready": False}})
    check = guard.check
    guard.check = lambda name, args, **named: check(tool, args, **named)  # type: ignore[method-assign, assignment, misc]
    asked: list[str] = []
    ran: list[dict[str, Any]] = []
    # An action of its own: one that has been denied again and again has to be reviewed.
    args = {"amount": 21 + is_native, "ticket": "T-1"}
    with pytest.raises(HookAborted, match="was not executed") as raised:
        crewai_crew(args, guarded(guard, crewai_refund(ran)), asked, is_native).kickoff()
    assert isinstance(raised.value.__cause__, kind)
    assert ran == asked == []


@WAYS
def test_no_result_is_cached(server: Server, is_native: bool) -> None:
    guard = Guard(server.client())
    decided, _ = counted(guard)
    ran, _ = run(guard, ARGS, is_native, tasks=2)
    assert ran == [ARGS, ARGS] and len(set(decided)) == 2


def test_a_refusal_is_no_answer_of_an_agent(server: Server) -> None:
    refund = crewai_refund([])
    refund.result_as_answer = True
    [tool] = guarded(Guard(server.client()), refund)
    told: list[str] = []
    assert str(crewai_crew({"amount": 20}, [tool], told).kickoff()) == "done"
    assert "The refund names no ticket." in told[0]
    assert str(crewai_crew(ARGS, [tool], told).kickoff()) == "refunded 20"


def test_tools_of_each_kind_are_guarded(server: Server) -> None:
    from crewai.tools import BaseTool, tool

    ran: list[Any] = []

    @tool("refund")
    async def later(amount: int, ticket: str = "none") -> str:
        """Refunds."""
        ran.append((amount, ticket))
        return f"refunded {amount}"

    class Refund(BaseTool):
        name: str = "refund"
        description: str = "Refunds."

        def _run(self, amount: int, ticket: str = "none") -> str:
            ran.append((amount, ticket))
            return f"refunded {amount}"

        async def _arun(self, amount: int, ticket: str = "none") -> str:
            return self._run(amount, ticket)

        def format_output_for_agent(self, raw_result: Any) -> str:
            return f"<{raw_result}>"

    guard = Guard(server.client())
    for one in guarded(guard, later, Refund()):
        structured = one.to_structured_tool()
        calls = [
            one.run,
            lambda one=one, **args: asyncio.run(one.arun(**args)),
            lambda structured=structured, **args: structured.invoke(args),
        ]
        for call in calls:
            assert call(**ARGS) == "refunded 20"
            assert ran.pop() == (20, "T-1")
            assert "The refund names no ticket." in one.format_output_for_agent(call(amount=20))
        # By their places, as code may call a tool.
        assert one.run(20, "T-1") == "refunded 20"
        assert ran.pop() == (20, "T-1")
        assert "no ticket" in one.run(20).message
        assert ran == []
    assert one.format_output_for_agent("refunded 20") == "<refunded 20>"


def test_the_end_of_a_coroutine_is_reported(server: Server) -> None:
    from crewai.tools import tool

    @tool("refund")
    async def refund(amount: int, ticket: str) -> str:
        """Refunds."""
        raise OSError("the bank is closed")

    guard = Guard(server.client())
    _, reports = counted(guard)
    with pytest.raises(OSError, match="closed"):
        guarded(guard, refund)[0].run(**ARGS)
    assert len(reports) == 1 and isinstance(reports[0], OSError)


def test_a_tool_without_a_coroutine_is_not_decided_on(server: Server) -> None:
    from crewai.tools import BaseTool

    class Refund(BaseTool):
        name: str = "refund"
        description: str = "Refunds."

        def _run(self, amount: int, ticket: str = "none") -> str:
            raise AssertionError

    guard = Guard(server.client())
    guard.acheck = None  # type: ignore[method-assign, assignment]
    with pytest.raises(NotImplementedError):
        asyncio.run(guarded(guard, Refund())[0].arun(**ARGS))


def test_a_tool_without_a_guard_is_not_made(server: Server) -> None:
    [tool] = guarded(Guard(server.client()), crewai_refund([]))
    # As a checkpoint has it.
    with pytest.raises(TypeError):
        type(tool).model_validate(tool.model_dump())
    with pytest.raises(TypeError, match="is not a tool of CrewAI"):
        guarded(Guard(server.client()), lambda: None)
