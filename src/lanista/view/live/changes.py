"""Promoting and rolling back by hand, as a page asks for it.

Goes through the policy folder, so that every change is in its history. Whoever asks names the
change that was looked at; if there was another one since, nothing is done. Knows nothing of HTTP.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from lanista.errors import LanistaError, RefusedError
from lanista.foreign import is_digest
from lanista.live.files.policy_folder import Change, Pointer, PolicyFolder

Verb = Literal["promote", "roll_back"]
BY_HAND = {
    "promote": "promoted by hand in lanista view",
    "roll_back": "rolled back by hand in lanista view",
}
_LONGEST = 200


def change_policy(
    folder: Path, verb: object, digest: object, serial: object, why: object
) -> Pointer:
    """Make a policy the stable one; `serial` is the last change that its asker has seen."""
    if type(verb) is not str or verb not in BY_HAND:
        raise LanistaError(f"{verb!r:.40} cannot be done here; promote, or roll_back.")
    if type(digest) is not str or not is_digest(digest):
        raise LanistaError(f"{digest!r:.80} is no digest of a policy.")
    if type(serial) is not int:
        raise LanistaError(f"{serial!r:.40} is no number of a change.")
    reason = BY_HAND[verb]
    if type(why) is str and why.strip():
        reason = f"{reason}: {why.strip()[:_LONGEST]}"
    policies = PolicyFolder(folder)
    with policies.changing():
        _refuse_changed(policies, serial)
        if verb == "roll_back":
            return policies.roll_back(reason, to=digest)
        if digest == policies.pointer().stable:
            raise RefusedError(f"The policy {digest[:12]} is the stable one already.")
        return policies.publish(digest, reason)


def _refuse_changed(policies: PolicyFolder, serial: int) -> None:
    now = policies.pointer()
    if now.serial == serial:
        return
    change: Change | None = policies.last_change()
    why = f" ({change.reason})" if change is not None and change.reason else ""
    raise RefusedError(
        f"Nothing was done: change {now.serial} came before yours, and {now.stable[:12]} plays "
        f"now{why}; look at it, and ask again if you still want to."
    )
