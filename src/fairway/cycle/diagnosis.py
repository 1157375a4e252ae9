"""Why no node fits: every node's refusal, grouped, and the sentence made of them.

In: rows refused by a plugin, as the cycle walks the filters in order. Out: counts per reason, codes per row (preemption
asks for them), plugins to blame (the queue asks), and kube-scheduler's message letter for letter.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from fairway.plugin import Code, Refusal

FEASIBLE, ABSENT = -1, -2


class Diagnosis:
    """The refusals of one attempt. Each row was refused once, by the first plugin that said no."""

    def __init__(self, num_rows: int, num_nodes: int) -> None:
        self.num_nodes = num_nodes
        self.refusals: list[tuple[str, Refusal]] = []  # distinct (plugin, refusal)
        self._ids: dict[tuple[str, Refusal], int] = {}
        self.which: NDArray[np.int32] = np.full(num_rows, ABSENT, np.int32)  # (num_rows,) index into refusals
        self.elsewhere: tuple[str, Refusal] | None = None  # the refusal of every node that was not looked at
        self.pre_filter: tuple[str, Refusal] | None = None  # who refused the pod outright
        self.restricted_to: frozenset[str] | None = None  # the only nodes looked at, by name
        self.restricted_by: tuple[str, ...] = ()
        self._messages: dict[str, str] = {}  # by what the post-filters said: asked for by every pod that fails so
        self._given: list[tuple[str, Refusal]] | None = None  # likewise; None: not asked for since the last refusal

    def refuse(self, plugin: str, rows: NDArray[np.intp], refusals: Refusal | Sequence[Refusal]) -> None:
        """These rows were refused by that plugin, for one reason or one each."""
        self._changed()
        if isinstance(refusals, Refusal):
            self.which[rows] = self._id_of(plugin, refusals)
        else:
            # Plugins word equal refusals once: tell them apart by identity first, which is much faster than by value.
            numbers = {id(refusal): self._id_of(plugin, refusal) for refusal in {id(r): r for r in refusals}.values()}
            self.which[rows] = [numbers[id(refusal)] for refusal in refusals]

    def accept(self, rows: NDArray[np.intp]) -> None:
        """These rows were not refused."""
        self._changed()
        self.which[rows] = FEASIBLE

    def forget(self, rows: NDArray[np.intp]) -> None:
        """These rows count as not looked at."""
        self._changed()
        self.which[rows] = ABSENT

    def _changed(self) -> None:
        self._messages.clear()
        self._given = None

    def refusal_of(self, row: int) -> tuple[str, Refusal] | None:
        """Who refused this row, and why; None if nobody did."""
        which = int(self.which[row])
        if which >= 0:
            return self.refusals[which]
        return None if which == FEASIBLE else self.elsewhere

    def rows_with(self, code: Code) -> NDArray[np.intp]:
        """Rows that were looked at and refused with that code."""
        known = [number for number, (_, refusal) in enumerate(self.refusals) if refusal.code is code]
        return np.flatnonzero(np.isin(self.which, known))

    @property
    def given(self) -> list[tuple[str, Refusal]]:
        """The refusals that stand: a row refused again is left with the last one."""
        if self._given is None:
            standing = np.bincount(self.which[self.which >= 0], minlength=len(self.refusals))
            self._given = [self.refusals[number] for number in np.flatnonzero(standing)]
        return self._given

    @property
    def failures(self) -> list[str]:
        """What filters could not judge, in words, each once; empty if all could judge every node."""
        errors = [(plugin, ", ".join(refusal.reasons)) for plugin, refusal in self.given if refusal.code is Code.ERROR]
        found = [f'running "{plugin}" filter plugin: {words}' if plugin else words for plugin, words in errors]
        return list(dict.fromkeys(found))

    @property
    def unschedulable_plugins(self) -> frozenset[str]:
        """Everybody who refused at least one node and waits for an event."""
        blamed = {plugin for plugin, refusal in self.given if refusal.code is not Code.PENDING}
        blamed |= set(self.restricted_by)
        if self.pre_filter is not None and self.pre_filter[0]:
            blamed.add(self.pre_filter[0])
        return frozenset(blamed)

    @property
    def pending_plugins(self) -> frozenset[str]:
        """Those who will say themselves when to try again."""
        refusals = self.given if self.pre_filter is None else [*self.given, self.pre_filter]
        return frozenset(plugin for plugin, refusal in refusals if refusal.code is Code.PENDING)

    def reason_counts(self) -> Counter[str]:
        """How many nodes were refused for each reason; a node may have several."""
        counts: Counter[str] = Counter()
        refused = self.which[self.which >= 0]
        for (_, refusal), number in zip(
            self.refusals, np.bincount(refused, minlength=len(self.refusals)).tolist(), strict=True
        ):
            for reason in refusal.reasons:
                counts[reason] += number
        if self.elsewhere is not None:
            looked_at = int(np.count_nonzero(self.which != ABSENT))
            for reason in self.elsewhere[1].reasons:
                counts[reason] += self.num_nodes - looked_at
        return +counts

    def message(self, post_filter: str = "") -> str:
        """kube-scheduler's FitError sentence."""
        known = self._messages.get(post_filter)
        if known is None:
            known = self._messages[post_filter] = self._sentence(post_filter)
        return known

    def _sentence(self, post_filter: str) -> str:
        text = f"0/{self.num_nodes} nodes are available:"
        if self.pre_filter is not None:
            words = ", ".join(self.pre_filter[1].reasons)
            text += f" {words}." if words else ""
        else:
            reasons = sorted(f"{number} {reason}" for reason, number in self.reason_counts().items())
            text += f" {', '.join(reasons)}." if reasons else ""
        return f"{text} {post_filter}" if post_filter else text

    def _id_of(self, plugin: str, refusal: Refusal) -> int:
        key = (plugin, refusal)
        number = self._ids.get(key)
        if number is None:
            number = self._ids[key] = len(self.refusals)
            self.refusals.append(key)
        return number
