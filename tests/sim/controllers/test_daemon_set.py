"""DaemonSets: one pod on every node that it may run on."""

from typing import Any

import msgspec
import pytest

from fairway.model import DaemonSet, LabelSelector, ObjectMeta, PodTemplateSpec, Taint, Toleration
from fairway.model.controllers import DaemonSetSpec, DaemonSetUpdateStrategy, RollingUpdate
from fairway.model.daemon import target_node
from fairway.testing import node
from tests.sim.controllers.world import LABELS, World, changed, template


def daemon_set(pods: PodTemplateSpec | None = None, **spec: Any) -> DaemonSet:
    return DaemonSet(
        metadata=ObjectMeta(name="agent", namespace="default"),
        spec=DaemonSetSpec(selector=LabelSelector(match_labels=LABELS), template=pods or template(), **spec),
    )


def with_spec(**fields: Any) -> PodTemplateSpec:
    pods = template()
    return msgspec.structs.replace(pods, spec=msgspec.structs.replace(pods.spec, **fields))


def nodes_of(world: World) -> list[str]:
    return sorted(pod.spec.node_name for pod in world.pods if not pod.is_terminating)


NODES = (
    node("plain"),
    node("ssd", labels={"disk": "ssd"}),
    node("gpu", taints="gpu"),
    node("cordoned", taints="node.kubernetes.io/unschedulable:NoSchedule"),
    node("lost", taints="node.kubernetes.io/unreachable:NoExecute"),
    node("broken", taints="broken:NoExecute"),
)


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param({}, ["cordoned", "lost", "plain", "ssd"], id="where the taints of trouble are all there is"),
        pytest.param({"node_selector": {"disk": "ssd"}}, ["ssd"], id="where it wants to"),
        pytest.param({"node_name": "plain"}, ["plain"], id="on one node"),
        pytest.param(
            {"tolerations": (Toleration(operator="Exists"),)},
            ["broken", "cordoned", "gpu", "lost", "plain", "ssd"],
            id="everywhere",
        ),
    ],
)
def test_it_runs_on_suitable_nodes(spec: dict[str, Any], expected: list[str]) -> None:
    world = World(nodes=NODES)
    world.create(daemon_set(with_spec(**spec)))
    world.run(2)
    assert nodes_of(world) == expected


def test_its_pods_ask_for_their_node_and_leave_the_rest_to_the_scheduler() -> None:
    world = World(binds=False)
    world.create(daemon_set())
    world.run(1)
    assert sorted(target_node(pod.spec) for pod in world.pods) == ["n1", "n2"]
    assert all(not pod.spec.node_name and pod.metadata.name.startswith("agent-") for pod in world.pods)
    assert len(set(world.names)) == 2
    tolerated = {one.key.partition("/")[2] for one in world.pods[0].spec.tolerations if one.toleration_seconds is None}
    assert tolerated == {
        "not-ready",
        "unreachable",
        "disk-pressure",
        "memory-pressure",
        "pid-pressure",
        "unschedulable",
    }


def test_a_new_node_gets_its_pod() -> None:
    world = World()
    world.create(daemon_set())
    world.run(5)
    world.api.create(node("n3"))
    world.run(7)
    assert nodes_of(world) == ["n1", "n2", "n3"]


def test_a_node_that_goes_takes_its_pod_along_even_one_that_waits() -> None:
    world = World(binds=False)
    world.create(daemon_set())
    world.run(5)
    world.place(next(pod for pod in world.pods if target_node(pod.spec) == "n1"))
    world.run(7)
    for name in ("n1", "n2"):
        world.api.remove(world.api.find("Node", "", name))
    world.run(9)
    assert world.pods == []


def test_pods_leave_when_the_labels_do_not_fit_any_more() -> None:
    world = World(nodes=(node("a", labels={"disk": "ssd"}), node("b")))
    world.create(daemon_set(with_spec(node_selector={"disk": "ssd"})))
    world.run(5)
    assert nodes_of(world) == ["a"]
    for name, labels in (("a", {}), ("b", {"disk": "ssd"})):
        current = world.api.find("Node", "", name)
        assert current is not None
        meta = msgspec.structs.replace(current.metadata, labels=labels)
        world.api.update(msgspec.structs.replace(current, metadata=meta))
    world.run(10)
    assert nodes_of(world) == ["b"]


