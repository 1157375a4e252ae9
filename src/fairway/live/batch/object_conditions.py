"""Whether an object of ours is used, in its own status: the condition `Accepted`.

In: a status as the server has it. Out: the same status with that condition, for the outbox. Called by `batch_service`.
"""

from __future__ import annotations

from typing import Any

from fairway.live.api.clock import rfc3339

__all__ = ["ACCEPTED", "with_condition"]

ACCEPTED = "Accepted"


def with_condition(status: dict[str, Any], is_good: bool, words: str, now: float) -> dict[str, Any]:
    """The status that says so; since when, if it said otherwise before."""
    others = [each for each in status.get("conditions", ()) if each.get("type") != ACCEPTED]
    known: dict[str, dict[str, Any]] = {each.get("type"): each for each in status.get("conditions", ())}
    before = known.get(ACCEPTED, {})
    said = "True" if is_good else "False"
    since = before.get("lastTransitionTime") if before.get("status") == said else None
    condition = {
        "type": ACCEPTED,
        "status": said,
        "reason": "Valid" if is_good else "Invalid",
        "message": words[:1024],
        "lastTransitionTime": since or rfc3339(now),
    }
    return status | {"conditions": [*others, condition]}
