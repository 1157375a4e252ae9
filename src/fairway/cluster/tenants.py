"""Tenants: whose pods are on each row, for exclusive nodes.

In: every pod that comes to a row or leaves it (a `Tally`). Out: on which rows there are pods that a given one must not
be with, as columns: all pods on a row, or all exclusive ones, less those of its own. Pods of DaemonSets and copies of
static pods do not count. Bound, assumed and terminating pods do: nothing is known here but what is on the rows.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from fairway.cluster.pods import Placed, PodTable
from fairway.cluster.tallies import RowsByKey
from fairway.cluster.view import Rows
from fairway.model import Pod
from fairway.model.tenant import Tenant, are_foreign, is_aside, tenant_of

__all__ = ["Tenants", "intruders"]


class Tenants:
    """How many pods of whom are where."""

    def __init__(self, capacity: int) -> None:
        self.num_exclusive = 0  # pods that want their node to themselves, on all rows
        self.jobs: RowsByKey[str] = RowsByKey()  # all pods that count
        self.exclusive_jobs: RowsByKey[str] = RowsByKey()  # those that are exclusive
        self.sharing_users: RowsByKey[str] = RowsByKey()  # those that share with their user's jobs
        self._sharing_jobs: RowsByKey[tuple[str, str]] = RowsByKey()  # the same by job and user
        self._all = np.zeros(capacity, np.int64)  # (capacity,): pods that count
        self._exclusive = np.zeros(capacity, np.int64)  # (capacity,): of those, exclusive ones

    # -- counting ------------------------------------------------------------------------------------------------------

    def came(self, pod: Pod, row: int) -> None:
        """The pod is on that row now."""
        if is_aside(pod):
            return
        tenant = tenant_of(pod)
        self._all[row] += 1
        self.jobs.add(tenant.job, row)
        if tenant.scope:
            self.num_exclusive += 1
            self._exclusive[row] += 1
            self.exclusive_jobs.add(tenant.job, row)
        if tenant.scope == "user":
            self.sharing_users.add(tenant.user, row)
            self._sharing_jobs.add((tenant.job, tenant.user), row)

    def left(self, pod: Pod, row: int) -> None:
        """It is there no longer."""
        if is_aside(pod):
            return
        tenant = tenant_of(pod)
        self._all[row] -= 1
        self.jobs.remove(tenant.job, row)
        if tenant.scope:
            self.num_exclusive -= 1
            self._exclusive[row] -= 1
            self.exclusive_jobs.remove(tenant.job, row)
        if tenant.scope == "user":
            self.sharing_users.remove(tenant.user, row)
            self._sharing_jobs.remove((tenant.job, tenant.user), row)

    def tells_apart(self, old: Pod, new: Pod) -> bool:
        """Is it somebody else's now, as when another controller adopts it?"""
        before, after = old.metadata, new.metadata
        if before.annotations == after.annotations and before.owner_references == after.owner_references:
            return False
        return is_aside(old) != is_aside(new) or tenant_of(old) != tenant_of(new)

    def grow(self, capacity: int) -> None:
        """Make room for more rows."""
        for name in ("_all", "_exclusive"):
            wider = np.zeros(capacity, np.int64)
            wider[: len(self._all)] = getattr(self, name)
            setattr(self, name, wider)

    # -- asking --------------------------------------------------------------------------------------------------------

    def count_foreign(self, tenant: Tenant, rows: Rows) -> NDArray[np.int64]:
        """How many pods there are on each row that such a pod must not be with: (num_rows,)."""
        capacity = len(self._all)
        if not tenant.scope:
            own = self.exclusive_jobs.counts(tenant.job, rows, capacity)
            return self._exclusive[rows] - own
        counts = self._all[rows] - self.jobs.counts(tenant.job, rows, capacity)
        if tenant.scope == "user":
            counts = counts - self.sharing_users.counts(tenant.user, rows, capacity)
            counts = counts + self._sharing_jobs.counts((tenant.job, tenant.user), rows, capacity)  # of its own job
        return counts

    def count_members(self, job: str, rows: Rows) -> NDArray[np.int64]:
        """How many pods of a job there are on each row: (num_rows,)."""
        return np.zeros_like(self._all[rows]) + self.jobs.counts(job, rows, len(self._all))

    def exclusive_rows(self) -> list[int]:
        """Rows on which there is an exclusive pod."""
        return np.flatnonzero(self._exclusive).tolist() if self.num_exclusive else []


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
