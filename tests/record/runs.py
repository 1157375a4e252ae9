"""Small runs for tests: a writer in a line, decisions made by hand or by the engine."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fairway.cluster import Cluster
from fairway.config import default_configuration
from fairway.cycle import Decision, Outcome, Profile
from fairway.model import Node, Pod
from fairway.plugins.registry import REGISTRY
from fairway.record import RecordOptions, Run, RunWriter
from fairway.record.vocabulary import PodEnd
from fairway.testing import cluster, node, pod

SCHEDULER = "default-scheduler"
CLUSTER = Cluster()


def writer(path: Path, options: RecordOptions | None = None, **meta: Any) -> RunWriter:
    return RunWriter(
        path, **{"scenario": {"name": "test"}, "seed": 7, "policies": ["default"], **meta}, options=options
    )


def placed(what: Pod, where: str) -> Decision:
    return Decision(what, CLUSTER.classify(what), Outcome.SCHEDULED, node=where, num_feasible=1, num_best=1)


def profile(nodes: Sequence[Node], pods: Sequence[Pod] = ()) -> Profile:
    config = default_configuration(REGISTRY).profiles[0]
    return Profile(config, cluster(nodes, pods), tie_break="first", now=lambda: 0.0)


def lives(path: Path, nodes: Sequence[Node], *rows: tuple[Pod, str, float, float, float | None], end: float) -> Run:
    """A run of pods given as (pod, node, created, bound, ended well or not yet), started when bound."""
    with writer(path) as made:
        for one in nodes:
            made.node_added(0.0, one)
        story = []
        for what, where, created, bound, ended in rows:
            story.append((created, 1, what, where))
            story.append((bound, 2, what, where))
            if ended is not None:
                story.append((ended, 0, what, where))
        for t, step, what, where in sorted(story, key=lambda item: item[:2]):
            uid = what.metadata.uid
            if step == 0:
                made.ended(t, uid, PodEnd.SUCCEEDED)
            elif step == 1:
                made.pod_created(t, what, SCHEDULER)
            else:
                made.decided(t, SCHEDULER, 1, placed(what, where), 0.001)
                made.bound(t, uid, where)
                made.started(t, uid)
        made.close(end)
    return Run.open(path)


def small_run(path: Path) -> Run:
    """Two nodes of 8 cpus, four pods; the tests of reading and exporting know it by heart."""
    return lives(
        path,
        [node("a", cpu=8, memory="8Gi"), node("b", cpu=8, memory="8Gi")],
        (pod("one", cpu=4, memory="1Gi"), "a", 0.0, 0.0, 10.0),
        (pod("two", cpu=2, memory="1Gi"), "a", 0.0, 5.0, 20.0),
        (pod("three", cpu=8, memory="2Gi", namespace="team"), "b", 10.0, 10.0, 30.0),
        (pod("four", cpu=1), "b", 30.0, 35.0, None),
        end=40.0,
    )
