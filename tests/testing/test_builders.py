"""Builders make what the API server would hand out, from as few words as possible."""

from typing import Any

import pytest

from fairway.model import (
    ContainerPort,
    LabelSelector,
    Node,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    OwnerReference,
    Pod,
    PodAffinityTerm,
    Taint,
    Toleration,
    TopologySpreadConstraint,
    WeightedPodAffinityTerm,
    default_object,
    parse_quantity,
    pod_requests,
)
from fairway.testing import Situation, claim, cluster, near, node, pod, situations, storage_class, volume
from fairway.testing.notation import label_selector

ZONE = "topology.kubernetes.io/zone"
HOST = "kubernetes.io/hostname"


def test_a_plain_pod_asks_for_nothing_and_waits() -> None:
    made = pod()
    assert made.key == "default/pod"
    assert pod_requests(made) == {}
    assert (made.spec.node_name, made.status.phase, made.priority) == ("", "Pending", 0)
    assert made.spec.affinity is None
    assert len(made.spec.containers) == 1


def test_built_objects_need_no_more_defaults() -> None:
    things: list[Any] = [
        pod(),
        pod("b", node="n", tolerates="gpu"),
        node(),
        claim(),
        claim(volume="v"),
        volume(),
        storage_class(),
    ]
    assert [default_object(thing) for thing in things] == things


def test_pods_of_different_names_are_different_pods() -> None:
    assert pod("a").metadata.uid != pod("b").metadata.uid
    assert pod("a").metadata.uid != pod("a", namespace="other").metadata.uid
    assert pod("a", uid="u").metadata.uid == "u"


def test_requests_are_of_the_first_container() -> None:
    made = pod(cpu="1500m", memory="1Gi", requests={"example.com/gpu": 2}, images=("app:v1", "log:v1"))
    assert pod_requests(made) == {"cpu": 1500, "memory": 2**30, "example.com/gpu": 2}
    assert [(one.name, one.image) for one in made.spec.containers] == [("c1", "app:v1"), ("c2", "log:v1")]
    assert made.spec.containers[1].resources.requests == {}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("gpu", Toleration(key="gpu", operator="Exists")),
        ("gpu=a100", Toleration(key="gpu", operator="Equal", value="a100")),
        ("gpu=:NoExecute", Toleration(key="gpu", operator="Equal", effect="NoExecute")),
        ("gpu:NoSchedule", Toleration(key="gpu", operator="Exists", effect="NoSchedule")),
        ("*", Toleration(operator="Exists")),
        (Toleration(key="own"), Toleration(key="own")),
    ],
    ids=["key", "value", "empty value and effect", "effect", "everything", "struct"],
)
def test_tolerations_are_read(text: Any, expected: Toleration) -> None:
    assert pod(tolerates=text).spec.tolerations[0] == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("gpu", Taint(key="gpu", effect="NoSchedule")),
        ("gpu=a100:PreferNoSchedule", Taint(key="gpu", value="a100", effect="PreferNoSchedule")),
        (Taint(key="own", effect="NoExecute"), Taint(key="own", effect="NoExecute")),
    ],
    ids=["key", "all", "struct"],
)
def test_taints_are_read(text: Any, expected: Taint) -> None:
    assert node(taints=text).spec.taints == (expected,)


