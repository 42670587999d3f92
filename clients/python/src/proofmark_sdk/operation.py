"""Methods that are defined once, for callers that wait and for those that await."""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable
from typing import Any, Generic, ParamSpec, Protocol, TypeVar, overload

P = ParamSpec("P")
T = TypeVar("T")


class Operation(Generic[T]):
    """Something to carry out, with an answer of the type `T`."""


class Sender(Protocol):
    """Carries out operations, and returns their answers."""

    def send(self, operation: Any) -> Any: ...


class AsyncSender(Protocol):
    """As `Sender`, for callers that await the answers."""

    async def send(self, operation: Any) -> Any: ...


class Method(Generic[P, T]):
    """A method that sends the operation which a function makes of the arguments."""

    def __init__(self, build: Callable[P, Operation[T]]) -> None:
        self._build = build
        self.__doc__ = build.__doc__

    @overload
    def __get__(self, instance: None, owner: type) -> Method[P, T]: ...

    @overload
    def __get__(self, instance: Sender, owner: type) -> Callable[P, T]: ...

    def __get__(self, instance: Sender | None, owner: type) -> Method[P, T] | Callable[P, T]:
        if instance is None:
            return self

        @functools.wraps(self._build)
        def method(*args: P.args, **kwargs: P.kwargs) -> T:
            answer: T = instance.send(self._build(*args, **kwargs))
            return answer

        return method


class AsyncMethod(Generic[P, T]):
    """As `Method`, for callers that await the answer."""

    def __init__(self, build: Callable[P, Operation[T]]) -> None:
        self._build = build
        self.__doc__ = build.__doc__

    @overload
    def __get__(self, instance: None, owner: type) -> AsyncMethod[P, T]: ...

    @overload
    def __get__(self, instance: AsyncSender, owner: type) -> Callable[P, Awaitable[T]]: ...

    def __get__(self, instance: AsyncSender | None, owner: type) -> AsyncMethod[P, T] | Callable[P, Awaitable[T]]:
        if instance is None:
            return self

        @functools.wraps(self._build)
        async def method(*args: P.args, **kwargs: P.kwargs) -> T:
            answer: T = await instance.send(self._build(*args, **kwargs))
            return answer

        return method
