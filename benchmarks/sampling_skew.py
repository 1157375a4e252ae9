"""How uneven a large scale-up ends because kube-scheduler scores only some of the nodes.

In: sizes, as options. Out: for each way to choose the nodes that are scored, how many pods the emptiest and the fullest
node have in the end, and how far that is from the best possible placement. kube-scheduler's own scoring decides every
time. All pods are alike and so are the nodes, so the best is known: as many pods on each node, give or take one. Run by
hand, and by tests on a small scale; docs/quality.md tells what it shows (kubernetes/kubernetes, issue 130692).
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from fairway.cluster import Cluster
from fairway.config import default_configuration
from fairway.config.config_file import Sampling
from fairway.cycle import Profile
from fairway.cycle.placing import place
from fairway.cycle.sampling import num_feasible_to_find
from fairway.plugins.registry import REGISTRY
from fairway.testing import node, pod

WAYS: tuple[tuple[str, Sampling, int], ...] = (
    ("all nodes", "all", 100),
    ("kube-scheduler's default", "kube", 0),
    ("percentageOfNodesToScore 5", "kube", 5),
    ("the better of two at random", "two-choices", 0),
)


class Skew(NamedTuple):
    """How the pods lie on the nodes."""

    way: str
    num_scored: int  # nodes, for each pod
    fewest: int  # pods on a node
    most: int
    deviation: float  # standard, of pods on a node
    difference: float  # of the fullest and the emptiest node, as a part of a node's cpu
    best: float  # the same of the best placement


def measure(num_nodes: int, num_there: int, num_pods: int, seed: int = 0) -> list[Skew]:
    """A scale-up by so many pods, on nodes of which the first half have some already."""
    return [
        _measure(way, sampling, percentage, num_nodes, num_there, num_pods, seed) for way, sampling, percentage in WAYS
    ]


def _measure(
    way: str, sampling: Sampling, percentage: int, num_nodes: int, num_there: int, num_pods: int, seed: int
) -> Skew:
    cluster = Cluster()
    half = num_nodes // 2
    objects = [node(f"node-{number}", cpu="32", memory="128Gi", pods=250) for number in range(num_nodes)]
    there = [
        pod(f"old-{row}-{number}", cpu="500m", memory="2Gi", node=f"node-{row}")
        for row in range(half)
        for number in range(num_there)
    ]
    cluster.load([*objects, *there])
    (config, *_) = default_configuration(REGISTRY).profiles
    config = replace(config, sampling=sampling, percentage_of_nodes_to_score=percentage)
    profile = Profile(config, cluster, seed=seed)
    for number in range(num_pods):
        if not place(profile, pod(f"new-{number}", cpu="500m", memory="2Gi", labels={"app": "web"})).is_placed:
            raise SystemExit(f"pod {number} does not fit: take more nodes or fewer pods")
    rows = np.array([cluster.nodes.row_of[f"node-{number}"] for number in range(num_nodes)])
    counts = cluster.nodes.requested[rows, 0] // 500
    total = int(counts.sum())
    # Pods that were there stay; what comes fills the emptier half first.
    level = _level(num_nodes - half, half, num_there, num_pods)
    scored = {"all": num_nodes, "kube": num_feasible_to_find(num_nodes, percentage), "two-choices": 2}[sampling]
    assert total == half * num_there + num_pods
    part = 500 / 32_000
    return Skew(
        way,
        scored,
        int(counts.min()),
        int(counts.max()),
        float(counts.std()),
        float(counts.max() - counts.min()) * part,
        level * part,
    )


def _level(num_empty: int, num_filled: int, num_there: int, num_pods: int) -> int:
    """The least difference between any two nodes, in pods."""
    if num_pods <= num_empty * num_there:
        return num_there - num_pods // num_empty
    return int((num_pods - num_empty * num_there) % (num_empty + num_filled) > 0)


def lines(skews: Sequence[Skew]) -> list[str]:
    """As a table."""
    heading = f"{'nodes scored':<28}{'each pod':>10}{'fewest':>8}{'most':>6}{'std':>7}{'difference':>12}{'best':>7}"
    return [
        heading,
        *(
            f"{one.way:<28}{one.num_scored:>10}{one.fewest:>8}{one.most:>6}{one.deviation:>7.2f}"
            f"{one.difference:>12.1%}{one.best:>7.1%}"
            for one in skews
        ),
    ]


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--there", type=int, default=8, help="pods on each node of the first half before")
    parser.add_argument("--pods", type=int, default=5000, help="pods that come")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    for line in lines(measure(options.nodes, options.there, options.pods, options.seed)):
        print(line)


if __name__ == "__main__":
    main()
