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
from .types import Acceptance, AnyReceipt, Attempt, DecisionReceipt, PlainRequest, Receipt, VerificationRequest

P = ParamSpec("P")
T = TypeVar("T")

MAX_WAITING = 1000
"""The decisions that are looked at for one that waits."""
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


def _needs_server(call: Callable[P, Operation[T]], instead: str) -> Callable[P, Command[T]]:
    """A method that only a server has: it has the signature of `call`, and raises `NotLocal`, which says what to do instead."""

    @functools.wraps(call)
    def refused(*args: P.args, **kwargs: P.kwargs) -> Command[T]:
        raise NotLocal(call.__name__, instead)

    refused.__doc__ = "Needs a server."
    return refused


submit = _needs_server(calls.submit, "use `verify`")
job = _needs_server(calls.job, "`verify` returns the receipt")
decision = _needs_server(calls.decision, "`proofmark decision show ID` shows it")
report = _needs_server(calls.report, "nothing compares executions with decisions here")
reviews = _needs_server(calls.reviews, "`proofmark decision list --waiting` lists them")
review = _needs_server(calls.review, "`proofmark decision approve ID` and `deny` sign with the key of a reviewer")
chain = _needs_server(calls.chain, "`proofmark receipt export --chain NAME` prints it")
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
    options = () if chain is None else ("--chain", chain)
    return Command(("verify", "-", "--json", *options), _receipt, canonical(request), here=True, wait=wait)


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
    number = ("--attempt", str(attempt["attempt"])) if "attempt" in attempt else ()
    options = ("--step", step, "--run", run, "--response", "-", "--json", *number)
    given = attempt["response"].encode()
    return Command(("workflow", "accept", *options), _document, given, files)


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
    arguments = ("decision", "list", "--waiting", "--since", decided_at, "--limit", str(MAX_WAITING), "--json")
    return Command(arguments, lambda ended: decision_id not in _waiting(ended))


def receipt(receipt_id: str) -> Command[AnyReceipt]:
    """A stored receipt."""
    if not _ID.fullmatch(receipt_id):
        raise ValueError(f"`{receipt_id}` is not the id of a receipt")
    return Command(("receipt", "export", receipt_id), lambda ended: cast(AnyReceipt, _receipt(ended)))


def _decision(request: PlainRequest, policy: str | None, read: Callable[[Ended], T]) -> Command[T]:
    return Command(("decide", "-", "--json"), read, canonical(request), decides=True, policy=policy)


def _decided(ended: Ended) -> bytes:
    """The decision receipt. The exit code of the binary must agree with the receipt."""
    document = _document(ended)
    if document.get("safe_to_execute") is not (ended.code == 0):
        raise ProofmarkError("malformed", f"the binary ended with {ended.code}, and its decision says something else")
    return ended.stdout


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


def _waiting(ended: Ended) -> set[str]:
    if ended.code != 0:
        raise ProofmarkError("failed", _message(ended.stderr), True)
    try:
        return {read_json(line)["decision_id"] for line in ended.stdout.splitlines() if line}
    except (ValueError, KeyError, TypeError):
        raise ProofmarkError("malformed", "the output of the binary is not a list of decisions", True) from None
