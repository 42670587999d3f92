"""The scorer of Inspect."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("inspect_ai", reason="`inspect_ai` is not installed")

from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.model import ModelOutput, get_model
from inspect_ai.solver import generate

from proofmark_sdk import AsyncLocal
from proofmark_sdk.adapters.inspect_ai import verified

SUITE: dict[str, Any] = {
    "task": {"task_id": "t", "description": "sort a list"},
    "verification": {
        "kind": "test_suite",
        "language": "python",
        "entrypoint": "sort_list",
        "tests": [
            {"name": "two", "input": [[2, 1]], "expected_output": [1, 2]},
            {"name": "one", "input": [[1]], "expected_output": [1]},
        ],
    },
}


@pytest.mark.parametrize(
    ("work", "value"),
    [
        ("def sort_list(xs):\n    return sorted(xs)", 1.0),
        ("def sort_list(xs):\n    return xs", 0.5),
        ("def sort_list(xs):\n    pass", 0.0),
    ],
)
def test_a_verdict_is_a_score(work: str, value: float, home: Path, binary: str, tmp_path: Path) -> None:
    async def tokens(text: str) -> int:
        return len(text)

    model = get_model("mockllm/model", custom_outputs=[ModelOutput.from_content("mockllm/model", work)])
    model.api.count_text_tokens = tokens  # type: ignore[method-assign]
    scorer = verified(AsyncLocal(home=home, binary=binary), SUITE)
    task = Task(dataset=[Sample("sort")], solver=generate(), scorer=scorer)
    [log] = eval(task, model=model, display="none", log_dir=str(tmp_path))
    assert log.results is not None
    assert math.isclose(log.results.scores[0].metrics["accuracy"].value, value)
    [sample] = log.samples or []
    [score] = (sample.scores or {}).values()
    receipt = (score.metadata or {})["receipt"]
    assert json.dumps(receipt["signature"])
    assert (score.explanation or "").endswith("of 2 checks passed")
