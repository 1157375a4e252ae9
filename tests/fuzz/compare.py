"""Does Fairway decide a case as kube-scheduler does?

In: a case with the reference's decisions. Out: the first difference, or None. The pods of a case go through
`fairway.conformance.corpus_run`, the engine that schedules for real with its caches: once with every plugin's words
and scores compared, and once more told in brief. In the second run nobody looks at a pod besides deciding it, as in
`try`, `sim` and `run`, so what is kept from pod to pod is not brought up to date by the looking. Called by `campaign`
and `shrink`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from fairway.config.configuration import ConfigError
from fairway.conformance.corpus import Case, CaseLine, decode_case
from fairway.conformance.corpus_run import check_case
from fairway.conformance.difference import FieldDifference
from fairway.model import DecodeError
from tests.fuzz.draw import Json

__all__ = ["Finding", "compare"]

BRIEF = ("pod", "result", "node", "message", "volumes", "preEnqueue", "error", "reserveStatus")


class Finding(NamedTuple):
    """The first pod of a case that Fairway decides otherwise."""

    pod: str
    differences: list[FieldDifference]

    @property
    def fields(self) -> frozenset[str]:
        """Which fields differ, without names of nodes: what makes a smaller case show the same."""
        return frozenset(each.field.partition("[")[0] for each in self.differences)


def compare(line: bytes) -> Finding | None:
    """Run a labelled case; a case that Fairway does not even read is a finding too."""
    try:
        case = decode_case(CaseLine("fuzz", 1, line))
        return _first(case) or (_first(_briefly(case)) if case.feature_gates is None else None)
    except (DecodeError, ConfigError) as error:
        return Finding("", [FieldDifference("reading", "it is accepted", str(error))])


def _first(case: Case) -> Finding | None:
    mismatches = check_case(case).mismatches
    return Finding(mismatches[0].pod, mismatches[0].differences) if mismatches else None


def _briefly(case: Case) -> Case:
    """The case as one of focus `replay`, whose decisions are told in few words."""
    return replace(case, focus="replay", expect=[_brief(expect) for expect in case.expect])


def _brief(expect: Json) -> Json:
    brief: Json = {field: expect[field] for field in BRIEF if field in expect}
    # A pod that gets the node it was promised is not tried anywhere else.
    brief["feasible"] = 1 if expect.get("via") == "nominated" else len(expect.get("feasible") or ())
    if scores := expect.get("scores"):
        brief |= {"bestScore": scores["nodes"][expect["best"][0]][-1], "ties": len(expect["best"])}
    if preemption := expect.get("preemption"):
        brief |= {field: preemption[field] for field in ("nominatedNode", "victims") if field in preemption}
    return brief
