"""What the package promises its callers."""

from __future__ import annotations

import base64
import dataclasses
import json
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from proofmark_sdk.offline import (
    EndingSigner,
    JsonNumber,
    Refused,
    canonical,
    fingerprint,
    hash_file,
    parse,
    places_of,
    read_signers,
    split_documents,
    to_text,
    verify,
    verify_chain,
    verify_head,
)

from .data import SOURCES, cases_of
from .mutants import known_keys, sign, unsigned_document
from .others import lines, run

ISSUED: str = cases_of("receipt.json")["issued"]["receipt"]
LINKED = cases_of("linked.json")["decisions_and_their_head"]
ISSUER, OTHER = known_keys()
X = base64.urlsafe_b64encode(ISSUER.raw).decode().rstrip("=")
JWK: dict[str, Any] = {"kty": "OKP", "crv": "Ed25519", "x": X}
SSH = base64.b64encode(b"\0\0\0\x0bssh-ed25519\0\0\0\x20" + ISSUER.raw).decode()
PEM = f"-----BEGIN PUBLIC KEY-----\n{ISSUER.id[:40]}\r\n{ISSUER.id[40:]}\n-----END PUBLIC KEY-----\n"
ID = "00000000-0000-4000-8000-000000000000"
# Seconds since 1970 of the documents of the tests.
DATED = 1771461960


def test_trust_is_a_matter_of_the_callers_list_and_never_of_a_document_that_is_not_valid() -> None:
    assert verify(ISSUED).trust == "unknown"
    assert verify(ISSUED, trusted=[]).trust == "unknown"
    assert verify(ISSUED, trusted=[OTHER.id]).trust == "untrusted"
    assert verify(ISSUED, trusted=iter([OTHER.id, f"ed25519:{ISSUER.raw.hex()}"])).trust == "trusted"
    assert verify(ISSUED.replace("partial", "pass"), trusted=[ISSUER.id]).trust == "unknown"


@pytest.mark.parametrize("trusted", [[""], ["me"], [ISSUER.id[:-1]], ["-----BEGIN PRIVATE KEY-----"], [ISSUER.id, "\ud800"]])
def test_what_is_not_a_signer_is_never_left_out(trusted: list[str]) -> None:
    for check in (verify, verify_head):
        with pytest.raises(ValueError, match="`trusted`: "):
            check(ISSUED, trusted=trusted)
    with pytest.raises(ValueError, match="`trusted`: "):
        verify_chain([ISSUED], trusted=trusted)


def test_arguments_of_another_type_are_errors() -> None:
    wrong: Any
    for wrong in (None, 7, {}, [], 1.5, Path("receipt.json")):
        for check in (verify, verify_head, parse, split_documents):
            with pytest.raises(TypeError):
                check(wrong)
    for wrong in (ISSUER.id, EndingSigner(ISSUER.id, 1), [7], [None], [ISSUER.raw]):
        with pytest.raises(TypeError):
            verify(ISSUED, trusted=wrong)
    for wrong in (ISSUED, ISSUED.encode(), [7]):
        with pytest.raises(TypeError):
            verify_chain(wrong)
    wrong = "VRF"
    with pytest.raises(ValueError, match="unknown profile"):
        verify(ISSUED, profile=wrong)
    wrong = [1]
    with pytest.raises(TypeError, match="numbers are JsonNumber"):
        canonical(wrong)


def test_text_and_bytes_of_every_kind_are_one_document() -> None:
    data = ISSUED.encode()
    for source in (ISSUED, data, bytearray(data), memoryview(b"\0" + data + b"\0")[1:-1]):
        assert verify(source).answer == "valid"
    lone = verify(ISSUED.replace("order-17", "order-\ud800"))
    assert (lone.answer, lone.cause) == ("undecidable", "invalid_utf8")


def test_a_verification_cannot_be_changed() -> None:
    found = verify(ISSUED)
    with pytest.raises(dataclasses.FrozenInstanceError):
        found.trust = "trusted"  # type: ignore[misc]
    assert pickle.loads(pickle.dumps(found)) == found


