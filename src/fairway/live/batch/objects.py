"""Our own kinds, as they come from an API server: only their head is read here, and what they say is kept as it stands.

In: nothing. Out: a struct a kind, for reflectors, and `BATCH_KINDS`, what has to be looked out for. Specs are read
strictly, by the structs that scenarios use, in `catalogue`: an object that makes no sense is told of, and stops nobody.
"""

# ruff: noqa: RUF012 - msgspec gives each struct an empty dict of its own
from __future__ import annotations

from typing import Any, Final

from fairway.live.watches.optional_kinds import OptionalKind
from fairway.model.meta import ObjectMeta, Value

__all__ = [
    "API_VERSION",
    "BATCH_KINDS",
    "AccountObject",
    "BatchObject",
    "JobRecordObject",
    "QueueObject",
    "ReservationObject",
    "WindowObject",
    "object_path",
]

API_VERSION: Final = "fairway.dev/v1alpha1"


class BatchObject(Value, frozen=True, kw_only=True):
    """An object of ours."""

    api_version: str = API_VERSION
    kind: str = ""
    metadata: ObjectMeta = ObjectMeta()
    spec: dict[str, Any] = {}
    status: dict[str, Any] = {}


class QueueObject(BatchObject, frozen=True, kw_only=True):
    """A Queue."""

    kind: str = "Queue"


class AccountObject(BatchObject, frozen=True, kw_only=True):
    """An Account."""

    kind: str = "Account"


class WindowObject(BatchObject, frozen=True, kw_only=True):
    """A MaintenanceWindow."""

    kind: str = "MaintenanceWindow"


class ReservationObject(BatchObject, frozen=True, kw_only=True):
    """A Reservation."""

    kind: str = "Reservation"


class JobRecordObject(BatchObject, frozen=True, kw_only=True):
    """A JobRecord."""

    kind: str = "JobRecord"


PLURALS: Final[dict[type[BatchObject], str]] = {
    QueueObject: "queues",
    AccountObject: "accounts",
    WindowObject: "maintenancewindows",
    ReservationObject: "reservations",
    JobRecordObject: "jobrecords",
}
BATCH_KINDS: Final = tuple(
    OptionalKind(kind, API_VERSION, plural, frozenset(), is_required=False)  # type: ignore[arg-type]
    for kind, plural in PLURALS.items()
)
"""Read where they are served and we may; without them there are no queues."""


def object_path(kind: type[BatchObject], name: str = "", namespace: str = "", subresource: str = "") -> str:
    """Where the API serves an object of ours, or all of a kind."""
    within = f"namespaces/{namespace}" if namespace else ""
    return "/" + "/".join(filter(None, ("apis", API_VERSION, within, PLURALS[kind], name, subresource)))
