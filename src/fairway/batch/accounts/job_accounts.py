"""Who pays for a job of the desk, and what it costs a second.

In: jobs with their wishes and members, the accounts, the nodes. Out: the account of a job or why it has none
(`account_of`), its payer, its rate: what its members' requests cost by the weights of its account, or, if it has nodes
to itself, what those have. Who pays is fixed when it first starts (`bill`). Called by the desk's accounting.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from fairway.batch.accounts.account_tree import AccountTree
from fairway.batch.accounts.charges import job_rate
from fairway.batch.accounts.open_jobs import Payer
from fairway.batch.job import BatchJob, BilledJob
from fairway.batch.reasons import JobStanding
from fairway.batch.settings import BatchSettings
from fairway.cluster import Cluster
from fairway.cluster.known_classes import keeps_class
from fairway.model import Pod
from fairway.model.requests import pod_requests
from fairway.model.tenant import is_aside

__all__ = ["JobAccounts"]


MOST_KNOWN: Final = 4096


class JobAccounts:
    """The accounts, asked about jobs."""

    def __init__(self, settings: BatchSettings, cluster: Cluster) -> None:
        self._settings = settings
        self._cluster = cluster
        self.tree = AccountTree(settings.accounts)
        self._charged: dict[tuple[str, str, str], str | JobStanding] = {}  # by wish, namespace and queue
        self._requested: dict[str, tuple[Pod, Mapping[str, int]]] = {}  # by uid of pods that have no node

    def change(self, settings: BatchSettings) -> bool:
        """Operators may say otherwise now; True: accounts are others than before."""
        if settings is not self._settings:
            self._charged.clear()
        self._settings = settings
        if settings.accounts == self.tree.specs:
            return False
        self.tree = AccountTree(settings.accounts)
        self._charged.clear()
        return True

    def account_of(self, job: BatchJob) -> str | JobStanding:
        """The account that the job is charged to, or why there is none."""
        if job.ledger.billed is not None:
            return job.ledger.billed.account
        key = (job.wishes.account, job.key.partition("/")[0], job.queue)
        if (account := self._charged.get(key)) is None:
            if len(self._charged) >= MOST_KNOWN:
                self._charged.clear()
            account = self._charged[key] = self.tree.charged(*key, self._settings.queues[job.queue].accounts)
        return account

    def payer(self, job: BatchJob) -> Payer | None:
        """Whose use it is; None: it has no account."""
        if job.ledger.billed is None and job.queue not in self._settings.queues:
            return None
        account = self.account_of(job)
        return Payer(account, job.wishes.user) if isinstance(account, str) else None

    def rate(self, job: BatchJob, nodes: Iterable[str] = ()) -> float:
        """Units a second that the job costs: members with a node; before any has one, all of them.

        `nodes`: those that it would have to itself; without, those that it has.
        """
        payer = self.payer(job)
        return 0.0 if payer is None else job_rate(self.tree.spec(payer.account), self._amounts(job, nodes))

    def bill(self, job: BatchJob) -> float:
        """It starts to run: who pays is noted, if that is not noted yet; returns what it costs a second."""
        payer = self.payer(job)
        if payer is None:
            return 0.0
        amounts = self._amounts(job)
        if job.ledger.billed is None:
            total: dict[str, int] = {}
            for each in amounts:
                for name, amount in each.items():
                    total[name] = total.get(name, 0) + amount
            job.ledger.billed = BilledJob(job.uid, job.key, *payer, job.queue, total)
        return job_rate(self.tree.spec(payer.account), amounts)

    def _amounts(self, job: BatchJob, nodes: Iterable[str] = ()) -> list[Mapping[str, int]]:
        """What has to be paid for: milli-CPU, bytes, counts."""
        members = _placed(job)
        if job.wishes.is_exclusive:
            alone = {*nodes} or {pod.spec.node_name for pod in members if pod.spec.node_name}
            rows = [row for name in sorted(alone) if (row := self._cluster.nodes.row_of.get(name)) is not None]
            if rows:
                return [self._whole(row) for row in rows]
        return [self._requests(pod) for pod in members]

    def _requests(self, pod: Pod) -> Mapping[str, int]:
        """What it asks for. It is the same pod as before that asks, mostly."""
        placed = self._cluster.pods.by_uid.get(pod.metadata.uid)
        if placed is not None and keeps_class(placed.pod, pod):
            return placed.pod_class.requests
        known = self._requested.get(pod.metadata.uid)
        if known is not None and known[0] is pod:
            return known[1]
        if len(self._requested) >= MOST_KNOWN:
            self._requested.clear()
        requests = pod_requests(pod)
        self._requested[pod.metadata.uid] = pod, requests
        return requests

    def _whole(self, row: int) -> Mapping[str, int]:
        """What a node has, but for what pods of DaemonSets there request."""
        node = self._cluster.nodes.objects[row]
        assert node is not None, "it has a name"
        there = {name: each.milli if name == "cpu" else each.value for name, each in node.status.allocatable.items()}
        for placed in self._cluster.pods.on_row(row):
            for name, amount in pod_requests(placed.pod).items() if is_aside(placed.pod) else ():
                there[name] = max(there.get(name, 0) - amount, 0)
        return there


def _placed(job: BatchJob) -> list[Pod]:
    return [pod for pod in job.members.values() if pod.spec.node_name] or job.pods