@pytest.mark.parametrize(
    ("effect", "stays"), [("NoSchedule", True), ("NoExecute", False)], ids=["NoSchedule", "NoExecute"]
)
def test_a_taint_that_comes_later(effect: str, stays: bool) -> None:
    world = World()
    world.create(daemon_set())
    world.run(5)
    current = world.api.find("Node", "", "n1")
    assert current is not None
    spec = msgspec.structs.replace(current.spec, taints=(Taint(key="odd", effect=effect),))
    world.api.update(msgspec.structs.replace(current, spec=spec))
    world.run(10)
    assert nodes_of(world) == (["n1", "n2"] if stays else ["n2"])


def test_a_deleted_pod_is_replaced_when_it_is_gone() -> None:
    world = World()
    world.create(daemon_set())
    world.run(5)
    world.api.delete(world.pods[0])
    world.run(5.9)
    assert len(world.pods) == 2
    world.run(8)
    assert (world.count(), world.num_created) == (2, 3)


def test_failures_in_a_row_are_answered_later_and_later() -> None:
    world = World(nodes=(node("full", pods=0),))
    world.create(daemon_set())
    times = []
    for tenth in range(400):
        before = world.num_created
        world.run(tenth / 10)
        times += [tenth / 10] * (world.num_created - before)
    # The first replacement comes at once; then 1 s, 2 s, 4 s, ...
    assert times == [0, 0, 1, 3, 7, 15, 31]


def test_pods_that_succeed_are_replaced() -> None:
    world = World(nodes=(node("n1"),))
    world.create(daemon_set(template(duration="9")))
    world.run(25)
    assert world.num_created == 3
    assert len(world.pods) == 1


def test_an_update_goes_one_by_one() -> None:
    world = World(nodes=tuple(node(f"n{number}") for number in range(3)))
    owner = world.create(daemon_set())
    world.run(5)
    world.change(owner, template=changed(owner.spec.template, "new"))
    fewest = 3
    for tenth in range(50, 150):
        world.run(tenth / 10)
        fewest = min(fewest, world.count())
    assert fewest == 2
    assert {pod.spec.containers[0].image for pod in world.pods} == {"new"}
    assert (world.count(), world.num_created) == (3, 6)


def test_an_update_with_surge_never_has_fewer() -> None:
    world = World(nodes=tuple(node(f"n{number}") for number in range(3)))
    strategy = DaemonSetUpdateStrategy(rolling_update=RollingUpdate(max_surge=1, max_unavailable=0))
    owner = world.create(daemon_set(update_strategy=strategy))
    world.run(5)
    world.change(owner, template=changed(owner.spec.template, "new"))
    numbers = set()
    for tenth in range(50, 150):
        world.run(tenth / 10)
        numbers.add(world.count())
    assert numbers == {3}
    assert {pod.spec.containers[0].image for pod in world.pods} == {"new"}
    assert (world.count(), world.num_created) == (3, 6)


def test_on_delete_leaves_it_to_others() -> None:
    world = World()
    owner = world.create(daemon_set(update_strategy=DaemonSetUpdateStrategy(type="OnDelete")))
    world.run(5)
    world.change(owner, template=changed(owner.spec.template, "new"))
    world.run(20)
    assert world.num_created == 2
    world.api.delete(world.pods[0])
    world.run(30)
    assert sorted(pod.spec.containers[0].image for pod in world.pods) == ["i", "new"]


def test_of_two_pods_on_a_node_the_older_stays() -> None:
    world = World(nodes=(node("n1"),))
    owner = world.create(daemon_set())
    world.run(5)
    (first,) = world.pods
    meta = ObjectMeta(
        name="twin", namespace="default", labels=first.metadata.labels, owner_references=first.metadata.owner_references
    )
    world.api.create(msgspec.structs.replace(first, metadata=meta, spec=first.spec))
    world.run(8)
    assert [pod.metadata.uid for pod in world.pods] == [first.metadata.uid]
    world.api.remove(owner)
    world.run(10)
    assert world.pods == []


def test_nothing_is_made_for_a_pod_spec_that_names_another_node() -> None:
    world = World()
    world.create(daemon_set(with_spec(node_name="elsewhere")))
    world.run(5)
    assert world.pods == []
