"""Requests to the binary in local mode: the methods of `calls`, as commands."""

from __future__ import annotations

import contextlib
import functools
import os
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ParamSpec, TypeVar, cast

from . import calls
from .documents import Json, canonical, read_json
from .errors import NotLocal, ProofmarkError
from .operation import Operation
from .process import Ended
from .types import (
    Acceptance,
    AnyReceipt,
    Attempt,
    ChainPage,
    DecisionEntry,
    DecisionPage,
    DecisionReceipt,
    PlainRequest,
    Receipt,
    Reported,
    Reviewed,
    ReviewRequest,
    VerificationRequest,
)

P = ParamSpec("P")
T = TypeVar("T")

MAX_WAITING = 1000
"""How many waiting decisions one answer has at most, and among how many a decision is looked for."""
_ID = re.compile(r"[0-9a-fA-F-]{36}")


@dataclass(frozen=True)
class Command(Operation[T]):
    """Arguments of the binary, and how its output is read."""

    arguments: tuple[str, ...]
    read: Callable[[Ended], T]
    given: bytes = b""
    files: Mapping[str, bytes] | None = None
    """Files for options: the option, and what its file holds."""
    decides: bool = False
    """Whether it needs an action policy."""
    policy: str | None = None
    """The action policy in place of that of `Local`."""
    reviews: bool = False
    """Whether it needs the key of a reviewer."""
    here: bool = False
    """Whether paths in what is given are those of the current folder. Others run in a folder without an agent's files."""
    wait: float = 0

    @contextlib.contextmanager
    def argv(self) -> Iterator[list[str]]:
        """The arguments, while the files exist."""
        if not self.files:
            yield list(self.arguments)
            return
        with tempfile.TemporaryDirectory(prefix="proofmark-") as folder:
            options: list[str] = []
            for at, (option, content) in enumerate(self.files.items()):
                # JSON is a part of YAML.
                path = os.path.join(folder, f"{at}.{'json' if option else 'yaml'}")
                with open(path, "xb") as file:
                    file.write(content)
                options += [option, path] if option else [path]
            yield [*self.arguments, *options]


class LocalDecision(DecisionEntry):
    """A stored decision in local mode, where `reviews` is empty."""

    waits: bool
    """Whether it waits for a review."""


@dataclass(frozen=True)
class Steps(Operation[T]):
    """A command, and what is carried out next with its answer."""

    first: Command[Any]
    then: Callable[[Any], Operation[T]]


@dataclass(frozen=True)
class Known(Operation[T]):
    """An answer that needs no command."""

    answer: T


def _needs_server(call: Callable[P, Operation[T]], instead: str) -> Callable[P, Command[T]]:
    """A method that only a server has: it has the signature of `call`, and raises `NotLocal`, which says what to do instead."""

    @functools.wraps(call)
    def refused(*args: P.args, **kwargs: P.kwargs) -> Command[T]:
        raise NotLocal(call.__name__, instead)

    refused.__doc__ = "Needs a server."
    return refused


submit = _needs_server(calls.submit, "use `verify`")
job = _needs_server(calls.job, "`verify` returns the receipt")
redeem = _needs_server(calls.redeem, "only a server knows who comes first")


def verify(
    request: VerificationRequest,
    *,
    wait: int = 60,
    chain: str | None = None,
    idempotency_key: str | None = None,
) -> Command[Receipt]:
    """Runs a request, and returns its receipt. A `fail` is an answer, too."""
    if idempotency_key is not None:
        raise NotLocal("verify(idempotency_key=…)", "each call runs the request")
    return Command(("verify", "-", "--json", *_options(chain=chain)), _receipt, canonical(request), here=True, wait=wait)


def accept(run: str, step: str, attempt: Attempt, *, begun_by: str | None = None) -> Command[Acceptance]:
    """Judges an attempt at a workflow step."""
    if begun_by is not None:
        raise NotLocal("accept(begun_by=…)", "local runs have no owners")
    if "receipts" in attempt:
        raise NotLocal("accept with `receipts`", "store them first")
    workflow = attempt["workflow"]
    files = {"": workflow.encode() if isinstance(workflow, str) else canonical(workflow)}
    if "trace" in attempt:
        files["--trace"] = canonical(attempt["trace"])
    if "context" in attempt:
        files["--context"] = canonical(attempt["context"])
    options = _options(step=step, run=run, attempt=attempt.get("attempt"))
    given = attempt["response"].encode()
    return Command(("workflow", "accept", "--response=-", "--json", *options), _document, given, files)


