"""The scorer of Inspect."""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fake import Fake, gone, problem, response

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


def fails_the_sample(client: AsyncClient | AsyncLocal, folder: Path) -> str:
    """Scores work that is right where nothing says so; returns why there is no score."""
    log = evaluate(client, SORTS, folder)
    assert (log.status, log.results) == ("error", None)
    assert log.error is not None
    return log.error.message


def test_the_server_is_gone(tmp_path: Path) -> None:
    assert "cannot be reached" in fails_the_sample(AsyncClient(gone()), tmp_path)


def test_the_answer_is_late(fake: Fake, tmp_path: Path) -> None:
    fake.reply = fake.silence
    client = AsyncClient(fake.url, timeout=0.3)
    client.verify = functools.partial(client.verify, wait=1)  # type: ignore[method-assign, assignment]
    assert "has not answered" in fails_the_sample(client, tmp_path)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (response(b"{}"), "has no `vrf_version`"),
        (response(b'{"verdict": "pass"}'), "has no `vrf_version`"),
        (response(b"<p>pass"), "is not JSON"),
        (problem("503 Service Unavailable", "busy"), "it is busy"),
    ],
)
def test_the_answer_is_malformed(answer: bytes, said: str, fake: Fake, tmp_path: Path) -> None:
    fake.reply = lambda request: answer
    assert said in fails_the_sample(AsyncClient(fake.url), tmp_path)


@pytest.mark.parametrize(
    ("script", "said"), [("exit 0", "without a message"), ("echo pass", "is not JSON"), ("kill -9 $$", "without a message")]
)
def test_the_binary_answers_wrongly(script: str, said: str, tmp_path: Path) -> None:
    binary = tmp_path / "proofmark"
    binary.write_text(f"#!/bin/sh\n{script}\n")
    binary.chmod(0o755)
    assert said in fails_the_sample(AsyncLocal(home=tmp_path, binary=binary), tmp_path)


@pytest.mark.parametrize("verdict", ["error", "passed", None])
def test_another_verdict_is_no_score(verdict: Any, home: Path, binary: str, tmp_path: Path, fake: Fake) -> None:
    request: Any = {**SUITE, "output": {"content": SORTS}}
    receipt: Any = {**Local(home=home, binary=binary).verify(request), "verdict": verdict}
    fake.reply = lambda request: response(json.dumps(receipt).encode())
    log = evaluate(AsyncClient(fake.url), SORTS, tmp_path)
    assert log.results is not None
    [score] = log.results.scores
    assert (score.scored_samples, score.unscored_samples) == (0, 1)
    assert math.isnan(score.metrics["accuracy"].value)
