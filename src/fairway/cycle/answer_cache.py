"""The answers that a profile remembers: bounded by what they weigh, and kept for classes that come again.

In: the answers of a class, when they were made. Out: the same answers, for as long as there is room. A class that was
asked about once is on trial: where every pod is unlike all others, as with Jobs that name themselves in their labels,
nothing is gained by remembering, and the trial takes little room. A class that comes again, even after it was
forgotten, is kept with the others that did, and the longest unused of these are forgotten first. With the answers goes
what the plugins keep in the class itself. `Profile` owns one.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from fairway.cluster import PodClass

if TYPE_CHECKING:
    from fairway.cycle.answers import Answers

KEPT_BYTES = 128 * 1024 * 1024
TRIAL_BYTES = 16 * 1024 * 1024
"""What all answers, of classes that came again and of those on trial, may weigh together."""

BYTES_PER_CLASS = 16 * 1024
BYTES_PER_ROW = 48
OBJECT_BYTES_PER_BYTE = 12
"""What the answers of one class take, roughly: by itself, per node, and per byte of what its pods say."""

FEWEST = 16
"""So many are kept on either side however much they weigh, unless a pod of theirs is huge."""

MOST_DIGESTS = 8192
"""Classes that are remembered to have been forgotten."""


class Room:
    """Answers by class, longest unused first, and what they may weigh together."""

    __slots__ = ("answers", "limit", "said")

    def __init__(self, limit: int) -> None:
        self.answers: OrderedDict[PodClass, Answers] = OrderedDict()
        self.limit = limit
        self.said = 0  # bytes that the pods of all these classes say

    def put(self, pod_class: PodClass, answers: Answers) -> None:
        """One more."""
        self.answers[pod_class] = answers
        self.said += pod_class.key.size

    def take(self, pod_class: PodClass) -> Answers | None:
        """One less, if it is here."""
        answers = self.answers.pop(pod_class, None)
        if answers is not None:
            self.said -= pod_class.key.size
        return answers

    def is_too_small(self, num_rows: int) -> bool:
        """Do the answers, with arrays over so many rows, weigh too much? The latest ones never do."""
        number = len(self.answers)
        said = self.said * OBJECT_BYTES_PER_BYTE
        each = BYTES_PER_CLASS + BYTES_PER_ROW * num_rows
        return number > 1 and (said > self.limit or (number > FEWEST and number * each + said > self.limit))


class AnswerCache:
    """Answers by class."""

    def __init__(self, keepers: Iterable[Any]) -> None:
        """`keepers` are those who keep something in `PodClass.kept` under themselves: the plugins."""
        self._keepers = tuple(keepers)
        self._kept = Room(KEPT_BYTES)
        self._on_trial = Room(TRIAL_BYTES)
        self._forgotten: OrderedDict[bytes, None] = OrderedDict()

    def __len__(self) -> int:
        return len(self._kept.answers) + len(self._on_trial.answers)

    def find(self, pod_class: PodClass) -> Answers | None:
        """What is remembered about a class."""
        answers = self._kept.answers.get(pod_class)
        if answers is not None:
            self._kept.answers.move_to_end(pod_class)
            return answers
        answers = self._on_trial.take(pod_class)
        if answers is not None:
            self._kept.put(pod_class, answers)
        return answers

    def add(self, pod_class: PodClass, answers: Answers, num_rows: int) -> None:
        """Remember the answers of a class; each has arrays over so many rows."""
        digest = pod_class.key.digest
        comes_again = digest in self._forgotten
        self._forgotten.pop(digest, None)
        (self._kept if comes_again else self._on_trial).put(pod_class, answers)
        for room in (self._kept, self._on_trial):
            while room.is_too_small(num_rows):
                self._forget(room)

    def clear(self) -> None:
        """Forget everything."""
        for room in (self._kept, self._on_trial):
            while room.answers:
                self._forget(room)

    def _forget(self, room: Room) -> None:
        pod_class = next(iter(room.answers))
        room.take(pod_class)
        for keeper in self._keepers:
            pod_class.kept.pop(keeper, None)
        self._forgotten[pod_class.key.digest] = None
        if len(self._forgotten) > MOST_DIGESTS:
            self._forgotten.popitem(last=False)
