"""What the binary and the package for JavaScript say of documents and chains."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from .data import PACKAGE, REPOSITORY

# The files of one call: a command line has a largest size.
_FILES = 400
_SECONDS = 300
_DRIVER = Path(__file__).with_name("verify.mjs")


def binary() -> str:
    """The binary to compare with. Skips the test where there is none."""
    named = os.environ.get("PROOFMARK_BINARY")
    if named:
        return named
    built = REPOSITORY / "target/debug/proofmark"
    if not built.exists():
        pytest.skip("PROOFMARK_BINARY names no binary, and none is built")
    return str(built)


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs the binary with a home of its own."""
    environment = {**os.environ, "PROOFMARK_HOME": str(folder / "home")}
    return subprocess.run(
        [binary(), *arguments], cwd=folder, env=environment, capture_output=True, encoding="utf-8", timeout=_SECONDS, check=False
    )


def lines(folder: Path, *arguments: str) -> list[dict[str, Any]]:
    """What `receipt verify --json` prints with these arguments."""
    done = run(folder, "receipt", "verify", "--json", *arguments)
    assert done.returncode in (0, 1, 2), done.stderr
    assert done.stdout, done.stderr
    # The document itself says what it claims.
    return [{name: value for name, value in json.loads(line).items() if name != "claims"} for line in done.stdout.splitlines()]


def said_by_binary(folder: Path, documents: list[bytes], profile: str, trusted: str) -> dict[str, dict[str, Any]]:
    """What the binary says of each document, by `./<number>` or `./<number>:<line>`."""
    for number, document in enumerate(documents):
        (folder / str(number)).write_bytes(document)
    said = {}
    for start in range(0, len(documents), _FILES):
        names = [f"./{number}" for number in range(start, min(start + _FILES, len(documents)))]
        for line in lines(folder, *names, "--profile", profile, "--trust", trusted):
            said[line.pop("source")] = line
    return said


def said_by_javascript(documents: list[bytes], profile: str, trusted: str) -> list[dict[str, Any]]:
    """What the package for JavaScript says of each document. Skips the test where there is no Node.js."""
    node, package = shutil.which("node"), PACKAGE.parent / "js/src/index.js"
    if node is None or not package.exists():
        pytest.skip("no Node.js to compare with")
    encoded = [base64.b64encode(document).decode() for document in documents]
    asked = json.dumps({"package": package.as_uri(), "documents": encoded, "profile": profile, "trusted": [trusted]})
    done = subprocess.run([node, str(_DRIVER)], input=asked, capture_output=True, encoding="utf-8", timeout=_SECONDS, check=False)
    assert done.returncode == 0, done.stderr
    said: list[dict[str, Any]] = json.loads(done.stdout)
    return said
