"""Claude Agent SDK: hooks that ask before each tool call."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from claude_agent_sdk import HookMatcher
from claude_agent_sdk.types import HookContext, HookEvent, HookInput, HookJSONOutput

from ..guard import Guard
from ..not_allowed import NotAllowed, Terminal, Upstream
from . import Executions, ToolFailed

TIMEOUT = 60.0
"""The seconds that Claude Code waits for a hook, unless it is told otherwise."""
MAX_TIMEOUT = 86_400.0
"""A day. Claude Code runs on Node.js, where a timer of more than 24 days ends at once."""


def hooks(
    guard: Guard, *, names: Mapping[str, str] | None = None, timeout: float | None = None
) -> dict[HookEvent, list[HookMatcher]]:
    """Asks `guard` before each tool call: `ClaudeAgentOptions(hooks=hooks(guard))`.

    An allowed call still needs what permission rules, the mode and `can_use_tool` ask for. A call that is not allowed is denied in
    all modes, and the model reads the reasons. So is one that needs a review: a permission prompt would let a person answer that
    Proofmark does not know. `Upstream` and `Terminal` also end the run. Other hooks with `updatedInput` and `can_use_tool` with
    `updated_input` can change a call that was decided on.

    `names` has the names of tools in the policy where they differ: `{"mcp__shop__refund": "refund"}`. `timeout` is the seconds
    that Claude Code waits for a decision; a later one denies the call. It has to be longer than the guard waits for a person, else
    this raises `ValueError`. Without it, it is 60 seconds longer, and at most a day.
    """
    if timeout is None:
        timeout = min(guard.wait + TIMEOUT, MAX_TIMEOUT)
    elif timeout <= guard.wait:
        raise ValueError(f"`timeout` is {timeout:g} seconds, and it has to be longer than the {guard.wait:g} that the guard waits")
    tools = _Tools(guard, names or {})
    return {
        "PreToolUse": [HookMatcher(hooks=[tools.before], on_failure="block", timeout=timeout)],
        "PostToolUse": [HookMatcher(hooks=[tools.after])],
        "PostToolUseFailure": [HookMatcher(hooks=[tools.failed])],
    }


class _Tools:
    def __init__(self, guard: Guard, names: Mapping[str, str]) -> None:
        self.guard = guard
        self.names = dict(names)
        self.running = Executions(guard)

    async def before(self, given: HookInput, tool_use_id: str | None, context: HookContext) -> HookJSONOutput:
        call = cast("dict[str, Any]", given)
        name = call["tool_name"]
        try:
            decision = await self.guard.acheck(self.names.get(name, name), call["tool_input"], call_id=call["tool_use_id"])
        except NotAllowed as error:
            return _denied(error)
        self.running.begin(call["tool_use_id"], decision)
        return {}

    async def after(self, given: HookInput, tool_use_id: str | None, context: HookContext) -> HookJSONOutput:
        await self.running.report(cast("dict[str, Any]", given)["tool_use_id"])
        return {}

    async def failed(self, given: HookInput, tool_use_id: str | None, context: HookContext) -> HookJSONOutput:
        call = cast("dict[str, Any]", given)
        await self.running.report(call["tool_use_id"], ToolFailed(call["error"]))
        return {}


def _denied(error: NotAllowed) -> HookJSONOutput:
    said = Guard.tool_result(error)
    output: HookJSONOutput = {
        "hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": said}
    }
    if isinstance(error, Upstream | Terminal):
        output |= {"continue_": False, "stopReason": said}
    return output
