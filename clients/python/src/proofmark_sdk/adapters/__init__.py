"""Adapters for agent frameworks. Each needs the package of its framework, and is imported by its own name."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

from ..decision import Decision
from ..guard import Guard

__all__ = ["ToolFailed", "areporting", "reporting"]


class ToolFailed(Exception):
    """The framework says that the tool failed, without its exception."""


@contextmanager
def reporting(guard: Guard, decision: Decision) -> Iterator[None]:
    """Reports how the execution inside ends."""
    try:
        yield
    except Exception as error:
        guard.report(decision, error=error)
        raise
    guard.report(decision)


@asynccontextmanager
async def areporting(guard: Guard, decision: Decision) -> AsyncIterator[None]:
    """As `reporting`."""
    try:
        yield
    except Exception as error:
        await guard.areport(decision, error=error)
        raise
    await guard.areport(decision)
