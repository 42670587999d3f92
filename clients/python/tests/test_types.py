"""The types of the package are those of the server's own description."""

from __future__ import annotations

import os
import subprocess
import sys
import types
import typing
from pathlib import Path
from typing import Any

import pytest
from conftest import Server
from test_guard import look

from proofmark_sdk import Client
from proofmark_sdk import types as ours

NAMES = {
    "DecisionEntry": "Decision",
    "VerificationRequest": "Request",
    "DispositionFlags": ("DecisionReceipt", "disposition"),
    "Action": ("PlainRequest", "action"),
    "Agent": ("PlainRequest", "agent"),
    "Task": ("PlainRequest", "task"),
    "Fact": ("PlainRequest", "facts"),
    "CallMade": ("PlainRequest", "calls"),
    "Taint": ("PlainRequest", "taint"),
    "Deny": ("PlainRequest", "denies"),
}
"""Where a type has another name there, or none: the schema, and the member that it is the type of."""
NO_SCHEMA = {"Context"}
"""Parts of others."""


def typed_dicts() -> dict[str, Any]:
    found = {name: value for name, value in vars(ours).items() if typing.is_typeddict(value)}
    return {name: value for name, value in found.items() if not name.startswith("_") and name not in NO_SCHEMA}


class Description:
    """The schemas of `/openapi.json`."""

    def __init__(self, document: dict[str, Any]) -> None:
        self.schemas: dict[str, Any] = document["components"]["schemas"]

    def plain(self, schema: dict[str, Any]) -> dict[str, Any]:
        """A schema in place of a reference to it."""
        while "$ref" in schema:
            schema = self.schemas[schema["$ref"].rpartition("/")[2]]
        return schema

    def of(self, name: str) -> dict[str, Any]:
        place = NAMES.get(name, name)
        if isinstance(place, str):
            return self.plain(self.schemas[place])
        member = self.plain(self.schemas[place[0]]["properties"][place[1]])
        return self.plain(member.get("items", member))

    def differences(self, kind: Any, schema: dict[str, Any], place: str) -> list[str]:
        """How a type differs from a schema."""
        options = self.options(schema)
        wanted = [self.shape(option) for option in options]
        given = [shape(option) for option in union(kind)]
        if kind is Any or "anything" in wanted:
            return [] if kind is Any and set(wanted) <= {"anything"} else [f"{place}: {kind} for {wanted}"]
        if sorted(map(str, wanted)) != sorted(map(str, given)):
            return [f"{place}: {given} and not {wanted}"]
        found = []
        options.sort(key=lambda option: str(self.shape(option)))
        kinds = sorted(union(kind), key=lambda one: str(shape(one)))
        for option, type_ in zip(options, kinds, strict=True):
            if typing.is_typeddict(type_):
                found += self.members(type_, option, place)
            elif typing.get_origin(type_) is list:
                found += self.differences(typing.get_args(type_)[0], option.get("items", {}), f"{place}[]")
        return found

    def members(self, kind: Any, schema: dict[str, Any], place: str) -> list[str]:
        """How the members of an object differ."""
        properties, required = schema.get("properties", {}), set(schema.get("required", []))
        hints = typing.get_type_hints(kind)
        if not properties:
            # It says only what there has to be.
            return [f"{place}.{name} is missing" for name in required - set(hints)]
        found = [f"{place}.{name} is in one of the two alone" for name in set(hints) ^ set(properties)]
        ours = {name for name in hints if name in kind.__required_keys__}
        found += [f"{place}.{name} is required in one of the two alone" for name in ours ^ required]
        for name in set(hints) & set(properties):
            found += self.differences(hints[name], properties[name], f"{place}.{name}")
        return found

    def options(self, schema: dict[str, Any]) -> list[dict[str, Any]]:
        schema = self.plain(schema)
        for word in ("oneOf", "anyOf"):
            if word in schema and "properties" not in schema:
                return [option for each in schema[word] for option in self.options(each)]
        if isinstance(schema.get("type"), list):
            return [{**schema, "type": type_} for type_ in schema["type"]]
        return [schema]

    def shape(self, schema: dict[str, Any]) -> Any:
        if "enum" in schema:
            return sorted(schema["enum"], key=str)
        if "const" in schema:
            return [schema["const"]]
        return schema.get("type", "anything")


