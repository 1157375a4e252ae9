"""Who speaks for a job: its group's object, its controller, its pods; and what they say.

In: controllers as they come and go, the cluster's groups, the names that users of others know queues by. Out: the queue
that a pod names (`queue_of`), and the wishes of its job (`wishes`): of each key, the first object counts that has it.
A pod outside of queues costs one look at its labels and annotations. Part of the book of jobs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from fairway.batch.job import JobWishes
from fairway.batch.settings import BatchSettings
from fairway.batch.wishes import KUEUE_QUEUE, QUEUE, read_wishes
from fairway.cluster import Cluster
from fairway.model import Job, ObjectMeta, Pod, VolcanoPodGroup
from fairway.model.tenant import EXCLUSIVE

__all__ = ["JobSayings"]


class JobSayings:
    """What is said of jobs."""

    def __init__(self, cluster: Cluster, aliases: Mapping[str, str], start: float = 0.0) -> None:
        """`aliases`: queues by the names that Kueue's users know them by; `start`: see `wishes`."""
        self._cluster = cluster
        self.start = start
        self.aliases = aliases
        self.volcano_aliases: Mapping[str, str] = {}  # the same for those of Volcano
        self.makes_pods = True  # does anybody make bare pods anew that ask for it?
        self.makers: dict[str, None] = {}  # uids of Jobs whose pods are one job, as that waited without them
        self._foreign: frozenset[str] = frozenset()  # queues that other schedulers serve
        self._together: dict[str, tuple[str, ...]] = {}  # by queue: kinds of controllers whose pods are one job
        self._controllers: dict[tuple[str, str, str], Any] = {}  # namespace, kind, name

    def learn(self, settings: BatchSettings) -> None:
        """What queues are called by users of Kueue and of Volcano, and whose pods are one job in them."""
        self.aliases, self.volcano_aliases = settings.aliases, settings.volcano_aliases
        self._together = {name: queue.start_together for name, queue in settings.queues.items() if queue.start_together}
        self._foreign = settings.foreign
        self._cluster.groups.are_one_job = self._are_one_job

    def _are_one_job(self, item: Any, metas: Sequence[ObjectMeta]) -> bool:
        queue = next((queue for meta in metas if (queue := self._named(meta)) is not None), None)
        if queue is None:
            return False
        if isinstance(item, Job) and item.spec.suspend:
            self.makers[item.metadata.uid] = None
        return item.metadata.uid in self.makers or item.kind in self._together.get(queue, ())

    def observe(self, item: Any, gone: bool) -> None:
        """A controller or group came, changed or went, which may name a queue."""
        meta = item.metadata
        key = (meta.namespace, item.kind, meta.name)
        names_queue = any(name in said for said in (meta.annotations, meta.labels) for name in (QUEUE, KUEUE_QUEUE))
        if gone:
            self.makers.pop(meta.uid, None)
        if gone or not names_queue:
            self._controllers.pop(key, None)
        else:
            self._controllers[key] = item

    def queue_of(self, pod: Pod) -> str | None:
        """The queue that the pod's job is for; None: it names none."""
        for holder in self.holders(pod):
            if (queue := self.named_by(holder)) is not None:
                return queue
        return None

    def named_by(self, holder: Any) -> str | None:
        """The queue that this object names; None: it names none."""
        if (named := self._named(holder.metadata)) is not None:
            return named
        if self.volcano_aliases and isinstance(holder, VolcanoPodGroup):
            return self.volcano_aliases.get(holder.spec.queue)
        return None

    def _named(self, meta: ObjectMeta) -> str | None:
        for said in (meta.annotations, meta.labels):
            if (named := said.get(QUEUE)) is not None:
                return None if named in self._foreign else named
            if (alias := said.get(KUEUE_QUEUE)) is not None and alias in self.aliases:
                return self.aliases[alias]
        return None

    def holders(self, pod: Pod) -> Iterator[Any]:
        """The objects that speak for a pod's job, in the order in which they are asked."""
        groups = self._cluster.groups
        membership = groups.membership(pod) if groups.reading is not None else None
        holder = groups.object_of(membership.key) if membership is not None else None
        if holder is not None:
            yield holder
        owner = pod.metadata.controller
        if owner is not None and self._controllers:
            made_by = self._controllers.get((pod.metadata.namespace, owner.kind, owner.name))
            if made_by is not None:
                yield made_by
        yield pod

    def wishes(self, pod: Pod, queue: str, submitted: float) -> JobWishes:
        """What the job of that pod wants of that queue."""
        said = [said for each in self.holders(pod) for said in (each.metadata.annotations, each.metadata.labels)]
        if (shared := self._cluster.wishes.of(pod)) is not None:  # by what made it, be it that it names no queue
            said.append({EXCLUSIVE: shared})
        wishes = read_wishes(said, pod, queue, submitted, self.start)
        return wishes if self.makes_pods or not wishes.recreates else replace(wishes, recreates=False)
