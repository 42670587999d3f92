"""The arguments of a call: what is decided on is what runs."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from .documents import Json, Snapshot
from .not_allowed import NotJson

MAX_DECORATORS = 16
"""The decorators of a method that may stand outside of `guarded`."""


@dataclass(frozen=True)
class Arguments:
    """A function, and copies of the arguments that it is to be called with."""

    tool: str
    function: Callable[..., Any]
    bound: inspect.BoundArguments
    named: Mapping[str, Json]

    @classmethod
    def of(
        cls,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: Mapping[str, Any],
        *,
        tool: str | None = None,
        has_self: bool = False,
    ) -> Arguments:
        """Binds the arguments, with defaults. Raises `NotJson` for what is not JSON.

        With `has_self`, the first one is kept as it is.
        """
        refuse_generator(function)
        tool = tool or tool_name(function)
        bound = inspect.signature(function).bind(*args, **kwargs)
        bound.apply_defaults()
        snapshot = Snapshot()
        try:
            for name, value in list(bound.arguments.items())[has_self:]:
                bound.arguments[name] = snapshot.take(value, f"the argument `{name}`")
            named = _named(bound, has_self)
        except TypeError as error:
            raise NotJson(tool, str(error)) from None
        return cls(tool, function, bound, named)

    def run(self) -> Any:
        """Calls the function."""
        return self.function(*self.bound.args, **self.bound.kwargs)


def is_async(function: Callable[..., Any]) -> bool:
    """Whether a call of it only makes a coroutine."""
    of_object = getattr(type(function), "__call__", None)  # noqa: B004
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(of_object)


def refuse_generator(function: Callable[..., Any]) -> None:
    """Raises `TypeError` for a function whose call only makes a generator."""
    for called in (function, getattr(type(function), "__call__", None)):  # noqa: B004
        if inspect.isgeneratorfunction(called) or inspect.isasyncgenfunction(called):
            raise TypeError(f"`{tool_name(function)}` is a generator, which runs long after the decision: guard what it calls")


def is_method_of(function: object, args: tuple[Any, ...]) -> bool:
    """Whether the first argument is the object, or the class, that `function` is a method of.

    Its class says that. A static method may also call its first parameter `self`, and any caller may pass that.
    """
    if not args:
        return False
    first = args[0]
    classes = (*type(first).__mro__, *(first.__mro__ if isinstance(first, type) else ()))
    members = (member for owner in classes for member in vars(owner).values())
    return any(_is_or_wraps(member, function) for member in members if not isinstance(member, staticmethod))


def _is_or_wraps(member: Any, function: object) -> bool:
    # Decorators outside of `guarded` say with `__wrapped__` what they call.
    inner = member.fget if isinstance(member, property) else member
    for _ in range(MAX_DECORATORS):
        if inner is function:
            return True
        inner = getattr(inner, "__dict__", {}).get("__wrapped__", getattr(inner, "__func__", None))
    return False


def tool_name(function: Callable[..., Any]) -> str:
    """The name of a function, for policies."""
    name = getattr(function, "__name__", None)
    if not isinstance(name, str):
        raise TypeError(f"{function!r:.200} has no name: guard a function that has one")
    return name


def _named(bound: inspect.BoundArguments, has_self: bool) -> dict[str, Json]:
    """The arguments by name. Those of `**kwargs` are beside the others, as the caller wrote them."""
    named: dict[str, Json] = {}
    parameters = bound.signature.parameters
    for name, value in list(bound.arguments.items())[has_self:]:
        is_rest = parameters[name].kind is inspect.Parameter.VAR_KEYWORD
        for name_of_one, one in value.items() if is_rest else [(name, value)]:
            if name_of_one in named:
                raise TypeError(f"two arguments are called `{name_of_one}`")
            named[name_of_one] = one
    return named
