"""Whom a maintenance window is in the way of, and what becomes of them.

In: a window as it is now, the pods on its nodes, and the dates of waiting jobs with the window in the calendar and
without it (`fairway.plan.dates`). Out: `AffectedJob`s, for the window's status and the events `MaintenanceAhead`, and
what is told when it begins over pods that run. Called by the desk when a window is made, changes or begins.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Literal, NamedTuple

from fairway.batch.actions import Tell
from fairway.batch.windows import Phase, PodSight, WindowView
from fairway.plan import Slot
from fairway.words import nodes_text, pods_text

__all__ = ["AffectedJob", "affected_jobs", "still_there"]


class AffectedJob(NamedTuple):
    """A job that a window is in the way of."""

    job: str
    fate: Literal["left", "evicted", "ended", "starts later", "has no date"]
    was: float | None = None  # the date it had; of those that run: none
    date: float | None = None  # its new one


def affected_jobs(
    view: WindowView,
    pods: Iterable[PodSight],
    before: Mapping[str, Slot],
    after: Mapping[str, Slot],
) -> list[AffectedJob]:
    """Those that run into the window, then those whose dates it moves; `before` and `after` it was in the calendar."""
    if not view.occurrences:
        return []
    start = view.occurrences[0].start
    fates: Mapping[str, Literal["left", "evicted", "ended"]] = {"avoid": "left", "drain": "evicted", "kill": "ended"}
    running = {pod.job for pod in pods if pod.job and pod.node in view.nodes and pod.end > start and not pod.is_daemon}
    jobs = [AffectedJob(key, fates[view.window.spec.mode]) for key in sorted(running)]
    for key, slot in sorted(before.items(), key=lambda item: (item[1].start, item[0])):
        moved = after.get(key)
        if moved is None:
            jobs.append(AffectedJob(key, "has no date", slot.start))
        elif moved.start > slot.start:
            jobs.append(AffectedJob(key, "starts later", slot.start, moved.start))
    return jobs


def still_there(view: WindowView, pods: Collection[PodSight]) -> Tell | None:
    """What is told when a window of mode `avoid` begins over pods that run."""
    if view.phase is not Phase.ACTIVE or view.window.spec.mode != "avoid":
        return None
    there = [pod for pod in pods if pod.node in view.nodes and not pod.is_daemon]
    if not there:
        return None
    words = f"{pods_text(len(there))} still run on {nodes_text(len({pod.node for pod in there}))}, and are left there"
    return Tell(view.window.name, "MaintenanceOverPods", words, is_warning=True)
