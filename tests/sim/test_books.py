"""Whatever happens, at every instant the books balance: nothing is overbooked, lost, or run twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from fairway.model import (
    Container,
    CSINode,
    CSINodeDriver,
    CSINodeSpec,
    DaemonSet,
    Deployment,
    Job,
    LabelSelector,
    ObjectMeta,
    Pod,
    PodDisruptionBudget,
    PodDisruptionBudgetSpec,
    PodSpec,
    PodTemplateSpec,
    ResourceRequirements,
    StatefulSet,
    StatefulSetSpec,
    default_object,
    parse_quantity,
)
from fairway.model.controllers import DaemonSetSpec, DeploymentSpec, JobSpec
from fairway.model.requests import pod_requests
from fairway.model.selector import compile_node_selector
from fairway.sim.node_lifecycle import FaultAction
from fairway.sim.scheduler_settings import SchedulerSettings
from fairway.sim.simulation import Fault, Pause, Plan, SchedulerPlan, Simulation
from fairway.testing import claim, node, storage_class
from fairway.trace.workload import Arrival
from tests.sim.diary import Diary, configuration, lasting

CSI = "csi.example.com"
HOSTNAME = "kubernetes.io/hostname"
QUIET = 3000.0  # when all faults are over and everything should have found its place
ENDS = ("Succeeded", "Failed", "Preempted", "Evicted", "Deleted", "Rejected", "NodeLost")


def template(app: str, scheduler: str, cpu: str, duration: str = "") -> PodTemplateSpec:
    resources = ResourceRequirements(requests={"cpu": parse_quantity(cpu)})
    return PodTemplateSpec(
        metadata=ObjectMeta(labels={"app": app}, annotations={"fairway.dev/duration": duration} if duration else {}),
        spec=PodSpec(containers=(Container(name="c", resources=resources),), scheduler_name=scheduler),
    )


def owners() -> Iterator[Any]:
    """One of each kind, served by two schedulers."""

    def meta(name: str) -> ObjectMeta:
        return ObjectMeta(name=name, namespace="default")

    def selector(name: str) -> LabelSelector:
        return LabelSelector(match_labels={"app": name})

    yield Deployment(
        metadata=meta("web"),
        spec=DeploymentSpec(replicas=3, selector=selector("web"), template=template("web", "red", "500m")),
    )
    yield PodDisruptionBudget(
        metadata=meta("web"), spec=PodDisruptionBudgetSpec(selector=selector("web"), max_unavailable=1)
    )
    yield StatefulSet(
        metadata=meta("db"),
        spec=StatefulSetSpec(
            replicas=2,
            selector=selector("db"),
            template=template("db", "blue", "1"),
            volume_claim_templates=(claim("data"),),
        ),
    )
    yield DaemonSet(
        metadata=meta("agent"),
        spec=DaemonSetSpec(selector=selector("agent"), template=template("agent", "red", "100m")),
    )
    work = template("work", "blue", "1", "20")
    yield Job(
        metadata=meta("work"),
        spec=JobSpec(completions=6, parallelism=3, completion_mode="Indexed", backoff_limit=1000, template=work),
    )


def plan(seed: int, view_delay: float) -> Plan:
    """A small cluster on a bad day."""
    draw = np.random.default_rng(seed)
    names = [f"n{number}" for number in range(4)]
    pods = [
        Arrival(
            float(draw.integers(0, 200)),
            lasting(
                f"p{number}",
                float(draw.integers(1, 60)),
                cpu=int(draw.integers(1, 3)),
                priority=int(draw.integers(0, 3)),
                scheduler_name=("red", "blue")[number % 2],
            ),
        )
        for number in range(15)
    ]
    actions: tuple[FaultAction, ...] = ("lose", "drain", "cordon", "remove", "lose", "drain")
    faults = [
        Fault(float(draw.integers(0, 300)), names[draw.integers(4)], action, float(draw.integers(1, 600)))
        for action in actions
    ]
    latencies = SchedulerSettings(view_delay=view_delay, decision_latency=0.05)
    schedulers = [
        SchedulerPlan(name, configuration(name), latencies, (Pause(float(draw.integers(0, 200)), 300.0),))
        for name in ("red", "blue")
    ]
    drivers = (CSINodeDriver(name=CSI, topology_keys=(HOSTNAME,)),)
    return Plan(
        nodes=[node(name, cpu=4, pods=8) for name in names],
        objects=[
            storage_class(provisioner=CSI),
            *(CSINode(metadata=ObjectMeta(name=name), spec=CSINodeSpec(drivers=drivers)) for name in names),
            *map(default_object, owners()),
        ],
        arrivals=sorted(pods, key=lambda arrival: arrival.time),
        schedulers=schedulers,
        faults=faults,
        seed=seed,
        end=QUIET,
    )


class Auditor:
    """Looks at everything between two instants."""

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation
        self._home: dict[str, str] = {}

    def audit(self) -> None:
        api, kubelets = self._simulation.api, self._simulation.kubelets.by_node
        pods: dict[str, Pod] = {item.metadata.uid: item for item in api.objects("Pod")}
        for name, kubelet in kubelets.items():
            used: Counter[str] = Counter()
            for uid in kubelet.residents:
                assert uid in pods, f"{uid} is on {name} but nowhere else"
                assert pods[uid].spec.node_name == name
                used.update(pod_requests(pods[uid]))
            assert all(kubelet.used.get(resource, 0) == amount for resource, amount in used.items()), name
            assert all(amount <= kubelet.allocatable.get(resource, 0) for resource, amount in used.items()), name
            assert len(kubelet.residents) <= kubelet.allocatable["pods"]
        for uid, item in pods.items():
            where = item.spec.node_name
            if where:
                assert self._home.setdefault(uid, where) == where
                assert where not in kubelets or uid in kubelets[where].residents, f"{uid} is lost"
            if item.status.phase == "Running":
                self._audit_volumes(item)

    def _audit_volumes(self, item: Pod) -> None:
        api = self._simulation.api
        for volume in item.spec.volumes:
            if volume.persistent_volume_claim is None:
                continue
            name = volume.persistent_volume_claim.claim_name
            held = api.find("PersistentVolumeClaim", item.metadata.namespace, name)
            assert held is not None
            disk = api.find("PersistentVolume", "", held.spec.volume_name)
            assert disk is not None, f"{item.key} runs without its disk"
            assert disk.spec.claim_ref.uid == held.metadata.uid
            where = api.find("Node", "", item.spec.node_name)
            if where is not None:
                matcher = compile_node_selector(disk.spec.node_affinity.required)
                assert matcher.matches(where.metadata.labels, where.metadata.name)


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), view_delay=st.sampled_from([0.0, 3.0]))
def test_the_books_balance_at_every_instant(seed: int, view_delay: float) -> None:
    diary = Diary()
    simulation = Simulation(plan(seed, view_delay), diary)
    auditor = Auditor(simulation)
    while simulation.timeline.step(QUIET):
        auditor.audit()
    ended = [who for _, what, who in diary.lines if what in ENDS]
    bare = [who for who in ended if who.startswith("p")]
    assert len(bare) == len(set(bare)), "nothing ends twice"
    left = {item.metadata.name for item in simulation.api.objects("Pod")}
    assert {f"p{number}" for number in range(15)} <= set(bare) | left, "nothing is lost"
    assert not set(bare) & left
    _check_outcome(simulation)


def _check_outcome(simulation: Simulation) -> None:
    """All faults are over, every node is back: everything is as its owner wants it."""
    api = simulation.api
    assert not any(item.spec.unschedulable or item.spec.taints for item in api.objects("Node"))
    running = Counter(
        item.metadata.labels["app"]
        for item in api.objects("Pod")
        if item.status.phase == "Running" and "app" in item.metadata.labels
    )
    assert running == {"web": 3, "db": 2, "agent": 4}
    (work,) = api.objects("Job")
    assert work.finish is not None
    assert (work.finish.type, work.status.completed_indexes) == ("Complete", "0-5")
    (budget,) = api.objects("PodDisruptionBudget")
    status = budget.status
    assert (status.expected_pods, status.current_healthy, status.disruptions_allowed) == (3, 3, 1)
    claims = api.objects("PersistentVolumeClaim")
    assert len({one.spec.volume_name for one in claims}) == len(claims) == 2
