"""An evaluator of ACP jobs that runs the buyer's tests instead of reading the provider's prose.

Hand `on_evaluate` to the client of the package `virtuals-acp`:

    VirtualsACP(acp_contract_clients=client, on_evaluate=on_evaluate)

Without a handler the package approves every delivery by itself.
"""

import json
import logging
import os
import subprocess

PROOFMARK = os.environ.get("PROOFMARK", "proofmark")


def evaluation(job):
    """What Proofmark answers about the delivery of a job; None where it cannot be asked."""
    document = {"job_id": job.id, "requirements": job.requirement, "deliverable": job.get_deliverable()}
    done = subprocess.run(
        [PROOFMARK, "acp", "evaluate", "-", "--json"], input=json.dumps(document).encode(), capture_output=True
    )
    if not done.stdout:
        logging.error("job %s: %s", job.id, done.stderr.decode(errors="replace").strip())
        return None
    return json.loads(done.stdout)


def on_evaluate(job):
    """Signs an approval or a refusal, and nothing at all where nothing was judged."""
    answer = evaluation(job)
    if answer is None or answer["approved"] is None:
        logging.error("job %s is not judged: %s", job.id, answer["why"] if answer else "no answer")
        return
    job.evaluate(answer["approved"], answer["reason"])
