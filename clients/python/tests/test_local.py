"""Local mode against the real binary."""

from __future__ import annotations

import asyncio
import json
import sys
import threading
import types
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from proofmark_sdk import AsyncLocal, Blocked, Guard, Local, NeedsReview, NotLocal, ProofmarkError

ID = "0f6ad4d9-1be5-4d3c-8a3d-2f1d4cf0e9b1"


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
        local = AsyncLocal(policy=policy, home=home, binary=binary, key="ann")
        request = json.loads((home / "examples/sort.json").read_text())
        assert (await local.verify(request))["verdict"] == "pass"
        guard = Guard(local)
        decisions = await asyncio.gather(*(guard.acheck("echo", {"n": n}) for n in range(5)))
        assert len({decision.id for decision in decisions}) == 5
        decision_id = (await local.decide(refund_of(600)))["decision_id"]
        assert (await local.decision(decision_id))["waits"]
        assert decision_id in [entry["decision_id"] for entry in (await local.reviews(amount=600))["decisions"]]
        assert (await local.review(decision_id, {"verdict": "deny", "note": "no"}))["verdict"] == "denied"
        assert not (await local.decision(decision_id))["waits"]
        assert (await local.report(decision_id, executed=False)) == {"accepted": False, "findings": []}
        receipt = await local.verify(request, chain="awaited")
        assert (await local.chain("awaited"))["receipts"] == [receipt]

    asyncio.run(all_of_it())


def test_what_the_binary_refuses(local: Local, home: Path, binary: str) -> None:
    with pytest.raises(ProofmarkError) as raised:
        local.verify({"output": {"content": ""}, "verification": {}})
    assert raised.value.code in ("missing_field", "unsupported", "empty"), raised.value
    with pytest.raises(ProofmarkError, match="neither a file nor the id"):
        local.receipt(ID)
    with pytest.raises(ProofmarkError) as raised:
        Local(home=home, binary=binary).decide({"action": {"tool": "echo", "class": "generic"}})
    assert raised.value.code == "no_policy"


