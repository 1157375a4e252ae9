"""On the same API server and in the same state, kube-scheduler and Fairway decide alike and say the same.

Every scenario has nodes of its own, so that all of them are decided in one go: first by kube-scheduler, then, when what
it did has been undone, by Fairway. A scenario names the nodes that are equally good for its pod, or none.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

import pytest

from tests.kube.api import Api, Json
from tests.kube.control_plane import ControlPlane
from tests.kube.processes import Program, wait_until

HOSTNAME: Final = "kubernetes.io/hostname"
ZONE: Final = "topology.kubernetes.io/zone"
GIB: Final = 1 << 30


@dataclass
class Scenario:
    """A pod that comes, the state it finds, and where it should go; `best` empty: nowhere."""

    name: str
    best: set[str]
    nodes: list[Json] = field(default_factory=list)
    objects: list[Json] = field(default_factory=list)  # bound pods included
    spec: Json = field(default_factory=dict)
    labels: Json = field(default_factory=dict)
    cpu: str = "100m"


def make_node(name: str, labels: Json | None = None, images: Json | None = None, **spec: Any) -> Json:
    amounts = {"cpu": spec.pop("cpu", "4"), "memory": "16Gi", "pods": "110"}
    metadata = {"name": name, "labels": {HOSTNAME: name, **(labels or {})}}
    present = [{"names": [image], "sizeBytes": size} for image, size in (images or {}).items()]
    status = {"allocatable": amounts, "capacity": amounts, "images": present}
    return {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": spec, "status": status}


def make_pod(
    name: str, labels: Json | None = None, cpu: str = "100m", ports: list[Json] | None = None, **spec: Any
) -> Json:
    resources = {"requests": {"cpu": cpu, "memory": "100Mi"}}
    container = {"name": "main", "image": "example/image:1", "resources": resources, "ports": ports or []}
    metadata = {"name": name, "namespace": "default", "labels": labels or {}}
    full = {"containers": [container], "terminationGracePeriodSeconds": 0, **spec}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": full}


def make_volume(name: str, labels: Json | None = None, modes: str = "ReadWriteOnce", **spec: Any) -> list[Json]:
    """A volume and the claim that it is bound to."""
    capacity = {"storage": "1Gi"}
    claim_ref = {"kind": "PersistentVolumeClaim", "namespace": "default", "name": name}
    source = spec or {"hostPath": {"path": "/data"}}
    volume = {"capacity": capacity, "accessModes": [modes], "claimRef": claim_ref, "storageClassName": "", **source}
    claim = {"accessModes": [modes], "resources": {"requests": capacity}, "volumeName": name, "storageClassName": ""}
    bound = {"pv.kubernetes.io/bind-completed": "yes"}
    return [
        {
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {"name": name, "labels": labels or {}},
            "spec": volume,
            "status": {"phase": "Bound"},
        },
        {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": name, "namespace": "default", "annotations": bound},
            "spec": claim,
            "status": {"phase": "Bound", "accessModes": [modes], "capacity": capacity},
        },
    ]


def with_claim(name: str) -> Json:
    return {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": name}}]}


def matching(**labels: str) -> Json:
    return {"labelSelector": {"matchLabels": labels}}


def spread(app: str, when: str) -> Json:
    constraint = {"topologyKey": ZONE, "maxSkew": 1, "whenUnsatisfiable": when, **matching(app=app)}
    return {"topologySpreadConstraints": [constraint]}


def anti_affinity(app: str) -> Json:
    term = {"topologyKey": HOSTNAME, **matching(app=app)}
    return {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}


def affinity(app: str) -> Json:
    term = {"topologyKey": ZONE, **matching(app=app)}
    return {"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}


def prefers(key: str, value: str) -> Json:
    preference = {"matchExpressions": [{"key": key, "operator": "In", "values": [value]}]}
    terms = [{"weight": 10, "preference": preference}]
    return {"affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": terms}}}


def on_node(name: str) -> Json:
    expression = {"key": HOSTNAME, "operator": "In", "values": [name]}
    return {"nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}}}


def csi(driver: str, handle: str) -> Json:
    return {"csi": {"driver": driver, "volumeHandle": handle}}


def csi_node(name: str, driver: str, count: int) -> Json:
    drivers = [{"name": driver, "nodeID": name, "allocatable": {"count": count}}]
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSINode",
        "metadata": {"name": name},
        "spec": {"drivers": drivers},
    }


def pair(name: str, **each: Any) -> list[Json]:
    """Two nodes that differ only in name."""
    return [make_node(f"{name}-{letter}", **each) for letter in "ab"]


def zones(name: str) -> list[Json]:
    return [make_node(f"{name}-{letter}", {ZONE: f"{name}-zone-{letter}"}) for letter in "ab"]


TAINT: Final = {"key": "dedicated", "value": "batch", "effect": "NoSchedule"}
SOFT_TAINT: Final = {**TAINT, "effect": "PreferNoSchedule"}
PORT: Final = [{"containerPort": 80, "hostPort": 8080, "protocol": "TCP"}]

SCENARIOS: Final = [
    Scenario("fit", {"fit-b"}, [make_node("fit-a", cpu="1"), make_node("fit-b")], cpu="2"),
    Scenario("no-fit", set(), [*pair("no-fit"), make_node("no-fit-c", unschedulable=True)], cpu="8"),
    Scenario(
        "full",
        set(),
        pair("full"),
        [make_pod(f"full-on-{letter}", nodeName=f"full-{letter}", cpu="3") for letter in "ab"],
        cpu="2",
    ),
    Scenario(
        "least-allocated",
        {"least-allocated-b"},
        pair("least-allocated"),
        [make_pod("least-allocated-on-a", nodeName="least-allocated-a", cpu="1")],
    ),
    Scenario("equals", {"equals-a", "equals-b"}, pair("equals")),
    Scenario("cordoned", {"cordoned-b"}, [make_node("cordoned-a", unschedulable=True), make_node("cordoned-b")]),
    Scenario("tainted", {"tainted-b"}, [make_node("tainted-a", taints=[TAINT]), make_node("tainted-b")]),
    Scenario(
        "tolerated",
        {"tolerated-a"},
        [make_node("tolerated-a", {"disk": "ssd"}, taints=[TAINT]), make_node("tolerated-b")],
        spec={"tolerations": [{"key": "dedicated", "operator": "Exists"}], **prefers("disk", "ssd")},
    ),
    Scenario("only-tainted", set(), [make_node("only-tainted-a", taints=[TAINT])]),
    Scenario("avoided", {"avoided-b"}, [make_node("avoided-a", taints=[SOFT_TAINT]), make_node("avoided-b")]),
    Scenario(
        "preferred",
        {"preferred-b"},
        [make_node("preferred-a"), make_node("preferred-b", {"disk": "ssd"})],
        spec=prefers("disk", "ssd"),
    ),
    Scenario(
        "ports",
        {"ports-b"},
        pair("ports"),
        [make_pod("ports-on-a", ports=PORT, nodeName="ports-a")],
        spec={"containers": make_pod("", ports=PORT)["spec"]["containers"]},
    ),
    Scenario(
        "no-port",
        set(),
        [make_node("no-port-a")],
        [make_pod("no-port-on-a", ports=PORT, nodeName="no-port-a")],
        spec={"containers": make_pod("", ports=PORT)["spec"]["containers"]},
    ),
    Scenario(
        "spread",
        {"spread-b"},
        zones("spread"),
        [make_pod("spread-on-a", {"app": "spread"}, nodeName="spread-a")],
        spec=spread("spread", "DoNotSchedule"),
        labels={"app": "spread"},
    ),
    Scenario(
        "unspreadable",
        set(),
        [*zones("unspreadable")[:1], make_node("unspreadable-b", {ZONE: "unspreadable-zone-b"}, cpu="100m")],
        [make_pod("unspreadable-on-a", {"app": "unspreadable"}, nodeName="unspreadable-a")],
        spec=spread("unspreadable", "DoNotSchedule"),
        labels={"app": "unspreadable"},
        cpu="200m",
    ),
    Scenario(
        "soft-spread",
        {"soft-spread-b"},
        zones("soft-spread"),
        [make_pod("soft-spread-on-a", {"app": "soft-spread"}, nodeName="soft-spread-a", cpu="10m")],
        spec=spread("soft-spread", "ScheduleAnyway"),
        labels={"app": "soft-spread"},
    ),
    Scenario(
        "together",
        {"together-a"},
        zones("together"),
        [make_pod("together-on-a", {"app": "together"}, nodeName="together-a")],
        spec=affinity("together"),
    ),
    Scenario("lonely", set(), zones("lonely"), spec=affinity("nobody")),
    Scenario(
        "apart",
        {"apart-b"},
        pair("apart"),
        [make_pod("apart-on-a", {"app": "apart"}, nodeName="apart-a")],
        spec=anti_affinity("apart"),
    ),
    Scenario(
        "images",
        {"images-b"},
        [make_node("images-a"), make_node("images-b", images={"example/image:1": 2 * GIB})],
    ),
    Scenario(
        "volume-node",
        {"volume-node-b"},
        pair("volume-node"),
        make_volume("volume-node", hostPath={"path": "/data"}, **on_node("volume-node-b")),
        spec=with_claim("volume-node"),
    ),
    Scenario(
        "volume-elsewhere",
        set(),
        pair("volume-elsewhere"),
        make_volume("volume-elsewhere", hostPath={"path": "/data"}, **on_node("equals-a")),
        spec=with_claim("volume-elsewhere"),
    ),
    Scenario(
        "volume-zone",
        {"volume-zone-b"},
        zones("volume-zone"),
        make_volume("volume-zone", {ZONE: "volume-zone-zone-b"}),
        spec=with_claim("volume-zone"),
    ),
    Scenario(
        "volume-limit",
        {"volume-limit-b"},
        pair("volume-limit"),
        [
            *(csi_node(f"volume-limit-{letter}", "disk.example", 1) for letter in "ab"),
            *make_volume("limit-1", **csi("disk.example", "one")),
            *make_volume("limit-2", **csi("disk.example", "two")),
            make_pod("volume-limit-on-a", nodeName="volume-limit-a", **with_claim("limit-1")),
        ],
        spec=with_claim("limit-2"),
    ),
    Scenario(
        "only-once",
        set(),
        pair("only-once"),
        [
            *make_volume("only-once", modes="ReadWriteOncePod", **csi("disk.example", "once")),
            make_pod("only-once-on-a", nodeName="only-once-a", **with_claim("only-once")),
        ],
        spec=with_claim("only-once"),
    ),
    Scenario("no-claim", set(), pair("no-claim"), spec=with_claim("missing")),
    Scenario(
        "preempts",
        {"preempts-a"},
        pair("preempts"),
        [
            make_pod("preempts-on-a", nodeName="preempts-a", cpu="3"),
            make_pod("preempts-on-b", nodeName="preempts-b", cpu="3", priorityClassName="middle"),
        ],
        spec={"priorityClassName": "high"},
        cpu="2",
    ),
    Scenario(
        "never-preempts",
        set(),
        [make_node("never-preempts-a")],
        [make_pod("never-preempts-on-a", nodeName="never-preempts-a", cpu="3")],
        spec={"priorityClassName": "high-but-kind"},
        cpu="2",
    ),
]

Outcome = tuple[str, str, str, frozenset[str]]  # node, reason and message of the condition, notes of events


@pytest.fixture(scope="module")
def outcomes(shared_control_plane: ControlPlane) -> dict[str, dict[str, Outcome]]:
    """What became of every scenario's pod, by scheduler."""
    found = {}
    start: dict[str, Callable[[], Program]] = {
        "kube-scheduler": shared_control_plane.start_kube_scheduler,
        "fairway": shared_control_plane.start_fairway,
    }
    for value, name in ((1000, "high"), (1000, "high-but-kind"), (500, "middle")):
        policy = {"preemptionPolicy": "Never"} if name == "high-but-kind" else {}
        kind = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}}
        shared_control_plane.api().create({**kind, "value": value, **policy})
    api = shared_control_plane.api()
    for name, begin in start.items():
        shared_control_plane.clear()
        prepare(api)
        begin()
        wait_until(lambda: all(is_decided(api, each) for each in SCENARIOS), f"{name} has decided about all pods")
        found[name] = {scenario.name: outcome(api, scenario) for scenario in SCENARIOS}
        shared_control_plane.stop_others()
    shared_control_plane.clear()
    shared_control_plane.api().delete_all("PriorityClass")
    return found


