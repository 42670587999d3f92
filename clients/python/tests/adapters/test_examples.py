"""Each adapter has an example, and it runs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from adapters.hosts import is_installed

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"


def names() -> list[str]:
    files = (ROOT / "src/proofmark_sdk/adapters").glob("*.py")
    return sorted(file.stem for file in files if file.stem != "__init__")


def printed(file: str, binary: str, tmp_path: Path) -> str:
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "proofmark").symlink_to(binary)
    env = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}", "PROOFMARK_HOME": str(tmp_path / "home")}
    argv = [sys.executable, str(EXAMPLES / file)]
    done = subprocess.run(argv, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("name", names())
def test_the_example_of_an_adapter(name: str, binary: str, tmp_path: Path) -> None:
    if not is_installed(name):
        pytest.skip(f"what `{name}` adapts is not installed")
    said = printed(f"{name}_example.py", binary, tmp_path)
    assert "refunded 20" in said
    assert "The refund names no ticket." in said
    assert "refunded 30" not in said


def test_the_example_of_the_scorer(binary: str, tmp_path: Path) -> None:
    if not is_installed("inspect_ai"):
        pytest.skip("`inspect_ai` is not installed")
    said = printed("inspect_ai_scorer.py", binary, tmp_path)
    assert said == "1 C 1 of 1 checks passed pass\n2 I 0 of 1 checks passed fail\n"


@pytest.mark.parametrize("name", names())
def test_the_example_of_an_adapter_is_short(name: str) -> None:
    assert len((EXAMPLES / f"{name}_example.py").read_text().splitlines()) <= 40


@pytest.mark.parametrize("name", names())
def test_the_table_names_each_adapter(name: str) -> None:
    assert f"`{name}`" in (ROOT / "ADAPTERS.md").read_text()
