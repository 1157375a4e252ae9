"""How things stand, as the notes that would bring somebody up to date who begins to listen now.

In: all notes, in order. Out: few of them: each node as it was seen last, each pod that has not ended, where it is bound
since when, that its node is lost, or its last move in the queue. Kept by `serving_process`, for the day on which the
process that tells them has to be replaced.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from fairway.stream.noting import Note

__all__ = ["StandingNotes"]

PASSING: Final = frozenset(("placed", "failed", "job_tried", "pod_changed"))
"""Notes of what was, and left nothing to know."""


class StandingNotes:
    """The notes that still matter, by node and by pod."""

    def __init__(self) -> None:
        self._nodes: dict[str, Note] = {}
        self._pods: dict[str, Note] = {}  # by uid, as all that follow
        self._bound: dict[str, Note] = {}
        self._lost: dict[str, Note] = {}
        self._moved: dict[str, Note] = {}
        self.time = 0.0  # of the latest note

    def __len__(self) -> int:
        return sum(map(len, (self._nodes, self._pods, self._bound, self._lost, self._moved)))

    def __iter__(self) -> Iterator[Note]:
        """What is told first is what the rest refers to."""
        for notes in (self._nodes, self._pods, self._bound, self._lost, self._moved):
            yield from notes.values()

    def take(self, notes: Iterable[Note]) -> None:
        """This happened."""
        pods, moved, note = self._pods, self._moved, None
        for note in notes:
            name, key = note[0], note[2]
            if name == "queue_moved":
                if key in pods and key not in self._bound:
                    moved[key] = note
            elif name == "pod_created":
                pods[key] = note
            elif name == "bound":
                moved.pop(key, None)
                if key in pods:
                    self._bound.setdefault(key, note)
            elif name not in PASSING:
                self._take_rare(note)
        if note is not None:
            self.time = note[1]

    def _take_rare(self, note: Note) -> None:
        name, t, key, *rest = note
        match name:
            case "node_seen":
                self._nodes[key] = note
            case "node_gone":
                self._nodes.pop(key, None)
            case "resized" if key in self._pods:
                created = self._pods[key]
                self._pods[key] = (*created[:-2], rest[0], created[-1])
                self._bound_since(t, key)
            case "lost" if key in self._bound:
                self._lost[key] = note
            case "regained" if self._lost.pop(key, None) is not None:
                self._bound_since(t, key)
            case "ended":
                for notes in (self._pods, self._bound, self._lost, self._moved):
                    notes.pop(key, None)

    def _bound_since(self, t: float, uid: str) -> None:
        if uid in self._bound:
            name, _, *rest = self._bound[uid]
            self._bound[uid] = (name, t, *rest)
