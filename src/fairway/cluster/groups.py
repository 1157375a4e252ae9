"""The books of groups: which pods belong together, who of them waits, who has a node, and how the group starts.

In: every pod and every group's object, from `Cluster.apply`, `assume` and `forget`; a pod that only waits is told by
`observe`. Out: a `GroupBook` for each job that some pod names: its members, and by `spec_of` how it starts, what is
wrong with it, or that its object is missing. A pod's event takes the same time however many members there are. Nothing
is kept of pods until somebody follows (`follow`); objects are kept always, as they are few. Read by the plugins that
hold gangs together, and by the cycles of groups.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

from fairway.cluster.events import Change, Resource
from fairway.cluster.group_book import GroupBook, KeptSpec
from fairway.model import AnyPodGroup, CoschedulingPodGroup, Job, ObjectMeta, Pod, PodGroup, VolcanoPodGroup
from fairway.model.group import (
    COSCHEDULING_LABEL,
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
    naming_annotations,
)
from fairway.model.group_reading import GroupController, Sayings, controller_spec, object_spec, sayings, told_spec
from fairway.model.job_set import JobSet
from fairway.model.leader_worker_set import LeaderWorkerSet

if TYPE_CHECKING:
    from fairway.cluster.workloads import Workloads

__all__ = ["GROUP_KINDS", "GroupBook", "Groups"]

GROUP_KINDS: Final = (PodGroup, CoschedulingPodGroup, VolcanoPodGroup)
OBJECT_KINDS: Final = {
    PodGroup: Spelling.KUBE,
    CoschedulingPodGroup: Spelling.COSCHEDULING,
    VolcanoPodGroup: Spelling.VOLCANO,
}


class Groups:
    """All groups that some pod names, and the objects that speak of groups."""

    def __init__(self, workloads: Workloads) -> None:
        self._workloads = workloads
        self.reading: GroupReading | None = None  # None: nobody follows
        self._names: frozenset[str] = frozenset()  # of annotations by which pods belong together
        self._groups: dict[GroupKey, GroupBook] = {}
        self._by_name: dict[str, tuple[GroupBook, ...]] = {}  # the same by namespace/name
        self.by_uid: dict[str, GroupBook] = {}  # of members
        self.are_used = False  # has any pod ever named one?
        self._objects: dict[GroupKey, AnyPodGroup] = {}
        self._controllers: dict[tuple[str, str, str], GroupController] = {}  # by namespace, kind, name: those that ask
        self._imagined: dict[GroupKey, GroupSpec] = {}
        self._version = 0  # of objects and controllers
        # Whose pods start together though they do not say so: by what the controller and its template say.
        self.are_one_job: Callable[[GroupController, Sequence[ObjectMeta]], bool] | None = None
        self._expected: dict[GroupKey, GroupSpec | Misconfigured] = {}  # of groups that have no member yet

    def __iter__(self) -> Iterator[GroupBook]:
        return iter(list(self._groups.values()))

    def follow(self, reading: GroupReading) -> None:
        """Keep books of pods from now on, read so; who follows later may add to how they are read."""
        known = () if self.reading is None else self.reading.prefixes
        self.reading = GroupReading(tuple(dict.fromkeys((*known, *reading.prefixes))))
        self._names = naming_annotations(self.reading)

    # -- looking -----------------------------------------------------------------------------------------------------

    def of(self, uid: str) -> GroupBook | None:
        """The group of a pod."""
        return self.by_uid.get(uid)

    def find(self, key: GroupKey) -> GroupBook | None:
        """The group of that key, if it has a member."""
        return self._groups.get(key)

    def named(self, job: str) -> Sequence[GroupBook]:
        """The groups of that name, `namespace/name`, in whichever spelling, in the order of those."""
        return self._by_name.get(job, ())

    def named_by(self, pod: Pod) -> GroupBook | None:
        """The group that a pod belongs to, or did before it went, if it has a member."""
        found = self.by_uid.get(pod.metadata.uid)
        named = self.membership(pod) if found is None else None
        return found if named is None else self._groups.get(named.key)

    def object_of(self, key: GroupKey) -> AnyPodGroup | None:
        """The group's object, where it has one."""
        return self._objects.get(key)

    def key_of(self, item: AnyPodGroup) -> GroupKey:
        """The group of which the object speaks."""
        return GroupKey(OBJECT_KINDS[type(item)], item.metadata.namespace, item.metadata.name)

    def asks(self, item: GroupController) -> bool:
        """Does the controller want its pods to start together?"""
        return (item.metadata.namespace, item.kind, item.metadata.name) in self._controllers

    def spec_of(self, group: GroupBook) -> GroupSpec | Misconfigured | None:
        """How the group starts; None: its object is missing."""
        key, kept = group.key, group.kept
        if self._imagined and key in self._imagined:
            return self._imagined[key]
        said = group.sayings
        if kept is not None and kept.version == self._version and kept.said is said:
            return kept.spec
        holder = self._objects.get(key) if key.spelling in WITH_OBJECT else self._controller_of(group)
        if holder is None and (key.spelling in WITH_OBJECT or _needs_controller(group)):
            return None
        if kept is None or kept.holder is not holder or kept.said != said:
            kept = KeptSpec(-1, holder, said, self._read(key, holder, said))
        if key.spelling is not Spelling.CONTROLLER:  # its controller is known by a member, which may be another then
            kept = kept._replace(version=self._version, said=said)
        group.kept = kept
        return kept.spec

    def expect(self, key: GroupKey, holder: GroupController | None, pod: Pod | None = None) -> None:
        """A controller makes pods such as this one when it may: its group is spoken of before; None: of no such one."""
        if holder is None or pod is None or self.reading is None:
            self._expected.pop(key, None)
            return
        spec = self._read(key, holder, [(sayings(pod, key.spelling, self.reading), pod.key)])
        if self._expected.get(key) != spec:
            self._expected[key] = spec

    def spec_at(self, key: GroupKey) -> GroupSpec | Misconfigured | None:
        """How a group starts that has members, or is expected to; None: nobody says."""
        book = self._groups.get(key)
        return self._expected.get(key) if book is None else self.spec_of(book)

    @contextlib.contextmanager
    def imagining(self, key: GroupKey, spec: GroupSpec) -> Iterator[None]:
        """Inside, the group starts so, whatever its object and its members say."""
        self._imagined[key] = spec
        try:
            yield
        finally:
            del self._imagined[key]

    def _read(
        self, key: GroupKey, holder: AnyPodGroup | GroupController | None, said: list[tuple[Sayings, str]]
    ) -> GroupSpec | Misconfigured:
        assert self.reading is not None
        if len(said) > 1:
            return _disagreement(said)
        words, member = said[0]
        if isinstance(holder, GroupController):
            return controller_spec(key, holder, words, member, self.reading)
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

    def _controller_of(self, group: GroupBook) -> GroupController | None:
        key = group.key
        if key.spelling is not Spelling.CONTROLLER:
            return None
        labels = next(iter(group.pods.values())).metadata.labels
        name = labels.get(WORKER_SET_LABEL, key.name)
        return self._controllers.get((key.namespace, _controller_kind(group), name))

    def made_by(self, item: GroupController) -> list[GroupBook]:
        """The groups of pods that the controller makes, if it asks that they start together."""
        meta = item.metadata
        if not isinstance(item, LeaderWorkerSet):
            found = self._groups.get(GroupKey(Spelling.CONTROLLER, meta.namespace, meta.name))
            return [] if found is None else [found]
        return [group for group in self._groups.values() if self._controller_of(group) is item]

    # -- pods --------------------------------------------------------------------------------------------------------

    def observe(self, pod: Pod, gone: bool = False) -> GroupBook | None:
        """A pod came, changed or went. Returns its group."""
        uid = pod.metadata.uid
        group, found = self.by_uid.get(uid), None
        if group is None and (found := self.membership(pod)) is None:
            return None  # as most pods: they pay next to nothing for those that do belong together
        self.are_used = True
        if gone or pod.is_finished:
            if group is not None:
                del self.by_uid[uid]
                group.drop(uid)
                if not group.pods:
                    del self._groups[group.key]
                    self._name(group.key)
            return group
        if found is not None:
            group = self._groups.get(found.key)
            if group is None:
                group = self._groups[found.key] = GroupBook(found.key)
                self._name(found.key)
            group.ignored = tuple(dict.fromkeys((*group.ignored, *found.ignored)))
            self.by_uid[uid] = group
        assert group is not None
        assert self.reading is not None
        group.add(pod, sayings(pod, group.key.spelling, self.reading))
        return group

    def _name(self, key: GroupKey) -> None:
        """A group came or went: who has its name now?"""
        keys = (GroupKey(spelling, key.namespace, key.name) for spelling in Spelling)
        namesakes = tuple(group for each in keys if (group := self._groups.get(each)) is not None)
        if namesakes:
            self._by_name[str(key)] = namesakes
        else:
            del self._by_name[str(key)]

    def membership(self, pod: Pod) -> Membership | None:
        """Which group a pod belongs to, seen or not."""
        meta = pod.metadata
        if self.reading is None or (
            pod.spec.scheduling_group is None
            and not self._controllers
            and COSCHEDULING_LABEL not in meta.labels
            and not (meta.annotations and not self._names.isdisjoint(meta.annotations))
        ):
            return None
        return membership(pod, self.reading, self._asks)

    def _asks(self, pod: Pod) -> bool:
        """Does the pod's controller, or what made that, want its pods to start together?"""
        if not self._controllers:
            return False
        meta, owner = pod.metadata, pod.metadata.controller
        if owner is not None and (meta.namespace, owner.kind, owner.name) in self._controllers:
            return True
        makers = (("JobSet", JOB_SET_LABEL), ("LeaderWorkerSet", WORKER_SET_LABEL))
        return any((meta.namespace, kind, meta.labels.get(label, "")) in self._controllers for kind, label in makers)

    def assume(self, pod: Pod) -> None:
        """We decided about a pod that was observed."""
        group = self.by_uid.get(pod.metadata.uid)
        if group is not None and pod.metadata.uid not in group.bound:
            group.assumed[pod.metadata.uid] = pod
            group.version += 1

    def forget(self, uid: str) -> None:
        """The decision came to nothing."""
        group = self.by_uid.get(uid)
        if group is not None and group.assumed.pop(uid, None) is not None:
            group.version += 1

    # -- objects -----------------------------------------------------------------------------------------------------

    def apply(self, item: AnyPodGroup, gone: bool) -> list[Change]:
        """A group's object came, changed or went."""
        key = self.key_of(item)
        self._version += 1
        before = self._objects.pop(key, None)
        if not gone:
            self._objects[key] = item
        return [Change.of(Resource.POD_GROUP, before, item, gone)]

    def apply_controller(self, item: GroupController, gone: bool) -> None:
        """A controller came, changed or went; of concern are those that want their pods to start together."""
        key = (item.metadata.namespace, item.kind, item.metadata.name)
        self._version += 1
        self._controllers.pop(key, None)
        if gone:
            return
        metas = _said_by(item)
        said = {meta.annotations[START_TOGETHER] for meta in metas if START_TOGETHER in meta.annotations}
        if "true" in said or (not said and self.are_one_job is not None and self.are_one_job(item, metas)):
            self._controllers[key] = item


def _said_by(item: GroupController) -> list[ObjectMeta]:
    """Where a controller may ask something for its pods: on itself, and on what it makes them of."""
    said = [item.metadata]
    if isinstance(item, Job):
        return [*said, item.spec.template.metadata]
    if isinstance(item, JobSet):
        for job in item.spec.replicated_jobs:
            said += [job.template.metadata, job.template.spec.template.metadata]
        return said
    template = item.spec.leader_worker_template
    leader = [] if template.leader_template is None else [template.leader_template.metadata]
    return [*said, *leader, template.worker_template.metadata]


def _controller_kind(group: GroupBook) -> str:
    labels = next(iter(group.pods.values())).metadata.labels
    if WORKER_SET_LABEL in labels:
        return "LeaderWorkerSet"
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
