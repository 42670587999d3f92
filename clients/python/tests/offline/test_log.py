"""Proofs that a document is in a transparency log."""

from __future__ import annotations

import json
import os
import random
import re
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from proofmark_sdk.offline import ProofVerification, Refused, verify_proof
from proofmark_sdk.offline.checkpoint import Cosigned, open_checkpoint
from proofmark_sdk.offline.ed25519 import digest
from proofmark_sdk.offline.note import MAX_NOTE_BYTES, MAX_NOTE_LINES, read_note, read_vkey
from proofmark_sdk.offline.policy import read_policy
from proofmark_sdk.offline.proof import Cosignature, read_proof_file

from .data import conformance, has_conformance
from .logs import LOG_FILES, LogKey, checkpoint_text, entries_of, log_cases, proof_file, to_base64
from .mutants import Dice, dice
from .others import run
from .suites import attempt

DOCUMENT = '{"a":1}'
ORIGIN = "log.example/a"
SEED = int(os.environ.get("PROOFMARK_SEED") or random.randrange(1_000_000_000))
MUTANTS = int(os.environ.get("PROOFMARK_PROOFS") or 60)


@pytest.mark.parametrize(("file", "count"), LOG_FILES.items())
def test_logs_of_other_projects(file: str, count: int) -> None:
    assert log_cases(file, conformance("tlog", file)) == (count, [])


@dataclass(frozen=True)
class Made:
    """A proof of entry 100 of 300, with a cosignature and a document inside."""

    log: LogKey
    witness: LogKey
    text: str
    note: str
    policy: str
    entries: list[bytes]
    file: str


@pytest.fixture(scope="module")
def made() -> Made:
    log, witness = LogKey.new(ORIGIN, 1), LogKey.new("witness.example/1", 4)
    entries = entries_of(300)
    entries[100] = digest(DOCUMENT.encode())
    text = checkpoint_text(ORIGIN, entries)
    note = log.signed(text) + witness.cosignature(text, 1_767_225_600)
    policy = f"log {log.vkey}\nwitness w {witness.vkey}\nquorum w\n"
    return Made(log, witness, text, note, policy, entries, proof_file(100, entries, note, DOCUMENT))


def test_a_proof_says_what_is_proven(made: Made) -> None:
    found = verify_proof(made.file, ' { "a" : 1 } ', policy=made.policy)
    assert found == ProofVerification(
        answer="valid",
        log="trusted",
        witnessed="met",
        index=100,
        size=300,
        origin=ORIGIN,
        cosignatures=(Cosignature("witness.example/1", 1_767_225_600),),
        document=DOCUMENT.encode(),
    )
    entry = made.entries[100].hex()
    for same in (entry, f"sha256:{entry}", DOCUMENT.encode(), memoryview(DOCUMENT.encode())):
        assert verify_proof(bytearray(made.file.encode()), same, policy=made.policy.encode()) == found
    # Without a policy no witness is known.
    alone = verify_proof(made.file, entry, log_keys=[made.log.vkey])
    assert (alone.answer, alone.witnessed, alone.cosignatures) == ("valid", "unknown", ())
    few = verify_proof(proof_file(100, made.entries, made.log.signed(made.text)), entry, policy=made.policy)
    assert (few.answer, few.code, few.witnessed, few.document) == ("valid", "quorum_not_met", "not_met", None)
    for keys in ([], [made.witness.vkey], [LogKey.new(ORIGIN, 1).vkey]):
        unsigned = verify_proof(made.file, entry, log_keys=keys)
        assert (unsigned.answer, unsigned.code, unsigned.log) == ("undecidable", "unsigned_by_log", "unknown")
    codes = [verify_proof(made.file, entry, policy=made.policy).code for entry in ('{"a":2}', "[1]", "{", DOCUMENT + "\ud800")]
    assert codes == ["inclusion_mismatch", "wrong_type", "unexpected_end", "invalid_utf8"]


def test_a_tagged_cose_sign1_is_a_document_too() -> None:
    cose = bytes([0xD2, 0x84, 0x40, 0xA0, 0x40, 0x40])
    log, entries = LogKey.new(ORIGIN, 1), [digest(cose)]
    file = proof_file(0, entries, log.signed(checkpoint_text(ORIGIN, entries)))
    assert verify_proof(file, cose, log_keys=[log.vkey]).code is None


