"""Steps that are written once, and carried out by callers that wait or await."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class Pause:
    """Nothing happens for some seconds."""

    seconds: float


Flow = Generator[Any, Any, T]
"""Yields operations and pauses, is sent the answers, and returns a `T`."""


def now(sender: Any, flow: Flow[T]) -> T:
    """Carries out a flow with a sender that waits."""
    if _awaits(sender):
        raise TypeError(f"`{type(sender).__name__}` answers only who awaits: use the method with an `a` before its name")
    try:
        operation = next(flow)
        while True:
            try:
                given = _done(sender, operation)
            except Exception as error:
                operation = flow.throw(error)
            else:
                operation = flow.send(given)
    except StopIteration as end:
        result: T = end.value
        return result


def _done(sender: Any, operation: Any) -> Any:
    if not isinstance(operation, Pause):
        return sender.send(operation)
    time.sleep(operation.seconds)
    return None


async def later(sender: Any, flow: Flow[T]) -> T:
    """Carries out a flow with any sender. One that waits does so in a thread."""
    try:
        operation = next(flow)
        while True:
            try:
                given = await _carried_out(sender, operation)
            except Exception as error:
                operation = flow.throw(error)
            else:
                operation = flow.send(given)
    except StopIteration as end:
        result: T = end.value
        return result


async def _carried_out(sender: Any, operation: Any) -> Any:
    if isinstance(operation, Pause):
        return await asyncio.sleep(operation.seconds)
    if _awaits(sender):
        return await sender.send(operation)
    return await asyncio.to_thread(sender.send, operation)


def _awaits(sender: Any) -> bool:
    return inspect.iscoroutinefunction(sender.send)
