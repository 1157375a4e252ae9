"""The judge: what must hold whatever has happened. Pure functions from what was seen to a list of violations.

In: sightings of pods in the order of the API's versions, accepted bindings, what nodes offer, what a scheduler says it
knows. Out: for each invariant sentences that name the pod or node, none if it holds. Nothing here asks anybody, so that
`test_judge` can feed it with histories that must be found guilty. Called by `trial`.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from tests.chaos.pod_state import Amounts, Binding, PodState, Sighting

__all__ = [
    "COMPARISONS",
    "SchedulerView",
    "VolumeState",
    "cache_differences",
    "double_bindings",
    "forgotten_pods",
    "memory_growth",
    "mended_differences",
    "overcommitments",
    "volume_violations",
]

MIB: Final = 1 << 20
GROWTH_RATIO, GROWTH_BYTES = 1.15, 16 * MIB
"""How much more memory is still flat: a seventh, and what an allocator may keep."""
COMPARISONS: Final = "fairway_cache_comparisons_total"
DIFFERENCES: Final = "fairway_cache_differences_total"
NOTHING: Final = Amounts(0, 0, 0)


class SchedulerView(NamedTuple):
    """What a scheduler says it knows."""

    num_nodes: int
    num_placed: int  # pods that count on a node
    num_assumed: int  # those of them that the watch has not confirmed
    num_waiting: int  # in all parts of its queue
    pods: Mapping[str, str]  # node by namespace/name, of pods that ask for something; "" for those that wait


class VolumeState(NamedTuple):
    """A persistent volume."""

    name: str
    claim: str  # namespace/name
    nodes: frozenset[str]  # from where it can be reached


def double_bindings(sightings: Sequence[Sighting], bindings: Iterable[Binding]) -> list[str]:
    """A pod's node never changes, a binding is accepted at most once a pod, and it binds the pod that was meant."""
    found = []
    node_of: dict[str, str] = {}
    for _, pod in sightings:
        known = node_of.get(pod.uid, "")
        if known and pod.node != known:
            found.append(f"pod {pod.key} moved from {known} to {pod.node or 'no node'}")
        if pod.node:
            node_of[pod.uid] = pod.node
    times: Counter[str] = Counter()
    for binding in bindings:
        if not binding.uid:
            found.append(f"pod {binding.key} was bound without its uid: any pod of that name would have been")
            continue
        times[binding.uid] += 1
        seen = node_of.get(binding.uid)
        if seen is not None and seen != binding.node:
            found.append(f"pod {binding.key} was to be bound to {binding.node} and is on {seen}")
        if times[binding.uid] == 2:
            found.append(f"pod {binding.key} ({binding.uid}) was bound more than once")
    return found


def overcommitments(sightings: Sequence[Sighting], offered: Mapping[str, Amounts]) -> list[str]:
    """At no moment of the history has a node more than it offers, or two pods with one host port."""
    found: list[str] = []
    holding: dict[str, PodState] = {}
    taken: dict[str, Amounts] = defaultdict(lambda: NOTHING)
    ports: dict[str, Counter[int]] = defaultdict(Counter)
    for verb, pod in sightings:
        is_holding = pod.holds_room and verb != "DELETED"
        if is_holding == (pod.uid in holding):
            continue
        before = holding.pop(pod.uid, None)
        if before is not None:
            taken[before.node] = taken[before.node].minus(before.amounts)
            ports[before.node].subtract(before.ports)
            continue
        holding[pod.uid] = pod
        if pod.node not in offered:
            found.append(f"pod {pod.key} is on {pod.node}, a node that never was")
            continue
        taken[pod.node] = taken[pod.node].plus(pod.amounts)
        left = offered[pod.node].minus(taken[pod.node])
        if min(left) < 0:
            found.append(f"pod {pod.key} overfills {pod.node}: {left} is left at version {pod.version}")
        clashes = [port for port in pod.ports if ports[pod.node][port]]
        found += [f"pod {pod.key} gets port {port} of {pod.node}, which is taken" for port in clashes]
        ports[pod.node].update(pod.ports)
    return found


def volume_violations(pods: Iterable[PodState], volumes: Iterable[VolumeState], limits: Mapping[str, int]) -> list[str]:
    """No node has more volumes than it can attach, and every pod reaches its volumes."""
    found = []
    of_claim = {volume.claim: volume for volume in volumes}
    attached: dict[str, set[str]] = defaultdict(set)
    for pod in pods:
        for claim in pod.claims if pod.holds_room else ():
            volume = of_claim.get(claim)
            if volume is None:
                continue  # the claim was deleted under a running pod
            attached[pod.node].add(volume.name)
            if pod.node not in volume.nodes:
                found.append(f"pod {pod.key} on {pod.node} cannot reach volume {volume.name}")
    for node, names in attached.items():
        if len(names) > limits.get(node, len(names)):
            found.append(f"{node} has {len(names)} volumes and can attach {limits[node]}")
    return found


def forgotten_pods(before: Iterable[PodState], after: Iterable[PodState]) -> list[str]:
    """Who waited before a fresh scheduler came, and has a node after it."""
    node_of = {pod.uid: pod.node for pod in after}
    return [
        f"pod {pod.key} waited, and a fresh scheduler placed it on {node_of[pod.uid]}"
        for pod in before
        if pod.waits and node_of.get(pod.uid)
    ]


def cache_differences(view: SchedulerView, pods: Sequence[PodState], num_nodes: int) -> list[str]:
    """What the scheduler says it knows is what the API says."""
    expected = {
        "nodes": (view.num_nodes, num_nodes),
        "pods on nodes": (view.num_placed, sum(pod.holds_room for pod in pods)),
        "assumed pods": (view.num_assumed, 0),
        "waiting pods": (view.num_waiting, sum(pod.waits for pod in pods)),
    }
    found = [f"{known} {what} are known, {real} are there" for what, (known, real) in expected.items() if known != real]
    real_nodes = {pod.key: pod.node for pod in pods if pod.holds_room or pod.waits}
    asking = {pod.key for pod in pods if pod.amounts.cpu or pod.amounts.memory}
    for key in sorted(view.pods.keys() | (real_nodes.keys() & asking)):
        known, real = view.pods.get(key), real_nodes.get(key)
        if known != real:
            found.append(f"pod {key}: known {_place(known)}, really {_place(real)}")
    return found


def mended_differences(metrics: Mapping[str, float]) -> list[str]:
    """What the scheduler itself has found wrong in its cache, by its metrics: mended is not excused."""
    return [
        f"the scheduler has found its cache wrong: {name} is {value:g}"
        for name, value in metrics.items()
        if name.startswith(DIFFERENCES) and value
    ]


def memory_growth(samples: Sequence[int]) -> list[str]:
    """Bytes in use after each of several equal rounds, by one process: the last is not much above the first."""
    if len(samples) < 2:
        return []
    first, last = samples[0], samples[-1]
    if last <= max(first * GROWTH_RATIO, first + GROWTH_BYTES):
        return []
    steps = ", ".join(f"{sample / MIB:.0f}" for sample in samples)
    return [f"memory grew with every round: {steps} MiB"]


def _place(node: str | None) -> str:
    if node is None:
        return "not there"
    return f"on {node}" if node else "waiting"
