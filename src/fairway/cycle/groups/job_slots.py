"""How many equal pods each row could hold, by amounts alone: what tells in a moment that a job can not start.

In: a class of pods. Out: `slots_by_row`, over rows that pass the filters which look at nodes and not at pods, since
members may open what others refuse. An upper bound: what does not fit by this count fits in no way.
`empty_slots_by_row` is the same for nodes without any pod on them. `shortage` says of every row what is in the way of
one more, as the filters would, but for all rows at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from fairway.cluster import PODS, PodClass
from fairway.cycle.answers import Answers
from fairway.cycle.diagnosis import Diagnosis
from fairway.cycle.failure import diagnose_rows
from fairway.cycle.feasibility import restricted_rows
from fairway.plugin import Aspect, Code, Locality, Refusal

if TYPE_CHECKING:
    from fairway.cycle.profile import Profile

__all__ = ["FIT", "eligible_rows", "empty_slots_by_row", "shortage", "slots_by_row"]

FIT: Final = "NodeResourcesFit"
"""The plugin that compares amounts; without it, nothing is counted."""

UNCOUNTED: Final = 2**31
"""The slots of a row where nobody counts."""

TAKEN: Final = Refusal(("node(s) had another member of the job",))


def eligible_rows(profile: Profile, pod_class: PodClass) -> NDArray[np.bool_]:
    """(num_rows,) Rows that pass the filters which look at nodes and not at pods; a copy."""
    answers = profile.answers(pod_class)
    if is_refused_outright(answers):
        return np.zeros(profile.cluster.nodes.num_rows, np.bool_)
    return _passing(profile, answers).copy()


def slots_by_row(profile: Profile, pod_class: PodClass, most: int | None = None) -> NDArray[np.int64]:
    """(num_rows,) How many fit on each row now; at most so many."""
    return _slots(profile, pod_class, most, is_empty=False)


def empty_slots_by_row(profile: Profile, pod_class: PodClass, most: int | None = None) -> NDArray[np.int64]:
    """(num_rows,) How many would fit if nothing ran there."""
    return _slots(profile, pod_class, most, is_empty=True)


def _slots(profile: Profile, pod_class: PodClass, most: int | None, is_empty: bool) -> NDArray[np.int64]:
    nodes = profile.cluster.nodes
    num_rows = nodes.num_rows
    answers = profile.answers(pod_class)
    if is_refused_outright(answers):
        return np.zeros(num_rows, np.int64)
    passing = _passing(profile, answers)
    demand = _demand(answers)
    if demand is None:
        return passing * np.int64(UNCOUNTED if most is None else most)
    if demand.missing:
        return np.zeros(num_rows, np.int64)
    slots: NDArray[np.int64] | None = None
    for column, amount in demand.pairs:
        left = nodes.allocatable[:num_rows, column]
        if not is_empty:
            left = left - nodes.requested[:num_rows, column]
        of_column = left if amount == 1 else left // amount
        slots = of_column if slots is None else np.minimum(slots, of_column)
    assert slots is not None  # one is asked for, of pods, by every pod
    return np.clip(slots, 0, UNCOUNTED if most is None else most) * passing


def is_refused_outright(answers: Answers) -> bool:
    """Did a pre-filter say no that no other pod can change?"""
    if answers.pre_filter_refusal is None:
        return False
    name = answers.pre_filter_refusal[0]
    plugin = next((part.plugin for part in answers.pre_filters if part.plugin.name == name), None)
    return plugin is not None and plugin.locality is Locality.NODE and not plugin.reads & Aspect.PODS


def _passing(profile: Profile, answers: Answers) -> NDArray[np.bool_]:
    """(num_rows,) Rows that the filters let pass which do not look at pods."""
    passing: NDArray[np.bool_] = answers.passes_static(slice(0, profile.cluster.nodes.num_rows))
    return passing & restricted_rows(profile, answers) if answers.restriction is not None else passing


def _demand(answers: Answers) -> Any:
    """What NodeResourcesFit compares; None where it takes no part."""
    part = answers.part_of(FIT)
    return None if part is None or not hasattr(part.state, "pairs") else part.state


# -- why not one more --------------------------------------------------------------------------------------------------


def shortage(
    profile: Profile,
    pod_class: PodClass,
    slots: NDArray[np.int64],
    among: NDArray[np.bool_] | None = None,
    is_empty: bool = False,
) -> Diagnosis:
    """What is in the way of one more of the class on these rows (all, if none are named), if as many as can were there.

    `slots` (num_rows,) are how many that is, with what runs there or, if `is_empty`, with nothing. The same as the
    filters would say, without asking them about every row.
    """
    nodes = profile.cluster.nodes
    answers = profile.answers(pod_class)
    looked_at = nodes.alive[: nodes.num_rows] if among is None else nodes.alive[: nodes.num_rows] & among
    diagnosis = Diagnosis(nodes.num_rows, int(np.count_nonzero(looked_at)))
    if answers.pre_filter_refusal is not None and is_refused_outright(answers):
        diagnosis.pre_filter = diagnosis.elsewhere = answers.pre_filter_refusal
        return diagnosis
    passing = _passing(profile, answers)
    for plugin, refusal, rows in _refused(answers, looked_at & ~passing):
        diagnosis.refuse(plugin, rows, refusal)
    rows = np.flatnonzero(looked_at & passing)
    demand = _demand(answers)
    if demand is None:
        diagnosis.refuse(FIT, rows, TAKEN)
        return diagnosis
    if demand.missing:
        words = tuple(f"Insufficient {each.resource}" for each in demand.missing)
        diagnosis.refuse(FIT, rows, Refusal(words, Code.UNRESOLVABLE, demand.missing))
        return diagnosis
    combinations = np.zeros(len(rows), np.int64)  # a bit for each shortage, and the last: not even if it were empty
    hopeless = np.int64(1 << len(demand.pairs))
    for bit, (column, amount) in enumerate(demand.pairs):
        left = nodes.allocatable[rows, column] - slots[rows] * amount
        if not is_empty:
            left -= nodes.requested[rows, column]
        combinations |= (left < amount).astype(np.int64) << bit
        if column != PODS:
            combinations |= (nodes.allocatable[rows, column] < amount) * hopeless
    for combination in np.flatnonzero(np.bincount(combinations)) if len(rows) else ():
        short = [each for bit, each in enumerate(demand.shortages) if combination >> bit & 1]
        short.sort(key=lambda each: each.resource != "pods")
        words = tuple("Too many pods" if each.resource == "pods" else f"Insufficient {each.resource}" for each in short)
        code = Code.UNRESOLVABLE if combination & hopeless else Code.UNSCHEDULABLE
        diagnosis.refuse(FIT, rows[combinations == combination], Refusal(words, code, tuple(short)) if short else TAKEN)
    return diagnosis


def _refused(answers: Answers, rows: NDArray[np.bool_]) -> list[tuple[str, Refusal, NDArray[np.intp]]]:
    """Who refuses these rows whatever pods there are, and why."""
    if not rows.any():
        return []
    found = Diagnosis(len(rows), 0)
    refused = np.flatnonzero(rows)
    if answers.restriction is not None:
        words = f"node(s) didn't satisfy plugin(s) [{' '.join(answers.restriction[1])}]"
        found.refuse(answers.restriction[1][0], refused, Refusal((words,), Code.UNRESOLVABLE))
        refused = refused[~answers.passes_static(refused)]
    diagnose_rows(answers, refused, found)
    return [
        (plugin, refusal, np.flatnonzero(found.which == number))
        for number, (plugin, refusal) in enumerate(found.refusals)
    ]
