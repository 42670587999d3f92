"""Where the data of the tests is."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

import proofmark_sdk

PACKAGE = Path(__file__).parents[2]
SOURCES = str(Path(proofmark_sdk.__file__).parents[1])
"""The folder that has the package, for another process."""
REPOSITORY = PACKAGE.parents[1]
VECTORS = REPOSITORY / "vectors"
CONFORMANCE = Path(os.environ.get("PROOFMARK_CONFORMANCE") or REPOSITORY.parent / "shared/conformance")


def all_vectors() -> list[tuple[str, Any]]:
    """Each file of vectors, and what is in it."""
    return [(path.name, json.loads(path.read_text("utf-8"))) for path in sorted(VECTORS.glob("*.json"))]


def cases_of(name: str) -> dict[str, Any]:
    """The cases of a file of vectors by their names."""
    return {one["name"]: one for one in json.loads((VECTORS / name).read_text("utf-8"))["cases"]}


def conformance(*path: str) -> Any:
    """Data of other projects: what is in a file of JSON, or each file of a folder. Skips the test where this machine has none."""
    found = CONFORMANCE.joinpath(*path)
    if not found.exists():
        pytest.skip("no conformance data: PROOFMARK_CONFORMANCE names no folder that has it")
    if found.is_dir():
        return [(file.name, file.read_bytes()) for file in sorted(found.iterdir())]
    return json.loads(found.read_text("utf-8"))


def has_conformance(*path: str) -> bool:
    return CONFORMANCE.joinpath(*path).exists()
