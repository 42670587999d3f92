"""The decorator `guarded`."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar, cast

from .arguments import Arguments, is_async, is_method_of, refuse_generator, tool_name
from .guard import Guard
from .local import Local, PathLike

P = ParamSpec("P")
T = TypeVar("T")


def guarded(
    *,
    policy: PathLike | None = None,
    guard: Guard | None = None,
    tool: str | None = None,
    klass: str | None = None,
    target: str | None = None,
) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """A function that runs only if a decision allows this very call.

    With `policy`, the file of an action policy, decisions are made here, with no server. With `guard`, they are made as that says.
    `tool` is the name of the function in the policy, by default its own. Works for functions, coroutine functions and methods; of a
    method, the object that it belongs to is not part of what is decided on.
    """
    if (policy is None) == (guard is None):
        raise TypeError("`guarded` needs a `policy` or a `guard`, and not both")
    chosen = guard if guard is not None else Guard(Local(policy=policy))

    def wrap(function: Callable[P, T]) -> Callable[P, T]:
        _check(function)
        name = tool or tool_name(function)
        options = {"klass": klass, "target": target}

        @functools.wraps(function)
        def run(*args: P.args, **kwargs: P.kwargs) -> T:
            bound = Arguments.of(function, args, kwargs, tool=name, has_self=is_method_of(run, args))
            return cast(T, chosen._execute(bound, **options))

        @functools.wraps(function)
        async def arun(*args: P.args, **kwargs: P.kwargs) -> Any:
            bound = Arguments.of(function, args, kwargs, tool=name, has_self=is_method_of(arun, args))
            return await chosen._aexecute(bound, **options)

        return cast("Callable[P, T]", arun) if is_async(function) else run

    return wrap


def _check(function: Any) -> None:
    if isinstance(function, (staticmethod, classmethod)):
        raise TypeError("`guarded` stands below `staticmethod` and `classmethod`, next to the function")
    if inspect.isclass(function) or not callable(function):
        raise TypeError(f"{function!r:.200} is not a function")
    refuse_generator(function)
