"""Inspect: an approver of tool calls, and a scorer that verifies what a model wrote."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from inspect_ai.approval import Approval, Approver, approver
from inspect_ai.model import ChatMessage
from inspect_ai.scorer import CORRECT, INCORRECT, PARTIAL, Score, Scorer, Target, accuracy, scorer, stderr
from inspect_ai.solver import TaskState
from inspect_ai.tool import ToolCall, ToolCallView

from ..client import AsyncClient
from ..documents import digest_of_bytes
from ..errors import ProofmarkError
from ..guard import Guard
from ..local import AsyncLocal
from ..not_allowed import NeedsReview, NotAllowed, Terminal, Upstream

VALUES = {"pass": CORRECT, "partial": PARTIAL, "fail": INCORRECT}
"""The value of each verdict. `error` has none: the work could not be judged."""


@approver(name="proofmark")
def guard_approver(guard: Guard) -> Approver:
    """Asks `guard` before each tool call: `ApprovalPolicy(guard_approver(guard), "*")`.

    A call that needs a review is escalated to the approver behind this one, or rejected where there is none. `Upstream` and
    `Terminal` end the sample. Inspect does not say how a call ended, so no execution is reported.
    """

    async def approve(message: str, call: ToolCall, view: ToolCallView, history: list[ChatMessage]) -> Approval:
        asked = replace(call)
        try:
            decision = await guard.acheck(asked.function, asked.arguments, call_id=asked.id)
        except (Upstream, Terminal) as error:
            return Approval(decision="terminate", explanation=str(error))
        except NeedsReview as error:
            return Approval(decision="escalate", explanation=str(error))
        except NotAllowed as error:
            return Approval(decision="reject", explanation=str(error))
        # The call itself may have been changed meanwhile.
        decided = replace(asked, arguments=decision.args)
        return Approval(decision="modify", modified=decided, explanation=f"decision {decision.id}")

    return approve


@scorer(metrics=[accuracy(), stderr()])
def verified(
    client: AsyncClient | AsyncLocal,
    request: Mapping[str, Any] | Callable[[TaskState, Target], Mapping[str, Any]],
    answer: Callable[[TaskState], str] = lambda state: state.output.completion,
) -> Scorer:
    """Scores by the verdict on `answer`, with the receipt in the metadata.

    `request` is a request of `proofmark verify` without `output`, or a function that returns one for a sample. A receipt that is
    about another output is no score: it raises `ProofmarkError` with the code `wrong_answer`. The signature of the receipt is not
    verified.
    """

    async def score(state: TaskState, target: Target) -> Score:
        asked = request(state, target) if callable(request) else request
        work = answer(state)
        whole: Any = {**asked, "output": {"content": work}}
        receipt: Any = await client.verify(whole)
        hashes = receipt["hashes"]
        if not isinstance(hashes, dict) or hashes.get("output") != digest_of_bytes(work.encode()):
            raise ProofmarkError("wrong_answer", "the receipt is about another output than the one that was sent")
        results = receipt["results"]
        said = f"{results['passed']} of {results['total']} checks passed"
        metadata = {"receipt": receipt}
        if receipt["verdict"] not in VALUES:
            return Score.unscored(reason="scoring_failed", answer=work, explanation=said, metadata=metadata)
        return Score(value=VALUES[receipt["verdict"]], answer=work, explanation=said, metadata=metadata)

    return score
