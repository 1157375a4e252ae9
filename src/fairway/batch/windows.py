"""Maintenance windows: which nodes are closed when, who has to leave, and who cordons what.

In: windows (`Window`), the nodes and pods as they are seen, the time of day by the world's clock. Out: of each window a
`WindowView` (its phase, its occurrences, its nodes); `Closing`s for the calendar; and what is to be done now
(`window_actions`, `requeued_jobs`), computed from what is seen, so that it can be asked at any time and after any
restart. Several windows over one node are a union. Called by the desk in each pass, at each phase's beginning, and
every five seconds while pods are being evicted. Whom a window is in the way of is said by `affected_jobs`.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from fairway.batch.actions import Action, CordonNode, DeletePod, EvictPod, Tell, UncordonNode
from fairway.batch.closings import Closing
from fairway.batch.occurrences import Occurrence, occurrences
from fairway.model.batch import WindowSpec
from fairway.plan import Entrance

__all__ = [
    "NodeSight",
    "Phase",
    "PodSight",
    "Window",
    "WindowView",
    "requeued_jobs",
    "unlimited_entrances",
    "view_window",
    "window_actions",
    "window_closings",
    "window_keys",
]


class Phase(enum.StrEnum):
    """Where a window is."""

    ANNOUNCED = "Announced"
    DRAINING = "Draining"  # nobody without a limit comes any more
    ACTIVE = "Active"
    DONE = "Done"
    CANCELLED = "Cancelled"


@dataclass(frozen=True, slots=True)
class Window:
    """A window as it is written down."""

    name: str
    uid: str
    spec: WindowSpec
    created: float
    is_cancelled: bool = False
    nodes: tuple[str, ...] | None = None  # as they were when it began; None: it has not


class NodeSight(NamedTuple):
    """What is seen of a node."""

    name: str
    row: int
    labels: dict[str, str]
    is_cordoned: bool = False
    cordoned_by: str = ""  # the uid in its annotation


class PodSight(NamedTuple):
    """What is seen of a pod on a node."""

    uid: str
    node: str
    job: str = ""  # its key; "": of no queue
    end: float = math.inf  # by its limit; infinite: it has none
    is_daemon: bool = False  # of a DaemonSet, or the node's own: it stays, and no drain moves it
    is_terminating: bool = False


@dataclass(frozen=True, slots=True)
class WindowView:
    """A window at a moment."""

    window: Window
    phase: Phase
    occurrences: tuple[Occurrence, ...]  # not over: the one that is now, and those to come
    nodes: frozenset[str]
    notes: tuple[Tell, ...] = ()

    def instants(self) -> Iterator[float]:
        """When it may be in another phase, or be told of."""
        for start, end in self.occurrences:
            yield from (start - self.window.spec.announce, start - self.window.spec.drain_lead, start, end)

    def is_told(self, now: float) -> bool:
        """Is it time to tell those whom it is in the way of?"""
        return bool(self.occurrences) and now >= self.occurrences[0].start - self.window.spec.announce


def view_window(
    window: Window, nodes: Iterable[NodeSight], now: float, epoch: float = 0.0, *, may_be_span: bool = False
) -> WindowView:
    """Where the window is now. `ValueError` names the field of a spec that can not be read."""
    coming = occurrences(window.spec, window.created, now, epoch, may_be_span=may_be_span)
    chosen = [node.name for node in nodes if window.spec.nodes.matches(node.labels)]
    names = frozenset(chosen if window.nodes is None else window.nodes)
    left = tuple(each for each in coming if each.end > now)
    if window.is_cancelled:
        return WindowView(window, Phase.CANCELLED, (), names)
    if not left:
        notes = []
        if coming and coming[-1].end <= window.created:
            notes.append(_note(window, "MaintenanceInThePast", "it was over before it was made: nothing is done"))
        elif not coming:
            notes.append(_note(window, "MaintenanceNever", f"schedule {window.spec.schedule!r} never comes"))
        return WindowView(window, Phase.DONE, (), names, tuple(notes))
    start, phase = left[0].start, Phase.ANNOUNCED
    if now >= start:
        phase = Phase.ACTIVE
    elif now >= start - window.spec.drain_lead:
        phase = Phase.DRAINING
    notes = [] if names else [_note(window, "MaintenanceWithoutNodes", "no node has the labels that it names: 0 nodes")]
    return WindowView(window, phase, left, names, tuple(notes))


def window_closings(views: Iterable[WindowView], rows: Mapping[str, int]) -> list[Closing]:
    """What the calendar shall have closed; `rows` by node."""
    return [
        Closing(
            _key(view, each),
            "maintenance",
            view.window.name,
            np.array(sorted(rows[name] for name in view.nodes if name in rows), np.intp),
            each.start,
            each.end,
            clears=view.window.spec.mode != "avoid",
        )
        for view in views
        for each in view.occurrences
    ]


def window_keys(view: WindowView) -> list[str]:
    """Under which its occurrences are closed in the calendar."""
    return [_key(view, each) for each in view.occurrences]


def unlimited_entrances(views: Iterable[WindowView]) -> list[Entrance]:
    """What a job without a limit does not see, and until when."""
    return [
        Entrance(_key(view, each), each.start - view.window.spec.drain_lead)
        for view in views
        for each in view.occurrences
    ]


def window_actions(views: Sequence[WindowView], nodes: Iterable[NodeSight], pods: Sequence[PodSight]) -> list[Action]:
    """What is to be done now to nodes, and to pods one by one; whole jobs are named by `requeued_jobs`."""
    actions: list[Action] = list(_cordons(views, nodes))
    leaving: dict[str, Action] = {}
    for view in views:
        for pod in _leaving(view, pods):
            if view.window.spec.mode == "drain":
                leaving.setdefault(pod.uid, EvictPod(pod.uid, f"maintenance {view.window.name}"))
            elif not pod.job:
                leaving[pod.uid] = DeletePod(pod.uid, None, f"maintenance {view.window.name}", cause="Maintenance")
    return actions + list(leaving.values())


def requeued_jobs(views: Iterable[WindowView], pods: Sequence[PodSight]) -> dict[str, str]:
    """The jobs that a window of mode `kill` ends now, with its name: requeued with all their pods, and refunded."""
    ended: dict[str, str] = {}
    for view in views:
        if view.window.spec.mode == "kill":
            for pod in _leaving(view, pods):
                if pod.job:
                    ended.setdefault(pod.job, view.window.name)
    return ended


def _leaving(view: WindowView, pods: Iterable[PodSight]) -> Iterator[PodSight]:
    """The pods that the window wants away now, and that have not been told yet."""
    mode = view.window.spec.mode
    for pod in pods:
        if pod.node in view.nodes and not pod.is_daemon and not pod.is_terminating and mode != "avoid":
            early = mode == "drain" and view.phase is Phase.DRAINING and pod.end == math.inf
            if early or view.phase is Phase.ACTIVE:
                yield pod


def _cordons(views: Iterable[WindowView], nodes: Iterable[NodeSight]) -> Iterator[Action]:
    """A cordon of ours names a window; without such a name it is a person's, and is left as it is.

    A node whose window is over while another one covers it goes over to that one, so that the last one gives it back.
    """
    active = [view for view in views if view.phase is Phase.ACTIVE]
    for node in nodes:
        covering = [view.window.uid for view in active if node.name in view.nodes]
        if not covering:
            if node.cordoned_by:
                yield UncordonNode(node.name, node.cordoned_by)
        elif not node.is_cordoned or (node.cordoned_by and node.cordoned_by not in covering):
            yield CordonNode(node.name, min(covering))


def _key(view: WindowView, occurrence: Occurrence) -> str:
    return f"window/{view.window.uid}/{occurrence.start:.0f}"


def _note(window: Window, reason: str, words: str) -> Tell:
    return Tell(window.name, reason, words, is_warning=True)
