"""One agent for each adapter: its model is scripted to call the tool `refund` once, with the arguments that a test gives."""

from __future__ import annotations

import asyncio
import importlib.util
import json
from collections.abc import Callable
from typing import Any

from adapters.more_hosts import MORE_HOSTS

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


def tool_node(guard: Guard, args: Args, ran: Ran) -> str:
    return _tool_node(guard, args, ran, is_async=False)


def tool_node_async(guard: Guard, args: Args, ran: Ran) -> str:
    return _tool_node(guard, args, ran, is_async=True)


def _tool_node(guard: Guard, args: Args, ran: Ran, is_async: bool) -> str:
    """A graph of LangGraph without an agent of LangChain."""
    from langchain_core.messages import AIMessage
    from langchain_core.tools import tool
    from langgraph.graph import START, MessagesState, StateGraph
    from langgraph.prebuilt import ToolNode

    from proofmark_sdk.adapters.langchain import GuardMiddleware

    @tool
    def refund(amount: int, ticket: str = "none") -> str:
        """Refunds."""
        ran.append({"amount": amount, "ticket": ticket})
        return f"refunded {amount}"

    guarded = GuardMiddleware(guard)
    node = ToolNode([refund], wrap_tool_call=guarded.wrap_tool_call, awrap_tool_call=guarded.awrap_tool_call)
    graph = StateGraph(MessagesState).add_node("tools", node).add_edge(START, "tools").compile()
    asked: Any = {"messages": [AIMessage("", tool_calls=[{"name": "refund", "args": args, "id": "call-1"}])]}
    done = asyncio.run(graph.ainvoke(asked)) if is_async else graph.invoke(asked)
    return str(done["messages"][-1].content)


def openai_agents(guard: Guard, args: Args, ran: Ran) -> str:
    from agents import Agent, RunConfig, Runner, function_tool
    from agents.testing import ScriptedModel, assistant_message, function_call

    from proofmark_sdk.adapters.openai_agents import guarded_tools

    @function_tool
    def refund(amount: int, ticket: str = "none") -> str:
        """Refunds."""
        ran.append({"amount": amount, "ticket": ticket})
        return f"refunded {amount}"

    model = ScriptedModel([[function_call("refund", json.dumps(args), call_id="call-1")], [assistant_message("done")]])
    agent = Agent(name="shop", model=model, tools=[*guarded_tools(guard, [refund])])
    done = asyncio.run(Runner.run(agent, "refund", run_config=RunConfig(tracing_disabled=True)))
    return next(str(item.output) for item in done.new_items if item.type == "tool_call_output_item")


def google_adk(guard: Guard, args: Args, ran: Ran) -> str:
    from collections.abc import AsyncGenerator

    from google.adk.agents import Agent
    from google.adk.apps import App
    from google.adk.models.base_llm import BaseLlm
    from google.adk.models.llm_request import LlmRequest
    from google.adk.models.llm_response import LlmResponse
    from google.adk.runners import InMemoryRunner
    from google.genai.types import Content, Part

    from proofmark_sdk.adapters.google_adk import GuardPlugin

    told: list[str] = []

    class Model(BaseLlm):
        async def generate_content_async(self, request: LlmRequest, stream: bool = False) -> AsyncGenerator[LlmResponse, None]:
            parts = [part for content in request.contents for part in content.parts or []]
            results = [part.function_response for part in parts if part.function_response]
            told.extend(str(result.response) for result in results)
            part = Part(text="done") if results else Part.from_function_call(name="refund", args=args)
            yield LlmResponse(content=Content(role="model", parts=[part]))

    def refund(amount: int, ticket: str = "none") -> str:
        """Refunds."""
        ran.append({"amount": amount, "ticket": ticket})
        return f"refunded {amount}"

    async def run() -> None:
        agent = Agent(name="shop", model=Model(model="scripted"), tools=[refund])
        runner = InMemoryRunner(app=App(name="shop", root_agent=agent, plugins=[GuardPlugin(guard)]))
        await runner.run_debug("refund", quiet=True)

    asyncio.run(run())
    return told[0]


def fastmcp(guard: Guard, args: Args, ran: Ran) -> str:
    from fastmcp import Client, FastMCP

    from proofmark_sdk.adapters.fastmcp import GuardMiddleware

    server: FastMCP = FastMCP("shop")
    server.add_middleware(GuardMiddleware(guard))

    @server.tool
    def refund(amount: int, ticket: str = "none") -> str:
        """Refunds."""
        ran.append({"amount": amount, "ticket": ticket})
        return f"refunded {amount}"

    async def run() -> str:
        async with Client(server) as client:
            result = await client.call_tool("refund", args, raise_on_error=False)
            return str(result.content[0].text)

    return asyncio.run(run())


