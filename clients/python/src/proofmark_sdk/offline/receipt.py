"""The format of VRF 1.0 receipts."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from .json import Json, JsonObject
from .members import Members, not_an_integer, receipt_id
from .number import MAX_COUNT
from .refused import Refused
from .text import shown

_VERDICTS = ("pass", "fail", "partial", "error")
_STATUSES = ("pass", "fail", "error")
_DECIDERS = ("verifier", "submission")
_SIGNATURE = ("algorithm", "signer_id", "content_hash", "signature")


@dataclass(frozen=True)
class Signature:
    """The member `signature` of a document. It is not verified."""

    algorithm: str
    signer_id: str
    content_hash: str
    signature: str


@dataclass(frozen=True)
class Receipt:
    id: str
    """In lower case."""
    document: JsonObject
    signature: Signature | None


def read_receipt(document: Json) -> Receipt:
    """Checks every rule of the format except the signature."""
    top = Members.top(document)
    version = top.string("vrf_version")
    if version != "1.0":
        raise Refused("unsupported_version", f"`vrf_version` is `{shown(version)}`, expected `1.0`")
    top.string("verdict")
    id = _read_id(top.string("receipt_id"))
    top.timestamp("verified_at")
    _check_tier(top)
    top.word("verdict", "verdict", _VERDICTS)
    task = top.optional_object("task")
    if task:
        for name in ("task_id", "task_type", "description"):
            task.optional_string(name)
    _check_results(top.object("results"))
    hashes = top.object("hashes")
    hashes.digest("specification")
    hashes.digest("output")
    hashes.optional_digest("tests")
    signature = top.optional_object("signature")
    read = read_signature(signature) if signature else None
    # Only its type is checked; what is in it is free.
    top.optional_object("metadata")
    return Receipt(id, top.members, read)


def read_signature(members: Members) -> Signature:
    """The `signature` object: its four members, and no other."""
    # No signature covers this object: anyone could add a member to a receipt that stays valid.
    members.only(_SIGNATURE)
    return Signature(*(members.string(name) for name in _SIGNATURE))


def check_verdict(document: JsonObject) -> None:
    """Checks that the verdict of a receipt that was read can be that of the counts.

    A project's tests can all pass and its command fail, so `fail` can have any, and `error` says nothing about the work.
    """
    top = Members.top(document)
    verdict = top.string("verdict")
    results = top.object("results")
    total, passed = results.count("total"), results.count("passed")
    agrees = {"pass": 0 < passed == total, "partial": 0 < passed < total}
    if not agrees.get(verdict, True):
        message = f"`verdict` is `{verdict}`, but `results` say that {passed} of {total} checks passed"
        raise Refused("verdict_mismatch", message)


def _read_id(text: str) -> str:
    id = receipt_id(text)
    if id is not None:
        return id
    help = "write it as in `f47ac10b-58cc-4372-a567-0e02b2c3d479`"
    raise Refused("invalid_receipt_id", f"`receipt_id`: `{shown(text)}` is not a UUID version 4", help=help)


def _check_tier(top: Members) -> None:
    tier = top.number("tier")
    if not tier.is_integer:
        raise not_an_integer("tier")
    if tier.count not in (0, 1, 2, 3):
        raise Refused("tier_out_of_range", f"`tier` is {shown(tier.text)}, expected 0, 1, 2 or 3")


def _check_results(results: Members) -> None:
    total, passed, failed, errors = (results.count(name) for name in ("total", "passed", "failed", "errors"))
    listed = Counter(_check_detail(detail) for detail in results.objects("details"))
    sum = passed + failed + errors
    if sum != total or sum > MAX_COUNT:
        parts = f"passed {passed}, failed {failed} and errors {errors} do not add up to it"
        raise Refused("total_mismatch", f"`results.total` is {total}, but {parts}")
    # Details may leave checks out, so fewer are fine.
    for status, counted in (("pass", passed), ("fail", failed), ("error", errors)):
        if listed[status] > counted:
            message = f"`results.details` lists {listed[status]} checks with status `{status}`, but the count says {counted}"
            raise Refused("details_mismatch", message)


def _check_detail(detail: Members) -> str:
    """Gives its status."""
    detail.string("status")
    detail.string("name")
    status = detail.word("status", "status", _STATUSES)
    detail.optional_string("expected")
    detail.optional_string("actual")
    detail.optional_count("elapsed_ms")
    detail.optional_string("message")
    detail.optional_string("constraint")
    detail.optional_word("decided", "decided", _DECIDERS)
    return status
