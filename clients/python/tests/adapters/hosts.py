"""One agent for each adapter: its model is scripted to call the tool `refund` once, with the arguments that a test gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from proofmark_sdk import Guard

Args = dict[str, Any]
Ran = list[Args]
"""The arguments with which the tool ran."""

Host = Callable[[Guard, Args, Ran], str]
"""Runs the agent to its end; returns what its model was told of the call."""


def langchain(guard: Guard, args: Args, ran: Ran) -> str:
    return _langchain(guard, args, ran, is_async=False)


def langchain_async(guard: Guard, args: Args, ran: Ran) -> str:
    return _langchain(guard, args, ran, is_async=True)


def _langchain(guard: Guard, args: Args, ran: Ran, is_async: bool) -> str:
    import asyncio

    from langchain.agents import create_agent
    from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
    from langchain_core.messages import AIMessage, ToolMessage
    from langchain_core.tools import tool

    from proofmark_sdk.adapters.langchain import GuardMiddleware

    class Model(GenericFakeChatModel):
        def bind_tools(self, *arguments: Any, **named: Any) -> Any:
            return self

    @tool
    def refund(amount: int, ticket: str = "none") -> str:
        """Refunds."""
        ran.append({"amount": amount, "ticket": ticket})
        return f"refunded {amount}"

    call = {"name": "refund", "args": args, "id": "call-1"}
    model = Model(messages=iter([AIMessage("", tool_calls=[call]), AIMessage("done")]))
    agent = create_agent(model, [refund], middleware=[GuardMiddleware(guard)])
    asked = {"messages": [{"role": "user", "content": "refund"}]}
    done = asyncio.run(agent.ainvoke(asked)) if is_async else agent.invoke(asked)
    return next(str(message.content) for message in done["messages"] if isinstance(message, ToolMessage))


HOSTS: dict[str, tuple[Host, str]] = {
    "langchain": (langchain, "langchain"),
    "langchain_async": (langchain_async, "langchain"),
}
"""Each host, and the module that has to be installed for it."""
