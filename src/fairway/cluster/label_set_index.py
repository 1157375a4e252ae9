"""Label sets found by what a selector wants: by key, and by key and value.

In: the label sets that pods have, held weakly. Out: for the conditions of a selector, those label sets that may meet
them: the ones that have the rarest label among those needed. A label set with very many labels is not taken apart, as
its entries would take more room than it does: it is compared with every selector. `Counters` owns one; `SelectorIndex`
is the other way round.
"""

from __future__ import annotations

import weakref
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

from fairway.cluster.selector_index import NEED_A_LABEL
from fairway.model.selector import Requirement

if TYPE_CHECKING:
    from fairway.cluster.pod_class import LabelSet

MANY_LABELS = 64
"""Label sets with more labels than that are compared with every selector."""

SLACK = 64
"""How many that are no more may be listed, beside as many as there are."""

Reference = weakref.ref["LabelSet"]
NONE: dict[str, list[Reference]] = {}


class LabelSetIndex:
    """Label sets by their labels."""

    __slots__ = ("_all", "_by_key", "_huge")

    def __init__(self) -> None:
        self._all: list[Reference] = []
        self._huge: list[Reference] = []
        self._by_key: dict[str, dict[str, list[Reference]]] = {}  # by key, then by value

    def add(self, label_set: LabelSet, num_alive: int) -> None:
        """One more, of so many that there are now."""
        if len(self._all) > 2 * num_alive + SLACK:
            alive = [reference for reference in self._all if reference() is not None]
            self._all, self._huge, self._by_key = [], [], {}
            for reference in alive:
                self._enter(reference)
        self._enter(weakref.ref(label_set))

    def find(self, requirements: Iterable[Requirement]) -> list[LabelSet]:
        """Those that may meet all these conditions, each once."""
        fewest, lists = len(self._all), None
        for requirement in requirements:
            if requirement.operator in NEED_A_LABEL:
                wanted = self._having(requirement)
                number = sum(map(len, wanted))
                if number < fewest:
                    fewest, lists = number, wanted
        chosen = [self._all] if lists is None else [self._huge, *lists]
        return [found for references in chosen for reference in references if (found := reference()) is not None]

    def _having(self, requirement: Requirement) -> Collection[list[Reference]]:
        by_value = self._by_key.get(requirement.key, NONE)
        if requirement.operator == "In":
            return [by_value[value] for value in requirement.values if value in by_value]
        return by_value.values()

    def _enter(self, reference: Reference) -> None:
        label_set = reference()
        if label_set is None:
            return
        self._all.append(reference)
        if len(label_set.labels) > MANY_LABELS:
            self._huge.append(reference)
            return
        for key, value in label_set.labels.items():
            self._by_key.setdefault(key, {}).setdefault(value, []).append(reference)