def decide(request: PlainRequest, *, policy: str | None = None, idempotency_key: str | None = None) -> Command[DecisionReceipt]:
    """Decides on an action, by the policy of `Local` or the file `policy`. Each call makes a new decision."""
    if idempotency_key is not None:
        raise NotLocal("decide(idempotency_key=…)", "each call makes a decision")
    return _decision(request, policy, lambda ended: cast(DecisionReceipt, read_json(_decided(ended))))


def ask(request: PlainRequest, policy: str | None) -> Command[bytes]:
    """As `decide`, with the document as it came."""
    return _decision(request, policy, _decided)


def reviewed(decision_id: str, decided_at: str) -> Command[bool]:
    """Whether the decision has stopped waiting for a person."""
    return _waiting(lambda waiting: decision_id not in {one["decision_id"] for one in waiting}, since=decided_at)


def decision(decision_id: str) -> Steps[LocalDecision]:
    """A decision, and whether it waits for a review. Its reviews are not listed."""

    def with_waiting(receipt: DecisionReceipt) -> Command[LocalDecision]:
        # The newest decision on an action is the one that waits.
        def read(waiting: list[DecisionReceipt]) -> LocalDecision:
            return {**_entry(receipt), "waits": any(_action(one) == _action(receipt) for one in waiting)}

        return _waiting(read, since=receipt["binding"]["decided_at"])

    return Steps(Command(("decision", "show", "--json", _id(decision_id)), _decision_receipt), with_waiting)


def report(
    decision_id: str,
    *,
    executed: bool,
    args: Json = None,
    error: str | None = None,
    idempotency_key: str | None = None,
) -> Known[Reported]:
    """Does nothing: only a server compares executions with decisions."""
    return Known({"accepted": False, "findings": []})


def reviews(
    *,
    whose: str | None = None,
    environment: str | None = None,
    amount: float | None = None,
    since: str | None = None,
    until: str | None = None,
    limit: int | None = None,
    after: str | None = None,
) -> Command[DecisionPage]:
    """The decisions that wait for a review, at most 1,000, newest first, without their facts."""
    if whose not in (None, "all"):
        raise NotLocal("reviews(whose=…)", "`proofmark decision list --mine --key KEY` lists those that a key can review")
    if after is not None:
        raise NotLocal("reviews(after=…)", "one answer has all of them, up to `limit`")

    def read(waiting: list[DecisionReceipt]) -> DecisionPage:
        return {"decisions": [_entry(receipt) for receipt in waiting], "next": None}

    return _waiting(read, limit=limit, environment=environment, amount=amount, since=since, until=until)


def review(decision_id: str, review: ReviewRequest) -> Command[Reviewed]:
    """Approves or denies the action of a decision, with the `key` of `Local`."""
    for name in ("scope", "shown", "passkey"):
        if name in review:
            raise NotLocal(f"review with `{name}`", "`proofmark decision approve --help` says what there is")
    verdict = review["verdict"]
    if verdict not in ("approve", "deny"):
        raise ValueError(f"`verdict` is `{verdict}`, and it is `approve` or `deny`")
    expires = f"{review['expires_in']}s" if "expires_in" in review else None
    options = _options(note=review["note"], role=review.get("role"), expires=expires)
    read = _approved if verdict == "approve" else _denied
    return Command(("decision", verdict, "--yes", "--json", *options, _id(decision_id)), read, reviews=True)


def receipt(receipt_id: str) -> Command[AnyReceipt]:
    """A stored receipt."""
    return Command(("receipt", "export", _id(receipt_id)), lambda ended: cast(AnyReceipt, _receipt(ended)))


def chain(name: str) -> Steps[ChainPage]:
    """The receipts of the chain with this name, first to last, and the signed head of the chain."""
    of = _options(chain=name)

    def with_head(receipts: list[AnyReceipt]) -> Command[ChainPage]:
        def read(ended: Ended) -> ChainPage:
            return {"chain": name, "head": _document(ended), "receipts": receipts, "next": None}

        return Command(("receipt", "head", *of), read)

    return Steps(Command(("receipt", "export", *of), _lines), with_head)


def _decision(request: PlainRequest, policy: str | None, read: Callable[[Ended], T]) -> Command[T]:
    return Command(("decide", "-", "--json"), read, canonical(request), decides=True, policy=policy)


def _waiting(read: Callable[[list[DecisionReceipt]], T], *, limit: int | None = None, **filters: Any) -> Command[T]:
    options = _options(limit=MAX_WAITING if limit is None else limit, **filters)

    def listed(ended: Ended) -> T:
        try:
            return read(_lines(ended))
        except ProofmarkError as error:
            # What waits still waits, so whoever waits for a review asks again.
            raise ProofmarkError(error.code, error.message, True) from None
        except (KeyError, TypeError):
            raise ProofmarkError("malformed", "the output of the binary is not a list of decisions", True) from None

    return Command(("decision", "list", "--waiting", "--json", *options), listed)


