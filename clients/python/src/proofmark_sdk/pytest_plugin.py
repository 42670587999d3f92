"""`pytest --receipt=out.json`: the tests run in the sandbox of `proofmark verify`, which issues a receipt of them.

This process runs no test, and signs nothing: a receipt of what it saw itself would be worth no more than its word.
"""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from .documents import read_json
from .errors import ProofmarkError
from .local import find_binary
from .process import run_in_terminal

OPTION = "--receipt"
INSIDE = "PROOFMARK_PYTEST"
"""Set in the sandbox, where `--receipt` of the project's `addopts` has no effect."""

MAX_BEGINNING = 64
BEGINNING = b'{"vrf_version":'
NOT_VERIFIED = 2


def pytest_addoption(parser: Any) -> None:
    said = "run the tests in the sandbox of `proofmark verify`, and write its receipt to this file"
    parser.getgroup("proofmark").addoption(OPTION, metavar="FILE.json", help=said)


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: Any) -> None:
    """Takes the place of the run before any `conftest.py` is imported."""
    options: Namespace = early_config.known_args_namespace
    if options.receipt is None or os.environ.get(INSIDE) or options.help or options.version:
        return
    folder: Path = early_config.invocation_params.dir
    inipath: Path | None = early_config.inipath
    if inipath is not None and not inipath.is_relative_to(folder):
        raise pytest.UsageError(
            f"failed to verify `{folder}`: its settings are outside of it, so start pytest in `{inipath.parent}`"
        )
    receipt = _free(folder / options.receipt)
    # The plugin that captures output has begun: it would keep all of it to the end.
    early_config.pluginmanager.getplugin("capturemanager").suspend_global_capture(in_=True)
    raise SystemExit(_verify(folder, receipt, _without_option(early_config.invocation_params.args)))


def _free(receipt: Path) -> Path:
    """A path where nothing is, not even an earlier receipt, which could be taken for the new one."""
    if receipt.suffix != ".json":
        raise pytest.UsageError(f"invalid `{OPTION}`: `{receipt.name}` does not end with `.json`")
    if not receipt.parent.is_dir():
        raise pytest.UsageError(f"failed to write `{receipt}`: there is no folder `{receipt.parent}`")
    try:
        with receipt.open("rb") as file:
            beginning = file.read(MAX_BEGINNING)
        if beginning and not beginning.startswith(BEGINNING):
            raise pytest.UsageError(f"failed to write `{receipt}`: this file is not a receipt; name another or remove it")
        receipt.unlink()
    except FileNotFoundError:
        pass
    except OSError as error:
        raise pytest.UsageError(f"failed to write `{receipt}`: {error.strerror}") from None
    return receipt


def _without_option(args: Sequence[str]) -> list[str]:
    kept: list[str] = []
    rest = iter([str(arg) for arg in args])
    for arg in rest:
        if arg == OPTION:
            next(rest, None)
        elif not arg.startswith(f"{OPTION}="):
            kept.append(arg)
    return kept


def _verify(folder: Path, receipt: Path, args: Sequence[str]) -> int:
    """The exit code of `proofmark verify`: 0 all pass, 1 not all, 2 could not be verified."""
    is_module = Path(sys.argv[0]).name == "__main__.py"
    command = ["python3", "-m", "pytest", *args] if is_module else ["pytest", *args]
    env = [f"--env={INSIDE}=1"]
    if options := os.environ.get("PYTEST_ADDOPTS"):
        env.append(f"--env=PYTEST_ADDOPTS={options}")
    # The packages are those of the first `python3` on the path.
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
    arguments = ["verify", "--dir", ".", f"--out={receipt}", *env, "--", *command]
    try:
        code = run_in_terminal([find_binary(), *arguments], folder, {**os.environ, "PATH": path})
    except ProofmarkError as error:
        raise pytest.UsageError(f"failed to verify `{folder}`: {error}") from None
    # A signal that ended it is a negative code.
    return code if code > 0 or (code == 0 and _passes(receipt)) else NOT_VERIFIED


def _passes(receipt: Path) -> bool:
    """Whether the receipt says so: another program can end with 0, too."""
    try:
        document = read_json(receipt.read_bytes())
    except (OSError, ValueError):
        return False
    return isinstance(document, dict) and document.get("verdict") == "pass"
