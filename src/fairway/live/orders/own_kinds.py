"""Our kinds, as those meet them who write to them: they may not be there, and an object may count as not there.

In: objects as the server has them. Out: what is said about both. Used by all orders.
"""

from __future__ import annotations

from typing import Any

from fairway.model import UserError

__all__ = ["no_queues", "objection"]


def no_queues() -> UserError:
    """What is said of a cluster without our kinds."""
    hint = "kubectl apply -f deploy/manifests/crds.yaml, or the chart with batch.enabled=true (docs/batch.md)"
    return UserError("this cluster has no queues of jobs: fairway.dev is not served", hint)


def objection(tree: dict[str, Any]) -> str:
    """Why a scheduler leaves the object out; "": it does not, or has not looked yet."""
    conditions = (tree.get("status") or {}).get("conditions") or ()
    return next((str(each.get("message")) for each in conditions if each.get("status") == "False"), "")
