"""Deployments: from one template to the next, never too few pods, never too many."""

from typing import Any

import pytest

from fairway.model import Deployment, LabelSelector, ObjectMeta, ReplicaSet
from fairway.model.controllers import DeploymentSpec, DeploymentStrategy, RollingUpdate
from tests.sim.controllers.world import LABELS, World, changed, template

RECREATE = DeploymentStrategy(type="Recreate")


def deployment(replicas: int = 4, **spec: Any) -> Deployment:
    selector = LabelSelector(match_labels=LABELS)
    return Deployment(
        metadata=ObjectMeta(name="web", namespace="default"),
        spec=DeploymentSpec(replicas=replicas, selector=selector, template=template(), **spec),
    )


def sizes(world: World) -> list[int | None]:
    found: list[ReplicaSet] = world.api.objects("ReplicaSet")
    return [one.spec.replicas for one in found]


def images(world: World) -> list[str]:
    return sorted(pod.spec.containers[0].image for pod in world.pods if not pod.is_terminating)


def test_its_pods_are_named_and_labelled_by_their_replica_set() -> None:
    world = World()
    owner = world.create(deployment())
    world.run(2)
    (made,) = world.api.objects("ReplicaSet")
    mark = made.metadata.labels["pod-template-hash"]
    assert made.metadata.name == f"web-{mark}"
    assert made.metadata.controller.uid == owner.metadata.uid
    assert made.spec.selector.match_labels == LABELS | {"pod-template-hash": mark}
    assert world.count() == 4
    for pod in world.pods:
        assert pod.metadata.name.startswith(f"web-{mark}-")
        assert pod.metadata.labels == LABELS | {"pod-template-hash": mark}


def test_a_rolling_update_stays_between_its_fences() -> None:
    world = World()
    owner = world.create(deployment())  # 25 %: at most 5 pods wanted, at least 3 available
    world.run(5)
    world.change(owner, template=changed(owner.spec.template, "new"))
    world.run(5)
    assert sizes(world) == [3, 2]
    world.run(6)  # two new pods run; one old one is gone
    assert sizes(world) == [1, 4]
    world.run(7)
    assert sizes(world) == [0, 4]
    world.run(8)
    assert images(world) == ["new"] * 4
    assert world.count() == 4


def test_a_rolling_update_one_by_one() -> None:
    world = World()
    strategy = DeploymentStrategy(rolling_update=RollingUpdate(max_surge=1, max_unavailable=0))
    owner = world.create(deployment(2, strategy=strategy))
    world.run(5)
    world.change(owner, template=changed(owner.spec.template, "new"))
    seen = []
    for time in (5, 6, 7, 8, 9):
        world.run(time)
        seen.append((sizes(world), world.count()))
    assert seen == [([2, 1], 2), ([1, 2], 2), ([0, 2], 2), ([0, 2], 2), ([0, 2], 2)]


def test_new_pods_that_never_run_keep_the_old_ones() -> None:
    world = World()
    owner = world.create(deployment())
    world.run(5)
    world.binds = False
    world.change(owner, template=changed(owner.spec.template, "new"))
    world.run(500)
    assert sizes(world) == [3, 2]
    assert world.count() == 3


def test_recreate_waits_until_the_last_old_pod_is_gone() -> None:
    world = World()
    owner = world.create(deployment(strategy=RECREATE))
    world.run(5)
    world.change(owner, template=changed(owner.spec.template, "new"))
    world.run(5.9)
    assert (sizes(world), len(world.pods), world.count()) == ([0], 4, 0)
    world.run(6)
    assert (sizes(world), images(world)) == ([0, 4], ["new"] * 4)
    world.run(7)
    assert world.count() == 4


def test_going_back_uses_the_old_replica_set() -> None:
    world = World()
    owner = world.create(deployment())
    world.run(5)
    world.change(owner, template=changed(owner.spec.template, "new"))
    world.run(20)
    world.change(owner, template=owner.spec.template)
    world.run(40)
    assert sizes(world) == [4, 0]
    assert images(world) == ["i"] * 4


