"""Finds the `proofmark` program that this distribution installs."""

from __future__ import annotations

import os
import sys
import sysconfig
from pathlib import Path
from typing import Iterator

__all__ = ["ProofmarkNotFound", "find_proofmark_bin"]

_NAME = "proofmark"


class ProofmarkNotFound(FileNotFoundError):
    """No folder in which an installer puts programs has `proofmark`."""


def find_proofmark_bin() -> str:
    """Returns the path of the `proofmark` program."""
    folders = list(dict.fromkeys(_folders()))
    for folder in folders:
        program = os.path.join(folder, _NAME)
        if os.path.isfile(program) and os.access(program, os.X_OK):
            return program
    listed = "\n".join(f"  {folder}" for folder in folders)
    raise ProofmarkNotFound(f"failed to find the program `{_NAME}` in any of these folders; reinstall proofmark-bin:\n{listed}")


def _folders() -> Iterator[str]:
    """Where installers put scripts, the nearest first."""
    yield sysconfig.get_path("scripts")
    # An environment that sees the packages of the Python that it was made with.
    yield sysconfig.get_path("scripts", vars={"base": sys.base_prefix})
    packages = Path(__file__).absolute().parent.parent
    # `pip install --prefix P`: P/lib/python3.X/site-packages and P/bin.
    if packages.name in ("site-packages", "dist-packages") and packages.parent.name.startswith("python"):
        yield str(packages.parents[2] / "bin")
    # `pip install --target T`: T and T/bin.
    yield str(packages / "bin")
    yield sysconfig.get_path("scripts", scheme="posix_user")
