"""StatefulSets: names that stay, one pod after the other."""

from typing import Any

from fairway.model import (
    LabelSelector,
    ObjectMeta,
    PersistentVolumeClaim,
    Pod,
    StatefulSet,
    StatefulSetSpec,
)
from fairway.model.owned import stateful_pod
from fairway.model.workload import StatefulSetOrdinals, StatefulSetRollingUpdate, StatefulSetUpdateStrategy
from tests.sim.controllers.world import LABELS, World, changed, template


def stateful_set(replicas: int = 3, **spec: Any) -> StatefulSet:
    fields: dict[str, Any] = {
        "selector": LabelSelector(match_labels=LABELS),
        "template": template(),
        "service_name": "peers",
    }
    return StatefulSet(
        metadata=ObjectMeta(name="db", namespace="default"),
        spec=StatefulSetSpec(replicas=replicas, **fields | spec),
    )


def images(world: World) -> dict[str, str]:
    return {pod.metadata.name: pod.spec.containers[0].image for pod in world.pods}


def pod_named(world: World, name: str) -> Pod:
    found: Pod | None = world.api.find("Pod", "default", name)
    assert found is not None
    return found


def test_each_pod_waits_for_the_one_before() -> None:
    world = World()
    world.create(stateful_set())
    seen = []
    for time in (0, 0.9, 1, 2, 3):
        world.run(time)
        seen.append((len(world.names), world.count()))
    assert seen == [(1, 0), (1, 0), (2, 1), (3, 2), (3, 3)]
    pod = world.pods[1]
    assert (pod.metadata.name, pod.spec.hostname, pod.spec.subdomain) == ("db-1", "db-1", "peers")
    assert pod.metadata.labels["statefulset.kubernetes.io/pod-name"] == "db-1"
    assert pod.metadata.labels["apps.kubernetes.io/pod-index"] == "1"


def test_parallel_pods_wait_for_nobody() -> None:
    world = World()
    world.create(stateful_set(pod_management_policy="Parallel"))
    world.run(0)
    assert world.names == ["db-0", "db-1", "db-2"]


def test_counting_may_begin_anywhere() -> None:
    world = World()
    world.create(stateful_set(2, ordinals=StatefulSetOrdinals(start=5)))
    world.run(10)
    assert world.names == ["db-5", "db-6"]


def test_a_pod_is_replaced_only_when_it_is_gone() -> None:
    world = World()
    world.create(stateful_set())
    world.run(5)
    first = pod_named(world, "db-1")
    world.api.delete(first)
    world.run(5.9)
    assert pod_named(world, "db-1").metadata.uid == first.metadata.uid
    world.run(6)
    assert pod_named(world, "db-1").metadata.uid != first.metadata.uid
    world.run(8)
    assert world.count() == 3
    assert world.num_created == 4


def test_a_pod_on_a_lost_node_is_not_replaced_until_the_node_is_back() -> None:
    world = World()
    world.create(stateful_set(1))
    world.run(5)
    (pod,) = world.pods
    world.kubelets.lose(pod.spec.node_name)
    world.api.delete(pod)
    world.run(5000)
    assert world.num_created == 1
    world.kubelets.revive(pod.spec.node_name)
    world.run(5010)
    assert (world.num_created, world.count()) == (2, 1)


def test_a_failed_pod_gets_its_name_back() -> None:
    world = World()
    world.create(stateful_set(2, template=template(fail_after="10")))
    world.run(11.5)
    assert world.names == ["db-0", "db-1"]
    assert world.num_created == 3


def test_it_shrinks_from_the_end_one_by_one() -> None:
    world = World()
    owner = world.create(stateful_set())
    world.run(5)
    world.change(owner, replicas=1)
    seen = []
    for time in (5, 5.9, 6, 7):
        world.run(time)
        seen.append([pod.metadata.name for pod in world.pods if not pod.is_terminating])
    assert seen == [["db-0", "db-1"], ["db-0", "db-1"], ["db-0"], ["db-0"]]
    assert world.names == ["db-0"]


def test_parallel_pods_shrink_together() -> None:
    world = World()
    owner = world.create(stateful_set(pod_management_policy="Parallel"))
    world.run(5)
    world.change(owner, replicas=0)
    world.run(6)
    assert world.pods == []


