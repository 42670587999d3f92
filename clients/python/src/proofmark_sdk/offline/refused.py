"""Why a document is not valid."""

from __future__ import annotations

from typing import Literal


class Refused(Exception):
    """Why a document is not valid. `verify` and its like return it as a result; `parse` and its like raise it.

    `code` is a stable name for programs, `message` is for people, and `help` says what to do.
    """

    def __init__(
        self, code: str, message: str, *, help: str | None = None, answer: Literal["invalid", "undecidable"] = "undecidable"
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.help = help
        self.answer: Literal["invalid", "undecidable"] = answer
