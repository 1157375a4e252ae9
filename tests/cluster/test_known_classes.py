"""Classes are found by shared objects, and never another class than the key would give."""

from __future__ import annotations

import gc
from collections.abc import Callable

import msgspec
import pytest

from fairway.cluster import Cluster, Event, Verb
from fairway.cluster.annotations import ReadAnnotations
from fairway.cluster.known_classes import PATIENCE, KnownClasses, LatestClass, keeps_class
from fairway.cluster.pod_class import Extra, class_key
from fairway.model import ContainerStatus, OwnerReference, Pod
from fairway.model.device_need import GPU_INDEX
from fairway.model.volume import EphemeralVolumeSource, PersistentVolumeClaimTemplate, Volume
from fairway.testing import cluster, node, pod

replace = msgspec.structs.replace
ONE = pod("one", cpu=1, labels={"app": "web"})
OWNER = OwnerReference(api_version="apps/v1", kind="ReplicaSet", name="web", uid="1", controller=True)


def with_meta(like: Pod = ONE, **changes: object) -> Pod:
    return replace(like, metadata=replace(like.metadata, **changes))


def with_status(like: Pod = ONE, **changes: object) -> Pod:
    return replace(like, status=replace(like.status, **changes))


def on_node(like: Pod = ONE, name: str = "n") -> Pod:
    return replace(like, spec=replace(like.spec, node_name=name))


@pytest.mark.parametrize(
    ("other", "is_seen"),
    [
        pytest.param(with_meta(name="two", uid="two"), True, id="another name"),
        pytest.param(with_meta(annotations={"fairway.dev/duration": "5"}), True, id="our own annotations"),
        pytest.param(with_meta(annotations={"example.org/x": "5"}), True, id="annotations that nobody reads"),
        pytest.param(with_meta(annotations={GPU_INDEX: "5"}), False, id="annotations that somebody reads"),
        pytest.param(with_meta(labels={"app": "db"}), False, id="other labels"),
        pytest.param(with_meta(labels=dict(ONE.metadata.labels)), False, id="equal labels: one has to look"),
        pytest.param(with_meta(namespace="other"), False, id="another namespace"),
        pytest.param(with_meta(owner_references=(OWNER,)), False, id="an owner"),
        pytest.param(with_status(container_statuses=(ContainerStatus(name="c"),)), False, id="resources in force"),
        pytest.param(replace(ONE, spec=replace(ONE.spec, priority=5)), False, id="another spec"),
    ],
)
def test_pods_that_share_a_spec(other: Pod, is_seen: bool) -> None:
    made = Cluster()
    first = made.classify(ONE)
    known = KnownClasses(ReadAnnotations())
    known.keep(ONE, first)
    assert known.find(other) is (first if is_seen else None)
    same_key = class_key(ONE, ReadAnnotations(), bound=False) == class_key(other, ReadAnnotations(), bound=False)
    assert (made.classify(other) is first) is same_key
    assert same_key or not is_seen


def test_a_class_that_nobody_needs_ends_although_it_is_known() -> None:
    made, known = Cluster(), KnownClasses(ReadAnnotations())
    known.keep(ONE, made.classify(ONE))
    gc.collect()
    assert known.find(ONE) is None


def test_what_is_never_found_again_is_hardly_kept() -> None:
    made, known = Cluster(), KnownClasses(ReadAnnotations())
    pods = [replace(ONE, spec=replace(ONE.spec)) for _ in range(4 * PATIENCE)]
    shared = made.classify(ONE)
    for each in pods:
        known.keep(each, shared)
    found = [known.find(each) is shared for each in pods]
    assert all(found[:PATIENCE])
    assert sum(found[PATIENCE:]) == 3


@pytest.mark.parametrize(
    ("change", "is_seen"),
    [
        pytest.param(on_node, True, id="it was bound"),
        pytest.param(lambda old: with_status(old, phase="Running"), True, id="it runs"),
        pytest.param(lambda old: with_meta(old, resource_version="7"), True, id="another version"),
        pytest.param(lambda old: with_meta(old, labels={"app": "db"}), False, id="other labels"),
        pytest.param(lambda old: with_meta(old, annotations={"example.org/x": "1"}), False, id="an annotation"),
        pytest.param(lambda old: with_meta(old, annotations={GPU_INDEX: "1"}), False, id="devices"),
        pytest.param(lambda old: replace(old, spec=replace(old.spec, priority=5)), False, id="another spec"),
        pytest.param(
            lambda old: with_status(old, container_statuses=(ContainerStatus(name="c"),)),
            False,
            id="resources in force",
        ),
    ],
)
def test_versions_of_a_pod(change: Callable[[Pod], Pod], is_seen: bool) -> None:
    new = change(ONE)
    assert keeps_class(ONE, new) is is_seen
    if is_seen:
        assert class_key(ONE, ReadAnnotations(), bound=True) == class_key(new, ReadAnnotations(), bound=True)


