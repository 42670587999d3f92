"""The decorator `guarded`."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar, cast

from .arguments import Arguments, is_async, tool_name
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
        bind = functools.partial(Arguments.of, tool=tool or tool_name(function), has_self=_has_self(function))
        options = {"klass": klass, "target": target}

        @functools.wraps(function)
        def run(*args: P.args, **kwargs: P.kwargs) -> T:
            return cast(T, chosen._execute(bind(function, args, kwargs), **options))

        @functools.wraps(function)
        async def arun(*args: P.args, **kwargs: P.kwargs) -> Any:
            return await chosen._aexecute(bind(function, args, kwargs), **options)

        return cast("Callable[P, T]", arun) if is_async(function) else run

    return wrap


def _check(function: Any) -> None:
    if isinstance(function, (staticmethod, classmethod)):
        raise TypeError("`guarded` stands below `staticmethod` and `classmethod`, next to the function")
    if inspect.isclass(function) or not callable(function):
        raise TypeError(f"{function!r:.200} is not a function")
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise TypeError(f"`{tool_name(function)}` is a generator, which runs long after the decision: guard what it calls")


def _has_self(function: Callable[..., Any]) -> bool:
    """Whether it is a method in the body of a class."""
    owner = getattr(function, "__qualname__", "").rpartition(".")[0]
    first = next(iter(inspect.signature(function).parameters), None)
    return bool(owner) and not owner.endswith("<locals>") and first in ("self", "cls")
