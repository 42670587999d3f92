"""The real server, and servers that answer wrongly."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from fake import Fake

from proofmark_sdk import Client

POLICY = """
version: 1
classes: [payment]
boundaries:
  - id: small-refund
    match: {tool: refund}
    when: 'action.args.amount > 0 && action.args.amount <= 50'
    require:
      - fact: 'action.args.ticket.startsWith("T-")'
        reason: {code: no_ticket, message: "The refund names no ticket."}
        next: {code: name_ticket, message: "Put the ticket into the arguments, then request the refund again."}
        otherwise: local
  - id: large-refund
    match: {tool: refund}
    when: 'action.args.amount > 50'
    require:
      - approval: {role: finance}
        reason: {code: not_approved, message: "Finance has not approved this refund."}
        otherwise: human_review
  - id: upstream
    match: {tool: publish}
    require:
      - fact: 'upstream.ready == true'
        reason: {code: not_ready, message: "The planner has not said that it is ready."}
        otherwise: upstream
  - id: never
    match: {tool: drop_database}
    deny:
      - when: 'true'
        reason: {code: never, message: "No agent drops a database."}
        otherwise: goal_fail_terminal
  - id: rest
    match: {tool: [echo, fails]}
    warn:
      - when: 'action.args.loud == true'
        reason: {code: loud, message: "That is loud."}
# The last line names who approves.
"""


def run(binary: str, home: Path, *arguments: str, given: str | None = None) -> str:
    """What a command of the binary prints."""
    env = {**os.environ, "PROOFMARK_HOME": str(home)}
    done = subprocess.run([binary, *arguments], env=env, cwd=home, input=given, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, f"{arguments}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@dataclass(frozen=True)
class Server:
    """A running server."""

    url: str
    home: Path
    agent: str
    reviewer: str
    admin: str

    def client(self, timeout: float = 30) -> Client:
        return Client(self.url, self.agent, timeout)


@pytest.fixture(scope="session")
def binary() -> str:
    """The program `proofmark`: that of `PROOFMARK_BINARY`, or else the one on the path."""
    found = os.environ.get("PROOFMARK_BINARY") or shutil.which("proofmark")
    assert found, "name the program `proofmark` in PROOFMARK_BINARY"
    return found


@pytest.fixture(autouse=True)
def nothing_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PROOFMARK_URL", "PROOFMARK_API_KEY", "PROOFMARK_POLICY", "PROOFMARK_HOME", "PROOFMARK_STORE"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="session")
def home(binary: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with a reviewer, a policy and the examples."""
    home = tmp_path_factory.mktemp("home")
    (home / "policy.yaml").write_text(POLICY)
    run(binary, home, "key", "new", "ann")
    run(binary, home, "reviewer", "add", "ann", "--key", "ann", "--role", "finance", "--policy", "policy.yaml")
    run(binary, home, "examples")
    return home


@pytest.fixture(scope="session")
def policy(home: Path) -> Path:
    return home / "policy.yaml"


@pytest.fixture(scope="session")
def server(binary: str, home: Path) -> Iterator[Server]:
    keys = home / "keys.json"
    key = {}
    for name, role in (("bot", "agent"), ("ann", "reviewer"), ("root", "admin")):
        signer = ("--signer", "ann") if role == "reviewer" else ()
        key[name] = run(binary, home, "api-key", "add", "--api-keys", str(keys), name, role, *signer).strip()
    env = {**os.environ, "PROOFMARK_HOME": str(home)}
    arguments = ["serve", "--policy", "policy.yaml", "--api-keys", str(keys), "--listen", "127.0.0.1:0"]
    process = subprocess.Popen([binary, *arguments], env=env, cwd=home, stderr=subprocess.PIPE, text=True)
    try:
        yield Server(_address(process), home, key["bot"], key["ann"], key["root"])
    finally:
        process.terminate()
        process.communicate()


def _address(process: subprocess.Popen[str]) -> str:
    """What the server says that it listens on. What it writes later is read, too, so that it never waits for a reader."""
    import threading

    assert process.stderr is not None
    for line in process.stderr:
        if line.startswith("serving on "):
            threading.Thread(target=process.stderr.read, daemon=True).start()
            return line.split()[2]
    raise AssertionError("the server does not start")


@pytest.fixture
def fake() -> Iterator[Fake]:
    """A server that answers as a test says."""
    with Fake() as fake:
        yield fake
