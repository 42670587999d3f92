"""Microsoft Agent Framework: a function middleware that asks before each function runs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from agent_framework import FunctionInvocationContext, FunctionMiddleware, MiddlewareFailure

from ..guard import Guard
from ..not_allowed import NotAllowed, Terminal, Upstream
from . import areporting


class GuardMiddleware(FunctionMiddleware):
    """Asks `guard` before each function runs: `Agent(…, middleware=[GuardMiddleware(guard)])`.

    Put it last in the list: a middleware behind it can change the arguments that were decided on. A call that is not allowed
    is answered to the model with the reasons. `Upstream`, `Terminal` and errors of the guard itself end the run.
    """

    def __init__(self, guard: Guard) -> None:
        self.guard = guard

    async def process(self, context: FunctionInvocationContext, call_next: Callable[[], Awaitable[None]]) -> None:
        function, args = context.function, context.arguments
        name = function.name
        try:
            decision = await self.guard.acheck(name, args if isinstance(args, dict) else dict(args))
        except (Upstream, Terminal) as error:
            raise MiddlewareFailure(str(error)) from error
        except NotAllowed as error:
            context.result = Guard.tool_result(error)
            return
        except Exception as error:
            raise MiddlewareFailure(f"`{name}` was not executed: the guard failed") from error
        if context.function is not function:
            raise MiddlewareFailure(f"`{name}` was not executed: another function has been put in its place")
        context.arguments = decision.args
        async with areporting(self.guard, decision):
            await call_next()
