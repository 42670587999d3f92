"""Inspect: an evaluation that is scored by receipts. `pip install 'proofmark-sdk[cli,inspect]'`"""

import tempfile
from unittest.mock import AsyncMock

from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.model import ModelOutput, get_model
from inspect_ai.solver import generate

from proofmark_sdk import AsyncLocal
from proofmark_sdk.adapters.inspect_ai import verified

request = {
    "verification": {
        "kind": "test_suite",
        "language": "python",
        "entrypoint": "sort_list",
        "tests": [{"name": "two", "input": [[2, 1]], "expected_output": [1, 2]}],
    }
}
answers = ["def sort_list(xs):\n    return sorted(xs)", "def sort_list(xs):\n    return xs"]
model = get_model("mockllm/model", custom_outputs=[ModelOutput.from_content("mockllm", answer) for answer in answers])
model.api.count_text_tokens = AsyncMock(return_value=1)  # Else it loads a table from the network.
samples = [Sample("Write `sort_list` in Python.", id=number) for number in (1, 2)]
task = Task(dataset=samples, solver=generate(), scorer=verified(AsyncLocal(), request))
[log] = eval(task, model=model, display="none", log_dir=tempfile.mkdtemp(), max_samples=1)
for sample in log.samples:
    score = sample.scores["verified"]
    print(sample.id, score.value, score.explanation, score.metadata["receipt"]["verdict"])
