"""Trouble between the scheduler and the API server: storms of 429, watches that are late.

In: a `Stage`. Out: the same, after a round of pods has come while a proxy made things go wrong. Rows of `kinds.table`.
"""

from __future__ import annotations

from typing import Final

from tests.chaos.stage import Stage

__all__ = ["late_watches", "storms_of_429"]

METHODS: Final = ("GET", "POST", "PATCH", "PUT", "DELETE")
NO_WATCH: Final = r"^(?!.*watch=)"
WATCHES: Final = (r"/pods\?", r"/nodes\?", r"watch=")


def storms_of_429(stage: Stage) -> None:
    """For a second or two every request is refused, with or without a time to come back; watches are cut, too."""
    if not stage.schedulers:
        stage.launch(is_proxied=True)
    with stage.arrivals() as arrivals:
        while arrivals.are_coming:
            headers = {"Retry-After": "1"} if stage.rng.random() < 0.7 else {}
            path = NO_WATCH if stage.rng.random() < 0.7 else ""
            faults = [stage.proxy.add(method, path, "answer", status=429, headers=headers) for method in METHODS]
            if not path:
                stage.proxy.cut_watches()
            stage.pause(float(stage.rng.uniform(0.5, 2.0)))
            stage.proxy.clear()
            stage.deeds["storms"] += 1
            stage.deeds["requests refused"] += sum(fault.hits for fault in faults)
            stage.pause(float(stage.rng.uniform(0.5, 1.5)))


def late_watches(stage: Stage) -> None:
    """What watches have to tell comes up to three seconds late, of pods, of nodes or of all; pods go meanwhile."""
    if not stage.schedulers:
        stage.launch(is_proxied=True)
    with stage.arrivals() as arrivals:
        while arrivals.are_coming:
            stage.proxy.hold_watches(str(stage.rng.choice(WATCHES)))
            for pod in stage.some_pods(5):
                stage.delete_pod(pod)
                stage.deeds["deleted"] += 1
            stage.pause(float(stage.rng.uniform(0.5, 3.0)))
            if stage.rng.random() < 0.3:
                stage.deeds["watches cut"] += stage.proxy.cut_watches()
            stage.proxy.release_watches()
            stage.deeds["delays"] += 1
            stage.pause(float(stage.rng.uniform(0.1, 0.5)))
    stage.proxy.release_watches()
