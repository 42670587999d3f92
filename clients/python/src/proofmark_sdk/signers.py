"""The signers whose decisions count."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

from .decision import WrongAnswer


class Signers:
    """The signers that texts name. Raises `TypeError` or `ValueError` for a text that names none."""

    def __init__(self, texts: Sequence[str]) -> None:
        # An empty list would mean that nobody is trusted, and a text that each of its letters is.
        given = [] if isinstance(texts, str) else list(texts)
        if not given or not all(isinstance(text, str) for text in given):
            raise TypeError("`trust` is a list of texts that name signers, with at least one")
        self._offline: Any = None
        try:
            self._offline = importlib.import_module(f"{__package__}.offline")
        except ImportError as error:
            self._missing = str(error)
            return
        named = [self._offline.read_signers(text) for text in given]
        if not all(named):
            # The text is not shown: it may be a private key.
            at = next(at for at, signers in enumerate(named) if not signers)
            raise ValueError(f"`trust[{at}]` names no signer: pass a signer id, or the text of a public key file")
        self._trusted = [signer for signers in named for signer in signers]

    def check(self, data: bytes) -> None:
        """Raises `WrongAnswer` unless one of them has signed the decision receipt."""
        if self._offline is None:
            message = f"its signature cannot be verified ({self._missing}): `pip install proofmark-sdk[verify]`"
            raise WrongAnswer(message)
        found = self._offline.verify(data, trusted=self._trusted)
        if found.answer != "valid" or found.kind != "decision_receipt":
            raise WrongAnswer(f"its signature is {found.answer}: {found.message or found.kind}")
        if found.trust != "trusted":
            raise WrongAnswer("its signer is not trusted")
