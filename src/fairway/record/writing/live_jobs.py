"""The jobs of a run that have members: who belongs to which, since when each is complete, and when it started.

In: pods as they come, change, are bound and end, and the objects that say how groups start. Out: for each pod the
number of its job, and rows of the table `jobs`, when the last member has ended. Jobs are kept of pods that say so, in
whichever spelling, whether or not a scheduler of the run treats them as such; and of those that are in a queue, which
may keep a job whose members are all gone. Kept by `RunWriter`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any, Final

import msgspec

from fairway.batch.job_sayings import JobSayings
from fairway.batch.settings import BatchSettings
from fairway.cluster import Cluster
from fairway.cluster.groups import GROUP_KINDS, OBJECT_KINDS, GroupBook
from fairway.model import ApiObject, Pod, PriorityClass
from fairway.model.group import GroupKey, GroupReading, GroupSpec
from fairway.model.group_reading import GroupController
from fairway.plugin import with_spec
from fairway.record.queues.queue_tables import LONE
from fairway.record.schedulers import RecordedScheduler
from fairway.record.vocabulary import PodEnd

__all__ = ["LiveJob", "LiveJobs", "QueuedPart", "gang_prefixes"]

NUM_REMEMBERED: Final = 4096


class QueuedPart(msgspec.Struct, eq=False):
    """What its queue knows of a job, as it was told last."""

    queue: str
    account: str
    limit: float | None  # seconds; None: for ever
    state: str
    reason: str | None
    priority: int
    num_requeues: int
    run_seconds: float
    charge: int  # thousandths of a unit
    is_over: bool  # it has ended, and will not begin again

    def cells(self) -> tuple[Any, ...]:
        """Its columns of the table `jobs`."""
        return (
            self.queue,
            self.account,
            self.limit,
            self.state,
            self.reason,
            self.priority,
            self.num_requeues,
            self.run_seconds,
            self.charge,
        )


NO_QUEUE: Final = (None,) * 9


class LiveJob(msgspec.Struct, eq=False):
    """A job with members, or one that its queue still has."""

    number: int
    name: str  # with its namespace
    namespace: str
    spelling: str
    user: str
    created: float
    priority: int = 0
    min_count: int | None = None
    size: int | None = None
    complete: float | None = None
    started: float | None = None
    ended: float | None = None
    end: str | None = None  # in a word; of a job that lives, how the first member ended that did not end well
    num_attempts: int = 0
    num_bound: int = 0  # members
    is_empty: bool = False  # have all members gone, and none has come again?
    pod: int | None = None  # the number of the pod that it is; None: it may have several
    queued: QueuedPart | None = None  # None: it is in no queue

    @property
    def is_kept(self) -> bool:
        """Does its queue still have it, whatever became of its members?"""
        return self.queued is not None and not self.queued.is_over

    def close(self, t: float) -> None:
        """It is over."""
        self.ended, self.end = t, self.end or PodEnd.SUCCEEDED._value_

    def row(self) -> tuple[Any, ...]:
        """Its row of the table `jobs`."""
        return (
            self.number,
            self.name,
            self.namespace,
            self.spelling,
            self.user,
            self.priority,
            self.min_count,
            self.size,
            self.created,
            self.complete,
            self.started,
            self.ended,
            None if self.ended is None else self.end,
            self.num_attempts,
            self.pod,
            *(NO_QUEUE if self.queued is None else self.queued.cells()),
        )


class LiveJobs:
    """Jobs by key; of those that have ended, the latest can still be found."""

    def __init__(self, prefixes: tuple[str, ...]) -> None:
        self._cluster = cluster = Cluster()
        self.prefixes = prefixes
        self._groups, self._workloads = cluster.groups, cluster.workloads
        self._groups.follow(GroupReading(prefixes))
        self._by_key: dict[GroupKey, LiveJob] = {}
        self._lone: dict[int, LiveJob] = {}  # by number
        self._ended: list[LiveJob] = []  # whose rows have not been taken
        self._former: dict[GroupKey, LiveJob] = {}
        self._num_jobs = 0

    def learn(self, settings: BatchSettings) -> None:
        """In some queues the pods of a controller are one job, though they do not say so."""
        JobSayings(self._cluster, settings.aliases).learn(settings)

    def find(self, key: GroupKey) -> LiveJob | None:
        """The job of that key, or the last one that was called so."""
        return self._by_key.get(key) or self._former.get(key)

    # -- pods --------------------------------------------------------------------------------------------------------

    def join(self, t: float, pod: Pod, user: str) -> LiveJob | None:
        """A pod came; its job, if it belongs to one."""
        group = self._groups.observe(pod)
        if group is None:
            return None
        job = self._by_key.get(group.key)
        if job is None:
            job = self._by_key[group.key] = self._new(
                str(group.key), group.key.namespace, group.key.spelling.value, user, t
            )
        elif job.is_empty:
            job.is_empty, job.end = False, None  # how its members end the last time counts
        self._look(t, job, group)
        return job

    def _new(self, name: str, namespace: str, spelling: str, user: str, t: float) -> LiveJob:
        self._num_jobs += 1
        return LiveJob(self._num_jobs - 1, name, namespace, spelling, user, t)

    def change(self, t: float, pod: Pod) -> None:
        """A member is another than before."""
        if self._groups.of(pod.metadata.uid) is not None:
            self._see(t, pod)

    def bind(self, t: float, uid: str, node: str) -> None:
        """A member has its node."""
        group = self._groups.of(uid)
        if group is not None:
            self._see(t, with_spec(group.pods[uid], node_name=node))

    def _see(self, t: float, pod: Pod) -> None:
        group = self._groups.observe(pod)
        assert group is not None
        self._look(t, self._by_key[group.key], group)

    def end(self, t: float, uid: str, reason: PodEnd) -> None:
        """A member ended; with the last one, its job."""
        group = self._groups.of(uid)
        if group is None:
            return
        job = self._by_key[group.key]
        self._groups.observe(group.pods[uid], gone=True)
        job.num_bound = len(group.bound)
        if job.end is None and reason is not PodEnd.SUCCEEDED:
            job.end = reason._value_
        if not group.pods:
            job.is_empty = True
            if not job.is_kept:
                self._close(t, group.key, job)

    def _close(self, t: float, key: GroupKey, job: LiveJob) -> None:
        job.close(t)
        del self._by_key[key]
        self._ended.append(job)
        self._former.pop(key, None)
        self._former[key] = job
        for former in list(islice(self._former, max(0, len(self._former) - NUM_REMEMBERED))):
            del self._former[former]

    # -- queues ------------------------------------------------------------------------------------------------------

    def queue(self, t: float, job: LiveJob, part: QueuedPart, key: GroupKey | None) -> None:
        """Its queue says where it stands; one that is over ends with its last member. `key`: None of a lone pod."""
        job.queued = part
        if not part.is_over or job.ended is not None:
            return
        if key is None:
            job.close(t)
            del self._lone[job.number]
            self._ended.append(job)
        elif job.is_empty:
            self._close(t, key, job)

    def add_lone(self, t: float, name: str, namespace: str, user: str) -> LiveJob:
        """A job that is one pod, because a queue has it."""
        job = self._new(name, namespace, LONE, user, t)
        job.min_count = 1
        self._lone[job.number] = job
        return job

    # -- objects -----------------------------------------------------------------------------------------------------

    def apply(self, t: float, thing: ApiObject, gone: bool) -> None:
        """Something that is no pod came, changed or went."""
        meta = thing.metadata
        if isinstance(thing, GROUP_KINDS):
            self._groups.apply(thing, gone)
            found = self._groups.find(GroupKey(OBJECT_KINDS[type(thing)], meta.namespace, meta.name))
            groups = [] if found is None else [found]
        elif isinstance(thing, GroupController):
            self._groups.apply_controller(thing, gone)
            groups = self._groups.made_by(thing)
        else:
            if isinstance(thing, PriorityClass):
                self._workloads.apply(thing, gone)
            return
        for group in groups:
            self._look(t, self._by_key[group.key], group)

    def _look(self, t: float, job: LiveJob, group: GroupBook) -> None:
        """How it starts may be known now, and it may be complete or have started."""
        spec = self._groups.spec_of(group)
        own = spec.priority if isinstance(spec, GroupSpec) else None
        job.priority = group.highest_priority if own is None else own
        job.num_bound = len(group.bound)
        if not isinstance(spec, GroupSpec):
            return
        job.min_count, job.size = spec.min_count, spec.size
        needed = max(spec.min_count, 1)
        if job.complete is None and group.num_ready >= needed:
            job.complete = t
        if job.started is None and job.num_bound >= needed:
            job.started = t
            job.complete = t if job.complete is None else job.complete

    # -- rows --------------------------------------------------------------------------------------------------------

    def take_rows(self) -> list[tuple[Any, ...]]:
        """The rows of jobs that have ended."""
        rows = [job.row() for job in self._ended]
        self._ended.clear()
        return rows

    def open_rows(self) -> list[tuple[Any, ...]]:
        """The rows of those that have not."""
        return [job.row() for job in (*self._by_key.values(), *self._lone.values())]


def gang_prefixes(schedulers: Iterable[RecordedScheduler]) -> tuple[str, ...]:
    """What annotations of groups begin with, by the schedulers' configurations."""
    found: dict[str, None] = {}
    for scheduler in schedulers:
        for profile in scheduler.config.get("profiles") or ():
            section = profile.get("fairway") if isinstance(profile, Mapping) else None
            gangs = section.get("gangs") if isinstance(section, Mapping) else None
            prefix = gangs.get("prefix") if isinstance(gangs, Mapping) else None
            if isinstance(prefix, str) and prefix:
                found[prefix] = None
    return tuple(found)
