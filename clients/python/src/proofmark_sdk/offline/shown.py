"""What the reviewer of an approval was shown."""

from __future__ import annotations

from .canonical import canonical
from .ed25519 import sha256
from .json import JsonObject
from .refused import Refused

# The members of an approval that its `shown` is the digest of.
_SHOWN = ("action_hash", "environment", "agent", "separation", "account")


def check_shown(receipt: JsonObject) -> None:
    """Checks that an approval is of the action that its reviewer was shown.

    An approval that does not say what was shown is not looked at. The format of the receipt was checked before.
    """
    metadata = receipt.get("metadata")
    approval = metadata.get("approval") if isinstance(metadata, dict) else None
    if not isinstance(approval, dict) or "shown" not in approval:
        return
    due = sha256(canonical({name: approval[name] for name in _SHOWN if name in approval}))
    if approval["shown"] != due:
        raise Refused("shown_mismatch", "the approval is of another action than its reviewer was shown", answer="invalid")