def test_an_update_goes_from_the_last_to_the_first() -> None:
    world = World()
    owner = world.create(stateful_set())
    world.run(5)
    world.change(owner, template=changed(owner.spec.template, "new"))
    world.run(7)  # db-2: deleted at 5, gone at 6, running again at 7
    assert images(world) == {"db-0": "i", "db-1": "i", "db-2": "new"}
    world.run(9)
    assert images(world) == {"db-0": "i", "db-1": "new", "db-2": "new"}
    world.run(20)
    assert set(images(world).values()) == {"new"}
    assert (world.count(), world.num_created) == (3, 6)


def test_a_partition_holds_an_update_back() -> None:
    world = World()
    strategy = StatefulSetUpdateStrategy(type="RollingUpdate", rolling_update=StatefulSetRollingUpdate(partition=2))
    owner = world.create(stateful_set(update_strategy=strategy))
    world.run(5)
    world.change(owner, template=changed(owner.spec.template, "new"))
    world.run(20)
    assert images(world) == {"db-0": "i", "db-1": "i", "db-2": "new"}
    world.api.delete(pod_named(world, "db-0"))
    world.run(40)
    assert images(world) == {"db-0": "i", "db-1": "i", "db-2": "new"}
    assert world.count() == 3


def test_several_pods_may_be_updated_at_once() -> None:
    world = World()
    strategy = StatefulSetUpdateStrategy(
        type="RollingUpdate", rolling_update=StatefulSetRollingUpdate(max_unavailable=2)
    )
    owner = world.create(stateful_set(4, update_strategy=strategy, pod_management_policy="Parallel"))
    world.run(5)
    world.change(owner, template=changed(owner.spec.template, "new"))
    world.run(5)
    assert [pod.metadata.name for pod in world.pods if pod.is_terminating] == ["db-2", "db-3"]


def test_on_delete_leaves_it_to_others() -> None:
    world = World()
    owner = world.create(stateful_set(2, update_strategy=StatefulSetUpdateStrategy(type="OnDelete")))
    world.run(5)
    world.change(owner, template=changed(owner.spec.template, "new"))
    world.run(20)
    assert set(images(world).values()) == {"i"}
    world.api.delete(pod_named(world, "db-0"))
    world.run(40)
    assert images(world) == {"db-0": "new", "db-1": "i"}


def test_pods_have_to_be_ready_for_a_while() -> None:
    world = World()
    world.create(stateful_set(2, min_ready_seconds=10))
    world.run(10.9)
    assert world.names == ["db-0"]
    world.run(11)
    assert world.names == ["db-0", "db-1"]


def test_each_pod_has_claims_of_its_own_that_stay() -> None:
    world = World()
    claim = PersistentVolumeClaim(metadata=ObjectMeta(name="data"))
    owner = world.create(stateful_set(2, volume_claim_templates=(claim,)))
    world.run(5)
    mounted = [pod.spec.volumes[0].persistent_volume_claim for pod in world.pods]
    assert [one.claim_name for one in mounted if one is not None] == ["data-db-0", "data-db-1"]
    world.change(owner, replicas=0)
    world.run(10)
    claims = [one.metadata.name for one in world.api.objects("PersistentVolumeClaim")]
    assert (world.pods, claims) == ([], ["data-db-0", "data-db-1"])
    world.change(owner, replicas=2)
    world.run(20)
    assert world.count() == 2


def test_pods_of_a_real_cluster_are_up_to_date() -> None:
    world = World()
    owner = stateful_set(2)
    owner = StatefulSet(metadata=ObjectMeta(name="db", namespace="default", uid="set-1"), spec=owner.spec)
    world.create(owner)
    for ordinal in range(2):
        pod = stateful_pod(owner, ordinal)
        labels = pod.metadata.labels | {"controller-revision-hash": "db-6b7c9d"}
        meta = ObjectMeta(
            name=pod.metadata.name,
            namespace="default",
            labels=labels,
            owner_references=pod.metadata.owner_references,
        )
        world.create(Pod(metadata=meta, spec=pod.spec))
    world.run(100)
    assert world.num_created == 2


def test_its_pods_go_with_it() -> None:
    world = World()
    owner = world.create(stateful_set())
    world.run(5)
    world.api.remove(owner)
    world.run(10)
    assert world.pods == []
