"""A log of jobs through the whole engine: pods, queues, the cycle, kubelets; out comes when each job started.

In: a log in the Standard Workload Format, a discipline, and what happens first where several things happen in one
second (`ties`). Out: a `PlayedLog`. The machine is one pool of processors and nothing takes time but jobs, as
simulators of this field assume; jobs come first in the order of their submission. Called by `log_check` and the
benchmark of logs.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

from fairway.cluster import Event
from fairway.model import Pod
from fairway.record import NullRecorder
from fairway.record.options import NOTHING
from fairway.scenario.scenario import decode_scenario
from fairway.sim.simulation import Simulation

__all__ = ["PlayedLog", "Ties", "log_scenario", "play_log"]

Ties = Literal["each", "ends-first"]

NO_WEIGHTS: Final = {"age": 0, "size": 0, "fairShare": 0, "queue": 0, "class": 0}
POD: Final = "job-"
"""What the names of pods begin with, that are made of logs; the job's number follows."""


class PlayedLog(NamedTuple):
    """When jobs came and started, by their numbers, in seconds from the first one's submission."""

    submitted: dict[str, float]
    started: dict[str, float]


def log_scenario(path: str | os.PathLike[str], discipline: str, ties: Ties) -> dict[str, Any]:
    """The scenario, as it would stand in a file."""
    queue = {"discipline": discipline, "weights": NO_WEIGHTS, "limits": {"max": "1000d", "killGrace": "0s"}}
    # No job is left out for there being many, or for its start being far away.
    batch = {"queues": {"all": queue}, "ties": ties, "horizon": "10000d", "maxJobs": 1_000_000}
    # A scenario's paths begin where its file is; this one is nowhere.
    swf = {"file": str(Path(path).absolute()), "machine": "pool", "queues": {"*": "all"}}
    return {
        "apiVersion": "fairway.dev/v1alpha1",
        "kind": "Scenario",
        "spec": {
            "batch": batch,
            "workload": [{"swf": swf}],
            "kubelet": {"startLatency": "0s", "terminationLatency": "0s"},
        },
    }


def play_log(path: str | os.PathLike[str], discipline: str, ties: Ties) -> PlayedLog:
    """Play all of it; what never started is not among those that did."""
    tree = log_scenario(path, discipline, ties)
    simulation = Simulation(decode_scenario(tree, os.fspath(path)).plan(), NullRecorder(), NOTHING)
    played = PlayedLog({}, {})
    simulation.api.watch(_watch(simulation.timeline.now, played))
    simulation.run()
    return played


def _watch(now: Callable[[], float], played: PlayedLog) -> Callable[[Event], None]:
    def see(event: Event) -> None:
        pod = event.object
        if isinstance(pod, Pod):
            job = pod.metadata.name.removeprefix(POD)
            played.submitted.setdefault(job, now())
            if pod.spec.node_name:
                played.started.setdefault(job, now())

    return see
