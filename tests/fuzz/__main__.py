"""`python -m tests.fuzz`: fresh random cases, decided by kube-scheduler's own code and by Fairway.

    python -m tests.fuzz                                  300 cases of all kinds, from a seed of today
    python -m tests.fuzz --cases 5000 --seed 7            any number; the same seed makes the same cases
    python -m tests.fuzz --kinds volumes,preemption       only these kinds
    python -m tests.fuzz --save DIR                       where a shrunk case that differs is written

Exit code 0: no difference; 3: some; the smallest case that shows each is written as a corpus file, so that
`fairway conformance FILE --show 3` shows it.
"""

from __future__ import annotations

import argparse
import multiprocessing
import re
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import msgspec

from tests.fuzz.campaign import CHUNK, Chunk, Job, run_chunk
from tests.fuzz.cases import KINDS
from tests.fuzz.compare import Finding
from tests.fuzz.oracle import Oracle
from tests.fuzz.shrink import shrink


def main(arguments: Sequence[str]) -> int:
    """Try cases until there are enough; shrink what differs."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz")
    parser.add_argument("--cases", type=int, default=300, metavar="N")
    parser.add_argument("--seed", type=int, default=int(time.strftime("%Y%m%d")), metavar="N", help="default: today")
    parser.add_argument("--first", type=int, default=0, metavar="N", help="number of the first case")
    parser.add_argument("--kinds", default=",".join(KINDS), help=f"of {', '.join(KINDS)}")
    parser.add_argument("--save", type=Path, default=Path("fuzz-findings"), metavar="DIR")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="processes")
    parser.add_argument("--shrink", type=int, default=5, metavar="N", help="findings that are made small")
    options = parser.parse_args(arguments)
    kinds = tuple(options.kinds.split(","))
    if unknown := set(kinds) - set(KINDS):
        parser.error(f"--kinds: there is no {', '.join(sorted(unknown))}; there are {', '.join(KINDS)}")
    _say(f"seed {options.seed}: {options.cases} cases of {', '.join(kinds)}")
    jobs = [
        Job(options.seed, first, min(CHUNK, options.first + options.cases - first), kinds)
        for first in range(options.first, options.first + options.cases, CHUNK)
    ]
    chunks = _run(jobs, options.jobs)
    refused = Counter(_shortened(reason) for chunk in chunks for reason in chunk.refused)
    findings = [finding for chunk in chunks for finding in chunk.findings]
    counted, pods = sum(chunk.counted for chunk in chunks), sum(chunk.pods for chunk in chunks)
    share = 100 * counted // max(options.cases, 1)
    _say(f"{counted} cases counted ({share} %), {pods} pods; {len(findings)} cases differ")
    for reason, number in refused.most_common(8):
        _say(f"  {number} refused: {reason}")
    _report(findings, options.save, options.shrink)
    return 3 if findings else 0


def _run(jobs: Sequence[Job], processes: int) -> list[Chunk]:
    if processes == 1 or len(jobs) == 1:
        return [_told(run_chunk(job)) for job in jobs]
    with multiprocessing.get_context("spawn").Pool(processes) as pool:
        return [_told(chunk) for chunk in pool.imap(run_chunk, jobs)]


def _told(chunk: Chunk) -> Chunk:
    """A dot for each chunk without a difference, as a run takes minutes."""
    sys.stderr.write("x" if chunk.findings else ".")
    sys.stderr.flush()
    return chunk


def _report(findings: Sequence[tuple[bytes, Finding]], directory: Path, most: int) -> None:
    """Shrink one case for each set of fields that differ, and write it."""
    kinds: dict[frozenset[str], tuple[bytes, Finding]] = {}
    for line, finding in findings:
        if finding.fields not in kinds or len(line) < len(kinds[finding.fields][0]):
            kinds[finding.fields] = (line, finding)
    for number, (line, finding) in enumerate(kinds.values()):
        case = msgspec.json.decode(line)
        if number < most:
            with Oracle() as oracle:
                line, finding = shrink(line, finding, oracle)  # noqa: PLW2901 - the smaller one
        directory.mkdir(parents=True, exist_ok=True)
        file = directory / f"{case['name']}.jsonl"
        file.write_bytes(line.rstrip(b"\n") + b"\n")
        _say(f"\n{file}, pod {finding.pod}")
        for difference in finding.differences:
            _say(
                f"  {difference.field}\n    kube-scheduler  {difference.expected}\n    Fairway         {difference.got}"
            )


def _shortened(reason: str) -> str:
    """Without names, so that equal reasons are counted together."""
    return re.sub(r'^\w+ "[^"]*" is invalid: |\d+', "", reason)[:150]


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
