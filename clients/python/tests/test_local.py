"""Local mode against the real binary."""

from __future__ import annotations

import asyncio
import json
import sys
import threading
import types
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from conftest import run

from proofmark_sdk import AsyncLocal, Blocked, Guard, Local, NeedsReview, NotLocal, ProofmarkError


@pytest.fixture
def local(policy: Path, home: Path, binary: str) -> Local:
    return Local(policy=policy, home=home, binary=binary)


def test_work_is_verified(local: Local, home: Path) -> None:
    request = json.loads((home / "examples/sort.json").read_text())
    receipt = local.verify(request, chain="nightly")
    assert receipt["verdict"] == "pass"
    assert local.receipt(receipt["receipt_id"]) == receipt
    request["output"]["content"] = "def sort_list(xs):\n    return xs\n"
    assert local.verify(request)["verdict"] in ("fail", "partial")


def test_actions_are_decided(local: Local, home: Path) -> None:
    request: Any = {"action": {"tool": "refund", "class": "generic", "args": {"amount": 20, "ticket": "T-1"}}}
    assert local.decide(request)["outcome"] == "allow"
    other = home / "other.yaml"
    other.write_text("version: 1\nboundaries: []\n")
    assert local.decide(request, policy=str(other))["outcome"] == "replan_required"


