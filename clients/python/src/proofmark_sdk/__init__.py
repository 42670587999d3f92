"""Proofmark for Python: a decision before a function runs, and clients for verifications, receipts and reviews."""

from .client import AsyncClient, Client
from .decision import Decision
from .errors import NotLocal, ProofmarkError
from .guard import Guard
from .guarded import guarded
from .local import AsyncLocal, Local
from .not_allowed import Blocked, NeedsReview, NoDecision, NotAllowed, NotJson, Terminal, Upstream
from .version import VERSION

__version__ = VERSION

__all__ = [
    "AsyncClient",
    "AsyncLocal",
    "Blocked",
    "Client",
    "Decision",
    "Guard",
    "Local",
    "NeedsReview",
    "NoDecision",
    "NotAllowed",
    "NotJson",
    "NotLocal",
    "ProofmarkError",
    "Terminal",
    "Upstream",
    "guarded",
]