def test_a_chain_is_only_as_good_as_its_worst_part() -> None:
    documents, head = LINKED["documents"], LINKED["head"]
    whole = verify_chain(documents, head=head, trusted=[ISSUER.id])
    assert (whole.answer, whole.trust, whole.links.answer, whole.length) == ("valid", "trusted", "valid", 4)
    assert verify_chain(documents).trust == "unknown"
    assert verify_chain(documents, trusted=[OTHER.id]).trust == "untrusted"
    short = verify_chain(documents[:3], head=head)
    assert (short.answer, short.links.cause) == ("invalid", "truncated")
    # Links are hashes of what is there: a changed last document breaks none.
    assert verify_chain([*documents[:3], documents[3].replace('"allow"', '"ALLOW"')]).answer != "valid"
    unread = verify_chain([*documents, "{"])
    assert (unread.answer, unread.links.answer) == ("undecidable", "valid")
    no_head = verify_chain(documents, head="{}")
    assert no_head.head is not None
    assert (no_head.answer, no_head.head.cause) == ("undecidable", "missing_field")
    assert verify_chain([]).links.cause == "empty_chain"
    assert verify_chain(document for document in documents).answer == "valid"


@pytest.mark.parametrize(
    "text",
    [
        ISSUER.id,
        PEM,
        f"ssh-ed25519 {SSH} ann@host\n",
        json.dumps(JWK),
        json.dumps({"keys": [{"kty": "RSA"}, 7, JWK]}),
        f"\x85\u2028{ISSUER.id}\u3000\n",
    ],
)
def test_keys_are_read_from_every_form_of_file(text: str) -> None:
    assert read_signers(text) == [ISSUER.id]


NO_KEYS = [
    "",
    "x",
    "{}",
    "[]",
    "7",
    "ssh-ed25519",
    "ssh-rsa AAAA",
    f"{ISSUER.id} {ISSUER.id}",
    f"\ufeff{PEM}",
    PEM + PEM,
    f"\x1c{ISSUER.id}",
]


@pytest.mark.parametrize("text", [*NO_KEYS, json.dumps({**JWK, "crv": "X25519"}), json.dumps({**JWK, "exp": "1"})])
def test_what_names_no_key_gives_none(text: str) -> None:
    assert read_signers(text) == []


@pytest.mark.parametrize(
    "exp", ["0", "-1", "-0.0004", str(DATED), f"{DATED}.0004", f"{DATED}.0005", str(DATED + 1), "1e9", "1e400", "null"]
)
def test_a_key_with_an_end_is_trusted_up_to_it_as_the_binary_does(exp: str, tmp_path: Path) -> None:
    documents = [to_text(sign(unsigned_document(kind, ID, {}, ISSUER.id), ISSUER)) for kind in (0, 1, 2)]
    jwk = f'{json.dumps(JWK)[:-1]},"exp":{exp}}}'
    (tmp_path / "key.jwk").write_text(jwk)
    (tmp_path / "documents").write_text("\n".join(documents))
    signers = read_signers(jwk)
    if not signers:
        done = run(tmp_path, "receipt", "verify", "--trust", "./key.jwk", "documents")
        assert (done.returncode, "no Ed25519 public key" in done.stderr) == (2, True)
        return
    theirs = [one["trust"] for one in lines(tmp_path, "--trust", "./key.jwk", "documents")]
    assert [verify(document, trusted=signers).trust for document in documents] == theirs


def test_an_ending_key_signs_no_later_head() -> None:
    documents, head = LINKED["documents"], LINKED["head"]
    for until, trust in ((4_000_000_000_000, "trusted"), (1, "untrusted")):
        assert verify_head(head, trusted=[EndingSigner(ISSUER.id, until)]).trust == trust
        assert verify_chain(documents, head=head, trusted=[EndingSigner(ISSUER.id, until)]).trust == trust


