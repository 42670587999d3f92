"""`pytest --receipt` in separate projects."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import sysconfig
from importlib.metadata import entry_points
from pathlib import Path

import pytest
from conftest import run

import proofmark_sdk

PLUGIN = "proofmark_sdk.pytest_plugin"
IS_INSTALLED = any(point.value == PLUGIN for point in entry_points(group="pytest11"))
SOURCES = str(Path(proofmark_sdk.__file__).parents[1])

if not (Path(sysconfig.get_path("purelib")) / "pytest").is_dir():
    pytest.skip("`pytest` is not installed in this environment, which the sandbox shows", allow_module_level=True)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    project = tmp_path / "project"
    project.mkdir()
    (project / "test_sum.py").write_text("def test_sum():\n    assert 1 + 1 == 2\n\n\ndef test_wrong():\n    assert 1 + 1 == 3\n")
    return project


@pytest.fixture
def env(binary: str, tmp_path: Path) -> dict[str, str]:
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "proofmark").symlink_to(binary)
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    # The sources have no entry point. Those of frameworks take a second of each start.
    path = os.pathsep.join([SOURCES, env.get("PYTHONPATH", "")])
    alone = {"PYTEST_PLUGINS": PLUGIN, "PYTHONPATH": path, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    more = {} if IS_INSTALLED else alone
    return {**env, **more, "PATH": f"{programs}:{env['PATH']}", "PROOFMARK_HOME": str(tmp_path / "home")}


def pytest_in(project: Path, env: dict[str, str], *args: str) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-m", "pytest", *args]
    return subprocess.run(argv, cwd=project, env=env, capture_output=True, text=True, timeout=120)


def test_the_sandbox_issues_the_receipt(project: Path, env: dict[str, str], binary: str, tmp_path: Path) -> None:
    # A project's own code changes pytest only in the sandbox.
    (project / "conftest.py").write_text(f"import os\nassert not os.path.exists({str(tmp_path)!r}), 'not in the sandbox'\n")
    (project / "out.json").write_text('{"vrf_version":"1.0", "old": true}')
    done = pytest_in(project, env, "--receipt=out.json", "-q")
    assert done.returncode == 1, done.stderr
    receipt = json.loads((project / "out.json").read_text())
    assert receipt["verdict"] == "partial", receipt
    assert {check["name"].split(".")[-1].split("::")[-1]: check["status"] for check in receipt["results"]["details"]} == {
        "test_sum": "pass",
        "test_wrong": "fail",
    }
    assert receipt["metadata"]["settings"]["command"] == "python3 -m pytest -q"
    assert run(binary, tmp_path, "receipt", "verify", str(project / "out.json")).startswith("valid")


def test_arguments_choose_the_tests(project: Path, env: dict[str, str]) -> None:
    done = pytest_in(project, env, "-k", "sum and not wrong", "--receipt", "out.json")
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads((project / "out.json").read_text())["results"]["total"] == 1


def test_a_run_that_cannot_be_verified_is_neither_passed_nor_failed(project: Path, env: dict[str, str]) -> None:
    (project / "proofmark.yaml").write_text("runtime: python2.7\n")
    (project / "out.json").write_text('{"vrf_version":"1.0", "verdict": "pass"}')
    done = pytest_in(project, env, "--receipt=out.json")
    assert done.returncode == 2, done.stdout + done.stderr
    receipt = project / "out.json"
    assert not receipt.exists() or json.loads(receipt.read_text())["verdict"] == "error"


def test_without_the_option_nothing_changes(project: Path, env: dict[str, str]) -> None:
    done = pytest_in(project, env, "-q")
    assert done.returncode == 1 and "1 failed, 1 passed" in done.stdout


def test_in_the_sandbox_the_option_has_no_effect(project: Path, env: dict[str, str]) -> None:
    (project / "pytest.ini").write_text("[pytest]\naddopts = --receipt=out.json\n")
    done = pytest_in(project, {**env, "PROOFMARK_PYTEST": "1"}, "-q")
    assert done.returncode == 1 and "1 failed, 1 passed" in done.stdout
    assert not (project / "out.json").exists()
    if IS_INSTALLED:
        assert pytest_in(project, env, "-k", "sum and not wrong").returncode == 0
        assert json.loads((project / "out.json").read_text())["verdict"] == "pass"


@pytest.mark.parametrize(
    ("args", "folder", "said"),
    [
        (["--receipt=test_sum.py"], ".", "`test_sum.py` does not end with `.json`"),
        (["--receipt=data.json"], ".", "this file is not a receipt"),
        (["--receipt=none/out.json"], ".", "there is no folder"),
        (["--receipt=out.json", "-q"], "sub", "start pytest in"),
    ],
)
def test_a_mistake_is_a_usage_error(project: Path, env: dict[str, str], args: list[str], folder: str, said: str) -> None:
    (project / "data.json").write_text("[1]")
    (project / "pytest.ini").write_text("[pytest]\n")
    (project / "sub").mkdir()
    done = pytest_in(project / folder, env, *args)
    assert done.returncode == 4
    assert said in done.stderr and "Traceback" not in done.stderr
    assert (project / "data.json").read_text() == "[1]"


def test_a_missing_program_is_a_usage_error(project: Path, env: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "bin/proofmark").unlink()
    done = pytest_in(project, {**env, "PATH": str(tmp_path / "bin")}, "--receipt=out.json")
    assert done.returncode == 4 and "the program `proofmark` is not there" in done.stderr


@pytest.mark.parametrize(
    "script",
    ["exit 0", "kill -9 $$", "echo pass > $receipt", """echo '{"vrf_version": "1.0", "verdict": "fail"}' > $receipt"""],
    ids=["nothing", "killed", "garbage", "another_verdict"],
)
def test_a_program_that_answers_wrongly_has_verified_nothing(
    project: Path, env: dict[str, str], tmp_path: Path, script: str
) -> None:
    (project / "out.json").write_text('{"vrf_version":"1.0", "verdict": "pass"}')
    program = tmp_path / "bin/proofmark"
    program.unlink()
    program.write_text(f"#!/bin/sh\nreceipt='{project / 'out.json'}'\n{script}\n")
    program.chmod(0o755)
    done = pytest_in(project, env, "--receipt=out.json")
    assert done.returncode == 2, done.stdout + done.stderr
    receipt = project / "out.json"
    assert not receipt.exists() or b'"pass"' not in receipt.read_bytes()


INTERRUPTED = """
import fcntl, os, subprocess, sys, termios
from pathlib import Path
from proofmark_sdk.process import run_in_terminal