def prepare(api: Api) -> None:
    """Everything there is, and the pods that wait; before any scheduler looks."""
    for scenario in SCENARIOS:
        for node in scenario.nodes:
            metadata = {**node["metadata"], "labels": {**node["metadata"]["labels"], "scenario": scenario.name}}
            api.create({**node, "metadata": metadata})
        for thing in scenario.objects:
            api.create(thing)
        pod = make_pod(scenario.name, scenario.labels, scenario.cpu, **scenario.spec)
        pod["spec"]["nodeSelector"] = {"scenario": scenario.name}
        api.create(pod)


def is_decided(api: Api, scenario: Scenario) -> bool:
    pod = api.get("Pod", scenario.name, "default")
    if scenario.best:
        return bool(pod["spec"].get("nodeName"))
    return bool(condition(pod)) and bool(notes(api, scenario.name))


def condition(pod: Json) -> Json:
    found = [each for each in pod["status"].get("conditions", []) if each["type"] == "PodScheduled"]
    return dict(found[0]) if found else {}


def notes(api: Api, name: str) -> frozenset[str]:
    events = api.items("Event", "default", fieldSelector="reason=FailedScheduling")
    return frozenset(event["note"] for event in events if event["regarding"]["name"] == name)


def outcome(api: Api, scenario: Scenario) -> Outcome:
    pod = api.get("Pod", scenario.name, "default")
    said = condition(pod)
    return (
        pod["spec"].get("nodeName", ""),
        said.get("reason", ""),
        said.get("message", ""),
        notes(api, scenario.name),
    )


@pytest.mark.parametrize("scenario", [each for each in SCENARIOS if each.best], ids=lambda each: each.name)
def test_both_choose_among_the_best_nodes(scenario: Scenario, outcomes: dict[str, dict[str, Outcome]]) -> None:
    assert outcomes["kube-scheduler"][scenario.name][0] in scenario.best
    assert outcomes["fairway"][scenario.name][0] in scenario.best
    assert outcomes["fairway"][scenario.name][1:] == outcomes["kube-scheduler"][scenario.name][1:]


@pytest.mark.parametrize("scenario", [each for each in SCENARIOS if not each.best], ids=lambda each: each.name)
def test_both_say_the_same_when_no_node_will_do(scenario: Scenario, outcomes: dict[str, dict[str, Outcome]]) -> None:
    theirs, ours = outcomes["kube-scheduler"][scenario.name], outcomes["fairway"][scenario.name]
    assert theirs[0] == ""
    assert theirs[2].startswith("0/")
    assert ours == theirs