def test_a_file_is_not_taken_for_an_id(local: Local, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    receipt = local.verify(json.loads((home / "examples/sort.json").read_text()))
    (tmp_path / receipt["receipt_id"]).write_text(json.dumps({**receipt, "verdict": "fail"}))
    assert local.receipt(receipt["receipt_id"])["verdict"] == "pass"
    for method in (local.receipt, local.decision):
        for text in ("../receipt.json", receipt["receipt_id"][:8], "--help", ""):
            with pytest.raises(ValueError, match="is not an id"):
                method(text)


def test_what_needs_a_server(local: Local) -> None:
    calls: list[tuple[str, tuple[Any, ...]]] = [
        ("submit", ({},)),
        ("job", ("1",)),
        ("events", ("1",)),
        ("redeem", ("1",)),
    ]
    for name, args in calls:
        with pytest.raises(NotLocal, match=f"`{name}` needs a server") as raised:
            getattr(local, name)(*args)
        assert raised.value.code == "not_local"
    refused: list[Callable[[], Any]] = [
        lambda: local.reviews(whose="mine"),
        lambda: local.reviews(after="s4"),
        lambda: local.review(ID, {"verdict": "approve", "note": "seen", "scope": {}}),
    ]
    for call in refused:
        with pytest.raises(NotLocal, match="needs a server"):
            call()


def refund_of(amount: int) -> Any:
    return {"action": {"tool": "refund", "class": "generic", "args": {"amount": amount}}, "agent": {"id": "bot"}}


def test_a_decision_is_reviewed(policy: Path, tmp_path: Path, home: Path, binary: str, monkeypatch: pytest.MonkeyPatch) -> None:
    local = Local(policy=policy, home=tmp_path, binary=binary)
    receipts = [local.decide(refund_of(amount)) for amount in (800, 900)]
    large, larger = [receipt["decision_id"] for receipt in receipts]
    page = local.reviews()
    assert ([entry["decision_id"] for entry in page["decisions"]], page["next"]) == ([larger, large], None)
    assert [entry["decision_id"] for entry in local.reviews(limit=1)["decisions"]] == [larger]
    assert [entry["decision_id"] for entry in local.reviews(whose="all", amount=850.5)["decisions"]] == [larger]
    assert local.reviews(environment="--json")["decisions"] == []
    assert local.decision(large) == {**page["decisions"][1], "waits": True}
    assert page["decisions"][1] == {
        "decision_id": large,
        "decided_at": receipts[0]["binding"]["decided_at"],
        "outcome": "replan_required",
        "mode": "human_review",
        "action_class": "generic",
        "agent": "bot",
        "action": None,
        "facts": None,
        "reviews": [],
        "receipt": receipts[0],
    }
    # Only the newest decision on an action waits, and the earlier one waits with it.
    again = local.decide(refund_of(800))["decision_id"]
    assert again not in (large, larger) and local.decision(large)["waits"]

    monkeypatch.chdir(home)
    ann = Local(home=tmp_path, binary=binary, key="keys/ann.pem")
    monkeypatch.chdir(tmp_path)
    approved = ann.review(large, {"verdict": "approve", "note": "seen", "role": "finance", "expires_in": 60})
    assert (approved["decision_id"], approved["verdict"], approved["role"]) == (large, "approved", "finance")
    assert approved["approval"] is not None and local.receipt(approved["approval"]["receipt_id"]) == approved["approval"]
    assert not local.decision(large)["waits"]
    assert local.decide(refund_of(800))["outcome"] == "allow"

    denied = Local(home=tmp_path, binary=binary, key=home / "keys/ann.pem").review(larger, {"verdict": "deny", "note": "--no"})
    assert {**approved, **denied} == denied, "both have the same members"
    assert (denied["decision_id"], denied["verdict"], denied["note"], denied["approval"]) == (larger, "denied", "--no", None)
    assert not local.decision(larger)["waits"] and local.reviews()["decisions"] == []


def test_what_cannot_be_reviewed(local: Local, home: Path, binary: str) -> None:
    decision_id = local.decide(refund_of(700))["decision_id"]
    wrong: Any = {"verdict": "perhaps", "note": "seen"}
    with pytest.raises(ValueError, match="`approve` or `deny`"):
        local.review(decision_id, wrong)
    for id, key, said in (
        (decision_id, None, r'Local\(key="ann"\)'),
        (decision_id, "nobody", "failed to find the key `nobody`"),
        (ID, "ann", "failed to find"),
    ):
        with pytest.raises(ProofmarkError, match=said):
            Local(home=home, binary=binary, key=key).review(id, {"verdict": "approve", "note": "seen"})
    assert local.decision(decision_id)["waits"]
    with pytest.raises(ProofmarkError, match="neither a file nor the id"):
        local.decision(ID)


def test_a_chain_has_its_receipts_and_a_head(policy: Path, tmp_path: Path, home: Path, binary: str) -> None:
    local = Local(home=tmp_path, binary=binary)
    request = json.loads((home / "examples/sort.json").read_text())
    receipts = [local.verify(request, chain="nightly") for _ in range(2)]
    chain = local.chain("nightly")
    assert (chain["chain"], chain["receipts"], chain["next"]) == ("nightly", receipts, None)
    assert (chain["head"]["chain"], chain["head"]["length"]) == ("nightly", 2)
    with pytest.raises(ProofmarkError, match="no chain in the store has this name"):
        local.chain("weekly")


def test_nothing_is_reported(tmp_path: Path) -> None:
    # No program runs.
    local = Local(home=tmp_path, binary=tmp_path / "none")
    assert local.report(ID, executed=True, args={}, error="late", idempotency_key="1") == {"accepted": False, "findings": []}


def waiting(local: Local, earlier: str) -> str:
    """A decision that waits, and is not the earlier one."""
    for _ in range(600):
        for entry in local.reviews()["decisions"]:
            if entry["decision_id"] != earlier:
                return entry["decision_id"]
        threading.Event().wait(0.05)
    raise AssertionError("no decision waits")


def test_a_call_waits_for_its_review(policy: Path, tmp_path: Path, home: Path, binary: str) -> None:
    local = Local(policy=policy, home=tmp_path, binary=binary)
    ann = Local(home=tmp_path, binary=binary, key=home / "keys/ann.pem")

    def refund(amount: int) -> str:
        return f"refunded {amount}"

    with pytest.raises(NeedsReview, match="`proofmark decision show") as raised:
        Guard(local).call(refund, 800)
    with ThreadPoolExecutor(1) as pool:
        call = pool.submit(Guard(local, wait=60).call, refund, 800)
        decision_id = waiting(local, raised.value.decision.id)
        ann.review(decision_id, {"verdict": "approve", "note": "seen"})
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