def test_a_wish_for_devices_is_none_of_the_class_once_it_is_granted() -> None:
    wish = with_meta(annotations={GPU_INDEX: "1"})
    assert not keeps_class(wish, on_node(wish))


def test_a_pod_with_a_class_of_its_own_shares_one_when_it_is_bound() -> None:
    made = cluster([node("n")])
    alone = made.classify(ONE, apart=True)
    made.assume(ONE, alone, 0)
    made.apply(Event(Verb.MODIFIED, on_node()))
    assert made.pods.by_uid[ONE.metadata.uid].pod_class is made.classify(ONE)


QUEUED: Extra = (("Queues", True),)
SCRATCH = Volume(name="scratch", ephemeral=EphemeralVolumeSource(volume_claim_template=PersistentVolumeClaimTemplate()))
RESIZED = (ContainerStatus(name="c"),)


def like_one(name: str = "two", **changes: object) -> Pod:
    """Equal to ONE, and nothing in memory is the same."""
    return pod(name, **{"cpu": 1, "labels": {"app": "web"}, **changes})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("first", "other", "extra", "is_seen"),
    [
        pytest.param(ONE, like_one(), QUEUED, True, id="another name"),
        pytest.param(ONE, with_status(like_one(), phase="Pending"), QUEUED, True, id="another phase"),
        pytest.param(ONE, like_one(cpu="1000m"), QUEUED, False, id="an amount that is written differently"),
        pytest.param(ONE, like_one(), (("Queues", 1),), False, id="what a plugin says is equal, and another thing"),
        pytest.param(ONE, like_one(), (), False, id="no plugin says anything"),
        pytest.param(
            ONE, like_one(annotations={"example.org/x": "5"}), QUEUED, False, id="annotations: one has to look"
        ),
        pytest.param(ONE, like_one(annotations={GPU_INDEX: "5"}), QUEUED, False, id="annotations that somebody reads"),
        pytest.param(ONE, like_one(labels={"app": "db"}), QUEUED, False, id="other labels"),
        pytest.param(ONE, like_one(namespace="other"), QUEUED, False, id="another namespace"),
        pytest.param(ONE, with_meta(like_one(), owner_references=(OWNER,)), QUEUED, False, id="an owner"),
        pytest.param(ONE, like_one(node="n"), QUEUED, False, id="a node"),
        pytest.param(ONE, like_one(volumes=SCRATCH), QUEUED, False, id="a volume of its own"),
        pytest.param(like_one("one", volumes=SCRATCH), like_one(volumes=SCRATCH), QUEUED, False, id="both have one"),
        pytest.param(ONE, with_status(like_one(), container_statuses=RESIZED), QUEUED, False, id="resources in force"),
        pytest.param(
            with_status(container_statuses=RESIZED),
            with_status(like_one(), container_statuses=RESIZED),
            QUEUED,
            False,
            id="both have some: one has to look",
        ),
    ],
)
def test_the_next_pod_that_plugins_say_something_about(first: Pod, other: Pod, extra: Extra, is_seen: bool) -> None:
    made = Cluster()
    shared = made.classify(first, extra=QUEUED)
    for _ in range(2):
        assert LatestClass(first, QUEUED, shared).find(other, extra) is (shared if is_seen else None)
    reads = ReadAnnotations()
    same_key = class_key(first, reads, False, extra=QUEUED) == class_key(other, reads, False, extra=extra)
    assert (made.classify(other, extra=extra) is shared) is same_key
    assert same_key or not is_seen


def test_the_latest_class_ends_when_nobody_needs_it_and_with_what_is_read_of_pods() -> None:
    made = Cluster()
    latest = LatestClass(ONE, QUEUED, made.classify(ONE, extra=QUEUED))
    gc.collect()
    assert latest.find(like_one(), QUEUED) is None
    noted = like_one(annotations={"example.org/x": "5"})
    before = made.classify(noted, extra=QUEUED)
    assert made.classify(noted, extra=QUEUED) is before
    made.read_annotations(["example.org/x"])
    after = made.classify(noted, extra=QUEUED)
    assert after is not before
    assert after.annotations == {"example.org/x": "5"}
