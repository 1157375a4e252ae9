"""What kube-scheduler's own code makes of a corpus: made anew, compared with what was recorded and with Fairway.

In: corpus files. Out: the cases with fresh decisions (`relabelled`), and a `Disagreement` for each pod whose decision
is not the recorded one. The program behind it is `cmd/reference` in this directory's Go module.

    python -m tests.kube.reference                       the corpus of the tests: all three agree, or exit code 3
    python -m tests.kube.reference FILE... --write DIR   keep the fresh decisions, a file for each given one

With --write the decisions that are there already do not matter: that is how a corpus is made for another version of
Kubernetes, or for cases of one's own.
"""

from __future__ import annotations

import argparse
import gzip
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from fairway.conformance.corpus import CaseLine, raw_case, read_lines
from fairway.conformance.corpus_run import check_line
from fairway.conformance.difference import FieldDifference, differences, group_differences
from tests.kube.build import build_reference

__all__ = ["Disagreement", "disagreements", "relabelled", "time_reference"]

CORPUS: Final = Path(__file__).parents[1] / "conformance" / "corpus"
Json = dict[str, Any]


class Disagreement(NamedTuple):
    """A pod, or a group, about which the reference says something else than the record."""

    case: str
    pod: str
    differences: list[FieldDifference]


def relabelled(lines: Sequence[CaseLine]) -> list[bytes]:
    """The same cases, each with what kube-scheduler's code decides now."""
    data = b"".join(line.data.rstrip(b"\n") + b"\n" for line in lines)
    done = subprocess.run(["nice", build_reference(), "label"], input=data, capture_output=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr.decode(errors="replace"))
    fresh = done.stdout.splitlines()
    if len(fresh) != len(lines):
        raise RuntimeError(f"{len(lines)} cases went in, {len(fresh)} came out")
    return fresh


def disagreements(line: CaseLine, fresh: bytes) -> list[Disagreement]:
    """Where the recorded decisions of a case and the fresh ones differ."""
    recorded = raw_case(line)
    found = raw_case(CaseLine("reference", line.line, fresh)).expect
    if len(found) != len(recorded.expect):
        raise ValueError(f"{recorded.name}: {len(recorded.expect)} decisions are recorded, {len(found)} were made")
    is_grouped = recorded.feature_gates is not None
    compare, subject = (group_differences, "group") if is_grouped else (_differences, "pod")
    return [
        Disagreement(recorded.name, wanted[subject], words)
        for wanted, got in zip(recorded.expect, found, strict=True)
        if (words := compare(wanted, got))
    ]


def time_reference(case: bytes, percentage: int) -> Json:
    """Time kube-scheduler's loop of SchedulePod and assume on a case, given a percentageOfNodesToScore."""
    command = [str(build_reference()), "bench", f"-percentage={percentage}"]
    done = subprocess.run(command, input=case.rstrip(b"\n") + b"\n", capture_output=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr.decode(errors="replace"))
    figures: Json = msgspec.json.decode(done.stdout)
    return figures


def _differences(wanted: Json, got: Json) -> list[FieldDifference]:
    """As Fairway's own decisions are compared, but the equally good candidates are compared by name."""
    found = differences(wanted, _counting_ties(got))
    ties = [(each.get("preemption") or {}).get("ties") or [] for each in (wanted, got)]
    if ties[0] != ties[1]:
        found.append(FieldDifference("preemption.ties", str(ties[0]), str(ties[1])))
    return found


def _counting_ties(got: Json) -> Json:
    preemption = got.get("preemption")
    if not preemption:
        return got
    return {**got, "preemption": {**preemption, "ties": len(preemption.get("ties") or ())}}


def main(arguments: Sequence[str]) -> int:
    """Label, then compare or write."""
    parser = argparse.ArgumentParser(prog="python -m tests.kube.reference")
    parser.add_argument("corpus", nargs="*", type=Path, default=[CORPUS], help="files or directories of cases")
    parser.add_argument("--write", type=Path, metavar="DIR", help="write the fresh decisions there; compare nothing")
    parser.add_argument("--show", type=int, default=3, metavar="N", help="disagreements to print in detail")
    options = parser.parse_args(arguments)
    lines = list(read_lines(options.corpus))
    if not lines:
        parser.error("there are no cases")
    fresh = relabelled(lines)
    if options.write:
        _write(options.write, lines, fresh)
        return 0
    return _compare(lines, fresh, options.show)


def _compare(lines: Sequence[CaseLine], fresh: Sequence[bytes], show: int) -> int:
    """Print by focus how many pods the reference decides otherwise than the record, and Fairway than the reference."""
    counts: dict[str, Counter[str]] = {}
    everything = Counter[str]()
    found: list[tuple[str, Disagreement]] = []
    for line, again in zip(lines, fresh, strict=True):
        case, result = raw_case(line), check_line(line._replace(data=again))
        recorded = disagreements(line, again) if case.expect else []
        fairway = [Disagreement(case.name, each.pod, each.differences) for each in result.mismatches]
        found += [("recorded", each) for each in recorded] + [("fairway", each) for each in fairway]
        row = Counter(cases=1, pods=len(case.pods), recorded=len(recorded), fairway=len(fairway))
        counts[case.focus] = counts.get(case.focus, Counter()) + row
        everything += row
    _print(f"{'FOCUS':<34}{'CASES':>7}{'PODS':>8}{'RECORD DIFFERS':>16}{'FAIRWAY DIFFERS':>17}")
    for focus, row in [*sorted(counts.items()), ("all", everything)]:
        _print(f"{focus:<34}{row['cases']:>7}{row['pods']:>8}{row['recorded']:>16}{row['fairway']:>17}")
    for who, each in found[:show]:
        _print(f"\n{each.case}, pod {each.pod}")
        for difference in each.differences:
            expected, got = difference[1:]
            said, other = (got, expected) if who == "recorded" else (expected, got)
            _print(f"  {difference.field}\n    reference  {said}\n    {who:<11}{other}")
    return 3 if found else 0


def _write(directory: Path, lines: Sequence[CaseLine], fresh: Iterable[bytes]) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    files: dict[str, list[bytes]] = {}
    for line, data in zip(lines, fresh, strict=True):
        files.setdefault(Path(line.file).name, []).append(data + b"\n")
    for name, content in files.items():
        data = b"".join(content)
        (directory / name).write_bytes(gzip.compress(data, mtime=0) if name.endswith(".gz") else data)
        _print(f"{directory / name}: {len(content)} cases")


def _print(text: str) -> None:
    sys.stdout.write(f"{text}\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
