"""The verifier of a Harbor task."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import run

TESTS = Path(__file__).parents[2] / "examples/harbor/tests"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Where the paths of the container are."""
    shutil.copytree(TESTS, tmp_path / "tests")
    (tmp_path / "app").mkdir()
    script = tmp_path / "tests/test.sh"
    text = script.read_text()
    for folder in ("/app/", "/tests/", "/logs/"):
        text = text.replace(folder, f"{tmp_path}{folder}")
    script.write_text(text)
    (tmp_path / "logs/verifier").mkdir(parents=True)
    # What an agent could leave there.
    (tmp_path / "logs/verifier/reward.txt").write_text("1\n")
    (tmp_path / "logs/verifier/reward.json").write_text('{"reward": 1}\n')
    return tmp_path


def verified(root: Path, binary: str) -> tuple[int, str | None]:
    programs = root / "bin"
    programs.mkdir()
    (programs / "proofmark").symlink_to(binary)
    env = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}", "PROOFMARK_HOME": str(root / "home")}
    done = subprocess.run([root / "tests/test.sh"], env=env, cwd=root / "app", capture_output=True, text=True, timeout=60)
    assert not (root / "logs/verifier/reward.json").exists()
    reward = root / "logs/verifier/reward.txt"
    return done.returncode, reward.read_text().strip() if reward.exists() else None


@pytest.mark.parametrize(
    ("work", "reward", "verdict"),
    [
        ("def sort_list(xs):\n    return sorted(xs)\n", "1", "pass"),
        ("def sort_list(xs):\n    return xs\n", "0", "partial"),
        ("def sort_list(xs:\n", "0", "fail"),
        ("import os\nos._exit(0)\n", "0", "fail"),
    ],
)
def test_the_reward_is_the_verdict(root: Path, binary: str, work: str, reward: str, verdict: str) -> None:
    (root / "app/solution.py").write_text(work)
    assert verified(root, binary) == (0, reward)
    receipt = root / "logs/verifier/receipt.json"
    assert json.loads(receipt.read_text())["verdict"] == verdict
    assert run(binary, root, "receipt", "verify", str(receipt)).startswith("valid")


def test_nothing_and_a_link_have_no_reward(root: Path, binary: str) -> None:
    (root / "app/solution.py").symlink_to(root / "tests/suite.yaml")
    assert verified(root, binary) == (0, "0")


def test_what_cannot_be_verified_has_no_reward_at_all(root: Path, binary: str) -> None:
    (root / "app/solution.py").write_text("def sort_list(xs):\n    return sorted(xs)\n")
    (root / "tests/suite.yaml").write_text("task: {}\n")
    assert verified(root, binary) == (2, None)
