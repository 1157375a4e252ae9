"""Cases: a cluster, a configuration and the pods that come, made of one seed.

In: a seed, a number, and the kinds of cases wanted. Out: a case as the corpus has them, without decisions. A kind says
which features are likely; every feature is possible in every kind. The same seed and number make the same case.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import numpy as np

from tests.fuzz.configurations import make_configuration
from tests.fuzz.draw import Draw, Json
from tests.fuzz.groups import GROUP_KINDS, GROUP_USUAL, make_group_case
from tests.fuzz.nodes import make_namespaces, make_nodes
from tests.fuzz.pods import Setting, make_pod
from tests.fuzz.policies import make_budgets, make_controllers, make_priority_classes
from tests.fuzz.storage import Storage, make_storage

__all__ = ["KINDS", "make_case", "make_cases"]

USUAL: Final[Mapping[str, float]] = {
    "requests": 0.8,
    "node affinity": 0.15,
    "pod affinity": 0.1,
    "pod anti-affinity": 0.1,
    "spread": 0.12,
    "taints": 0.15,
    "tolerations": 0.25,
    "node selector": 0.06,
    "ports": 0.08,
    "images": 0.4,
    "volumes": 0.06,
    "init containers": 0.15,
    "extended resources": 0.08,
    "pod-level resources": 0.08,
    "overhead": 0.06,
    "resize": 0.1,
    "terminating": 0.06,
    "gates": 0.02,
    "unschedulable": 0.03,
    "roomy": 0.85,
    "odd values": 0.02,
    "single points": 0.03,
    "matchFields": 0.03,
    "configuration": 0.15,
    "priorities": 0.5,
    "budgets": 0.3,
    "controllers": 0.4,
    "storage": 0.15,
    "nominated": 0.08,
}

KINDS: Final[Mapping[str, Mapping[str, float]]] = {
    "mixed": {},
    "resources": {
        "roomy": 0.5,
        "extended resources": 0.3,
        "pod-level resources": 0.4,
        "resize": 0.5,
        "init containers": 0.4,
        "overhead": 0.2,
    },
    "node-affinity": {
        "node affinity": 0.8,
        "node selector": 0.2,
        "matchFields": 0.15,
        "taints": 0.4,
        "tolerations": 0.5,
    },
    "pod-affinity": {"pod affinity": 0.5, "pod anti-affinity": 0.5},
    "spread": {"spread": 0.75, "node affinity": 0.3, "taints": 0.4, "controllers": 0.8},
    "volumes": {"volumes": 0.8, "storage": 1.0, "requests": 0.3},
    "preemption": {
        "roomy": 0.1,
        "important": 0.7,
        "taints": 0.05,
        "priorities": 1.0,
        "budgets": 0.8,
        "crowd": 1.0,
        "nominated": 0.3,
        "terminating": 0.15,
    },
    "nominated": {
        "roomy": 0.5,
        "important": 0.3,
        "nominated": 0.9,
        "priorities": 0.9,
        "matchFields": 0.2,
        "node affinity": 0.3,
        "crowd": 0.5,
    },
    "ports": {"ports": 0.7, "gates": 0.1, "images": 0.8},
    "points": {"configuration": 1.0, "single points": 0.25, "storage": 0.4, "volumes": 0.25},
    "arguments": {"configuration": 1.0, "spread": 0.25, "pod affinity": 0.25, "controllers": 0.7},
    "crush": {
        "roomy": 0.05,
        "crowd": 1.0,
        "important": 0.8,
        "priorities": 1.0,
        "budgets": 0.7,
        "spread": 0.35,
        "pod affinity": 0.2,
        "pod anti-affinity": 0.35,
        "ports": 0.25,
        "volumes": 0.3,
        "storage": 1.0,
        "nominated": 0.4,
        "taints": 0.05,
    },
    "odd": {"odd values": 0.3, "node affinity": 0.7, "matchFields": 0.1},
    **{kind: {**GROUP_USUAL, **mix} for kind, (_, mix) in GROUP_KINDS.items()},
}
"""By kind: the features that are likelier, or less likely, than usual."""


def make_cases(seed: int, first: int, count: int, kinds: Sequence[str]) -> Iterator[Json]:
    """So many cases, the kinds in turn."""
    for number in range(first, first + count):
        yield make_case(seed, number, kinds[number % len(kinds)])


def make_case(seed: int, number: int, kind: str) -> Json:
    """One case."""
    draw = Draw(np.random.default_rng([seed, number]), {**USUAL, **KINDS[kind]})
    if kind in GROUP_KINDS:
        return make_group_case(draw, f"fuzz-{kind}-{seed}-{number}", kind)
    count = 0 if draw.chance(0.01) else draw.pick((1, 2, 3, 4, 6, 8, 12, 16))
    nodes = make_nodes(draw, count)
    names = [node["metadata"]["name"] for node in nodes]
    classes = make_priority_classes(draw) if draw.has("priorities") else []
    controllers, owners = make_controllers(draw) if draw.has("controllers") else ([], {})
    storage = make_storage(draw, names) if draw.has("storage") else Storage()
    setting = Setting(names, [each["metadata"]["name"] for each in classes], storage, owners)
    crowd = draw.number(2, 6) if draw.has("crowd") else draw.pick((0, 1, 1, 2, 3))
    running = [make_pod(draw, setting, node=draw.pick(names)) for _ in range(crowd * count)]
    promised = [
        make_pod(draw, setting, nominated=draw.pick([*names, "gone"]))
        for _ in range(draw.number(1, 3))
        if count and draw.has("nominated")
    ]
    for pod in promised:
        pod["spec"].pop("schedulingGates", None)
        pod["spec"].pop("nodeName", None)
    coming = [
        make_pod(draw, setting, nominated=draw.pick([*names, "gone"]) if draw.chance(0.04) else "")
        for _ in range(draw.pick((1, 2, 3, 5, 8, 8, 13, 40) if count <= 8 else (1, 2, 3, 5, 8)))
    ]
    configuration = make_configuration(draw, names) if draw.has("configuration") else None
    budgets = make_budgets(draw) if draw.has("budgets") else []
    others = [*classes, *budgets, *controllers, *storage.objects]
    return {
        "name": f"fuzz-{kind}-{seed}-{number}",
        "focus": "fuzz",
        "config": configuration,
        "objects": [*make_namespaces(draw), *nodes, *others, *running, *promised],
        "pods": coming,
    }
