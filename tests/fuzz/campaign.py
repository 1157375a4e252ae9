"""Some cases at a time, made, labelled and compared in one go, so that several processes can share the work.

In: a `Job`. Out: a `Chunk`: how many cases counted, why others did not, and which differ. Called by the command.
"""

from __future__ import annotations

from typing import NamedTuple

from tests.fuzz.cases import make_cases
from tests.fuzz.compare import Finding, compare
from tests.fuzz.oracle import Oracle

__all__ = ["CHUNK", "Chunk", "Job", "run_chunk"]

CHUNK = 50
"""Cases that one worker takes at a time."""


class Chunk(NamedTuple):
    """What became of some cases."""

    counted: int
    pods: int
    refused: list[str]
    findings: list[tuple[bytes, Finding]]  # lines of cases that differ


class Job(NamedTuple):
    """Some cases to try."""

    seed: int
    first: int
    size: int
    kinds: tuple[str, ...]


def run_chunk(job: Job) -> Chunk:
    """Make, label and compare some cases; top-level, so that other processes can be given it."""
    cases = list(make_cases(job.seed, job.first, job.size, job.kinds))
    counted = pods = 0
    refused: list[str] = []
    findings: list[tuple[bytes, Finding]] = []
    with Oracle() as oracle:
        for case, answer in zip(cases, oracle.ask_all(cases), strict=True):
            if answer.refused:
                refused.append(answer.refused)
                continue
            counted += 1
            pods += len(case["pods"])
            if (finding := compare(answer.line)) is not None:
                findings.append((answer.line, finding))
    return Chunk(counted, pods, refused, findings)
