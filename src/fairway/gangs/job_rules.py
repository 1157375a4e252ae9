"""May a job be tried now? What the queue has to know about jobs, in mode `fairway`.

In: a job's entry in the queue; the books of groups say the rest. Out: `gate`, why it may not be tried yet (its object
is missing, it can not be meant so, members are missing or gated, another job comes first); `priority`; `has_slot`,
whether something that happened made room for the member that it waits for. `scheduler.py` makes one a profile, the
queue asks it (`GroupRules`).
"""

from __future__ import annotations

from typing import Final

from fairway.cluster import Change, Cluster
from fairway.cluster.groups import GroupBook
from fairway.cycle import PluginError, Profile
from fairway.cycle.groups.job_slots import slots_by_row
from fairway.gangs.connections import Connections
from fairway.model import Node, Pod
from fairway.model.group import GroupSpec, Misconfigured
from fairway.plugin import Code, Refusal
from fairway.queue import QueuedGroup, QueueRules, SortKey

__all__ = ["JobRules", "rules_of", "scheduler_problem"]

DEFAULT_MAX_BACKOFF: Final = 60.0


def rules_of(profile: Profile, order: SortKey, connections: Connections) -> QueueRules:
    """What the queue has to know about a profile."""
    gates = {plugin.name: plugin.pre_enqueue for plugin in profile.pre_enqueues}
    jobs = JobRules(profile, connections) if profile.starts_jobs else None
    return QueueRules(gates, profile.hints(), order, jobs)


class JobRules:
    """The rules of one profile."""

    def __init__(self, profile: Profile, connections: Connections) -> None:
        gangs = profile.gangs
        assert gangs is not None
        self.max_backoff = DEFAULT_MAX_BACKOFF if gangs.max_backoff is None else float(gangs.max_backoff)
        self._profile = profile
        self._cluster: Cluster = profile.cluster
        self._connections = connections

    def gate(self, entry: QueuedGroup) -> Refusal | None:
        """Why the job may not be tried yet."""
        words = self._reason(entry)
        return Refusal((words,), Code.UNRESOLVABLE) if words else None

    def _reason(self, entry: QueuedGroup) -> str:
        groups = self._cluster.groups
        book = groups.find(entry.key)
        if book is None:
            return f"job {entry.key} has no members"
        spec = groups.spec_of(book)
        if spec is None:
            return f"job {entry.key} is incomplete: {groups.missing_words(book)}"
        holder = groups.object_of(entry.key)
        if holder is not None and holder.metadata.deletion_timestamp is not None:  # kept there until its pods are gone
            return f"job {entry.key} is incomplete: PodGroup {entry.key} is being deleted"
        if isinstance(spec, Misconfigured):
            return spec.message
        if (wrong := scheduler_problem(book)) is not None:
            return wrong.message
        if book.num_scheduled + entry.num_ready < spec.min_count:
            return incomplete_words(entry, book, spec)
        if not entry.num_ready:
            return f"job {entry.key} has started; its members that wait are gated"
        return self._connections.reason(book, spec)

    def priority(self, entry: QueuedGroup) -> int:
        """That of the job itself, or of its most important member."""
        groups = self._cluster.groups
        book = groups.find(entry.key)
        if book is None:
            return entry.priority
        spec = groups.spec_of(book)
        own = spec.priority if isinstance(spec, GroupSpec) else None
        return book.highest_priority if own is None else own

    def has_slot(self, entry: QueuedGroup, change: Change) -> bool:
        """Is there room now, where this happened, for the member that speaks for the job, and for enough like it?

        The job would fail at the quick count otherwise, and is looked at when it has rested.
        """
        name = _node_of(change)
        row = self._cluster.nodes.row_of.get(name) if name else None
        if row is None:
            return False
        if any(pod.metadata.uid in entry.members for pod in self._cluster.nominations.on(name)):
            return True  # it is kept for the job
        try:
            if not self._profile.fits_on(entry.pod, row):
                return False
            pod_class = self._profile.classify(entry.pod)
            return entry.num_slots <= 1 or int(slots_by_row(self._profile, pod_class).sum()) >= entry.num_slots
        except PluginError:
            return True  # the attempt will tell


def incomplete_words(entry: QueuedGroup, book: GroupBook, spec: GroupSpec) -> str:
    """How many members are there, and how many it takes."""
    number = book.num_scheduled + len(entry.members)
    words = f"job {entry.key} is incomplete: {number} of {spec.min_count} members exist"
    return f"{words}, {entry.num_gated} of them gated" if entry.num_gated else words


def scheduler_problem(book: GroupBook) -> Misconfigured | None:
    """Members that ask different schedulers will never be tried together."""
    if len(book.schedulers) < 2:
        return None
    first, second = sorted(book.schedulers)[:2]
    here, there = (
        min(pod.key for pod in book.pods.values() if pod.spec.scheduler_name == name) for name in (first, second)
    )
    words = f"{first!r} here and {second!r} in Pod {there}; members have to agree"
    return Misconfigured(f"Pod {here}", "spec.schedulerName", words)


def _node_of(change: Change) -> str:
    """Where it happened; "" if that is nowhere in particular."""
    thing = change.old if change.new is None else change.new
    if isinstance(thing, Node):
        return thing.metadata.name
    return thing.spec.node_name if isinstance(thing, Pod) else ""
