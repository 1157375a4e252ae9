"""Nodes with GPU devices, pods that want some, and situations with both, for the tests of GPU sharing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from fairway.cluster import Event, Nodes, Verb
from fairway.model import Node, Pod
from fairway.model.device_need import (
    GPU_COUNT,
    GPU_INDEX,
    GPU_MILLI,
    GPU_MODEL,
    GPU_RESOURCE,
    device_need,
    with_devices,
)
from fairway.plugin import SKIP, Plugin
from fairway.testing import node, pod
from fairway.testing.situations import Dice, Situation

MODELS = ("T4", "P100", "G2")
WISHES: tuple[dict[str, str], ...] = (
    {},
    {GPU_MILLI: "300"},
    {GPU_MILLI: "470"},
    {GPU_MILLI: "700", GPU_MODEL: "T4"},
    {GPU_MILLI: "1000", GPU_COUNT: "1", GPU_MODEL: "T4|P100"},
    {GPU_COUNT: "2", GPU_MILLI: "1000"},
    {GPU_MILLI: "400", GPU_INDEX: "1"},
)


def gpu_node(name: str, count: int = 2, model: str = "T4", **others: Any) -> Node:
    """A node with devices to share."""
    resources = {GPU_COUNT: count, GPU_MILLI: 1000 * count} if count else {}
    return node(name, resources=resources, labels={GPU_MODEL: model} if count else {}, **others)


def gpu_pod(
    name: str = "pod",
    milli: int | str = 0,
    count: int | str | None = None,
    models: str = "",
    index: str = "",
    **others: Any,
) -> Pod:
    """A pod that wants devices, by annotations."""
    said = {GPU_MILLI: str(milli)} if milli else {}
    said |= {GPU_COUNT: str(count)} if count is not None else {}
    said |= {GPU_MODEL: models} if models else {}
    said |= {GPU_INDEX: index} if index else {}
    return pod(name, annotations=said, **others)


def raw_scores(plugin: Plugin, wanted: Pod) -> dict[str, int] | str:
    """What a plugin gives each node, before it is normalised."""
    cluster = plugin.cluster
    pod_class = cluster.classify(wanted)
    everything = Nodes(cluster)
    state = plugin.pre_score(pod_class, everything)
    if state is SKIP:
        return "skip"
    return dict(zip(everything.names, plugin.score(pod_class, everything, state).tolist(), strict=True))


def final_scores(plugin: Plugin, wanted: Pod) -> dict[str, int]:
    """The same, as this plugin itself normalises it."""
    cluster = plugin.cluster
    pod_class = cluster.classify(wanted)
    everything = Nodes(cluster)
    state = plugin.pre_score(pod_class, everything)
    raw = plugin.score(pod_class, everything, state)
    return dict(zip(everything.names, plugin.normalize_scores(pod_class, everything, state, raw).tolist(), strict=True))


def random_gpu_node(dice: Dice, name: str) -> Node:
    """With devices to share, whole ones, or none."""
    if dice.flip(20):
        return node(name, cpu=8, resources={GPU_RESOURCE: dice.pick((1, 2, 4))})
    return gpu_node(name, dice.pick((0, 1, 2, 4, 8)), dice.pick(MODELS), cpu=dice.pick((2, 4, 16)))


def random_gpu_pod(dice: Dice, name: str, on: str = "") -> Pod:
    """Wants something; one on a node says which devices it has, if not how it came by them."""
    requests = {GPU_RESOURCE: 1} if dice.flip(10) else {}
    said = {} if requests else dice.pick(WISHES)
    made = pod(name, cpu=dice.pick(("500m", "1", "2")), requests=requests, annotations=said, node=on)
    need = device_need(made)
    if not on or need is None or need.pinned:
        return made
    first = dice.pick((0, 1))
    return with_devices(made, tuple(range(first, first + need.count)))


def gpu_situations(number: int, seed: int = 0) -> Iterator[Situation]:
    """Clusters in which devices run short, pods to judge, and what happens next."""
    dice = Dice(np.random.default_rng(seed))
    for _ in range(number):
        names = [f"n{place}" for place in range(dice.pick((1, 2, 4)))]
        objects: list[Any] = [random_gpu_node(dice, name) for name in names]
        placed = [random_gpu_pod(dice, f"placed-{place}", dice.pick(names)) for place in range(dice.pick((0, 3, 8)))]
        events = [Event(Verb.DELETED, one) for one in placed[:2]]
        events.append(Event(Verb.ADDED, random_gpu_node(dice, "late")))
        events.append(Event(Verb.ADDED, random_gpu_pod(dice, "late-pod", "late")))
        events.append(Event(Verb.MODIFIED, random_gpu_node(dice, names[0])))
        pods = [random_gpu_pod(dice, f"judged-{place}") for place in range(3)]
        yield Situation([*objects, *placed], pods, events)
