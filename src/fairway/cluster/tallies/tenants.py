"""Tenants: whose pods are on each row, for exclusive nodes.

In: every pod that comes to a row or leaves it (a `Tally`). Out: on which rows there are pods that a given one must not
be with, as columns: all pods on a row, or all exclusive ones, less those of its own. Pods of DaemonSets and copies of
static pods do not count. Bound, assumed and terminating pods do: nothing is known here but what is on the rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairway.cluster.nodes import PODS, NodeTable
from fairway.cluster.pod_class import PodClass
from fairway.cluster.pods import Placed, PodTable
from fairway.cluster.tallies.tally import RowsByKey
from fairway.cluster.view import Rows
from fairway.model import Pod
from fairway.model.tenant import (
    EXCLUSIVE,
    GROUP_ANNOTATIONS,
    MIRROR,
    ONE_PER_NODE,
    USER,
    Tenant,
    are_foreign,
    is_aside,
    is_lone,
    job_of,
    tenant_of,
)

__all__ = ["ANNOTATIONS", "Tenants", "intruders"]

ANNOTATIONS: Final = (EXCLUSIVE, USER, ONE_PER_NODE, MIRROR, *GROUP_ANNOTATIONS)
"""What says whose a pod is, and what it wants."""


class Facts(NamedTuple):
    """What counts about the pods of a class."""

    tenant: Tenant
    is_plain: bool  # they count, and share with anybody
    is_lone: bool  # each is a job of its own
    is_aside: bool


class Tenants:
    """How many pods of whom are where. Who reads it declares `ANNOTATIONS` first: classes have to differ in them."""

    def __init__(self, nodes: NodeTable) -> None:
        self._nodes = nodes
        self.num_exclusive = 0  # pods that want their node to themselves, on all rows
        self.jobs: RowsByKey[str] = RowsByKey()  # all pods that count, but for lone ones that share with anybody
        self.exclusive_jobs: RowsByKey[str] = RowsByKey()  # those that are exclusive
        self.sharing_users: RowsByKey[str] = RowsByKey()  # those that share with their user's jobs
        self._sharing_jobs: RowsByKey[tuple[str, str]] = RowsByKey()  # the same by job and user
        self._aside = np.zeros(nodes.capacity, np.int64)  # (capacity,): pods that do not count
        self._exclusive = np.zeros(nodes.capacity, np.int64)  # (capacity,): exclusive ones

    # -- counting ------------------------------------------------------------------------------------------------------

    def came(self, pod: Pod, pod_class: PodClass, row: int) -> None:
        """The pod is on that row now."""
        facts = pod_class.kept.get(Tenants) or _learn(pod_class)
        if facts.is_plain:
            if not facts.is_lone:
                self.jobs.add(facts.tenant.job, row)
        elif facts.is_aside:
            self._aside[row] += 1
        else:
            scope, user, job = facts.tenant
            job = job_of(pod) if facts.is_lone else job
            self.num_exclusive += 1
            self._exclusive[row] += 1
            self.jobs.add(job, row)
            self.exclusive_jobs.add(job, row)
            if scope == "user":
                self.sharing_users.add(user, row)
                self._sharing_jobs.add((job, user), row)

    def left(self, pod: Pod, pod_class: PodClass, row: int) -> None:
        """It is there no longer."""
        facts = pod_class.kept.get(Tenants) or _learn(pod_class)
        if facts.is_plain:
            if not facts.is_lone:
                self.jobs.remove(facts.tenant.job, row)
        elif facts.is_aside:
            self._aside[row] -= 1
        else:
            scope, user, job = facts.tenant
            job = job_of(pod) if facts.is_lone else job
            self.num_exclusive -= 1
            self._exclusive[row] -= 1
            self.jobs.remove(job, row)
            self.exclusive_jobs.remove(job, row)
            if scope == "user":
                self.sharing_users.remove(user, row)
                self._sharing_jobs.remove((job, user), row)

    def grow(self, capacity: int) -> None:
        """Make room for more rows."""
        for name in ("_aside", "_exclusive"):
            before = getattr(self, name)
            wider = np.zeros(capacity, np.int64)
            wider[: len(before)] = before
            setattr(self, name, wider)

    # -- asking --------------------------------------------------------------------------------------------------------

    def count_foreign(self, tenant: Tenant, rows: Rows) -> NDArray[np.int64]:
        """How many pods there are on each row that such a pod must not be with: (num_rows,)."""
        capacity = len(self._aside)
        if not tenant.scope:
            return self._exclusive[rows] - self.exclusive_jobs.counts(tenant.job, rows, capacity)
        counts = self._nodes.requested[rows, PODS] - self._aside[rows]
        counts -= self.jobs.counts(tenant.job, rows, capacity)
        if tenant.scope == "user":
            counts -= self.sharing_users.counts(tenant.user, rows, capacity)
            counts += self._sharing_jobs.counts((tenant.job, tenant.user), rows, capacity)  # of its own job, twice
        return counts

    def count_members(self, job: str, rows: Rows) -> NDArray[np.int64]:
        """How many pods of a job there are on each row: (num_rows,)."""
        return np.zeros_like(self._aside[rows]) + self.jobs.counts(job, rows, len(self._aside))

    def is_exclusive(self, row: int) -> bool:
        """Is there an exclusive pod on that row?"""
        return bool(self._exclusive[row])

    def exclusive_rows(self) -> list[int]:
        """Rows on which there is an exclusive pod."""
        return np.flatnonzero(self._exclusive).tolist() if self.num_exclusive else []


def _learn(pod_class: PodClass) -> Facts:
    pod = pod_class.pod
    tenant, aside = tenant_of(pod), is_aside(pod)
    facts = pod_class.kept[Tenants] = Facts(tenant, not (aside or tenant.scope), is_lone(pod), aside)
    return facts


def intruders(pods: PodTable, row: int) -> Iterator[tuple[Placed, Placed]]:
    """Who is on a row though somebody before it wants the row to itself, or it does so itself; and that other one."""
    before: list[tuple[Placed, Tenant]] = []
    for placed in pods.on_row(row):
        if is_aside(placed.pod):
            continue
        tenant = tenant_of(placed.pod)
        for other, resident in before:
            if (tenant.scope or resident.scope) and are_foreign(tenant, resident):
                yield placed, other
                break
        before.append((placed, tenant))