class Process(subprocess.Popen):
    def wait(self, timeout=None):
        print("waits", flush=True)
        return super().wait(timeout)

    def send_signal(self, number):
        print("sends", number, flush=True)

subprocess.Popen = Process
if sys.argv[1] == "terminal":
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
program = 'trap "" INT; echo ready; exec sleep 60'
run_in_terminal(["sh", "-c", program], Path.cwd(), dict(os.environ))
"""


@pytest.mark.parametrize("is_terminal", [False, True])
def test_an_interrupt_reaches_the_program_once(tmp_path: Path, env: dict[str, str], is_terminal: bool) -> None:
    master, slave = pty.openpty()
    argv = [sys.executable, "-c", INTERRUPTED, "terminal" if is_terminal else "none"]
    path = os.pathsep.join([SOURCES, env.get("PYTHONPATH", "")])
    process = subprocess.Popen(
        argv, cwd=tmp_path, env={**env, "PYTHONPATH": path}, stdin=slave, stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    assert process.stdout is not None
    try:
        assert sorted(process.stdout.readline() for _ in range(2)) == ["ready\n", "waits\n"]
        for count in (1, 2):
            if is_terminal:
                os.write(master, b"\x03")
            else:
                process.send_signal(signal.SIGINT)
            # The terminal itself has sent the first one.
            if count == 2 or not is_terminal:
                assert process.stdout.readline() == f"sends {signal.SIGINT:d}\n"
            assert process.stdout.readline() == "waits\n"
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        os.close(master)
        os.close(slave)
