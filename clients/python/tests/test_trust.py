"""Decisions that count only with the signature of a trusted signer."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from conftest import Server
from fake import Fake
from test_fails_closed import Through, as_it_is, put

from proofmark_sdk import Client, Guard, NoDecision

STRANGER = "MCowBQYDK2VwAyEA11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo="


def issuer(server: Server) -> str:
    request: Any = {"action": {"tool": "echo", "class": "generic"}}
    return server.client().decide(request)["issuer_key"]


def test_without_the_verifier_nothing_counts(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "proofmark_sdk.offline", None)
    with pytest.raises(NoDecision, match=r"pip install proofmark-sdk\[verify\]"):
        Guard(server.client(), trust=[issuer(server)]).check("echo", {})


def test_only_a_trusted_signer_counts(server: Server) -> None:
    pytest.importorskip("cryptography")
    pytest.importorskip("proofmark_sdk.offline")
    assert Guard(server.client(), trust=[STRANGER, issuer(server)]).check("echo", {}).allowed
    with pytest.raises(NoDecision, match="its signer is not trusted"):
        Guard(server.client(), trust=[STRANGER]).check("echo", {})


@pytest.mark.parametrize("text", ["nobody", "", "{}", "-----BEGIN PRIVATE KEY-----\nsecret\n-----END PRIVATE KEY-----"])
def test_a_text_that_names_no_signer_is_refused(text: str) -> None:
    pytest.importorskip("cryptography")
    pytest.importorskip("proofmark_sdk.offline")
    for at, trust in enumerate([[text], [STRANGER, text]]):
        with pytest.raises(ValueError, match=rf"`trust\[{at}\]` names no signer") as raised:
            Guard(Client("http://127.0.0.1"), trust=trust)
        assert "secret" not in str(raised.value)


@pytest.mark.parametrize("trust", [[], STRANGER, [STRANGER, 1], [None]])
def test_trust_is_a_list_of_texts(trust: Any) -> None:
    with pytest.raises(TypeError, match="`trust` is a list of texts"):
        Guard(Client("http://127.0.0.1"), trust=trust)


@pytest.mark.parametrize(
    "change",
    [
        put("reasons", to=[{"code": "fine", "message": "It is fine."}]),
        put("binding", "agent", to="another"),
        put("binding", "expires_at", to="2999-01-01T00:00:00.000Z"),
        put("signature", "signature", to="0" * 128),
        put("signature", "signer_id", to=STRANGER),
    ],
    ids=["reasons", "agent", "expiry", "signature", "signer"],
)
def test_what_its_signer_did_not_sign_does_not_count(fake: Fake, server: Server, change: Any) -> None:
    pytest.importorskip("cryptography")
    pytest.importorskip("proofmark_sdk.offline")
    fake.reply = Through(server, as_it_is, change)
    with pytest.raises(NoDecision, match="its signature is"):
        Guard(Client(fake.url), trust=[issuer(server)]).check("refund", {"amount": 20, "ticket": "T-1"})


def test_the_same_answers_count_where_nobody_is_named(fake: Fake, server: Server) -> None:
    """The signature alone stops what the test above changes."""
    fake.reply = Through(server, as_it_is, put("binding", "expires_at", to="2999-01-01T00:00:00.000Z"))
    assert Guard(Client(fake.url)).check("refund", {"amount": 20, "ticket": "T-1"}).allowed