@pytest.mark.parametrize(("limit", "kept"), [(0, 1), (2, 3)], ids=["no history", "a history of two"])
def test_old_replica_sets_are_removed(limit: int, kept: int) -> None:
    world = World()
    owner = world.create(deployment(revision_history_limit=limit))
    for number in range(5):
        world.run(20 * number + 20)
        world.change(owner, template=changed(owner.spec.template, f"v{number}"))
    world.run(200)
    assert len(sizes(world)) == kept
    assert images(world) == ["v4"] * 4


def test_scaling_without_a_new_template() -> None:
    world = World()
    owner = world.create(deployment())
    world.run(5)
    world.change(owner, replicas=7)
    world.run(7)
    assert (sizes(world), world.count()) == ([7], 7)
    world.change(owner, replicas=2)
    world.run(9)
    assert (sizes(world), world.count()) == ([2], 2)
    world.change(owner, replicas=0)
    world.run(11)
    assert world.pods == []


def test_scaling_amid_an_update_is_proportional() -> None:
    world = World()
    strategy = DeploymentStrategy(rolling_update=RollingUpdate(max_surge=3, max_unavailable=2))
    owner = world.create(deployment(10, strategy=strategy))
    world.run(5)
    world.binds = False  # the new pods never run
    world.change(owner, template=changed(owner.spec.template, "new"))
    world.run(6)
    assert sizes(world) == [8, 5]
    world.change(owner, replicas=15)
    world.run(7)
    assert sizes(world) == [11, 7]


def test_a_paused_deployment_scales_but_does_not_update() -> None:
    world = World()
    owner = world.create(deployment())
    world.run(5)
    world.change(owner, paused=True, replicas=5, template=changed(owner.spec.template, "new"))
    world.run(10)
    assert (sizes(world), images(world)) == ([5], ["i"] * 5)
    world.change(owner, paused=False)
    world.run(20)
    assert images(world) == ["new"] * 5


def test_pods_have_to_be_ready_for_a_while() -> None:
    world = World()
    strategy = DeploymentStrategy(rolling_update=RollingUpdate(max_surge=1, max_unavailable=0))
    owner = world.create(deployment(1, strategy=strategy, min_ready_seconds=30))
    world.run(100)
    world.change(owner, template=changed(owner.spec.template, "new"))
    world.run(130.9)  # the new pod runs since 101
    assert sizes(world) == [1, 1]
    world.run(131)
    assert sizes(world) == [0, 1]


def test_failed_pods_are_replaced_whether_or_not_all_is_settled() -> None:
    world = World()
    world.create(deployment(2))
    world.run(50)
    world.api.delete(world.pods[0])
    world.run(60)
    assert world.count() == 2


def test_everything_goes_with_it() -> None:
    world = World()
    owner = world.create(deployment())
    world.run(5)
    world.change(owner, template=changed(owner.spec.template, "new"))
    world.run(5.5)
    world.api.remove(owner)
    world.run(10)
    assert world.pods == []
    assert sizes(world) == []


def test_the_replica_sets_of_a_real_cluster_are_recognised() -> None:
    world = World()
    owner = deployment()
    uid = "deployment-1"
    meta = ObjectMeta(name="web", namespace="default", uid=uid)
    made = World()
    made.create(Deployment(metadata=meta, spec=owner.spec))
    made.run(2)
    (replica_set,) = made.api.objects("ReplicaSet")
    labels = replica_set.spec.template.metadata.labels | {"pod-template-hash": "7d9f8b6c5"}
    inner = ObjectMeta(labels=labels)
    foreign = ReplicaSet(
        metadata=ObjectMeta(
            name="web-7d9f8b6c5",
            namespace="default",
            uid="set-1",
            owner_references=replica_set.metadata.owner_references,
        ),
        spec=type(replica_set.spec)(
            replicas=4,
            selector=LabelSelector(match_labels=labels),
            template=type(replica_set.spec.template)(metadata=inner, spec=replica_set.spec.template.spec),
        ),
    )
    world.create(Deployment(metadata=meta, spec=owner.spec))
    world.create(foreign)
    world.run(5)
    assert sizes(world) == [4]
    assert all(name.startswith("web-7d9f8b6c5-") for name in world.names)