def pydantic_ai(guard: Guard, args: Args, ran: Ran) -> str:
    from pydantic_ai import Agent
    from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
    from pydantic_ai.models.function import AgentInfo, FunctionModel

    from proofmark_sdk.adapters.pydantic_ai import GuardCapability

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        is_done = any(isinstance(part, ToolReturnPart) for message in messages for part in message.parts)
        return ModelResponse([TextPart("done") if is_done else ToolCallPart("refund", args)])

    agent = Agent(FunctionModel(answer), capabilities=[GuardCapability(guard)])

    @agent.tool_plain
    def refund(amount: int, ticket: str = "none") -> str:
        """Refunds."""
        ran.append({"amount": amount, "ticket": ticket})
        return f"refunded {amount}"

    done = agent.run_sync("refund")
    parts = [part for message in done.all_messages() for part in message.parts]
    return next(str(part.content) for part in parts if isinstance(part, ToolReturnPart))


def agent_framework(guard: Guard, args: Args, ran: Ran) -> str:
    from collections.abc import Mapping, Sequence

    from agent_framework import Agent, BaseChatClient, ChatResponse, Content, FunctionInvocationLayer, Message

    from proofmark_sdk.adapters.agent_framework import GuardMiddleware

    told: list[str] = []

    class Model(FunctionInvocationLayer[Any], BaseChatClient[Any]):
        async def _inner_get_response(
            self, *, messages: Sequence[Message], stream: bool, options: Mapping[str, Any], **named: Any
        ) -> ChatResponse:
            results = [content for message in messages for content in message.contents if content.type == "function_result"]
            told.extend(str(result.result) for result in results)
            call = Content.from_function_call("call-1", "refund", arguments=json.dumps(args))
            return ChatResponse(messages=[Message(role="assistant", contents=["done"] if results else [call])])

    def refund(amount: int, ticket: str = "none") -> str:
        """Refunds."""
        ran.append({"amount": amount, "ticket": ticket})
        return f"refunded {amount}"

    agent = Agent(client=Model(), tools=[refund], middleware=[GuardMiddleware(guard)])
    asyncio.run(agent.run("refund"))
    return told[0]


def inspect_ai(guard: Guard, args: Args, ran: Ran) -> str:
    import tempfile

    from inspect_ai import Task, eval
    from inspect_ai.approval import ApprovalPolicy
    from inspect_ai.dataset import Sample
    from inspect_ai.model import ChatMessageTool, ModelOutput, get_model
    from inspect_ai.solver import generate, use_tools
    from inspect_ai.tool import Tool, tool

    from proofmark_sdk.adapters.inspect_ai import guard_approver

    @tool
    def refund() -> Tool:
        async def execute(amount: int, ticket: str = "none") -> str:
            """Refunds.

            Args:
                amount: How much.
                ticket: For what.
            """
            ran.append({"amount": amount, "ticket": ticket})
            return f"refunded {amount}"

        return execute

    call = ModelOutput.for_tool_call("mockllm/model", "refund", args)
    model = get_model("mockllm/model", custom_outputs=[call, ModelOutput.from_content("mockllm/model", "done")])

    async def tokens(text: str) -> int:
        return len(text)

    # Its own way of counting loads a table from the network.
    model.api.count_text_tokens = tokens  # type: ignore[method-assign]
    approval = [ApprovalPolicy(guard_approver(guard), "*")]
    task = Task(dataset=[Sample("refund")], solver=[use_tools(refund()), generate()], approval=approval)
    with tempfile.TemporaryDirectory() as folder:
        [log] = eval(task, model=model, display="none", log_dir=folder)
        # The samples are read from the log's file.
        [sample] = log.samples or []
    if sample.error:
        raise RuntimeError(sample.error.message)
    told = next(message for message in sample.messages if isinstance(message, ChatMessageTool))
    return told.error.message if told.error else told.text


def is_installed(name: str) -> bool:
    """Whether what this host needs is installed."""
    try:
        return importlib.util.find_spec(HOSTS[name][1]) is not None
    except ModuleNotFoundError:
        return False


HOSTS: dict[str, tuple[Host, str]] = {
    "langchain": (langchain, "langchain"),
    "langchain_async": (langchain_async, "langchain"),
    "tool_node": (tool_node, "langgraph"),
    "tool_node_async": (tool_node_async, "langgraph"),
    "openai_agents": (openai_agents, "agents"),
    "google_adk": (google_adk, "google.adk"),
    "fastmcp": (fastmcp, "fastmcp"),
    "agent_framework": (agent_framework, "agent_framework"),
    "pydantic_ai": (pydantic_ai, "pydantic_ai"),
    "inspect_ai": (inspect_ai, "inspect_ai"),
    **MORE_HOSTS,
}
"""Each host, and the module that has to be installed for it."""

OWN_REVIEWS = {"inspect_ai"}
"""Hosts that pass a call that needs a review to their own approvers."""

NO_REPORTS = {"inspect_ai"}
"""Hosts that do not say how a call ended."""