SHAPES: dict[Any, str] = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null"}


def union(kind: Any) -> list[Any]:
    is_union = typing.get_origin(kind) in (typing.Union, types.UnionType)
    return list(typing.get_args(kind)) if is_union else [kind]


def shape(kind: Any) -> Any:
    origin = typing.get_origin(kind)
    if origin is typing.Literal:
        return sorted(typing.get_args(kind), key=str)
    if origin is list:
        return "array"
    return "object" if origin is dict or typing.is_typeddict(kind) else SHAPES.get(kind, str(kind))


@pytest.fixture(scope="module")
def description(server: Server) -> Description:
    import json

    return Description(json.loads(Client(server.url).send(look("/openapi.json"))))


@pytest.mark.parametrize("name", typed_dicts())
def test_types_are_those_of_the_description(description: Description, name: str) -> None:
    assert description.members(typed_dicts()[name], description.of(name), name) == []


def test_the_comparison_finds_what_differs(description: Description) -> None:
    class Review(typing.TypedDict):
        decision_id: int
        verdict: typing.Literal["approved"]
        reviewer: str | None
        note: list[str]
        until: str
        extra: str

    found = description.members(Review, description.of("Review"), "Review")
    wrong = {line.split(":")[0].split(" ")[0].partition(".")[2] for line in found}
    assert wrong == {"decision_id", "verdict", "reviewer", "note", "extra", "role", "reviewed_at"}


CONSUMER = """
from proofmark_sdk import AsyncClient, Client, Decision, Guard, Local, NotAllowed, guarded
from proofmark_sdk.types import AnyReceipt, DecisionReceipt, Job, PlainRequest

client, local = Client("http://127.0.0.1"), Local(binary="/bin/true")
request: PlainRequest = {"action": {"tool": "refund", "class": "payment", "args": {"amount": 20}}}
receipt: DecisionReceipt = client.decide(request, policy="payments")
same: DecisionReceipt = local.decide(request)
job: Job = client.job("1")
outcome: str = receipt["outcome"]
with Local() as opened:
    again: DecisionReceipt = opened.decide(request)

async def later(client: AsyncClient) -> AnyReceipt:
    return await client.receipt("1")

@guarded(guard=Guard(client))
def refund(amount: float, ticket: str = "none") -> str:
    return f"{amount} for {ticket}"

@guarded(policy="policy.yaml")
async def refund_later(amount: float) -> str:
    return str(amount)

said: str = refund(20, ticket="T-1")
called: str = Guard(local).call(refund, 20)

async def both() -> str:
    return await refund_later(20) + await Guard(client).acall(refund_later, 20)

refund("20")  # wrong
client.decide({"action": {"tool": "refund"}})  # wrong
client.job(1)  # wrong
local.verify(request)  # wrong
local.job(1)  # wrong
local.report("1", executed="yes")  # wrong
local.reviews(99)  # wrong
local.review("1", {"verdict": "deny"})  # wrong
Guard(client).check("refund", {}, klas="payment")  # wrong
"""


def test_the_package_and_its_callers_are_typed(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    consumer = tmp_path / "consumer.py"
    consumer.write_text(CONSUMER)
    # The settings of the two runs differ, so neither could use what the other has kept.
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--cache-dir", os.devnull]
    # It says which frameworks need not be installed.
    settings = ["--config-file", str(Path(__file__).parents[1] / "pyproject.toml")]
    package = subprocess.run([*command, *settings, "-p", "proofmark_sdk"], cwd=tmp_path, capture_output=True, text=True)
    assert package.returncode == 0, package.stdout + package.stderr
    checked = subprocess.run([*command, str(consumer)], cwd=tmp_path, capture_output=True, text=True).stdout
    lines = {int(line.split(":")[1]) for line in checked.splitlines() if ": error:" in line}
    wrong = {number for number, line in enumerate(CONSUMER.splitlines(), 1) if line.endswith("# wrong")}
    assert lines == wrong, checked
