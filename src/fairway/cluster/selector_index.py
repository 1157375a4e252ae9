"""Things that have selectors, found by labels: only those whose selector may match are looked at.

In: things, each with the conditions that labels have to meet. Out: for a set of labels, everything that has a condition
on one of them, or no condition that needs a label at all; whether all conditions hold is for the caller to see. Where
thousands of terms meet thousands of label sets, few have anything in common. `Counters` and InterPodAffinity use it;
`LabelSetIndex` is the other way round.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Generic, TypeVar

from fairway.model.selector import Requirement

T = TypeVar("T")

NEED_A_LABEL = frozenset(("In", "Exists", "Gt", "Lt"))
"""Operators that no set of labels meets without the key."""

Label = tuple[str, str] | str
"""A key and a value, or a key with any value."""


class SelectorIndex(Generic[T]):
    """Things by one label that each of them needs."""

    __slots__ = ("_by_label", "_others", "num_things")

    def __init__(self) -> None:
        self._by_label: dict[Label, list[T]] = {}
        self._others: list[T] = []  # those that need no label
        self.num_things = 0

    def add(self, requirements: Sequence[Requirement], thing: T) -> None:
        """One more: of the labels that it needs, the one that the fewest others need is where it is found."""
        if len(requirements) == 1 and requirements[0].operator == "In" and len(requirements[0].values) == 1:
            self.add_label((requirements[0].key, requirements[0].values[0]), thing)  # most of them
        else:
            self.add_labels([_labels(each) for each in requirements if each.operator in NEED_A_LABEL], thing)

    def add_label(self, label: Label, thing: T) -> None:
        """One more, that needs this label. They may be tens of thousands."""
        self.num_things += 1
        found = self._by_label.get(label)
        if found is None:
            self._by_label[label] = [thing]
        else:
            found.append(thing)

    def add_each(self, labels: Sequence[Label], things: Sequence[T]) -> None:
        """One more for each of the labels, which it needs."""
        lists = dict(zip(labels, map(list, zip(things, strict=True)), strict=True))
        if self._by_label or len(lists) < len(labels):
            for label, thing in zip(labels, things, strict=True):
                self.add_label(label, thing)
        else:
            self._by_label = lists
            self.num_things += len(labels)

    def add_labels(self, wanted: Sequence[tuple[Label, ...]], thing: T) -> None:
        """One more, that needs one of each of these."""
        self.num_things += 1
        by_label = self._by_label
        if not wanted:
            self._others.append(thing)
            return
        for label in wanted[0] if len(wanted) == 1 else min(wanted, key=self._num_found):
            if label in by_label:
                by_label[label].append(thing)
            else:
                by_label[label] = [thing]

    def lists(self, labels: Mapping[str, str]) -> Iterator[list[T]]:
        """What may mean such labels, in lists that have nothing in common, each in the order of `add`."""
        if self._others:
            yield self._others
        by_label = self._by_label
        if len(by_label) < len(labels):
            for label, things in by_label.items():
                if (label in labels) if isinstance(label, str) else (labels.get(label[0]) == label[1]):
                    yield things
        else:
            for label in labels.items():
                if label in by_label:
                    yield by_label[label]
                if label[0] in by_label:
                    yield by_label[label[0]]

    def find(self, labels: Mapping[str, str]) -> list[T]:
        """The same in one list; each thing is in it once."""
        return [thing for things in self.lists(labels) for thing in things]

    def clear(self) -> None:
        """Forget everything."""
        self._by_label.clear()
        self._others.clear()
        self.num_things = 0

    def _num_found(self, labels: tuple[Label, ...]) -> int:
        return sum(len(self._by_label.get(label, ())) for label in labels)


def _labels(requirement: Requirement) -> tuple[Label, ...]:
    """The labels one of which is needed. Labels have a key at most once, so at most one of these is there."""
    key, values = requirement.key, requirement.values
    if requirement.operator == "In":
        return ((key, values[0]),) if len(values) == 1 else tuple((key, value) for value in values)
    return (key,)
