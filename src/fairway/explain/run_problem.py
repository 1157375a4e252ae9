"""The cluster of a run at one time as a placement problem.

In: an open run, and a time, or none: then the moment at which most pods were on nodes. Out: the time, and the
`PlacementProblem` of all pods that were there, waiting ones included. Called for `compare --optimum`.
"""

from __future__ import annotations

import numpy as np

from fairway.cluster import Cluster
from fairway.cycle import Profile
from fairway.explain.placement_problem import placement_problem
from fairway.explain.run_moment import Moment, objects_seen
from fairway.explain.run_schedulers import merged_configuration, run_schedulers
from fairway.explain.run_time import check_time
from fairway.model import Pod
from fairway.record import Run
from fairway.record.quality.judgement import PlacementProblem

__all__ = ["busiest_time", "run_problem"]


def run_problem(run: Run, at: float | None, domain_label: str = "") -> tuple[float, PlacementProblem]:
    """The problem that the run's schedulers had at that time. Pods that are leaving stay where they are."""
    time = busiest_time(run) if at is None else check_time(run, at)
    seen = objects_seen(run, Moment(time))
    cluster = Cluster()
    cluster.load([thing for thing in seen if not isinstance(thing, Pod) or thing.spec.node_name])
    configuration = merged_configuration(run_schedulers(run))
    profiles = {config.scheduler_name: Profile(config, cluster) for config in configuration.profiles}
    pods = [
        thing
        for thing in seen
        if isinstance(thing, Pod)
        and not thing.is_terminating
        and thing.spec.scheduler_name in profiles
        and profiles[thing.spec.scheduler_name].gate(thing) is None
    ]
    return time, placement_problem(cluster, profiles, pods, domain_label)


def busiest_time(run: Run) -> float:
    """When most pods were on nodes; the first such moment."""
    rows = list(run.sql("SELECT bound_seconds, ended_seconds FROM pods WHERE bound_seconds IS NOT NULL"))
    if not rows:
        return run.end_seconds
    times = np.array([row["bound_seconds"] for row in rows] + [_end(row["ended_seconds"]) for row in rows])
    steps = np.repeat([1, -1], len(rows))
    order = np.lexsort((steps, times))  # who goes at a time goes before others come
    return float(times[order][np.cumsum(steps[order]).argmax()])


def _end(seconds: float | None) -> float:
    return float("inf") if seconds is None else seconds
