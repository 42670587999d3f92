"""The scorer of Inspect."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fake import Fake, response

pytest.importorskip("inspect_ai", reason="`inspect_ai` is not installed")

from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.log import EvalLog
from inspect_ai.model import ModelOutput, get_model
from inspect_ai.solver import generate

from proofmark_sdk import AsyncClient, AsyncLocal, Local
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


SORTS = "def sort_list(xs):\n    return sorted(xs)"
SORTS_NOT = "def sort_list(xs):\n    return xs"


def evaluate(client: AsyncClient | AsyncLocal, work: str, folder: Path) -> EvalLog:
    """One sample, to which the model answers with `work`."""

    async def tokens(text: str) -> int:
        return len(text)

    model = get_model("mockllm/model", custom_outputs=[ModelOutput.from_content("mockllm/model", work)])
    model.api.count_text_tokens = tokens  # type: ignore[method-assign]
    task = Task(dataset=[Sample("sort")], solver=generate(), scorer=verified(client, SUITE))
    [log] = eval(task, model=model, display="none", log_dir=str(folder))
    return log


@pytest.mark.parametrize(
    ("work", "value"),
    [
        (SORTS, 1.0),
        # The byte order mark belongs to the output that the receipt names.
        (f"\ufeff{SORTS}", 1.0),
        (SORTS_NOT, 0.5),
        ("def sort_list(xs):\n    pass", 0.0),
    ],
)
def test_a_verdict_is_a_score(work: str, value: float, home: Path, binary: str, tmp_path: Path) -> None:
    log = evaluate(AsyncLocal(home=home, binary=binary), work, tmp_path)
    assert log.results is not None
    assert math.isclose(log.results.scores[0].metrics["accuracy"].value, value)
    [sample] = log.samples or []
    [score] = (sample.scores or {}).values()
    receipt = (score.metadata or {})["receipt"]
    assert json.dumps(receipt["signature"])
    assert (score.explanation or "").endswith("of 2 checks passed")


def other_output(receipt: Any) -> None:
    receipt["hashes"]["output"] = "sha256:" + 64 * "0"


def no_output(receipt: Any) -> None:
    del receipt["hashes"]["output"]


def no_hashes(receipt: Any) -> None:
    receipt["hashes"] = "sha256:"


@pytest.mark.parametrize("change", [None, other_output, no_output, no_hashes])
def test_a_receipt_about_another_output_is_no_score(
    change: Callable[[Any], None] | None, home: Path, binary: str, tmp_path: Path, fake: Fake
) -> None:
    request: Any = {**SUITE, "output": {"content": SORTS}}
    receipt: Any = Local(home=home, binary=binary).verify(request)
    if change is not None:
        change(receipt)
    fake.reply = lambda request: response(json.dumps(receipt).encode())
    # The unchanged receipt is about other work.
    log = evaluate(AsyncClient(fake.url), SORTS_NOT if change is None else SORTS, tmp_path)
    assert (log.status, log.results) == ("error", None)
    assert log.error is not None and "about another output" in log.error.message
