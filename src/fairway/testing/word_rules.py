"""The rules about what a plugin says to people: what is short, the words of a funnel, and ways to ask for less.

In: an interview of a plugin that refused some rows. Out: nothing, or an `AssertionError`. None of this decides
anything, but `fairway why` shows it, so it has to agree with what `filter` says. Called by
`fairway.testing.plugin_check`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairway.cluster import Nodes
from fairway.cluster.pod_class import ENCODER
from fairway.model import Pod
from fairway.plugin import Code, Refusal, Refused, Relaxation, Shortage, Supply
from fairway.testing.interview import Interview

__all__ = ["check_words"]


def check_words(interview: Interview, rows: NDArray[np.intp], refusals: Sequence[Refusal]) -> None:
    """Look at all that is said about these rows, which `filter` refused with these words."""
    names = Nodes(interview.cluster, rows).names
    for row, name, refusal in zip(rows.tolist(), names, refusals, strict=True):
        if refusal.code is Code.ERROR and not interview.call("may_fail", interview.state):
            advice = "Let may_fail(state) return True where explain may say Code.ERROR: else the error is overlooked."
            raise interview.wrong("may_fail", "says no, but explain gives an error", advice, name)
        for shortage in refusal.shortages:
            _check_shortage(interview, row, name, shortage)
    words = interview.call("funnel_words", interview.pod_class, Nodes(interview.cluster, rows), interview.state)
    if len(words) not in (0, len(rows)) or not all(isinstance(word, str) and word for word in words):
        advice = "Return a few words for each of the nodes, in their order, or nothing at all."
        raise interview.wrong("funnel_words", f"returned {words!r} for {len(rows)} nodes", advice)
    _check_relaxations(interview, rows, refusals)


def _check_shortage(interview: Interview, row: int, name: str, shortage: Any) -> None:
    advice = 'Name what is short and how much is needed, in whole numbers: Shortage("example.com/token", 3).'
    if not (isinstance(shortage, Shortage) and isinstance(shortage.resource, str) and isinstance(shortage.needed, int)):
        raise interview.wrong("explain", f"gave the shortage {shortage!r}", advice, name)
    nodes = Nodes(interview.cluster, np.array([row], np.intp))
    supply = interview.call("supply", nodes, shortage.resource)
    columns = (supply.capacity, supply.used) if isinstance(supply, Supply) else ()
    if not columns or any(np.shape(column) != (1,) or np.asarray(column).dtype.kind not in "iu" for column in columns):
        advice = "Return a Supply: two arrays of integers with one entry for each of `nodes`."
        raise interview.wrong("supply", f"returned {supply!r} for one node", advice, name)
    if int(supply.free[0]) >= shortage.needed:
        problem = f"says that {int(supply.free[0])} of {shortage.resource} are left, but {shortage.needed} were refused"
        advice = "A shortage is more than is left: filter, explain and supply have to count alike."
        raise interview.wrong("supply", problem, advice, name)


def _check_relaxations(interview: Interview, rows: NDArray[np.intp], refusals: Sequence[Refusal]) -> None:
    pod, cluster = interview.pod, interview.cluster
    by_refusal: dict[Refusal, list[int]] = {}
    for row, refusal in zip(rows.tolist(), refusals, strict=True):
        by_refusal.setdefault(refusal, []).append(row)
    refused = [Refused(one, Nodes(cluster, np.array(some, np.intp))) for one, some in by_refusal.items()]
    text = ENCODER.encode(pod)
    for relaxation in interview.listed("relax", pod, interview.pod_class, refused):
        advice = 'Give Relaxation("words for the change", the pod with it); change a copy, such as with_spec(pod, ...).'
        if not (isinstance(relaxation, Relaxation) and relaxation.words and isinstance(relaxation.pod, Pod)):
            raise interview.wrong("relax", f"gave {relaxation!r}", advice)
        if (relaxation.pod.metadata.uid, relaxation.pod.key) != (pod.metadata.uid, pod.key):
            raise interview.wrong("relax", f"gave another pod, {relaxation.pod.key}", advice)
        if ENCODER.encode(relaxation.pod) == text:
            raise interview.wrong("relax", f"gave the pod as it is for {relaxation.words!r}", advice)
    if ENCODER.encode(pod) != text:
        raise interview.wrong("relax", "changed the pod itself", "Pods are shared; change a copy.")
