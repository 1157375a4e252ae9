"""A failed decision as counts of refused nodes that add up.

In: a `Decision`. Out: rows for the table `filter_counts`; called by `RunWriter` for every attempt that placed nothing.
"""

from __future__ import annotations

import numpy as np

from fairway.cycle import Decision, Diagnosis
from fairway.cycle.diagnosis import ABSENT
from fairway.plugin import Refusal

__all__ = ["failure_message", "refusal_counts"]


def refusal_counts(diagnosis: Diagnosis) -> list[tuple[str, Refusal, int]]:
    """(plugin, refusal, how many nodes): each node once, for the first plugin that refused it."""
    if diagnosis.pre_filter is not None:
        return [(*diagnosis.pre_filter, diagnosis.num_nodes)]
    which = diagnosis.which
    counts = np.bincount(which[which >= 0], minlength=len(diagnosis.refusals)).tolist()
    found = [
        (plugin, refusal, count) for (plugin, refusal), count in zip(diagnosis.refusals, counts, strict=True) if count
    ]
    if diagnosis.elsewhere is not None:
        rest = diagnosis.num_nodes - int(np.count_nonzero(which != ABSENT))
        if rest:
            found.append((*diagnosis.elsewhere, rest))
    return found


def failure_message(decision: Decision) -> str | None:
    """Why a pod was not placed, in words."""
    if decision.gate is not None:
        return ", ".join(decision.gate[1].reasons)
    return decision.message or None
