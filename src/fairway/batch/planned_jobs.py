"""A job as the plan sees it: what its members need, for how long, and on which rows.

In: a job of the book, its queue, the machine. Out: a `WaitingJob`; the same one again as long as nothing of it changes.
Members that no plugin could tell apart are one class, the largest class first. Rows are those that the filters of the
job's profile let pass which look at nodes alone, and that are the queue's. Called by the desk before a pass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from fairway.batch.job import BatchJob
from fairway.batch.limits import KEPT_SECONDS, time_left
from fairway.batch.machine import Machine
from fairway.batch.quotas.quotas import Quotas
from fairway.cluster import Cluster, PodClass
from fairway.cluster.known_classes import num_alike
from fairway.cycle import Profile
from fairway.cycle.groups.job_slots import eligible_rows
from fairway.cycle.guard import BUILT_IN
from fairway.model import Pod
from fairway.model.batch import QueueSpec
from fairway.model.group import GroupSpec
from fairway.plan import Entrance, MemberClass, WaitingJob
from fairway.plugin import overrides
from fairway.queue import profile_name

__all__ = ["PlannedJobs"]

Mask = NDArray[np.bool_]
MOST_KNOWN: Final = 4096


class PlannedJobs:
    """Makes them, and keeps which rows each class may be on."""

    def __init__(
        self,
        cluster: Cluster,
        machine: Machine,
        queues: Mapping[str, QueueSpec],
        quotas: Quotas,
        entrances: Callable[[BatchJob, float], tuple[Entrance, ...]],
    ) -> None:
        """`entrances`: the closings that are none for a job which may run for so long."""
        self._cluster = cluster
        self._machine = machine
        self._queues = queues
        self._quotas = quotas
        self._entrances = entrances
        self._version = -1
        self._eligible: dict[tuple[int, str], tuple[PodClass, Mask | None]] = {}
        self._of_queue: dict[str, Mask | None] = {}
        self._evenly: dict[str, bool] = {}  # by profile: does it judge members alike that ask for the same?
        self._masks: dict[bytes, Mask] = {}  # equal ones are one, so that the plan can tell equal jobs by it

    def refresh(self, jobs: Mapping[str, BatchJob]) -> None:
        """Nodes may have changed: then all is made anew."""
        if self._version == self._machine.num_changes:
            return
        self._version = self._machine.num_changes
        self._eligible.clear()
        self._of_queue.clear()
        self._masks.clear()
        self._evenly.clear()
        for job in jobs.values():
            job.plan = None

    def forget(self, queues: Mapping[str, QueueSpec]) -> None:
        """Queues are others now."""
        self._queues = queues
        self._version = -1

    def plan_of(self, job: BatchJob, profiles: Mapping[str, Profile]) -> WaitingJob:
        """The job as the plan sees it."""
        if job.plan is None:
            job.plan = self._make(job, profiles)
        return job.plan

    def _make(self, job: BatchJob, profiles: Mapping[str, Profile]) -> WaitingJob:
        queue = self._queues[job.queue]
        waiting = job.waiting
        missing = max(job.min_count - (len(job.pods) - len(waiting)), 1)
        pods = waiting[:missing] if job.min_count > 1 else waiting[:1]
        counts: dict[PodClass, int] = {}
        for pod_class, count in self._classes(pods, profiles):
            counts[pod_class] = counts.get(pod_class, 0) + count
        spec = self._group_spec(job)
        one_per_row = spec is not None and spec.one_per_node
        classes = []
        for pod_class, count in counts.items():
            profile = profiles[profile_name(pod_class.pod)]
            need = self._machine.need(pod_class, job.wishes.is_exclusive)
            eligible = self._eligible_rows(pod_class, profile, job.queue)
            classes.append(MemberClass(need, count, eligible, one_per_row))
        if len(classes) > 1:
            classes.sort(key=lambda members: tuple(-members.need))
        duration = time_left(job, queue.limits, self._machine.calendar.now)
        if job.imagined:
            duration += KEPT_SECONDS  # so long its pods may take to come
        shares = self._quotas.shares(job, pods)
        return WaitingJob(
            job.key,
            tuple(classes),
            duration,
            job.queue,
            domains=self._domains(spec),
            shares=shares,
            entrances=self._entrances(job, duration),
        )

    def _group_spec(self, job: BatchJob) -> GroupSpec | None:
        if job.group is None:
            return None
        spec = self._cluster.groups.spec_at(job.group)
        return spec if isinstance(spec, GroupSpec) else None

    def _domains(self, spec: GroupSpec | None) -> tuple[Mask, ...]:
        if spec is None or spec.topology is None or not spec.topology.is_required:
            return ()
        nodes = self._cluster.nodes
        values: dict[str, list[int]] = {}
        for row, node in enumerate(nodes.objects[: nodes.num_rows]):
            if node is not None and (value := node.metadata.labels.get(spec.topology.keys[0])) is not None:
                values.setdefault(value, []).append(row)
        domains = []
        for _, rows in sorted(values.items()):
            mask = np.zeros(nodes.num_rows, np.bool_)
            mask[rows] = True
            domains.append(mask)
        return tuple(domains) or (np.zeros(nodes.num_rows, np.bool_),)

    def _eligible_rows(self, pod_class: PodClass, profile: Profile, queue: str) -> Mask | None:
        """Rows that the class may be on, (num_rows,); None: all."""
        key = (id(pod_class), queue)
        known = self._eligible.get(key)
        if known is not None and known[0] is pod_class:
            return known[1]
        num_rows = self._cluster.nodes.num_rows
        mask: Mask = eligible_rows(profile, pod_class)
        # What may not be used now is closed in the calendar; with that gone, these rows are as good as others.
        mask[self._machine.unusable_rows] = True
        of_queue = self.rows_of_queue(queue)
        if of_queue is not None:
            mask &= of_queue
        if pod_class.missing:
            mask[:] = False
        found = None if mask.all() and num_rows else self._masks.setdefault(mask.tobytes(), mask)
        if len(self._eligible) >= MOST_KNOWN:
            self._eligible.clear()
        self._eligible[key] = (pod_class, found)
        return found

    def rows_of_queue(self, queue: str) -> Mask | None:
        """The rows of a queue's nodes, (num_rows,); None: all."""
        if queue not in self._of_queue:
            choice = self._queues[queue].nodes
            objects = self._cluster.nodes.objects[: self._cluster.nodes.num_rows]
            self._of_queue[queue] = (
                np.array([node is not None and choice.matches(node.metadata.labels) for node in objects], np.bool_)
                if choice.selector
                else None
            )
        return self._of_queue[queue]

    def _classes(self, pods: Sequence[Pod], profiles: Mapping[str, Profile]) -> Iterator[tuple[PodClass, int]]:
        """The classes of members, and how many one after the other are of each."""
        first = 0
        while first < len(pods):
            pod, profile = pods[first], profiles[profile_name(pods[first])]
            if profile.name not in self._evenly:
                self._evenly[profile.name] = _judges_evenly(profile)
            number = num_alike(pods, first) if self._evenly[profile.name] else 1
            yield profile.classify(pod), number
            first += number


def _judges_evenly(profile: Profile) -> bool:
    """Users' plugins may tell members of a job apart by anything, and some look at every pod for itself."""
    dividers = [plugin for plugin in profile.plugins if overrides(plugin, "class_key")]
    is_ours = all(type(plugin).__module__.startswith(BUILT_IN) for plugin in dividers)
    return is_ours and not any(plugin.per_pod for plugin in profile.plugins)
