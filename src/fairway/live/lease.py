"""What a Lease says, and what people are told of it.

In: a lease as the server has it. Out: when it was last renewed; the core/v1 event that client-go writes when a leader
comes or goes. Called by `election` and `clean_up`.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import Any

from fairway.config.config_file import LeaderElection as ElectionSettings
from fairway.live.api.clock import rfc3339

__all__ = ["election_event", "renewed_at"]


def renewed_at(spec: Mapping[str, Any]) -> float | None:
    """When it was last renewed, or given up, by its holder's own clock; None: it does not say."""
    try:
        return dt.datetime.fromisoformat(spec.get("renewTime") or "").timestamp()
    except ValueError:
        return None  # whoever wrote it


def election_event(
    lease: Mapping[str, Any], settings: ElectionSettings, component: str, message: str, now: float
) -> dict[str, Any]:
    """That somebody became the leader, or stopped leading."""
    metadata = lease.get("metadata", {})
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {
            "name": f"{settings.resource_name}.{int(now * 1e9):x}",
            "namespace": settings.resource_namespace,
        },
        "involvedObject": {
            "kind": "Lease",
            "apiVersion": "coordination.k8s.io/v1",
            "namespace": settings.resource_namespace,
            "name": settings.resource_name,
            "uid": metadata.get("uid", ""),
            "resourceVersion": metadata.get("resourceVersion", ""),
        },
        "reason": "LeaderElection",
        "message": message,
        "source": {"component": component},
        "reportingComponent": component,
        "reportingInstance": "",
        "type": "Normal",
        "count": 1,
        "firstTimestamp": rfc3339(now),
        "lastTimestamp": rfc3339(now),
        "eventTime": None,
    }
