"""Chains: documents in order, each of which pins the one before it by its hash."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from .canonical import canonical
from .decision import claims_decision, read_decision
from .ed25519 import sha256
from .head import Head, read_head
from .json import MAX_BYTES, Json, JsonObject, parse
from .members import is_digest, receipt_id
from .number import JsonNumber, Profile
from .receipt import read_receipt
from .refused import Refused
from .session import session_entry_id
from .signer import TrustedSigner, signer_id, signer_key
from .text import Source, copied, shown, utf8
from .trust import Signers, Trust
from .verify import Answer, Verification, verify, verify_head

_WHITE_SPACE = b"\t\n\f\r "


@dataclass(frozen=True)
class LostEnd:
    """The end that a chain had."""

    position: int
    hash: str


@dataclass(frozen=True)
class Loss:
    """What a document states that the chain has lost."""

    id: str
    position: int
    """Where the document stands."""
    lost: LostEnd


@dataclass(frozen=True)
class Links:
    """Whether the documents follow one another."""

    answer: Literal["valid", "invalid", "undecidable"]
    """Whether every link holds."""
    cause: str | None
    """A stable code (docs/receipts.md): that of the first link that does not hold."""
    message: str | None
    """The cause, for people."""
    help: str | None
    """What to do about it."""
    losses: tuple[Loss, ...]
    """What documents of the chain state that it has lost."""


@dataclass(frozen=True)
class ChainVerification:
    answer: Answer
    """The worst of all parts; `valid` only if every document, every link and the head are."""
    trust: Trust
    """`trusted` only if every signer is."""
    links: Links
    length: int
    """The number of documents that can be part of a chain."""
    documents: tuple[Verification, ...]
    """In order."""
    head: Verification | None


@dataclass(frozen=True)
class Document:
    """One document of a file."""

    line: int | None
    """From 1, where there is one document on each line."""
    source: bytes


def verify_chain(
    sources: Iterable[Source],
    *,
    head: Source | None = None,
    trusted: Iterable[TrustedSigner] | None = None,
    profile: Profile = "vrf",
) -> ChainVerification:
    """Verifies documents, in this order, as one complete chain: each of them, each link, and the head if there is one.

    `head` is the signed head of the chain, which shows whether its end is missing. Raises as `verify` does.
    """
    if isinstance(sources, (str, bytes, bytearray, memoryview)):
        raise TypeError("`sources` is a list of documents: `split_documents` reads those of a file")
    trusted = None if trusted is None else list(trusted)
    signers = Signers(trusted)
    chain = Chain()
    documents = []
    for source in sources:
        verification = verify(source, trusted=trusted, profile=profile)
        # A document that is not a receipt leaves a gap in the chain.
        chain.add(verification.document)
        documents.append(verification)
    verified_head = None if head is None else verify_head(head, trusted=trusted)
    links = _links(chain, _readable(verified_head), signers)
    parts = [*documents, *([] if verified_head is None else [verified_head])]
    answer = _worst([*(part.answer for part in parts), links.answer])
    return ChainVerification(answer, _least(parts), links, chain.length, tuple(documents), verified_head)


def split_documents(source: Source) -> list[Document]:
    """The documents of a file: one, or one on each line."""
    data = utf8(source) if isinstance(source, str) else copied(source)
    if len(data) <= MAX_BYTES and not _has_several(data):
        return [Document(None, data)]
    return [document for number, line in enumerate(data.split(b"\n"), 1) for document in on_line(number, line)]


def on_line(number: int, line: bytes) -> list[Document]:
    """The document on a line of a file of several; none on one of white space."""
    return [Document(number, line)] if len(line) > MAX_BYTES or line.strip(_WHITE_SPACE) else []


def _has_several(data: bytes) -> bool:
    try:
        parse(data)
    except Refused as error:
        # With any other error it is one document, of which that error is reported.
        return error.code == "trailing_data"
    return False


def _readable(head: Verification | None) -> Head | None:
    try:
        return None if head is None else read_head(head.document)
    except Refused:
        return None


def _links(chain: Chain, head: Head | None, signers: Signers) -> Links:
    broken = chain.finish(head, signers.ids(head.document["signed_at"]) if head else [])
    if broken is None:
        return Links("valid", None, None, None, tuple(chain.losses))
    return Links(broken.answer, broken.code, broken.message, broken.help, tuple(chain.losses))


def _worst(answers: list[Answer]) -> Answer:
    if "undecidable" in answers:
        return "undecidable"
    return "invalid" if "invalid" in answers else "valid"


def _least(parts: list[Verification]) -> Trust:
    trusts = {part.trust for part in parts}
    if "untrusted" in trusts:
        return "untrusted"
    return "trusted" if trusts == {"trusted"} else "unknown"


@dataclass(frozen=True)
class _Tip:
    """The last document of a chain so far."""

    id: str
    hash: str
    position: int


class Chain:
    """The links of a chain whose documents come one after another. Signatures are not looked at."""

    def __init__(self) -> None:
        self.length = 0
        self.losses: list[Loss] = []
        self._last: _Tip | None = None
        # The signer of all documents so far; None where one is unsigned or another signed it.
        self._signer: str | None = None
        self._broken: Refused | None = None

    def add(self, document: Json) -> None:
        """Adds the next document, if it can be part of a chain.

        After one that does not continue the chain, the rest changes nothing.
        """
        id = _link_id(document) if isinstance(document, dict) else None
        if not isinstance(document, dict) or id is None:
            return
        self.length += 1
        if self._broken is None:
            try:
                self._append(id, document)
            except Refused as error:
                self._broken = error

    def finish(self, head: Head | None, trusted: Sequence[str]) -> Refused | None:
        """The first link that does not hold, up to the head if there is one.

        `trusted` are the ids of signers whose heads count for any chain.
        """
        return self._broken or self._end(head, trusted)

    def _append(self, id: str, document: JsonObject) -> None:
        position = _chain_position(document)
        if position is None:
            raise _refused("unlinked", f"receipt {id} has no `metadata.chain_position`, so it belongs to no chain")
        if self._last:
            _check_follows(document, id, position, self._last)
        else:
            _check_starts(document, id, position)
        lost = _lost_end(document, id)
        if lost:
            self.losses.append(Loss(id, position, lost))
        signer = _named_signer(document)
        self._signer = signer if self._last is None or self._signer == signer else None
        self._last = _Tip(id, sha256(canonical(document)), position)

    def _end(self, head: Head | None, trusted: Sequence[str]) -> Refused | None:
        # Nothing to verify is not a valid chain: an export that failed would pass as one.
        if self._last is None:
            return _refused("empty_chain", "there are no receipts", "give the receipts of the chain in order")
        if head is None:
            return None
        signer = _named_signer(head.document)
        # Anyone can sign a head for a chain cut off anywhere, so only the signer of all receipts counts, or a trusted one.
        if signer is None or (signer != self._signer and signer not in trusted):
            named = shown(head.signature.signer_id)
            message = f"the head is signed by {named}, who did not sign every receipt of the chain and is not trusted"
            return _refused("untrusted_head", message, "trust that key if the head is its issuer's")
        found = self._last.position + 1
        # Before the tips are compared: they differ in a truncated chain, too.
        if found < head.length:
            message = f"the signed head says {head.length} receipts and there are {found}: the end of the chain is missing"
            return _refused("truncated", message)
        if found == head.length and self._last.hash == head.tip:
            return None
        message = f"the signed head is of another chain: it pins {head.length} receipts ending in {head.tip}"
        return _refused("other_head", message)


def _link_id(document: JsonObject) -> str | None:
    """The id of a document that can be part of a chain; None for others."""
    try:
        return read_receipt(document).id
    except Refused:
        pass
    try:
        if claims_decision(document):
            return read_decision(document)
    except Refused:
        pass
    return session_entry_id(document)


def _check_starts(document: JsonObject, id: str, position: int) -> None:
    metadata = _metadata_of(document)
    # `null` counts as present: a field without a value is absent.
    if position == 0 and "previous_receipt" not in metadata and "previous_receipt_hash" not in metadata:
        return
    due = "a chain begins at 0 without a predecessor"
    raise _refused("wrong_first_position", f"the first receipt, {id}, has position {position}: {due}")


def _check_follows(document: JsonObject, id: str, position: int, last: _Tip) -> None:
    after = last.position
    if position == after:
        raise _refused("fork", f"receipts {last.id} and {id} both have position {position}: the chain forks")
    if position < after:
        message = f"receipt {id} with position {position} comes after position {after}: the receipts are out of order"
        raise _refused("reordered", message)
    if position != after + 1:
        raise _refused("gap", f"position {after + 1} is missing: receipt {id} has position {position}")
    metadata = _metadata_of(document)
    hash, previous = metadata.get("previous_receipt_hash"), metadata.get("previous_receipt")
    # An id does not fix the content of the predecessor; its hash does.
    if not isinstance(hash, str):
        raise _refused("unpinned", f"receipt {id} has no `metadata.previous_receipt_hash`: an id alone pins nothing")
    if hash != last.hash or not isinstance(previous, str) or receipt_id(previous) != last.id:
        message = f"receipt {id} pins another predecessor than {last.id}, the one before it: that one was replaced or changed"
        raise _refused("swapped_predecessor", message)


def _lost_end(document: JsonObject, id: str) -> LostEnd | None:
    """The end that the document states the chain has lost."""
    metadata = _metadata_of(document)
    if "chain_loss" not in metadata:
        return None
    loss = metadata["chain_loss"]
    position, hash = (loss.get("position"), loss.get("hash")) if isinstance(loss, dict) else (None, None)
    count = position.count if isinstance(position, JsonNumber) else None
    if count is not None and isinstance(hash, str) and is_digest(hash):
        return LostEnd(count, hash)
    message = f"receipt {id} has a `metadata.chain_loss` without a position or a hash, so what was lost is not known"
    raise _refused("unreadable_loss", message)


def _refused(code: str, message: str, help: str | None = None) -> Refused:
    return Refused(code, message, help=help, answer="invalid")


def _metadata_of(document: JsonObject) -> JsonObject:
    metadata = document.get("metadata")
    return metadata if isinstance(metadata, dict) else {}


def _chain_position(document: JsonObject) -> int | None:
    position = _metadata_of(document).get("chain_position")
    return position.count if isinstance(position, JsonNumber) else None


def _named_signer(document: JsonObject) -> str | None:
    """The signer that `signature` names, not verified."""
    signature = document.get("signature")
    named = signature.get("signer_id") if isinstance(signature, dict) else None
    try:
        return signer_id(signer_key(named)) if isinstance(named, str) else None
    except Refused:
        return None
