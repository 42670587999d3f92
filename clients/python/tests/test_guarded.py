"""The decorator, and the arguments that a function is called with."""

from __future__ import annotations

import asyncio
import functools
import inspect
import threading
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import Server

from proofmark_sdk import Blocked, Guard, Local, NotAllowed, NotJson, ProofmarkError, guarded


@pytest.fixture
def local(policy: Path, home: Path, binary: str) -> Guard:
    return Guard(Local(policy=policy, home=home, binary=binary))


class Recording(Guard):
    """Remembers what it was asked."""

    def __init__(self, server: Server) -> None:
        super().__init__(server.client())
        self.asked: list[tuple[str, dict[str, Any]]] = []

    def check(self, tool: str, args: Any, **options: Any) -> Any:
        self.asked.append((tool, args))
        return super().check("echo", {"of": args}, **options)


def test_a_first_function(policy: Path, home: Path, binary: str, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = home / "bin"
    folder.mkdir()
    (folder / "proofmark").symlink_to(binary)
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setenv("PROOFMARK_HOME", str(home))
    monkeypatch.chdir(home)

    @guarded(policy="policy.yaml")
    def refund(amount: float, ticket: str = "none") -> str:
        """Pays back."""
        return f"refunded {amount} for {ticket}"

    # The file is found when the function is defined, not where it is called from.
    monkeypatch.chdir("/")
    assert refund(20, ticket="T-1") == "refunded 20 for T-1"
    with pytest.raises(Blocked, match="names no ticket"):
        refund(20)
    assert (refund.__name__, refund.__doc__) == ("refund", "Pays back.")
    assert list(inspect.signature(refund).parameters) == ["amount", "ticket"]


def test_coroutine_functions_stay_ones(local: Guard) -> None:
    @guarded(guard=local)
    async def refund(amount: float, ticket: str) -> str:
        await asyncio.sleep(0)
        return f"refunded {amount}"

    assert inspect.iscoroutinefunction(refund)
    assert asyncio.run(refund(20, "T-1")) == "refunded 20"
    with pytest.raises(Blocked):
        asyncio.run(refund(20, "x"))


def test_what_is_decided_on_has_the_names_of_parameters(server: Server) -> None:
    recording = Recording(server)

    @guarded(guard=recording, tool="send")
    def function(first: int, /, second: int = 2, *rest: int, third: int = 3, **others: int) -> tuple[Any, ...]:
        return first, second, rest, third, others

    assert function(1) == (1, 2, (), 3, {})
    assert function(1, 5, 6, 7, third=8, fourth=9) == (1, 5, (6, 7), 8, {"fourth": 9})
    assert recording.asked == [
        ("send", {"first": 1, "second": 2, "rest": (), "third": 3}),
        ("send", {"first": 1, "second": 5, "rest": (6, 7), "third": 8, "fourth": 9}),
    ]
    for name in ("first", "rest"):
        with pytest.raises(NotJson, match=f"Two arguments are called `{name}`"):
            function(1, **{name: 2})
    with pytest.raises(TypeError, match="missing a required argument"):
        function()  # type: ignore[call-arg]


def test_what_runs_is_what_was_decided_on(server: Server) -> None:
    mine = {"amount": 20, "to": ["ann"]}
    asked, changed = threading.Event(), threading.Event()

    class Slow(Guard):
        def check(self, tool: str, args: Any, **options: Any) -> Any:
            decision = super().check(tool, args, **options)
            asked.set()
            assert changed.wait(30)
            return decision

    @guarded(guard=Slow(server.client()))
    def echo(order: dict[str, Any]) -> dict[str, Any]:
        return order

    def change() -> None:
        assert asked.wait(30)
        mine["amount"] = 5000
        mine["to"].append("mallory")  # type: ignore[attr-defined]
        changed.set()

    thread = threading.Thread(target=change)
    thread.start()
    result = echo(mine)
    thread.join()
    assert result == {"amount": 20, "to": ["ann"]} and result is not mine


def test_arguments_that_are_not_json_are_refused_first(local: Guard) -> None:
    ran: list[Any] = []

    class Text(str):
        pass

    @guarded(guard=local)
    def echo(value: Any, other: Any = None) -> None:
        ran.append(value)

    cycle: list[Any] = []
    cycle.append(cycle)
    deep: Any = 0
    for _ in range(100):
        deep = [deep]
    for value in (object(), Text("a"), b"a", float("inf"), {1: 2}, {"a": {1}}, cycle, deep, "\ud800", 1 << 5000, [0] * 200_001):
        with pytest.raises(TypeError, match="The argument `value`"):
            echo(value)
    with pytest.raises(NotJson, match=r"The argument `other`\['a'\]\[1\] is of the type `object`"):
        echo(1, other={"a": [0, object()]})
    assert ran == []


def test_numbers_and_texts_are_hashed_as_the_server_does(server: Server) -> None:
    guard = Guard(server.client())
    values = [0, -1, 2**70, 1.5, -0.0, 1e22, 5e-324, 1e16, True, None, "", 'é😀\x7f\x01\u2028"\\', {"\uffff": 1, "\U00010000": 2}]
    assert guard.check("echo", {"values": values}).allowed


def test_methods_leave_their_object_out(server: Server) -> None:
    recording = Recording(server)

    class Shop:
        def __init__(self) -> None:
            self.refunds: list[int] = []

        @guarded(guard=recording)
        def refund(self, amount: int) -> int:
            self.refunds.append(amount)
            return amount

        @classmethod
        @guarded(guard=recording)
        def of(cls, name: str) -> str:
            return cls.__name__ + name

        @staticmethod
        @guarded(guard=recording)
        def fee(amount: int) -> int:
            return amount // 10

    shop = Shop()
    assert (shop.refund(20), Shop.of("x"), Shop.fee(20), shop.refunds) == (20, "Shopx", 2, [20])
    assert recording.asked == [("refund", {"amount": 20}), ("of", {"name": "x"}), ("fee", {"amount": 20})]
    assert recording.call(shop.refund.__wrapped__.__get__(shop), 5) == 5  # type: ignore[attr-defined]


def test_only_the_object_of_a_method_is_left_out(server: Server) -> None:
    recording = Recording(server)

    class Shop:
        @staticmethod
        @guarded(guard=recording)
        def pay(self: Any, amount: int) -> Any:
            return self, amount

        @guarded(guard=recording)
        def refund(shop, amount: int) -> int:
            return amount

        @functools.cache  # noqa: B019
        @guarded(guard=recording)
        def once(self, amount: int) -> int:
            return amount

        @staticmethod
        @guarded(guard=recording)
        async def later(cls: Any) -> Any:
            return cls

    class Mine(Shop):
        pass

    assert Shop.pay("mallory", 20) == Mine().pay("mallory", 20) == ("mallory", 20)
    with pytest.raises(NotJson, match="The argument `self` is of the type `Shop`"):
        Shop.pay(Shop(), 20)
    assert (Mine().refund(5), Shop.refund(Mine(), 6), Mine().once(7)) == (5, 6, 7)
    # Not an object with this method.
    with pytest.raises(NotJson):
        Shop.refund(object(), 20)  # type: ignore[arg-type]
    assert Shop.refund("mallory", 8) == 8  # type: ignore[arg-type]
    assert recording.asked == [
        *[("pay", {"self": "mallory", "amount": 20})] * 2,
        *[(tool, {"amount": amount}) for tool, amount in (("refund", 5), ("refund", 6), ("once", 7))],
        ("refund", {"shop": "mallory", "amount": 8}),
    ]
    with pytest.raises(NotJson, match="The argument `cls`"):
        asyncio.run(Shop.later(object()))


def test_what_cannot_be_guarded(local: Guard, tmp_path: Path) -> None:
    def generator() -> Iterator[int]:
        yield 1

    async def async_generator() -> AsyncIterator[int]:
        yield 1

    for function in (generator, async_generator, int, 7, staticmethod(len)):
        with pytest.raises(TypeError):
            guarded(guard=local)(function)  # type: ignore[arg-type]

    class Generator:
        __name__ = "refund"

        def __call__(self) -> Iterator[int]:
            yield 1

    for function in (generator, async_generator, Generator()):
        with pytest.raises(TypeError, match="is a generator"):
            local.call(function)  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="is a generator"):
            asyncio.run(local.acall(function))  # type: ignore[arg-type]
    for options in ({}, {"guard": local, "policy": "policy.yaml"}):
        with pytest.raises(TypeError, match="`policy` or a `guard`"):
            guarded(**options)  # type: ignore[arg-type]
    with pytest.raises(ProofmarkError, match=r"none\.yaml"):
        guarded(policy=tmp_path / "none.yaml")


def test_every_refusal_is_one_class(local: Guard) -> None:
    @guarded(guard=local)
    def drop_database(name: str) -> None:
        raise AssertionError("it ran")

    with pytest.raises(NotAllowed) as raised:
        drop_database("all")
    assert Guard.tool_result(raised.value).startswith("`drop_database` was not executed. No agent drops a database.")
