"""What only a `ToolNode` of LangGraph does."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

pytest.importorskip("langgraph", reason="`langgraph` is not installed")
pytest.importorskip("langchain", reason="`langchain` is not installed")

from conftest import Server
from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode

from proofmark_sdk import Guard, NotAllowed, Terminal, Upstream
from proofmark_sdk.adapters.langchain import GuardMiddleware


def graph(guarded: GuardMiddleware, name: str, ran: list[Any]) -> Any:
    @tool(name)
    def function(amount: int = 0) -> str:
        """Does something."""
        ran.append(amount)
        return "done"

    node = ToolNode([function], wrap_tool_call=guarded.wrap_tool_call, awrap_tool_call=guarded.awrap_tool_call)
    return StateGraph(MessagesState).add_node("tools", node).add_edge(START, "tools").compile(InMemorySaver())


def run(graph: Any, name: str, is_async: bool) -> Any:
    asked = {"messages": [AIMessage("", tool_calls=[{"name": name, "args": {"amount": 200}, "id": "call-1"}])]}
    config = {"configurable": {"thread_id": "1"}}
    return asyncio.run(graph.ainvoke(asked, config)) if is_async else graph.invoke(asked, config)


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize(("name", "kind"), [("publish", Upstream), ("drop_database", Terminal)])
def test_what_ends_a_run_ends_the_graph(server: Server, name: str, kind: type[NotAllowed], is_async: bool) -> None:
    ran: list[Any] = []
    guard = Guard(server.client(), context={"upstream": {"ready": False}})
    with pytest.raises(kind, match="was not executed"):
        run(graph(GuardMiddleware(guard), name, ran), name, is_async)
    assert ran == []


@pytest.mark.parametrize("is_async", [False, True])
def test_a_call_that_needs_a_person_interrupts_the_graph(server: Server, is_async: bool) -> None:
    ran: list[Any] = []
    guard = Guard(server.client(), agent={"id": f"node-{is_async}"})
    done = run(graph(GuardMiddleware(guard, interrupts=True), "refund", ran), "refund", is_async)
    [interrupt] = done["__interrupt__"]
    assert "A person must review it first" in interrupt.value["said"] and ran == []