def test_every_entry_of_every_small_tree_is_proven_at_its_own_index_alone() -> None:
    log = LogKey.new(ORIGIN, 1)
    for size in range(1, 21):
        entries = entries_of(size)
        note = log.signed(checkpoint_text(ORIGIN, entries))
        for index, entry in enumerate(entries):
            file = proof_file(index, entries, note)
            elsewhere = file.replace(f"index {index}\n", f"index {index + 1}\n")
            codes = [verify_proof(one, entry.hex(), log_keys=[log.vkey]).code for one in (file, elsewhere)]
            assert codes == [None, "inclusion_mismatch"], f"{index} of {size}"


def test_a_proof_with_a_hash_more_or_less_is_of_another_tree(made: Made) -> None:
    hash = made.file.split("\n")[3]
    for changed in (made.file.replace(f"{hash}\n", ""), made.file.replace(f"{hash}\n", f"{hash}\n{hash}\n")):
        found = verify_proof(changed, DOCUMENT, policy=made.policy)
        assert found.code == "inclusion_mismatch"
        assert str(found.reason).endswith("which is not the number that it needs")


def test_a_witness_counts_once_with_its_latest_time_and_keys_of_another_type_not_at_all(made: Made) -> None:
    first, second = read_vkey(made.log.vkey), read_vkey(made.witness.vkey)
    more = made.note + made.witness.cosignature(made.text, 1_767_225_700) + made.witness.cosignature(made.text, 5)
    _, cosigned = open_checkpoint(more.encode(), [first, second], [first, second, second])
    assert cosigned == [Cosigned(second, 1_767_225_700)]


def test_what_a_witness_signs_is_no_checkpoint() -> None:
    log = LogKey.new("cosignature/v1", 1)
    note = log.signed(checkpoint_text("cosignature/v1", entries_of(1)))
    assert attempt(lambda: open_checkpoint(note.encode(), [read_vkey(log.vkey)], []))[1] == "malformed_checkpoint"


def test_a_changed_byte_anywhere_in_a_good_proof_is_noticed(made: Made) -> None:
    data, end = made.file.encode(), made.file.index("index ")
    for at in range(len(data)):
        for bit in (1, 0x20, 0x80):
            changed = bytearray(data)
            changed[at] ^= bit
            found = verify_proof(changed, DOCUMENT, policy=made.policy)
            # Extra data proves nothing, so it is left out once it is not the document.
            assert found.code is not None or (found.document is None and at < end), f"byte {at} with {bit}"


