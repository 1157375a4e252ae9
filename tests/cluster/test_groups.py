"""The books of groups: what they say of each group, and that a naive count finds the same, whatever happens."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairway.cluster import Action, Cluster, ClusterEvent, Event, Resource, Verb
from fairway.cluster.groups import GroupBook
from fairway.model import Job, ObjectMeta, Pod, PodTemplateSpec, PriorityClass, convert
from fairway.model.controllers import JobSpec
from fairway.model.group import GroupReading, GroupSpec, Misconfigured, Spelling, naming_annotations
from fairway.model.leader_worker_set import LeaderWorkerSet
from fairway.testing.builders import node, pod
from fairway.testing.group_builders import coscheduling_group, member, members, pod_group, volcano_group

READING = GroupReading(("gang.example.com/pod",))


def following(*objects: object) -> Cluster:
    made = Cluster()
    made.follow_groups(READING)
    made.load(objects)
    return made


def group_of(cluster: Cluster, made: Pod) -> GroupBook:
    group = cluster.groups.of(made.metadata.uid)
    assert group is not None
    return group


def spec_of(cluster: Cluster, made: Pod) -> GroupSpec | Misconfigured | None:
    return cluster.groups.spec_of(group_of(cluster, made))


def on(made: Pod, name: str) -> Pod:
    return msgspec.structs.replace(made, spec=msgspec.structs.replace(made.spec, node_name=name))


def test_nothing_is_kept_of_pods_until_somebody_follows() -> None:
    cluster = Cluster()
    cluster.load([node("n"), pod_group("train", 2), *(on(each, "n") for each in members(2))])
    assert list(cluster.groups) == []
    cluster.follow_groups(READING)
    assert [(str(group.key), len(group.bound)) for group in cluster.groups] == [("default/train", 2)]


def test_members_wait_are_assumed_and_bound() -> None:
    first, second = members(2)
    cluster = following(node("n"), pod_group("train", 2), first, second)
    group = group_of(cluster, first)
    assert (group.waiting, group.num_scheduled) == (["default/train-0", "default/train-1"], 0)
    cluster.assume(first, cluster.classify(first), 0)
    assert (group.waiting, list(group.assumed), group.num_scheduled) == (["default/train-1"], ["default/train-0"], 1)
    cluster.forget(first.metadata.uid)
    assert group.num_scheduled == 0
    cluster.assume(first, cluster.classify(first), 0)
    cluster.apply(Event(Verb.MODIFIED, on(first, "n")))
    assert (list(group.assumed), list(group.bound)) == ([], ["default/train-0"])
    cluster.apply(Event(Verb.DELETED, on(first, "n")))
    assert (len(group), group.num_scheduled) == (1, 0)


def test_the_last_member_takes_the_group_with_it_and_the_object_stays() -> None:
    (only,) = members(1)
    cluster = following(pod_group("train", 1), only)
    key = group_of(cluster, only).key
    cluster.apply(Event(Verb.DELETED, only))
    assert cluster.groups.find(key) is None
    assert cluster.groups.object_of(key) == pod_group("train", 1)


def test_the_same_name_in_two_namespaces_or_spellings_is_two_groups() -> None:
    there, here = member("a", namespace="x"), member("a", namespace="y")
    other = pod("b", namespace="x", labels={"scheduling.x-k8s.io/pod-group": "train"})
    cluster = following(there, here, other)
    assert len(list(cluster.groups)) == 3


def test_an_object_that_is_missing_is_said_so_and_comes_later() -> None:
    (only,) = members(1)
    cluster = following(only)
    assert spec_of(cluster, only) is None
    assert cluster.groups.missing_words(group_of(cluster, only)) == "no PodGroup default/train"
    (change,) = cluster.apply(Event(Verb.ADDED, pod_group("train", 3)))
    assert change.event == ClusterEvent(Resource.POD_GROUP, Action.ADD)
    spec = spec_of(cluster, only)
    assert isinstance(spec, GroupSpec)
    assert spec.min_count == 3
    (change,) = cluster.apply(Event(Verb.MODIFIED, pod_group("train", 2)))
    assert change.event == ClusterEvent(Resource.POD_GROUP, Action.UPDATE)
    spec = spec_of(cluster, only)
    assert isinstance(spec, GroupSpec)
    assert spec.min_count == 2
    cluster.apply(Event(Verb.DELETED, pod_group("train", 2)))
    assert spec_of(cluster, only) is None


def test_members_that_disagree_are_told_who_and_where() -> None:
    said = {"fairway.dev/gang": "train", "fairway.dev/gang-size": "2"}
    one, other = pod("a", annotations=said), pod("b", annotations={**said, "fairway.dev/gang-size": "3"})
    cluster = following(one, other)
    wrong = spec_of(cluster, one)
    assert wrong == Misconfigured(
        "Pod default/a",
        "metadata.annotations['fairway.dev/gang-size']",
        "'2' here and '3' in Pod default/b; members have to agree",
    )
    cluster.apply(Event(Verb.DELETED, other))
    assert isinstance(spec_of(cluster, one), GroupSpec)


def test_volcano_s_priority_class_is_looked_up() -> None:
    made = pod("a", annotations={"scheduling.k8s.io/group-name": "train"})
    high = PriorityClass(metadata=ObjectMeta(name="high"), value=9)
    spec = spec_of(following(high, volcano_group("train", 1, priority_class="high"), made), made)
    assert isinstance(spec, GroupSpec)
    assert spec.priority == 9


def test_each_kind_of_object_is_for_its_own_spelling() -> None:
    made = pod("a", labels={"scheduling.x-k8s.io/pod-group": "train"})
    cluster = following(pod_group("train", 5), made)
    assert spec_of(cluster, made) is None
    cluster.apply(Event(Verb.ADDED, coscheduling_group("train", 2)))
    spec = spec_of(cluster, made)
    assert isinstance(spec, GroupSpec)
    assert (spec.spelling, spec.min_count) == (Spelling.COSCHEDULING, 2)


@pytest.mark.parametrize("where", ["the job", "its template"])
def test_a_job_s_pods_start_together_if_it_says_so(where: str) -> None:
    said = ObjectMeta(annotations={"fairway.dev/start-together": "true"})
    template = PodTemplateSpec(metadata=said if where == "its template" else ObjectMeta())
    meta = ObjectMeta(name="t", namespace="default", annotations=said.annotations if where == "the job" else {})
    made = pod("t-0", owner="Job/t", annotations=template.metadata.annotations)
    cluster = following(Job(metadata=meta, spec=JobSpec(parallelism=3, completions=3, template=template)), made)
    spec = spec_of(cluster, made)
    assert isinstance(spec, GroupSpec)
    assert (spec.spelling, spec.min_count, spec.size) == (Spelling.CONTROLLER, 3, 3)


def test_pods_that_ask_for_a_controller_that_is_not_known_wait_for_it() -> None:
    made = pod("t-0", owner="Job/t", annotations={"fairway.dev/start-together": "true"})
    cluster = following(made)
    assert spec_of(cluster, made) is None
    assert cluster.groups.missing_words(group_of(cluster, made)) == "no Job default/t"


def test_leaders_and_their_workers_say_themselves_how_many_they_are() -> None:
    labels = {"leaderworkerset.sigs.k8s.io/name": "serve", "leaderworkerset.sigs.k8s.io/group-index": "1"}
    said = {"fairway.dev/start-together": "true", "leaderworkerset.sigs.k8s.io/size": "4"}
    made = pod("serve-1", labels=labels, annotations=said, owner="StatefulSet/serve")
    cluster = following(made)
    spec = spec_of(cluster, made)
    assert isinstance(spec, GroupSpec)
    assert (spec.key.name, spec.min_count) == ("serve-1", 4)


def worker_set(where: str, policy: str = "LeaderCreated") -> LeaderWorkerSet:
    said = {"annotations": {"fairway.dev/start-together": "true"}}
    tree: dict[str, Any] = {
        "apiVersion": "leaderworkerset.x-k8s.io/v1",
        "kind": "LeaderWorkerSet",
        "metadata": {"name": "serve", "namespace": "default", **(said if where == "the set" else {})},
        "spec": {
            "startupPolicy": policy,
            "leaderWorkerTemplate": {
                "size": 2,
                "leaderTemplate": {"metadata": said if where == "its leaders" else {}, "spec": {"containers": []}},
                "workerTemplate": {"metadata": said if where == "its workers" else {}, "spec": {"containers": []}},
            },
        },
    }
    return convert(tree, LeaderWorkerSet)


def workers(group: int) -> list[Pod]:
    """A leader and its worker, as the controllers make them."""
    labels = {"leaderworkerset.sigs.k8s.io/name": "serve", "leaderworkerset.sigs.k8s.io/group-index": str(group)}
    said = {"leaderworkerset.sigs.k8s.io/size": "2"}
    leader = pod(f"serve-{group}", labels=labels, annotations=said, owner="StatefulSet/serve")
    return [leader, pod(f"serve-{group}-1", labels=labels, annotations=said, owner=f"StatefulSet/serve-{group}")]


@pytest.mark.parametrize("where", ["the set", "its leaders", "its workers"])
def test_each_leader_starts_with_its_workers_if_their_set_says_so(where: str) -> None:
    pods = [each for group in range(2) for each in workers(group)]
    made = worker_set(where)
    cluster = following(made, *pods)
    for group in range(2):
        spec = spec_of(cluster, pods[2 * group])
        assert isinstance(spec, GroupSpec)
        assert (spec.key.name, spec.min_count, spec.size) == (f"serve-{group}", 2, 2)
    assert [str(book.key) for book in cluster.groups.made_by(made)] == ["default/serve-0", "default/serve-1"]


def test_workers_that_are_made_when_their_leader_runs_can_not_start_with_it() -> None:
    leader, _ = workers(0)
    wrong = spec_of(following(worker_set("the set", "LeaderReady"), leader), leader)
    assert isinstance(wrong, Misconfigured)
    assert wrong.message.startswith("Misconfigured: LeaderWorkerSet default/serve: spec.startupPolicy: is LeaderReady")


# -- against a naive count ---------------------------------------------------------------------------------------------

NAMES = ("a", "b", "c", "d", "e")
GROUPS = ("", "x", "y")


class World:
    """Pods as a list, and everything counted anew whenever somebody asks."""

    def __init__(self) -> None:
        self.pods: dict[str, Pod] = {}
        self.assumed: set[str] = set()

    def members(self, name: str) -> list[Pod]:
        return [
            each
            for each in self.pods.values()
            if each.status.phase != "Failed" and each.metadata.annotations.get("fairway.dev/gang") == name
        ]


STEPS = st.lists(
    st.tuples(
        st.sampled_from(("come", "gate", "bind", "fail", "go", "assume", "forget")),
        st.sampled_from(NAMES),
        st.sampled_from(GROUPS),
        st.integers(1, 3),
        st.integers(0, 2),
    ),
    max_size=40,
)


@given(STEPS)
def test_books_agree_with_a_naive_count(steps: list[tuple[str, str, str, int, int]]) -> None:
    cluster, world = following(node("n")), World()
    for act, name, group, size, priority in steps:
        uid = f"default/{name}"
        known = world.pods.get(uid)
        if act in ("come", "gate"):
            if known is not None and known.spec.node_name:
                continue
            said = {"fairway.dev/gang": group, "fairway.dev/gang-size": str(size)} if group else {}
            if known is not None:  # membership does not change while a pod lives
                said = {**known.metadata.annotations, **({"fairway.dev/gang-size": str(size)} if said else {})}
                said = said if "fairway.dev/gang" in said else {}
            world.pods[uid] = pod(name, annotations=said, priority=priority, gates="wait" if act == "gate" else ())
            cluster.apply(Event(Verb.MODIFIED, world.pods[uid]))
        elif known is None:
            continue
        elif act == "bind":
            world.pods[uid] = on(known, "n")
            world.assumed.discard(uid)
            cluster.apply(Event(Verb.MODIFIED, world.pods[uid]))
        elif act == "fail":
            failed = msgspec.structs.replace(known, status=msgspec.structs.replace(known.status, phase="Failed"))
            del world.pods[uid]
            world.assumed.discard(uid)
            cluster.apply(Event(Verb.MODIFIED, failed))
        elif act == "go":
            del world.pods[uid]
            world.assumed.discard(uid)
            cluster.apply(Event(Verb.DELETED, known))
        elif act == "assume" and uid not in cluster.pods.by_uid:
            world.assumed.add(uid)
            cluster.assume(known, cluster.classify(known), 0)
        elif act == "forget" and uid in world.assumed and not known.spec.node_name:
            world.assumed.discard(uid)
            cluster.forget(uid)
        check(cluster, world)


def check(cluster: Cluster, world: World) -> None:
    named = {each.metadata.annotations["fairway.dev/gang"] for each in world.pods.values() if each.metadata.annotations}
    assert {group.key.name for group in cluster.groups} == named
    for group in cluster.groups:
        found = world.members(group.key.name)
        bound = {each.metadata.uid for each in found if each.spec.node_name}
        assumed = {each.metadata.uid for each in found} & world.assumed
        assert set(group.pods) == {each.metadata.uid for each in found}
        assert (set(group.bound), set(group.assumed)) == (bound, assumed)
        assert set(group.waiting) == {each.metadata.uid for each in found} - bound - assumed
        assert group.num_scheduled == len(bound | assumed)
        assert group.num_ready == sum(not each.spec.scheduling_gates for each in found)
        assert group.highest_priority == max(each.priority for each in found)
        sizes = {each.metadata.annotations["fairway.dev/gang-size"] for each in found}
        spec = cluster.groups.spec_of(group)
        assert isinstance(spec, Misconfigured) == (len(sizes) > 1)
        if isinstance(spec, GroupSpec):
            assert {str(spec.min_count), str(spec.size)} == sizes


@pytest.mark.parametrize("name", sorted(naming_annotations(GroupReading(("example.com/gang",)))))
def test_every_annotation_that_names_a_group_is_read(name: str) -> None:
    groups = Cluster().groups
    groups.follow(GroupReading(("example.com/gang",)))
    value = "true" if name.endswith("start-together") else "train"
    assert groups.membership(pod("a", annotations={name: value, "other": "x"})) is not None
    assert groups.membership(pod("a", annotations={"other": "x"})) is None
