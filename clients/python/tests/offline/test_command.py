"""`python -m proofmark_sdk.offline` says what `proofmark receipt verify` says."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from proofmark_sdk.offline.__main__ import main

from .data import SOURCES, cases_of
from .mutants import known_keys
from .others import run

RECEIPTS = cases_of("receipt.json")
ISSUED: str = RECEIPTS["issued"]["receipt"]
HINTED: str = RECEIPTS["hashed_by_jcs"]["receipt"]
ISSUER, OTHER = known_keys()
FILES = {
    "good.json": ISSUED,
    "changed.json": ISSUED.replace("partial", "pass"),
    "cut.json": "{",
    "hint.json": HINTED,
    "several.jsonl": f'{ISSUED}\n\n{{"a":1}}\n',
    "empty.json": "",
    "unseen.json": '{"vrf_version":"\u202e##[x]\\u007f::"}',
    "long.jsonl": f"{ISSUED}\n{' ' * (1 << 20)}\n{' ' * (3 << 20)}x\n{ISSUED}\n",
    "issuer.key": ISSUER.id,
    "other.key": OTHER.id,
    # Files that stand where an id or a name was meant.
    "issuer": ISSUER.id,
    "ed25519:00": ISSUER.id,
}
CASES = [
    ["good.json"],
    ["good.json", "--trust", "./issuer.key"],
    ["good.json", "--trust", "./other.key"],
    ["good.json", "--trust", "./other.key", "--trust", "./issuer.key"],
    ["changed.json", "good.json"],
    ["changed.json", "cut.json", "good.json"],
    ["hint.json"],
    ["hint.json", "--profile", "jcs"],
    ["several.jsonl", "--trust", "./issuer.key"],
    ["empty.json"],
    ["unseen.json"],
    ["long.jsonl"],
    ["absent.json", "good.json"],
    [".", "good.json"],
    ["good.json", "--trust", "./cut.json"],
    ["good.json", "--trust", "./absent.key"],
    ["good.json", "--trust", ISSUER.id],
    ["good.json", "--trust", OTHER.id],
    ["good.json", "--trust", f"ed25519:{ISSUER.raw.hex()}"],
    ["good.json", "--trust", "ed25519:00"],
    ["good.json", "--trust", "issuer"],
    ["good.json", "--trust", "./issuer"],
    ["good.json", "--profile", "VRF"],
    ["--unknown"],
    [],
]
# Those that are also given to a process of its own: one for each exit code, and characters of another encoding.
OWN_PROCESS = (["good.json"], ["changed.json", "good.json"], ["changed.json", "cut.json", "good.json"], ["unseen.json"], [])


def command(folder: Path, *arguments: str, **more: Any) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": SOURCES}
    ours = [sys.executable, "-m", "proofmark_sdk.offline", *arguments]
    options = {"capture_output": True, "encoding": "utf-8", **more}
    return subprocess.run(ours, cwd=folder, env=environment, timeout=120, check=False, **options)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, "utf-8", newline="")
    return tmp_path


@dataclass(frozen=True)
class Said:
    """How the command ended."""

    returncode: int
    stdout: str
    stderr: str


def said(capfd: pytest.CaptureFixture[str], arguments: list[str]) -> Said:
    """How the command ends in this folder, in this process: starting Python takes longer than all that it does."""
    try:
        code = main(arguments)
    except SystemExit as exit:
        assert isinstance(exit.code, int)
        code = exit.code
    return Said(code, *capfd.readouterr())


@pytest.mark.parametrize("arguments", CASES, ids=" ".join)
def test_answers_and_exit_codes_are_those_of_the_binary(
    arguments: list[str], folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    theirs, ours = run(folder, "receipt", "verify", "--json", *arguments), said(capfd, ["--json", *arguments])
    assert ours.returncode == theirs.returncode, ours.stderr
    assert (ours.stdout == "") == (theirs.stdout == "")
    due = [{name: value for name, value in json.loads(line).items() if name != "claims"} for line in theirs.stdout.splitlines()]
    assert [json.loads(line) for line in ours.stdout.splitlines()] == due
    assert ours.stdout.isascii()
    assert "Traceback" not in ours.stderr
    assert bool(ours.stderr) == bool(theirs.stderr)
    people, human = said(capfd, arguments), run(folder, "receipt", "verify", *arguments)
    assert people.returncode == theirs.returncode
    # What a document claims, and how to trust its signer, is said by the binary alone.
    assert [line for line in people.stdout.splitlines() if line not in human.stdout.splitlines()] == []


@pytest.mark.parametrize("arguments", OWN_PROCESS, ids=" ".join)
def test_a_process_of_its_own_says_the_same(
    arguments: list[str], folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    for words in (["--json", *arguments], arguments):
        done = command(folder, *words)
        assert Said(done.returncode, done.stdout, done.stderr) == said(capfd, words)
        assert "Traceback" not in done.stderr


def test_documents_are_read_from_standard_input(folder: Path) -> None:
    done = command(folder, "-", "--json", input=ISSUED)
    assert (done.returncode, json.loads(done.stdout)["source"]) == (0, "standard input")


def test_errors_are_json_for_programs(folder: Path) -> None:
    done = command(folder, "absent.json", "--json")
    assert json.loads(done.stderr) == {"error": "failed to read `absent.json`: No such file or directory"}


def test_lost_output_is_never_success(folder: Path) -> None:
    with open("/dev/full", "w") as full:
        done = command(folder, "good.json", capture_output=False, stdout=full, stderr=subprocess.PIPE)
    assert (done.returncode, done.stderr) == (2, "error: failed to write to standard output: No space left on device\n")


def test_a_reader_that_has_gone_changes_no_result(folder: Path) -> None:
    for name, code in (("good.json", 0), ("changed.json", 1), ("cut.json", 2)):
        reader, writer = os.pipe()
        os.close(reader)
        done = command(folder, name, capture_output=False, stdout=writer, stderr=subprocess.PIPE)
        os.close(writer)
        assert (done.returncode, done.stderr) == (code, "")


def test_what_holds_no_documents_ends(folder: Path) -> None:
    (folder / "many.jsonl").write_text("{}\n" * 10_001)
    done = command(folder, "many.jsonl")
    assert (done.returncode, done.stdout.count("undecidable")) == (2, 10_000)
    assert done.stderr == "error: failed to verify the rest: 10000 documents one after the other are undecidable\n"
