"""The vectors of this repository, and data of other projects."""

from __future__ import annotations

from typing import Any

import pytest

from proofmark_sdk.offline import canonical, parse

from .data import all_vectors, conformance
from .suites import attempt, signatures, vectors


@pytest.mark.parametrize(("file", "data"), all_vectors(), ids=lambda value: value if isinstance(value, str) else "")
def test_vectors(file: str, data: Any) -> None:
    assert vectors(file, data["cases"]) == []


def test_signatures_of_other_projects_are_judged_strictly() -> None:
    data = [conformance("ed25519", f"{name}.json") for name in ("wycheproof", "cctv", "speccheck")]
    assert signatures(*data) == (1077, [])


def test_json_of_other_projects_is_read_strictly() -> None:
    files = conformance("json-parsing")
    # Duplicate keys are JSON, and refused all the same.
    due = {name: name.startswith("y_") and "duplicated_key" not in name for name, _ in files if not name.startswith("i_")}
    accepted = {name: attempt(lambda data=data: parse(data))[1] is None for name, data in files if name in due}
    assert accepted == due
    assert len(files) == 318


def test_the_examples_of_rfc_8785_have_their_canonical_form() -> None:
    outputs = dict(conformance("jcs", "output"))
    for name, data in conformance("jcs", "input"):
        assert canonical(parse(data), "jcs") == outputs[name].decode(), name
