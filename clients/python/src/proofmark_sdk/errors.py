"""Errors of requests that a server or the binary refused or did not answer."""

from __future__ import annotations

MAX_WORDS = 4_000
"""The characters of a text from elsewhere that a message has, before it is cut."""


def shortened(text: str) -> str:
    """A text for messages, logs and models: whoever wrote it does not choose how long it is."""
    return text if len(text) <= MAX_WORDS else f"{text[:MAX_WORDS]} …"


class ProofmarkError(Exception):
    """A request was refused, or nothing answered it.

    `code` tells errors apart. Those of a server are in its problem documents. The client has its own: `unreachable`, `late`,
    `malformed`, `too_large`, `redirected`, `broken`, `not_finished`, `no_binary`, `no_policy`, `no_key`, `failed`, `not_local` and
    `wrong_answer`, which is a receipt about something else than what was sent.
    """

    def __init__(self, code: str, message: str, retryable: bool = False, status: int | None = None) -> None:
        self.code = code
        self.message = shortened(message)
        super().__init__(self.message)
        self.retryable = retryable
        self.status = status

    def __reduce__(self) -> tuple[type[ProofmarkError], tuple[str, str, bool, int | None]]:
        return ProofmarkError, (self.code, self.message, self.retryable, self.status)


class NotLocal(ProofmarkError):
    """The method needs a server."""

    def __init__(self, method: str, instead: str) -> None:
        super().__init__("not_local", f"`{method}` needs a server, and local mode has none: {instead}")
