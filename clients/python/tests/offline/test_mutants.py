"""Documents and chains that were changed at random are judged as the binary and the package for JavaScript judge them."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path
from typing import Any

import pytest

from proofmark_sdk.offline import PROFILES, Profile, canonical, parse, split_documents, to_text, verify, verify_chain
from proofmark_sdk.offline.ed25519 import sha256
from proofmark_sdk.offline.unseen import _SEEN_SINCE

from .data import all_vectors, cases_of, conformance, has_conformance
from .mutants import Dice, Key, change, dice, known_keys, mutant, sign, unsigned_document
from .others import lines, said_by_binary, said_by_javascript
from .suites import as_printed

# Another number in each run; the same one again finds the same mutants.
SEED = int(os.environ.get("PROOFMARK_SEED") or random.randrange(1_000_000_000))
MUTANTS = int(os.environ.get("PROOFMARK_MUTANTS") or 1000)
OTHER_PROFILES = MUTANTS // 6
CHAINS = 60
KEYS = known_keys()


def wrong(folder: Path, documents: list[bytes], profile: Profile) -> tuple[list[str], set[str]]:
    """The documents of which the binary or the package for JavaScript says something else, and all causes."""
    trusted = KEYS[0].id
    by_binary = said_by_binary(folder, documents, profile, trusted)
    parts = [(number, part.line, part.source) for number, document in enumerate(documents) for part in split_documents(document)]
    names = [f"./{number}" if line is None else f"./{number}:{line}" for number, line, _ in parts]
    assert names == list(by_binary), "a file is split otherwise"
    found = [as_printed(verify(source, trusted=[trusted], profile=profile)) for _, _, source in parts]
    by_javascript = said_by_javascript([source for _, _, source in parts], profile, trusted)
    differences = [
        f"{name} under {profile} by {who}:\n  {ours}\n  {theirs}"
        for who, others in (("the binary", by_binary.values()), ("JavaScript", by_javascript))
        for name, ours, theirs in zip(names, found, others, strict=True)
        if ours != theirs
    ]
    return differences, {one.get("cause", one["trust"]) for one in found}


@pytest.mark.parametrize("profile", PROFILES)
def test_mutants(profile: Profile, tmp_path: Path) -> None:
    count = MUTANTS if profile == "vrf" else OTHER_PROFILES
    documents = [mutant(SEED, number, KEYS) for number in range(count)]
    differences, causes = wrong(tmp_path, documents, profile)
    assert differences == [], f"PROOFMARK_SEED={SEED}"
    assert profile != "vrf" or len(causes) >= 25, f"too few causes: {causes}"


@pytest.mark.parametrize("profile", PROFILES)
def test_every_document_of_the_vectors_and_of_other_projects(profile: Profile, tmp_path: Path) -> None:
    cases = [one for _, data in all_vectors() for one in data["cases"]]
    members = ("text", "receipt", "document", "head")
    texts = [one[name] for one in cases for name in members if name in one]
    texts += [text for one in cases for name in ("receipts", "documents") for text in one.get(name, ())]
    binary = [bytes.fromhex(one[name]) for one in cases for name in ("hex", "receipt_hex") if name in one]
    outside = [data for _, data in conformance("json-parsing")] if has_conformance("json-parsing") else []
    differences, _ = wrong(tmp_path, [*(text.encode() for text in texts), *binary, *outside], profile)
    assert differences == []


def test_chains(tmp_path: Path) -> None:
    causes = set()
    for number in range(CHAINS):
        documents, head = changed_chain(dice(SEED + number * 104729))
        text = "\n".join(documents).encode()
        (tmp_path / "chain").write_bytes(text)
        (tmp_path / "head").write_text(head, "utf-8")
        with_head = number % 3 > 0
        said = lines(tmp_path, "./chain", "--as-chain", "--trust", KEYS[0].id, *(["--head", "./head"] if with_head else []))
        found = verify_chain([one.source for one in split_documents(text)], head=head if with_head else None, trusted=[KEYS[0].id])
        links = found.links
        line = {"chain": True, "length": found.length, "answer": links.answer}
        line |= {name: value for name in ("cause", "message", "help") if (value := getattr(links, name)) is not None}
        parts = [as_printed(part) for part in (*found.documents, *filter(None, [found.head]))]
        theirs = [{name: value for name, value in one.items() if name != "source"} for one in said]
        assert [*parts, line] == theirs, f"chain {number} with PROOFMARK_SEED={SEED}"
        assert (found.answer == "valid") == all(one["answer"] == "valid" for one in theirs)
        causes.add(links.cause)
    assert len(causes) >= 7, f"too few causes: {causes}"


def changed_chain(roll: Dice) -> tuple[list[str], str]:
    """A chain with at most two changes, and a head."""
    kind, length = roll(4), 1 + roll(5)
    documents: list[str] = []
    link: dict[str, Any] = {}
    for position in range(length):
        id = f"00000000-0000-4000-8000-{position:012}"
        metadata = {"chain_position": position, **link, **odd(roll, position)}
        document = unsigned_document(roll(3) if kind == 3 else kind, id, metadata, KEYS[0].id)
        documents.append(to_text(sign(document, KEYS[0])))
        link = {"previous_receipt": id, "previous_receipt_hash": sha256(canonical(document))}
    head = signed_head(roll, length, sha256(canonical(parse(documents[-1]))), KEYS[0 if roll(8) else 1])
    for _ in range(roll(3)):
        rearrange(documents, roll)
    return documents, head


def signed_head(roll: Dice, length: int, tip: str, signer: Key) -> str:
    said = length if roll(8) else length + roll(3) - 1
    members = {"format": "proofmark-chain-head/1", "chain": "c", "length": said, "tip": tip, "signed_at": "2026-02-19T00:46:00Z"}
    head = parse(json.dumps({**members, "issuer_key": signer.id}))
    assert isinstance(head, dict)
    return to_text(sign(head, signer, {} if roll(20) else {"signature": "00" * 64}))


def odd(roll: Dice, position: int) -> dict[str, Any]:
    """Rarely, a link that is not as it should be."""
    if roll(12):
        return {}
    return [
        {"chain_position": position + 1},
        {"chain_position": None},
        {"chain_position": "0"},
        {"previous_receipt": "x"},
        {"previous_receipt_hash": None},
        {"previous_receipt_hash": f"sha256:{'0' * 64}"},
        {"chain_loss": {"position": 3}},
    ][roll(7)]


def rearrange(documents: list[str], roll: Dice) -> None:
    at, other = roll(len(documents) or 1), roll(len(documents) or 1)
    change = roll(5)
    if change in (1, 3) or not documents:
        documents.insert(at, '{"not":"a receipt"}' if change == 3 or not documents else documents[other])
    elif change == 0:
        del documents[at]
    elif change == 2:
        documents[at], documents[other] = documents[other], documents[at]
    else:
        documents[at] = documents[at].replace("order", "other")


def test_approvals(tmp_path: Path) -> None:
    """Approvals with a passkey that are signed again after a change, so that the passkey is what is judged."""
    approvals = [one["document"] for one in cases_of("passkey.json").values()]
    documents = []
    for number in range(MUTANTS // 5):
        roll = dice(SEED + number * 7919)
        document = parse(approvals[roll(len(approvals))])
        assert isinstance(document, dict)
        metadata = document.get("metadata")
        change(metadata.get("approval") if isinstance(metadata, dict) else document, roll)
        documents.append(to_text(sign(document, KEYS[0])).encode("utf-8", "surrogatepass"))
    differences, causes = wrong(tmp_path, documents, "vrf")
    assert differences == [], f"PROOFMARK_SEED={SEED}"
    assert {"passkey_mismatch", "shown_mismatch", "trusted"} <= causes


def test_characters_in_messages(tmp_path: Path) -> None:
    """Characters of every kind, and the first and last of each range that `unseen` knows."""
    ranges = [int(end, 16) for part in _SEEN_SINCE.split() for end in part.split("-")]
    near = [end + step for end in ranges for step in (-1, 0, 1)]
    chance = random.Random(SEED)
    codes = {*range(0x21, 0x600), *near, *(chance.randrange(0x110000) for _ in range(3000))}
    chars = [chr(code) for code in sorted(codes) if not 0xD800 <= code <= 0xDFFF]
    # A document that is read, so that the file has several.
    lines_of = ["[]", *(f"[{char}" for char in chars)]
    documents = ["\n".join(["[]", *lines_of[start : start + 1000]]).encode() for start in range(0, len(lines_of), 1000)]
    differences, _ = wrong(tmp_path, documents, "vrf")
    assert differences == []
