"""Does Fairway decide a case as kube-scheduler does?

In: a case with the reference's decisions. Out: the first difference, or None. The pods of a case go through
`fairway.cli.corpus_run`: the engine that schedules for real, with its caches; then again with caches off, which has to
make no difference. Called by the command and by `shrink`.
"""

from __future__ import annotations

from typing import NamedTuple

from fairway.cli.corpus import CaseLine, decode_case
from fairway.cli.corpus_difference import Difference
from fairway.cli.corpus_run import check_case
from fairway.cycle.config import ConfigError
from fairway.model import DecodeError

__all__ = ["Finding", "compare"]


class Finding(NamedTuple):
    """The first pod of a case that Fairway decides otherwise."""

    pod: str
    differences: list[Difference]

    @property
    def fields(self) -> frozenset[str]:
        """Which fields differ, without names of nodes: what makes a smaller case show the same."""
        return frozenset(each.field.partition("[")[0] for each in self.differences)


def compare(line: bytes) -> Finding | None:
    """Run a labelled case; a case that Fairway does not even read is a finding too."""
    try:
        result = check_case(decode_case(CaseLine("fuzz", 1, line)))
    except (DecodeError, ConfigError) as error:
        return Finding("", [Difference("reading", "it is accepted", str(error))])
    if not result.mismatches:
        return None
    first = result.mismatches[0]
    return Finding(first.pod, first.differences)