@pytest.mark.parametrize("kind", [Local, AsyncLocal])
def test_the_policy_of_a_guard_stays_the_same_file(
    kind: Any, policy: Path, home: Path, binary: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(policy.parent)
    guard = Guard(kind(home=home, binary=binary), policy=policy.name)
    allows = "version: 1\nboundaries:\n  - {id: any, match: {tool: refund}, when: 'action.args.amount < 1000'}\n"
    (tmp_path / policy.name).write_text(allows)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(Blocked, match="names no ticket"):
        asyncio.run(guard.acheck("refund", {"amount": 20}))


def test_relative_places_of_the_environment_are_those_of_this_folder(
    policy: Path, binary: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PROOFMARK_HOME", "home")
    monkeypatch.setenv("PROOFMARK_STORE", "store.db")
    local = Local(policy=policy, binary=binary)
    Guard(local).decide("echo", {})
    assert (tmp_path / "home").is_dir() and (tmp_path / "store.db").is_file()
    monkeypatch.setenv("PROOFMARK_STORE", "postgres://bot@db.example/proofs")
    assert local._env()["PROOFMARK_STORE"] == "postgres://bot@db.example/proofs"


def test_a_step_is_accepted_or_not(local: Local, home: Path) -> None:
    examples = home / "examples/accept"
    attempt: Any = {
        "workflow": (examples / "workflow.yaml").read_text(),
        "response": (examples / "attempt1.md").read_text(),
        "trace": json.loads((examples / "trace1.json").read_text()),
    }
    acceptance = local.accept("local-1", "implement", attempt)
    assert (acceptance["state"], acceptance["attempt"]) == ("retry", 1)


def test_local_mode_is_a_context_manager_as_a_client_is(policy: Path, home: Path, binary: str) -> None:
    with Local(policy=policy, home=home, binary=binary) as local:
        assert Guard(local).check("echo", {}).allowed

    async def awaits() -> None:
        async with AsyncLocal(policy=policy, home=home, binary=binary) as local:
            assert (await Guard(local).acheck("echo", {})).allowed

    asyncio.run(awaits())


def test_the_same_for_those_who_await(policy: Path, home: Path, binary: str) -> None:
    async def all_of_it() -> None:
        local = AsyncLocal(policy=policy, home=home, binary=binary)
        request = json.loads((home / "examples/sort.json").read_text())
        assert (await local.verify(request))["verdict"] == "pass"
        guard = Guard(local)
        decisions = await asyncio.gather(*(guard.acheck("echo", {"n": n}) for n in range(5)))
        assert len({decision.id for decision in decisions}) == 5

    asyncio.run(all_of_it())


def test_what_the_binary_refuses(local: Local, home: Path, binary: str) -> None:
    with pytest.raises(ProofmarkError) as raised:
        local.verify({"output": {"content": ""}, "verification": {}})
    assert raised.value.code in ("missing_field", "unsupported", "empty"), raised.value
    with pytest.raises(ProofmarkError, match="neither a file nor the id"):
        local.receipt("0f6ad4d9-1be5-4d3c-8a3d-2f1d4cf0e9b1")
    with pytest.raises(ProofmarkError) as raised:
        Local(home=home, binary=binary).decide({"action": {"tool": "echo", "class": "generic"}})
    assert raised.value.code == "no_policy"


def test_a_file_is_not_taken_for_an_id(local: Local, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    receipt = local.verify(json.loads((home / "examples/sort.json").read_text()))
    (tmp_path / receipt["receipt_id"]).write_text(json.dumps({**receipt, "verdict": "fail"}))
    assert local.receipt(receipt["receipt_id"])["verdict"] == "pass"
    with pytest.raises(ValueError, match="not the id"):
        local.receipt("../receipt.json")


def test_what_needs_a_server(local: Local) -> None:
    calls: list[tuple[str, tuple[Any, ...]]] = [
        ("submit", ({},)),
        ("job", ("1",)),
        ("events", ("1",)),
        ("decision", ("1",)),
        ("reviews", ()),
        ("review", ("1", {})),
        ("chain", ("1",)),
        ("redeem", ("1",)),
    ]
    for name, args in calls:
        with pytest.raises(NotLocal, match=f"`{name}` needs a server") as raised:
            getattr(local, name)(*args)
        assert raised.value.code == "not_local"
    with pytest.raises(NotLocal, match="`report` needs a server"):
        local.report("1", executed=True)


def waiting(home: Path, binary: str, earlier: str) -> str:
    """A decision that waits, and is not the earlier one."""
    for _ in range(600):
        listed = run(binary, home, "decision", "list", "--waiting", "--json")
        for line in listed.splitlines():
            if (decision_id := str(json.loads(line)["decision_id"])) != earlier:
                return decision_id
        threading.Event().wait(0.05)
    raise AssertionError("no decision waits")


def test_a_call_waits_for_its_review(policy: Path, tmp_path: Path, home: Path, binary: str) -> None:
    local = Local(policy=policy, home=tmp_path, binary=binary)

    def refund(amount: int) -> str:
        return f"refunded {amount}"

    with pytest.raises(NeedsReview, match="`proofmark decision show") as raised:
        Guard(local).call(refund, 800)
    signed = ("--key", str(home / "keys/ann.pem"), "--note", "seen", "--yes", "--policy", str(policy))
    with ThreadPoolExecutor(1) as pool:
        call = pool.submit(Guard(local, wait=60).call, refund, 800)
        decision_id = waiting(tmp_path, binary, raised.value.decision.id)
        run(binary, tmp_path, "decision", "approve", decision_id, *signed)
        assert call.result() == "refunded 800"


def test_the_binary_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "proofmark_bin", None)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ProofmarkError, match=r"pip install proofmark-sdk\[cli\]") as raised:
        Local()
    assert raised.value.code == "no_binary"
    module: Any = types.ModuleType("proofmark_bin")
    module.find_proofmark_bin = lambda: str(tmp_path / "proofmark")
    monkeypatch.setitem(sys.modules, "proofmark_bin", module)
    assert Local()._binary == str(tmp_path / "proofmark")

    def is_gone() -> str:
        raise FileNotFoundError("reinstall proofmark-bin")

    module.find_proofmark_bin = is_gone
    with pytest.raises(ProofmarkError, match="reinstall proofmark-bin") as raised:
        Local()
    assert raised.value.code == "no_binary"


@pytest.mark.parametrize("path", ["", ".", "/nowhere:", ":/nowhere", "bin:./bin"])
def test_no_binary_of_the_working_folder_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    for file in (tmp_path / "proofmark", tmp_path / "bin" / "proofmark"):
        file.parent.mkdir(exist_ok=True)
        file.write_text("#!/bin/sh\n")
        file.chmod(0o755)
    monkeypatch.setitem(sys.modules, "proofmark_bin", None)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", path)
    with pytest.raises(ProofmarkError) as raised:
        Local()
    assert raised.value.code == "no_binary"
    # The other folders count.
    monkeypatch.setenv("PATH", f"{path}:{tmp_path / 'bin'}")
    assert Local()._binary == str(tmp_path / "bin" / "proofmark")
