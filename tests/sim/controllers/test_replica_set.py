"""ReplicaSets and ReplicationControllers: so many active pods, whatever happens."""

import pytest

from fairway.model import (
    LabelSelector,
    ObjectMeta,
    Pod,
    PodSpec,
    ReplicaSet,
    ReplicaSetSpec,
    ReplicationController,
    ReplicationControllerSpec,
)
from fairway.model.template import pod_from_template
from fairway.sim.controllers import ControllerSettings
from fairway.testing import node
from tests.sim.controllers.world import LABELS, World, template


def replica_set(replicas: int = 3, **annotations: str) -> ReplicaSet:
    return ReplicaSet(
        metadata=ObjectMeta(name="web", namespace="default"),
        spec=ReplicaSetSpec(
            replicas=replicas, selector=LabelSelector(match_labels=LABELS), template=template(**annotations)
        ),
    )


def test_it_makes_pods_that_are_complete_and_owned() -> None:
    world = World()
    owner = world.create(replica_set())
    world.run(2)
    assert world.count() == 3
    pod = world.pods[0]
    reference = pod.metadata.controller
    assert reference is not None
    assert (reference.kind, reference.name, reference.uid) == ("ReplicaSet", "web", owner.metadata.uid)
    assert pod.metadata.labels == LABELS
    assert (pod.spec.scheduler_name, pod.spec.priority, len(pod.spec.tolerations)) == ("default-scheduler", 0, 2)
    assert all(len(name) == len("web-12345") and name.startswith("web-") for name in world.names)


def test_names_are_the_same_on_every_run() -> None:
    worlds = [World(), World()]
    for world in worlds:
        world.create(replica_set())
        world.run(1)
    assert worlds[0].names == worlds[1].names
    assert len(set(worlds[0].names)) == 3


def test_a_deleted_pod_is_replaced_before_it_is_gone() -> None:
    world = World()
    world.create(replica_set())
    world.run(5)
    world.api.delete(world.pods[0])
    world.run(5)
    assert (len(world.pods), world.count(), world.count("Pending")) == (4, 2, 1)
    world.run(6)
    assert (len(world.pods), world.count()) == (3, 3)


def test_pods_that_end_are_replaced_and_forgotten() -> None:
    world = World()
    world.create(replica_set(1, duration="9"))  # runs from 1 to 10, from 11 to 20, ...
    world.run(10.5)
    assert world.num_created == 2
    assert len(world.pods) == 1
    world.run(100)
    assert world.num_created == 11
    assert world.most == 1


def test_rejected_pods_do_not_stop_the_clock() -> None:
    world = World(nodes=(node("full", pods=0),))
    world.create(replica_set(1))
    world.run(10)
    assert world.num_created == 11  # one each second


def test_it_scales_up_and_down() -> None:
    world = World()
    owner = world.create(replica_set(2))
    world.run(2)
    world.change(owner, replicas=5)
    world.run(4)
    assert world.count() == 5
    world.change(owner, replicas=1)
    world.run(6)
    assert world.count() == 1
    assert world.num_created == 5


def test_pods_without_a_node_go_first() -> None:
    world = World()
    owner = world.create(replica_set(2))
    world.run(2)
    running = world.names
    world.binds = False
    world.change(owner, replicas=4)
    world.run(3)
    world.change(owner, replicas=2)
    world.run(4)
    assert world.names == running


def test_its_pods_go_with_it() -> None:
    world = World()
    owner = world.create(replica_set())
    world.run(2)
    world.api.remove(owner)
    world.run(4)
    assert world.pods == []
    assert world.num_created == 3


def test_a_replication_controller_does_the_same() -> None:
    world = World()
    spec = ReplicationControllerSpec(replicas=2, template=template())
    world.create(ReplicationController(metadata=ObjectMeta(name="rc"), spec=spec))
    world.run(2)
    assert world.count() == 2
    assert all(name.startswith("rc-") for name in world.names)


@pytest.mark.parametrize("pods_first", [True, False], ids=["pods first", "owner first"])
def test_pods_that_are_there_already_count(pods_first: bool) -> None:
    world = World()
    owner = replica_set()
    owner = ReplicaSet(metadata=ObjectMeta(name="web", namespace="default", uid="set-1"), spec=owner.spec)
    pods = [pod_from_template(owner, owner.spec.template, name) for name in ("web-old1", "web-old2")]
    for thing in (*pods, owner) if pods_first else (owner, *pods):
        world.create(thing)
    world.run(2)
    assert world.count() == 3
    assert {"web-old1", "web-old2"} < set(world.names)


def test_finished_pods_of_unknown_owners_are_forgotten() -> None:
    world = World()
    owner = ReplicaSet(metadata=ObjectMeta(name="gone", namespace="default", uid="elsewhere"))
    world.create(pod_from_template(owner, template(duration="5"), "orphan"))
    world.run(5.5)
    assert world.names == ["orphan"]
    world.run(7)
    assert world.pods == []


def test_a_priority_class_that_does_not_exist_is_reported() -> None:
    world = World()
    pods = template()
    spec = PodSpec(containers=pods.spec.containers, priority_class_name="high")
    bad = ReplicaSetSpec(replicas=2, template=type(pods)(metadata=pods.metadata, spec=spec))
    world.create(ReplicaSet(metadata=ObjectMeta(name="web"), spec=bad))
    world.run(2)
    assert world.pods == []
    assert [words[:3] for words in world.reports] == [("ReplicaSet", "default/web", "FailedCreate")]
    assert "there is no PriorityClass 'high'" in world.reports[0][3]


def test_latency_passes_before_anything_is_done() -> None:
    world = World(settings=ControllerSettings(reconcile_latency=3))
    world.create(replica_set())
    world.run(2.9)
    assert world.pods == []
    world.run(3)
    assert len(world.pods) == 3


def test_pods_of_a_node_that_is_gone_are_replaced_elsewhere() -> None:
    world = World()
    world.create(replica_set(4))
    world.run(2)
    lost = [pod for pod in world.pods if pod.spec.node_name == "n1"]
    assert len(lost) == 2
    gone = world.api.find("Node", "", "n1")
    world.api.remove(gone)
    world.run(4)
    assert {pod.spec.node_name for pod in world.pods} == {"n2"}
    assert world.count() == 4


def test_ten_thousand_pods_cost_ten_thousand_steps() -> None:
    world = World(nodes=(node("n", pods=20_000),))
    world.create(replica_set(2000, duration="1"))
    world.run(9.5)
    assert world.num_created == 10_000
    assert len(world.pods) == 2000
    living: list[Pod] = world.pods
    assert all(not pod.is_finished for pod in living)
