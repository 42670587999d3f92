"""OpenAI Agents SDK: function tools that ask before they run."""

from __future__ import annotations

import functools
import inspect
import json
import math
import time
from collections.abc import Awaitable, Callable, Iterable
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from agents import FunctionTool, ToolGuardrailFunctionOutput, ToolInputGuardrail, ToolOutputGuardrail
from agents.run_context import RunContextWrapper
from agents.tool_guardrails import ToolInputGuardrailData, ToolOutputGuardrailData

from ..decision import Decision, lifetime
from ..documents import canonical
from ..guard import Guard
from ..not_allowed import NeedsReview, NotAllowed
from . import Executions, Running, told

Invoker: TypeAlias = Callable[[Any, str], Awaitable[Any]]

SECONDS_KEPT = 30
"""How long a decision that was made before an approval was asked for is used."""


def guarded_tools(guard: Guard, tools: Iterable[FunctionTool], *, interrupts: bool = False) -> list[FunctionTool]:
    """Copies of function tools that ask `guard` before they run: `Agent(tools=guarded_tools(guard, [refund]))`.

    A call that is not allowed is answered to the model with the reasons. With `interrupts`, a call that needs a review
    interrupts the run as a tool with `needs_approval` does; when the run is resumed after `RunState.approve`, the call is
    decided on again, so the approval has to be given to Proofmark, too. `Upstream` and `Terminal` end the run.
    """
    return [_Tool(guard, tool).guarded(interrupts) for tool in tools]


@dataclass(frozen=True)
class _Kept:
    """A decision that is used a moment later."""

    at: float
    """When it was asked for."""
    decision: Decision

    def is_on(self, args: Any, seconds: float) -> bool:
        """Whether it is on these arguments, is not older than this, and has not expired."""
        is_recent = time.monotonic() - self.at < min(seconds, lifetime(self.decision.receipt["binding"]))
        return is_recent and canonical(self.decision.args) == canonical(args)


class _Tool:
    def __init__(self, guard: Guard, tool: FunctionTool) -> None:
        self.guard = guard
        self.tool = tool
        # What was decided before an approval was asked for, what is to run, and what runs.
        self.made: Running[_Kept] = Running()
        self.decided: Running[_Kept] = Running()
        self.running = Executions(guard)
        self.call_id: ContextVar[str] = ContextVar("call_id")

    def guarded(self, interrupts: bool) -> FunctionTool:
        before = ToolInputGuardrail(self.before, name="proofmark")
        after = ToolOutputGuardrail(self.after, name="proofmark")
        guarded = replace(
            self.tool,
            # Behind those of the tool: none of them can reject a call that counts as executed.
            tool_input_guardrails=[*(self.tool.tool_input_guardrails or []), before],
            tool_output_guardrails=[after, *(self.tool.tool_output_guardrails or [])],
        )
        # Set after the copy, because this invoker and its error function belong to the copy.
        guarded.on_invoke_tool = self._only_decided(guarded.on_invoke_tool)
        if interrupts:
            guarded.needs_approval = self.needs_approval
        elif callable(self.tool.needs_approval):
            guarded.needs_approval = self._own_needs_approval
        return guarded

    async def before(self, data: ToolInputGuardrailData) -> ToolGuardrailFunctionOutput:
        context = data.context
        call_id = context.tool_call_id
        self.decided.end(call_id)
        try:
            args = json.loads(context.tool_arguments or "{}")
            kept = self._made(call_id, args) or await self._ask(args, call_id)
        except NotAllowed as error:
            return ToolGuardrailFunctionOutput.reject_content(told(error))
        self.decided.begin(call_id, kept)
        self.call_id.set(call_id)
        return ToolGuardrailFunctionOutput.allow({"decision_id": kept.decision.id})

    async def after(self, data: ToolOutputGuardrailData) -> ToolGuardrailFunctionOutput:
        await self.running.report(data.context.tool_call_id)
        return ToolGuardrailFunctionOutput.allow()

    async def needs_approval(self, context: RunContextWrapper[Any], args: dict[str, Any], call_id: str) -> bool:
        if await self._own_needs_approval(context, args, call_id):
            return True
        try:
            self.made.begin(call_id, await self._ask(args, call_id))
        except NotAllowed as error:
            # After another refusal the guardrail asks again, and tells the model why.
            return isinstance(error, NeedsReview)
        return False

    async def _ask(self, args: Any, call_id: str) -> _Kept:
        at = time.monotonic()
        return _Kept(at, await self.guard.acheck(self.tool.name, args, call_id=call_id or None))

    async def _own_needs_approval(self, context: RunContextWrapper[Any], args: dict[str, Any], call_id: str) -> bool:
        """The answer of the tool itself."""
        own = self.tool.needs_approval
        if not callable(own):
            return bool(own)
        # As the SDK does: a person is asked where the tool gets other arguments than those that its function is asked about.
        prepare = getattr(self.tool.on_invoke_tool, "prepare_arguments", None)
        prepared = prepare(json.dumps(args), self.tool.name) if prepare is not None else None
        if prepared is not None and not prepared.unchanged:
            return True
        needs = own(context, args, call_id)
        return bool(await needs if inspect.isawaitable(needs) else needs)

    def _only_decided(self, invoke: Invoker) -> Invoker:
        """Runs the tool with what was decided on. The text of a call can be changed after its guardrails."""

        # With the signature of the tool's own, by which the SDK chooses a context, which may not know the id of the call.
        @functools.wraps(invoke)
        async def decided(context: Any, arguments: str) -> Any:
            call_id = getattr(context, "tool_call_id", None) or self.call_id.get("")
            try:
                # After an interruption inside an agent as a tool, the SDK continues without asking the guardrails again.
                kept = self.decided.end(call_id) or await self._ask(json.loads(arguments or "{}"), call_id)
            except NotAllowed as error:
                return told(error)
            if not _is_on(kept, arguments):
                return f"`{self.tool.name}` was not executed. There is no decision on the call as it is now."
            self.running.begin(call_id, kept.decision)
            return await invoke(context, json.dumps(kept.decision.args))

        return decided

    def _made(self, call_id: str, args: Any) -> _Kept | None:
        """The decision on this call, if it was made a moment ago. It is valid for one execution."""
        kept = self.made.end(call_id)
        return kept if kept is not None and kept.is_on(args, SECONDS_KEPT) else None


def _is_on(kept: _Kept, arguments: str) -> bool:
    try:
        return kept.is_on(json.loads(arguments or "{}"), math.inf)
    except ValueError:
        return False
