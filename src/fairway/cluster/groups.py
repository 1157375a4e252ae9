"""The books of groups: which pods belong together, who of them waits, who has a node, and how the group starts.

In: every pod and every group's object, from `Cluster.apply`, `assume` and `forget`; a pod that only waits is told by
`observe`. Out: a `GroupBook` for each job that some pod names: its members, and by `spec_of` how it starts, what is
wrong with it, or that its object is missing. A pod's event takes the same time however many members there are. Nothing
is kept of pods until somebody follows (`follow`); objects are kept always, as they are few. Read by the plugins that
hold gangs together, and by the cycles of groups.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, TypeVar

from fairway.cluster.events import Change, Resource
from fairway.model import AnyPodGroup, CoschedulingPodGroup, Job, Pod, PodGroup, VolcanoPodGroup
from fairway.model.group import (
    JOB_SET_LABEL,
    START_TOGETHER,
    WITH_OBJECT,
    WORKER_SET_LABEL,
    GroupKey,
    GroupReading,
    GroupSpec,
    Membership,
    Misconfigured,
    Spelling,
    membership,
)
from fairway.model.group_reading import Sayings, job_spec, object_spec, sayings, told_spec
from fairway.model.job_set import JobSet

if TYPE_CHECKING:
    from fairway.cluster.workloads import Workloads

T = TypeVar("T")

__all__ = ["GROUP_KINDS", "GroupBook", "Groups"]

GROUP_KINDS: Final = (PodGroup, CoschedulingPodGroup, VolcanoPodGroup)
OBJECT_KINDS: Final = {
    PodGroup: Spelling.KUBE,
    CoschedulingPodGroup: Spelling.COSCHEDULING,
    VolcanoPodGroup: Spelling.VOLCANO,
}


class GroupBook:
    """A job and its members that live: each waits, is assumed on a node, or is bound to one."""

    __slots__ = (
        "_priorities",
        "_said",
        "_saying_of",
        "assumed",
        "bound",
        "ignored",
        "key",
        "num_gated",
        "pods",
        "schedulers",
        "version",
    )

    def __init__(self, key: GroupKey) -> None:
        self.key = key
        self.pods: dict[str, Pod] = {}  # by uid: all members, as they were last seen
        self.assumed: dict[str, Pod] = {}  # by uid: those that we decided about and the world has not confirmed
        self.bound: dict[str, None] = {}  # uids
        self.num_gated = 0  # members that wait behind gates of their own
        self.schedulers: Counter[str] = Counter()  # whom members ask to schedule them
        self.ignored: tuple[Spelling, ...] = ()  # spellings that some member uses besides
        self.version = 0  # changes with everything here
        self._said: dict[Sayings, dict[str, None]] = {}  # what members say about the group, and their uids
        self._saying_of: dict[str, Sayings] = {}  # by uid
        self._priorities: Counter[int] = Counter()

    def __len__(self) -> int:
        return len(self.pods)

    @property
    def waiting(self) -> list[str]:
        """The uids of members without a node, in the order they came."""
        return [uid for uid in self.pods if uid not in self.assumed and uid not in self.bound]

    @property
    def num_scheduled(self) -> int:
        """How many members are assumed or bound."""
        return len(self.assumed) + len(self.bound)

    @property
    def num_ready(self) -> int:
        """How many members exist that are not gated."""
        return len(self.pods) - self.num_gated

    @property
    def highest_priority(self) -> int:
        """That of its most important member."""
        return max(self._priorities, default=0)

    @property
    def sayings(self) -> list[tuple[Sayings, str]]:
        """The different things that members say about it, each with a member that does."""
        return [(said, self.pods[next(iter(uids))].key) for said, uids in self._said.items()]

    def add(self, pod: Pod, said: Sayings) -> None:
        """A member came, or is another than before."""
        uid = pod.metadata.uid
        if uid in self.pods:
            self._uncount(uid)
        self.pods[uid] = pod
        self.num_gated += bool(pod.spec.scheduling_gates)
        self.schedulers[pod.spec.scheduler_name] += 1
        self._priorities[pod.priority] += 1
        self._said.setdefault(said, {})[uid] = None
        self._saying_of[uid] = said
        if pod.spec.node_name:
            self.bound[uid] = None
            self.assumed.pop(uid, None)
        self.version += 1

    def drop(self, uid: str) -> None:
        """A member is gone, or has ended."""
        self._uncount(uid)
        del self.pods[uid]
        self.assumed.pop(uid, None)
        self.bound.pop(uid, None)
        self.version += 1

    def _uncount(self, uid: str) -> None:
        pod = self.pods[uid]
        self.num_gated -= bool(pod.spec.scheduling_gates)
        _take_one(self.schedulers, pod.spec.scheduler_name)
        _take_one(self._priorities, pod.priority)
        said = self._saying_of.pop(uid)
        del self._said[said][uid]
        if not self._said[said]:
            del self._said[said]


def _take_one(counts: Counter[T], value: T) -> None:
    counts[value] -= 1
    if not counts[value]:
        del counts[value]


class Groups:
    """All groups that some pod names, and the objects that speak of groups."""

    def __init__(self, workloads: Workloads) -> None:
        self._workloads = workloads
        self.reading: GroupReading | None = None  # None: nobody follows
        self._groups: dict[GroupKey, GroupBook] = {}
        self._of: dict[str, GroupBook] = {}  # by member's uid
        self._objects: dict[GroupKey, AnyPodGroup] = {}
        self._controllers: dict[tuple[str, str, str], Job | JobSet] = {}  # by namespace, kind, name: those that ask
        self._specs: dict[GroupKey, tuple[object, list[tuple[Sayings, str]], GroupSpec | Misconfigured]] = {}

    def __iter__(self) -> Iterator[GroupBook]:
        return iter(list(self._groups.values()))

    def follow(self, reading: GroupReading) -> None:
        """Keep books of pods from now on, read so; who follows later may add to how they are read."""
        known = () if self.reading is None else self.reading.prefixes
        self.reading = GroupReading(tuple(dict.fromkeys((*known, *reading.prefixes))))

    # -- looking -----------------------------------------------------------------------------------------------------

    def of(self, uid: str) -> GroupBook | None:
        """The group of a pod."""
        return self._of.get(uid)

    def find(self, key: GroupKey) -> GroupBook | None:
        """The group of that key, if it has a member."""
        return self._groups.get(key)

    def object_of(self, key: GroupKey) -> AnyPodGroup | None:
        """The group's object, where it has one."""
        return self._objects.get(key)

    def spec_of(self, group: GroupBook) -> GroupSpec | Misconfigured | None:
        """How the group starts; None: its object is missing."""
        key = group.key
        holder = self._objects.get(key) if key.spelling in WITH_OBJECT else self._controller_of(group)
        said = group.sayings
        if holder is None and (key.spelling in WITH_OBJECT or _needs_controller(group)):
            return None
        kept = self._specs.get(key)
        if kept is None or kept[0] is not holder or kept[1] != said:
            kept = self._specs[key] = holder, said, self._read(key, holder, said)
        return kept[2]

    def _read(
        self, key: GroupKey, holder: AnyPodGroup | Job | JobSet | None, said: list[tuple[Sayings, str]]
    ) -> GroupSpec | Misconfigured:
        assert self.reading is not None
        if len(said) > 1:
            return _disagreement(said)
        words, member = said[0]
        if isinstance(holder, Job | JobSet):
            return job_spec(key, holder, words, member)
        if holder is not None:
            return object_spec(key, holder, words, member, self._priority_of)
        return told_spec(key, words, member, self.reading)

    def missing_words(self, group: GroupBook) -> str:
        """What is not there, where `spec_of` says that something is missing."""
        kind = "PodGroup" if group.key.spelling in WITH_OBJECT else _controller_kind(group)
        return f"no {kind} {group.key}"

    def _priority_of(self, class_name: str) -> int | None:
        found = self._workloads.priority_classes.get(class_name)
        return None if found is None else found.value

    def _controller_of(self, group: GroupBook) -> Job | JobSet | None:
        key = group.key
        if key.spelling is not Spelling.CONTROLLER:
            return None
        return self._controllers.get((key.namespace, _controller_kind(group), key.name))

    # -- pods --------------------------------------------------------------------------------------------------------

    def observe(self, pod: Pod, gone: bool = False) -> GroupBook | None:
        """A pod came, changed or went. Returns its group."""
        if self.reading is None:
            return None
        uid = pod.metadata.uid
        group = self._of.get(uid)
        if gone or pod.is_finished:
            if group is not None:
                del self._of[uid]
                group.drop(uid)
                if not group.pods:
                    del self._groups[group.key]
                    self._specs.pop(group.key, None)
            return group
        if group is None:
            found = self.membership(pod)
            if found is None:
                return None
            group = self._groups.get(found.key)
            if group is None:
                group = self._groups[found.key] = GroupBook(found.key)
            group.ignored = tuple(dict.fromkeys((*group.ignored, *found.ignored)))
            self._of[uid] = group
        group.add(pod, sayings(pod, group.key.spelling, self.reading))
        return group

    def membership(self, pod: Pod) -> Membership | None:
        """Which group a pod belongs to, seen or not."""
        return None if self.reading is None else membership(pod, self.reading, self._asks)

    def _asks(self, pod: Pod) -> bool:
        """Does the pod's controller, or the JobSet that made that, want its pods to start together?"""
        if not self._controllers:
            return False
        meta, owner = pod.metadata, pod.metadata.controller
        if owner is not None and (meta.namespace, owner.kind, owner.name) in self._controllers:
            return True
        return (meta.namespace, "JobSet", meta.labels.get(JOB_SET_LABEL, "")) in self._controllers

    def assume(self, pod: Pod) -> None:
        """We decided about a pod."""
        group = self._of.get(pod.metadata.uid) or self.observe(pod)
        if group is not None and pod.metadata.uid not in group.bound:
            group.assumed[pod.metadata.uid] = pod
            group.version += 1

    def forget(self, uid: str) -> None:
        """The decision came to nothing."""
        group = self._of.get(uid)
        if group is not None and group.assumed.pop(uid, None) is not None:
            group.version += 1

    # -- objects -----------------------------------------------------------------------------------------------------

    def apply(self, item: AnyPodGroup, gone: bool) -> list[Change]:
        """A group's object came, changed or went."""
        key = GroupKey(OBJECT_KINDS[type(item)], item.metadata.namespace, item.metadata.name)
        before = self._objects.pop(key, None)
        if not gone:
            self._objects[key] = item
        return [Change.of(Resource.POD_GROUP, before, item, gone)]

    def apply_controller(self, item: Job | JobSet, gone: bool) -> None:
        """A Job or JobSet came, changed or went; of concern are those that want their pods to start together."""
        key = (item.metadata.namespace, item.kind, item.metadata.name)
        self._controllers.pop(key, None)
        said = [item.metadata.annotations]
        if isinstance(item, Job):
            said.append(item.spec.template.metadata.annotations)
        else:
            for job in item.spec.replicated_jobs:
                said += [job.template.metadata.annotations, job.template.spec.template.metadata.annotations]
        if not gone and any(annotations.get(START_TOGETHER) == "true" for annotations in said):
            self._controllers[key] = item


def _controller_kind(group: GroupBook) -> str:
    labels = next(iter(group.pods.values())).metadata.labels
    return "JobSet" if labels.get(JOB_SET_LABEL) == group.key.name else "Job"


def _needs_controller(group: GroupBook) -> bool:
    """Pods of a LeaderWorkerSet say themselves how many they are; those of other controllers do not."""
    if group.key.spelling is not Spelling.CONTROLLER:
        return False
    return WORKER_SET_LABEL not in next(iter(group.pods.values())).metadata.labels


def _disagreement(said: list[tuple[Sayings, str]]) -> Misconfigured:
    """Members say different things about their group: which, and who."""
    (first, one), (second, other) = sorted(said, key=lambda saying: saying[1])[:2]
    here, there = dict(first), dict(second)
    name = next(name for name in sorted(here.keys() | there.keys()) if here.get(name) != there.get(name))
    words = f"{_shown(here.get(name))} here and {_shown(there.get(name))} in Pod {other}; members have to agree"
    return Misconfigured(f"Pod {one}", f"metadata.annotations[{name!r}]", words)


def _shown(text: str | None) -> str:
    return "nothing" if text is None else repr(text)