def test_limits_have_a_code_of_their_own(made: Made) -> None:
    line = made.note.rstrip("\n").split("\n")[-1] + "\n"

    def of_lines(count: int) -> str | None:
        return attempt(lambda: read_note(f"text\n\n{line * count}".encode()))[1]

    def of_bytes(count: int) -> str | None:
        return attempt(lambda: read_note(f"{'x' * (count - len(line.encode()) - 2)}\n\n{line}".encode()))[1]

    def of_hashes(count: int) -> str | None:
        hashes = f"{to_base64(b'x' * 32)}\n" * count
        return attempt(lambda: read_proof_file(f"c2sp.org/tlog-proof@v1\nindex 0\n{hashes}\n".encode()))[1]

    def of_extra(text: str) -> str | None:
        return attempt(lambda: read_proof_file(f"c2sp.org/tlog-proof@v1\nextra {text}\nindex 0\n\n".encode()))[1]

    assert (of_lines(MAX_NOTE_LINES), of_lines(MAX_NOTE_LINES + 1)) == (None, "too_large")
    assert (of_bytes(MAX_NOTE_BYTES), of_bytes(MAX_NOTE_BYTES + 1)) == (None, "too_large")
    assert (of_hashes(63), of_hashes(64)) == (None, "malformed_proof")
    whole = "AAAA" * ((1 << 20) // 3)
    assert [of_extra(text) for text in ("", f"{whole}AA==", f"{whole}AAA=")] == ["malformed_proof", None, "malformed_proof"]
    assert verify_proof(made.file + "\n" * 1_700_000, DOCUMENT, policy=made.policy).code == "too_large"
    witnesses = [f"witness w{number} {LogKey.new('w', 4).vkey}\n" for number in range(257)]
    policies = [
        attempt(lambda count=count: read_policy(f"{''.join(witnesses[:count])}quorum none\n".encode()))[1] for count in (256, 257)
    ]
    assert policies == [None, "too_large"]
    assert attempt(lambda: read_policy(b"#" * ((256 << 10) + 1)))[1] == "too_large"


def test_the_faults_of_a_policy_name_their_line_and_names_in_it_are_bytes() -> None:
    def said(text: bytes) -> str | None:
        try:
            read_policy(text)
        except Refused as error:
            return error.message
        return None

    assert said(b"# all\n\nquorum w1\n") == "line 3 of the policy: `w1` is not defined on a line before"
    assert said(b"quorum none") == "line 1 of the policy: it does not end with a line feed"
    assert said(b"quorum\n") == "line 1 of the policy: `quorum` has another number of words"
    assert said(b"") == "the policy has no `quorum` line: write `quorum <name>`, or `quorum none`"
    assert re.search("`x` is not a verifier key", said(b"log x\n") or "")
    vkey = LogKey.new("w", 4).vkey.encode()

    def of(name: bytes, quorum: bytes) -> bytes:
        return b"witness " + name + b" " + vkey + b" https://x\xff\nquorum " + quorum + b"\n"

    assert said(of(b"\xff", b"\xff")) is None
    assert said(of(b"\xff", b"\xfe")) is not None
    assert said(of(b"\x80", b"\x20\xac")) is not None


def test_what_is_trusted_is_read_strictly(made: Made) -> None:
    good = made.log.vkey
    for options in (
        {"log_keys": ["me"]},
        {"log_keys": [good, f"{good} "]},
        {"policy": "quorum"},
        {"policy": f"{made.policy}\ud800\n"},
    ):
        with pytest.raises(ValueError, match=r"`log_keys`|`policy`"):
            verify_proof(made.file, DOCUMENT, **options)  # type: ignore[arg-type]
    wrong: Any
    for wrong in (None, 7, {}, []):
        with pytest.raises(TypeError):
            verify_proof(wrong, DOCUMENT, policy=made.policy)
        with pytest.raises(TypeError):
            verify_proof(made.file, wrong, policy=made.policy)
    with pytest.raises(TypeError):
        verify_proof(made.file, DOCUMENT, log_keys=good)
    lone = verify_proof(f"{made.file}\u2014 \ud800 AAAAAAA=\n", DOCUMENT, policy=made.policy)
    assert lone.code == "malformed_proof"


def test_changed_proofs_are_judged_as_the_binary_judges_them(made: Made, tmp_path: Path) -> None:
    roll, entry = dice(SEED), f"sha256:{digest(DOCUMENT.encode()).hex()}"
    outside = conformance("tlog", "proof.json")["cases"] if has_conformance("tlog", "proof.json") else []
    cases = [(one["proof"].encode(), f"sha256:{one['entry']}", one["policy"]) for one in outside if len(one["entry"]) == 64]
    cases += [(changed(made.file, roll), entry, made.policy) for _ in range(MUTANTS)]
    codes = set()
    for number, (proof, of, policy) in enumerate(cases):
        (tmp_path / "proof").write_bytes(proof)
        (tmp_path / "policy").write_text(policy, "utf-8")
        done = run(tmp_path, "log", "verify", "--json", "--document", of, "--log-policy", "policy", "proof")
        assert done.returncode in (0, 1, 2), done.stderr
        said, found = json.loads(done.stdout), verify_proof(proof, of, policy=policy)
        theirs = {name: value for name, value in said.items() if name not in ("entry", "file", "cosignatures")}
        assert as_printed(found) == theirs, f"{number} with PROOFMARK_SEED={SEED}"
        times = [
            (one["witness"], datetime.fromisoformat(one["time"].replace("Z", "+00:00")).timestamp()) for one in said["cosignatures"]
        ]
        assert [(one.witness, one.time) for one in found.cosignatures] == times
        codes.add(found.code)
    assert len(codes) >= 4, f"too few causes: {codes}"


def as_printed(found: ProofVerification) -> dict[str, Any]:
    """A verification with the members that the binary prints, apart from cosignatures."""
    printed = {
        "answer": found.answer,
        "cause": found.code,
        "message": found.reason,
        "log": found.log,
        "witnessed": found.witnessed,
        "origin": found.origin,
        "index": found.index,
        "entries": found.size,
    }
    return {name: value for name, value in printed.items() if value is not None}


def changed(file: str, roll: Dice) -> bytes:
    data, lines = file.encode(), file.split("\n")
    tokens = ["\n", "\n\n", " ", "=", "0", "\r", "\u2014 ", "+", "A", "\0", "\u00a0", "\ufeff", "index ", "extra "]
    if roll(3) > 0:
        at = roll(len(data))
        return data[:at] + tokens[roll(len(tokens))].encode() + data[at + roll(3) * roll(3) :]
    at = roll(len(lines))
    return "\n".join([*lines[:at], *([] if roll(2) else [lines[at]] * 2), *lines[at + 1 :]]).encode()
