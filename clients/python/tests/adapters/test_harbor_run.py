"""The verifier of a Harbor task, in trials that Harbor itself runs."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

# `harbor` alone can be the folder among the examples.
pytest.importorskip("harbor.environments.base", reason="`harbor` is not installed, which needs Python 3.12")

from adapters.harbor_host import entered, made
from conftest import run

EXAMPLE = Path(__file__).parents[2] / "examples/harbor"

SHARED = ""
# What the script says about a verifier in an environment of its own.
SEPARATE = 'artifacts = ["/app/solution.py"]\n[verifier]\nenvironment_mode = "separate"\n'

GOOD = "printf 'def sort_list(xs):\\n    return sorted(xs)\\n' > /app/solution.py\n"
PARTIAL = "printf 'def sort_list(xs):\\n    return xs\\n' > /app/solution.py\n"
FORGED = """
echo 1 > /logs/verifier/reward.txt
echo '{"reward": 1}' > /logs/verifier/reward.json
"""
FORGES = """
cat > /app/solution.py <<'END'
def sort_list(xs):
    for name, text in (("reward.txt", "1"), ("reward.json", '{"reward": 1}')):
        try:
            open("/logs/verifier/" + name, "w").write(text)
        except OSError:
            pass
    return xs
END
"""
REPLACED = "rm /programs/proofmark\nprintf '#!/bin/sh\\n' > /programs/proofmark\nchmod +x /programs/proofmark\n"
# It is not only removed: then another one of this host could be found.
BROKEN = REPLACED.replace("/bin/sh", "/none")
NO_REWARD = "RewardFileNotFoundError"
"""The error of Harbor where the verifier wrote no reward."""

TRIALS: dict[str, tuple[str, str, int | str]] = {
    "good": (SHARED, GOOD, 1),
    "good-separate": (SEPARATE, GOOD, 1),
    "partial": (SHARED, PARTIAL, 0),
    "partial-separate": (SEPARATE, PARTIAL, 0),
    "ends": (SHARED, "printf 'import os\\nos._exit(0)\\n' > /app/solution.py\n", 0),
    "nothing": (SHARED, "true\n", 0),
    "nothing-separate": (SEPARATE, "true\n", 0),
    "link": (SHARED, "ln -s /tests/suite.yaml /app/solution.py\n", 0),
    "forged": (SHARED, PARTIAL + FORGED, 0),
    "forged-separate": (SEPARATE, PARTIAL + FORGED, 0),
    "forges": (SHARED, FORGES, 0),
    "broken-program": (SHARED, GOOD + FORGED + BROKEN, NO_REWARD),
    "broken-suite": (SHARED, GOOD + FORGED, NO_REWARD),
    # So the script advises an environment of its own.
    "replaced": (SHARED, PARTIAL + REPLACED, 1),
    "replaced-separate": (SEPARATE, PARTIAL + REPLACED, 0),
}
"""The settings of a task, what its agent does, and the reward, or the error."""


def task(folder: Path, settings: str, does: str) -> None:
    shutil.copytree(EXAMPLE, folder)
    (folder / "environment").mkdir()
    (folder / "solution").mkdir()
    (folder / "instruction.md").write_text("Sort a list.\n")
    (folder / "solution/solve.sh").write_text(f"#!/bin/bash\n{does}")
    (folder / "task.toml").write_text(settings)


@pytest.fixture(scope="module")
def trials(binary: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The folders of the trials. All are of one job, because Harbor takes seconds to start."""
    folder = tmp_path_factory.mktemp("harbor")
    tried = subprocess.run([*entered(made(folder / "root")), "true"], capture_output=True, text=True)
    if tried.returncode != 0:
        pytest.skip(f"no root with mounts can be made here: {tried.stderr.strip()}")
    for name, (settings, does, _) in TRIALS.items():
        task(folder / "tasks" / name, settings, does)
    (folder / "tasks/broken-suite/tests/suite.yaml").write_text("task: {}\n")
    env = {**os.environ, "HARBOR_TELEMETRY": "off", "HOME": str(folder), "PROOFMARK_BINARY": os.path.abspath(binary)}
    env["PYTHONPATH"] = f"{Path(__file__).parents[1]}:{os.environ.get('PYTHONPATH', '')}"
    # The agent `oracle` runs the `solve.sh` of the task.
    options = ["--path", "tasks", "--agent", "oracle", "--environment-import-path", "adapters.harbor_host:Host"]
    options += ["--jobs-dir", "jobs", "--job-name", "job", "--yes"]
    command = [str(Path(sys.executable).with_name("harbor")), "run", *options]
    done = subprocess.run(command, env=env, cwd=folder, capture_output=True, text=True, timeout=300)
    results = folder.glob("jobs/job/*/result.json")
    found = {json.loads(result.read_text())["task_name"]: result.parent for result in results}
    assert set(found) == set(TRIALS), done.stdout + done.stderr
    return found


@pytest.mark.parametrize("name", TRIALS)
def test_the_reward_of_a_trial_is_the_verdict(trials: dict[str, Path], name: str) -> None:
    reward = TRIALS[name][2]
    result = json.loads((trials[name] / "result.json").read_text())
    error, verified = result["exception_info"], result["verifier_result"]
    if isinstance(reward, str):
        assert verified is None
        assert error["exception_type"] == reward
    else:
        assert error is None
        assert verified["rewards"] == {"reward": reward}


@pytest.mark.parametrize(("name", "verdict"), [("good", "pass"), ("partial-separate", "partial")])
def test_the_receipt_is_with_the_reward(trials: dict[str, Path], binary: str, tmp_path: Path, name: str, verdict: str) -> None:
    receipt = trials[name] / "verifier/receipt.json"
    assert json.loads(receipt.read_text())["verdict"] == verdict
    assert run(binary, tmp_path, "receipt", "verify", str(receipt)).startswith("valid")