def _options(**named: Any) -> tuple[str, ...]:
    """Options as single words, so that no value is taken for an option."""
    return tuple(f"--{name}={value}" for name, value in named.items() if value is not None)


def _id(text: str) -> str:
    """A whole id. Commands also take files, and the first digits of an id."""
    if not _ID.fullmatch(text):
        raise ValueError(f"`{text}` is not an id")
    return text


def _decided(ended: Ended) -> bytes:
    """The decision receipt. The exit code of the binary must agree with the receipt."""
    document = _document(ended)
    if document.get("safe_to_execute") is not (ended.code == 0):
        raise ProofmarkError("malformed", f"the binary ended with {ended.code}, and its decision says something else")
    return ended.stdout


def _decision_receipt(ended: Ended) -> DecisionReceipt:
    document = _document(ended)
    if "decision_id" not in document:
        raise ProofmarkError("malformed", "the output of the binary is not a decision")
    return cast(DecisionReceipt, document)


def _entry(receipt: DecisionReceipt) -> DecisionEntry:
    """What a receipt says of its decision. The binary prints neither the action, nor facts, nor reviews."""
    return {
        "decision_id": receipt["decision_id"],
        "decided_at": receipt["binding"]["decided_at"],
        "outcome": receipt["outcome"],
        "mode": receipt["disposition"]["mode"],
        "action_class": receipt["action_class"],
        "agent": receipt["binding"]["agent"],
        "action": None,
        "facts": None,
        "reviews": [],
        "receipt": receipt,
    }


def _action(receipt: DecisionReceipt) -> tuple[Any, ...]:
    """What a review is on: an action of an agent in an environment."""
    binding = receipt["binding"]
    return binding["action_hash"], binding["agent"], binding["environment"]


def _approved(ended: Ended) -> Reviewed:
    approval = _receipt(ended)
    said = approval["metadata"]["approval"]
    return {
        "decision_id": said["decision_id"],
        "verdict": "approved",
        "reviewer": said["reviewer"]["id"],
        "role": said["role"],
        "note": said["note"],
        "reviewed_at": approval["verified_at"],
        "until": said["expires_at"],
        "approval": approval,
    }


def _denied(ended: Ended) -> Reviewed:
    return cast(Reviewed, {**_document(ended), "role": None, "approval": None})


def _receipt(ended: Ended) -> Receipt:
    document = _document(ended)
    if "vrf_version" not in document or "receipt_id" not in document:
        raise ProofmarkError("malformed", "the output of the binary is not a receipt")
    return cast(Receipt, document)


def _document(ended: Ended) -> Any:
    """The object that the binary printed. Raises `ProofmarkError` for the error that it printed."""
    if not ended.stdout.strip():
        raise _refused(ended)
    try:
        document = read_json(ended.stdout)
    except ValueError as error:
        raise ProofmarkError("malformed", f"the output of the binary is not JSON: {error}") from None
    if not isinstance(document, dict):
        raise ProofmarkError("malformed", "the output of the binary is not an object")
    if "error" in document or ended.code not in (0, 1, 2):
        raise _error(document, ended)
    return document


def _refused(ended: Ended) -> ProofmarkError:
    """The error that the binary wrote in place of an answer: as JSON, or as text."""
    last = ended.stderr.strip().rpartition(b"\n")[2]
    try:
        document = read_json(last)
    except ValueError:
        document = None
    if isinstance(document, dict) and "error" in document:
        return _error(document, ended)
    return ProofmarkError("failed", _message(ended.stderr) or f"the binary ended with {ended.code}, without a message")


def _error(document: dict[str, Json], ended: Ended) -> ProofmarkError:
    message, code = document.get("error"), document.get("code", "failed")
    if not isinstance(message, str) or not isinstance(code, str):
        return ProofmarkError("failed", f"the binary ended with {ended.code}")
    help = document.get("help")
    return ProofmarkError(code, f"{message}: {help}" if isinstance(help, str) else message)


def _message(stderr: bytes) -> str:
    return stderr.decode(errors="replace").strip().removeprefix("error: ")[:2000]


def _lines(ended: Ended) -> list[Any]:
    """The documents that the binary printed, one per line."""
    if ended.code != 0:
        raise _refused(ended)
    try:
        return [read_json(line) for line in ended.stdout.splitlines() if line]
    except ValueError:
        raise ProofmarkError("malformed", "the output of the binary is not JSON") from None