@pytest.mark.parametrize(
    ("text", "problem"),
    [("gpu:Never", "'Never' is not one of NoSchedule"), ("=a100", "names no key")],
    ids=["effect", "key"],
)
def test_what_is_no_taint_is_refused(text: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        node(taints=text)


def test_node_affinity_is_read_as_selectors() -> None:
    made = pod(node_affinity=("disk=ssd,cores>8", "metadata.name=n1"), prefers_nodes={"disk": 7})
    assert made.spec.affinity is not None
    assert made.spec.affinity.node_affinity is not None
    required = made.spec.affinity.node_affinity.required
    assert required is not None
    cores = NodeSelectorRequirement(key="cores", operator="Gt", values=("8",))
    ssd = NodeSelectorRequirement(key="disk", operator="In", values=("ssd",))
    name = NodeSelectorRequirement(key="metadata.name", operator="In", values=("n1",))
    assert required.node_selector_terms == (
        NodeSelectorTerm(match_expressions=(cores, ssd)),
        NodeSelectorTerm(match_fields=(name,)),
    )
    (wish,) = made.spec.affinity.node_affinity.preferred
    exists = NodeSelectorRequirement(key="disk", operator="Exists")
    assert (wish.weight, wish.preference.match_expressions) == (7, (exists,))


def test_affinity_means_the_pods_own_labels_unless_told_otherwise() -> None:
    made = pod(
        labels={"app": "web"},
        affinity=near("app=db", "zone", namespaces="team-a", namespace_selector="tier=prod"),
        anti_affinity=("node", near(topology="rack", weight=3)),
    )
    own = LabelSelector(match_labels={"app": "web"})
    assert made.spec.affinity is not None
    assert made.spec.affinity.pod_affinity is not None
    assert made.spec.affinity.pod_affinity.required == (
        PodAffinityTerm(
            label_selector=label_selector("app=db"),
            topology_key=ZONE,
            namespaces=("team-a",),
            namespace_selector=label_selector("tier=prod"),
        ),
    )
    away = made.spec.affinity.pod_anti_affinity
    assert away is not None
    assert away.required == (PodAffinityTerm(label_selector=own, topology_key=HOST),)
    assert away.preferred == (
        WeightedPodAffinityTerm(weight=3, pod_affinity_term=PodAffinityTerm(label_selector=own, topology_key="rack")),
    )


def test_spread_is_over_a_topology_by_own_labels() -> None:
    (constraint,) = pod(labels={"app": "web"}, spread="zone").spec.topology_spread_constraints
    assert constraint == TopologySpreadConstraint(
        max_skew=1,
        topology_key=ZONE,
        when_unsatisfiable="DoNotSchedule",
        label_selector=LabelSelector(match_labels={"app": "web"}),
    )


@pytest.mark.parametrize(
    ("port", "expected"),
    [
        (8080, ("", "TCP", 8080)),
        ("53/UDP", ("", "UDP", 53)),
        ("10.0.0.1:53/UDP", ("10.0.0.1", "UDP", 53)),
        (ContainerPort(container_port=1, host_port=2, protocol="TCP"), ("", "TCP", 2)),
    ],
    ids=["number", "protocol", "address", "struct"],
)
def test_host_ports_are_read(port: Any, expected: tuple[str, str, int]) -> None:
    (found,) = pod(ports=port).spec.containers[0].ports
    assert (found.host_ip, found.protocol, found.host_port) == expected


def test_owner_is_a_controller() -> None:
    owner = pod(owner="ReplicaSet/web").metadata.controller
    assert owner == OwnerReference(
        api_version="apps/v1", kind="ReplicaSet", name="web", uid="ReplicaSet-web", controller=True
    )
    with pytest.raises(ValueError, match="Kind/name"):
        pod(owner="web")


def test_a_pod_on_a_node_runs_there() -> None:
    made = pod(node="a", terminating=True, priority=5)
    assert (made.spec.node_name, made.status.phase, made.is_terminating, made.priority) == ("a", "Running", True, 5)


def test_fields_without_a_short_form_are_passed_on() -> None:
    assert pod(scheduler_name="mine", preemption_policy="Never").spec.preemption_policy == "Never"
    with pytest.raises(TypeError, match="colour"):
        pod(colour="red")


def test_node_labels_itself_and_has_room() -> None:
    made = node("a", cpu=4, zone="z1", labels={"disk": "ssd"}, resources={"example.com/gpu": 2}, images={"app:v1": 5})
    assert made.metadata.labels == {HOST: "a", ZONE: "z1", "disk": "ssd"}
    assert made.status.allocatable == {
        name: parse_quantity(amount)
        for name, amount in {"cpu": 4, "memory": "32Gi", "pods": 110, "example.com/gpu": 2}.items()
    }
    assert (made.status.images[0].names, made.status.images[0].size_bytes) == (("app:v1",), 5)


def test_cluster_is_loaded() -> None:
    made = cluster([node("a"), node("b")], [pod("p", node="b", cpu=1)], [claim("data")])
    assert made.nodes.row_of == {"a": 0, "b": 1}
    assert made.view().requested("cpu").tolist() == [0, 1000]
    assert list(made.storage.claims) == ["default/data"]


def test_a_number_stands_for_so_many_nodes() -> None:
    assert list(cluster(3).nodes.row_of) == ["node-1", "node-2", "node-3"]
    assert cluster().nodes.num_alive == 0


def test_one_thing_needs_no_list() -> None:
    made = cluster(node("a"), pod("p", node="a"))
    assert (made.nodes.num_alive, len(made.pods)) == (1, 1)


def test_two_things_of_one_name_are_a_mistake() -> None:
    with pytest.raises(ValueError, match="two of Pod default/pod; give them names"):
        cluster(1, [pod(), pod()])


def test_a_claim_that_names_its_volume_is_bound() -> None:
    bound, free = claim("data", volume="pv"), claim("data")
    assert (bound.spec.volume_name, bound.status.phase) == ("pv", "Bound")
    assert (free.spec.volume_name, free.status.phase) == ("", "Pending")
    ref = volume("pv", claim="team-a/data").spec.claim_ref
    assert ref is not None
    assert (ref.namespace, ref.name, ref.uid) == ("team-a", "data", claim("data", namespace="team-a").metadata.uid)
    assert volume("pv").spec.claim_ref is None


def test_situations_are_the_same_for_the_same_seed() -> None:
    def made(seed: int) -> list[Situation]:
        return list(situations(5, seed))

    assert made(1) == made(1)
    assert made(1) != made(2)


def test_situations_hold_together() -> None:
    for situation in situations(20, seed=4):
        nodes = [thing for thing in situation.objects if isinstance(thing, Node)]
        placed = [thing for thing in situation.objects if isinstance(thing, Pod)]
        assert len({one.name for one in nodes}) == len(nodes)
        assert all(one.spec.node_name for one in placed)
        assert situation.pods
        assert situation.events