def test_a_fingerprint_is_what_people_compare(tmp_path: Path) -> None:
    assert fingerprint(ISSUER.id) == fingerprint(f"ed25519:{ISSUER.raw.hex()}") == fingerprint(EndingSigner(ISSUER.id, 1))
    with pytest.raises(Refused) as refused:
        fingerprint("x")
    assert refused.value.code == "invalid_signer_id"
    assert run(tmp_path, "key", "new").returncode == 0
    forms = [read_signers(run(tmp_path, "key", "show", "--as", form).stdout) for form in ("pem", "jwk")]
    assert forms[0] == forms[1]
    assert fingerprint(forms[0][0]) in run(tmp_path, "key", "show").stdout


def test_a_private_key_never_reaches_a_message() -> None:
    with pytest.raises(ValueError, match="a private key") as error:
        verify(ISSUED, trusted=["-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIA"])
    assert "MC4C" not in str(error.value)


def test_a_file_is_found_in_the_documents_that_name_it(tmp_path: Path) -> None:
    file = tmp_path / "answer.py"
    file.write_bytes(b"output")
    digest = hash_file(b"output")
    assert digest == hash_file(file) == hash_file(str(file)) == hash_file(memoryview(b"output"))
    assert places_of(parse(ISSUED), digest) == ["hashes.output"]
    assert places_of(parse(ISSUED), hash_file(b"other")) == []
    assert places_of(parse(f'{{"a":[null,{{"b":"{digest}"}}],"":"{digest}"}}'), digest) == ["a[1].b", ""]


def test_documents_are_read_as_written_whatever_their_names() -> None:
    text = '{"__class__":{"a":1.50},"10":1,"9":[-0,1e400],"constructor":null,"":"\\u0041"}'
    document = parse(text)
    assert to_text(document) == text.replace("\\u0041", "A")
    assert canonical(document) == '{"":"A","10":1,"9":[-0,1e400],"__class__":{"a":1.50},"constructor":null}'
    assert document == parse(text)
    with pytest.raises(Refused) as refused:
        parse("{")
    assert (refused.value.code, refused.value.help) == ("unexpected_end", "is it cut off?")


def test_files_are_split_as_the_command_splits_them() -> None:
    def split(text: str) -> list[tuple[int | None, str]]:
        return [(one.line, one.source.decode()) for one in split_documents(text)]

    assert split('{"a":\n1}\n') == [(None, '{"a":\n1}\n')]
    assert split("{}\n\n \r\n[]") == [(1, "{}"), (4, "[]")]
    assert split("{}\n{") == [(1, "{}"), (2, "{")]
    assert split("{}\n\x0b\n") == [(1, "{}"), (2, "\x0b")]
    assert split("{\n{}") == [(None, "{\n{}")]
    assert split("") == [(None, "")]
    assert [line for line, _ in split(f"{' ' * (1 << 20)} \n{{}}")] == [1, 2]


def test_what_a_signer_signs_again_after_a_change_is_valid_again_and_nothing_else() -> None:
    for kind in (0, 1, 2):
        document = sign(unsigned_document(kind, ID, {}, ISSUER.id), ISSUER)
        assert verify(to_text(document)).answer == "valid"
        document["extra"] = "x"
        assert verify(to_text(document)).cause == "content_hash_mismatch"
        assert verify(to_text(sign(document, OTHER))).cause == "issuer_key_mismatch"
        assert verify(to_text(sign(document, ISSUER))).answer == "valid"


def test_numbers_are_compared_as_written() -> None:
    assert parse("1.50") == JsonNumber("1.50")
    assert parse("1.50") != parse("1.5")
    assert str(parse("1.50")) == "1.50"
    assert {JsonNumber("1"): 1}[JsonNumber("1")] == 1


def test_without_the_package_for_signatures_nothing_is_valid(tmp_path: Path) -> None:
    """Documents can be read where `cryptography` is not installed."""
    (tmp_path / "receipt.json").write_text(ISSUED, "utf-8")
    script = (
        "import sys; sys.modules['cryptography'] = None; sys.path.insert(0, sys.argv[1])\n"
        "from proofmark_sdk.offline import verify\n"
        "found = verify(open('receipt.json', 'rb').read())\n"
        "print(found.answer, found.cause, found.document is not None)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, SOURCES], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.stdout, done.stderr) == ("undecidable cannot_check_here True\n", "")
