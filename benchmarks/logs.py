"""What logs of jobs cost through the whole engine, beside another simulator of them: CPU seconds, and memory.

In: nothing, or `--logs` (a folder with `swf/`; beside the checkout if it is there), `--pyss` (the folder `src` of pyss,
an independent simulator, and with `--python` an interpreter that runs it), `--jobs` (of a made-up log; 0: none),
`--only` a discipline. Out: a table with bounds; exit code 1 if one is missed. Every figure is that of a process of its
own, with its start and the reading of the log, and with compiled modules, as installed programs have them; both play
a log in turns, and both check what they assert: neither is run with `-O`, as pyss is not by the script that comes with
it. What is not there is told and left out. Called by `make bench-logs`.
"""

from __future__ import annotations

import argparse
import gzip
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

LOGS: Final = Path(__file__).resolve().parents[2] / "shared" / "batch"
TIES: Final = {"sdsc-sp2-5k": "each"}
"""What comes first within a second, for logs where that is not `ends-first`."""
PYSS: Final = {"easy": "EasyBackfillScheduler", "conservative": "ConservativeScheduler"}
RATIO: Final = {"easy": 1.5, "conservative": 1.0}
"""CPU seconds, those of pyss being 1."""
MANY_JOBS: Final = 100_000
MANY_SECONDS, MANY_MEMORY = 90.0, 1 << 30  # bounds for so many jobs

PLAY: Final = """
import sys
from fairway.conformance.slurm.log_run import play_log
path, discipline, ties = sys.argv[1:]
print(len(play_log(path, discipline, ties).started))
"""


class Cost(NamedTuple):
    """What a process needed."""

    seconds: float  # of CPU
    memory: int  # bytes, at most at a time
    said: str


def run(command: Sequence[str | Path], folder: Path | None = None) -> Cost:
    """Run it to its end."""
    variables = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(
            [*map(str, command)], stdout=said, stderr=subprocess.STDOUT, cwd=folder, env=variables
        )
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        said.seek(0)
        words = said.read().decode(errors="replace").strip()
    if process.returncode:
        raise SystemExit(f"{' '.join(map(str, command))} failed:\n{words}")
    return Cost(usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024, words)


def processors(log: Path) -> int:
    """Of the machine, as the header says."""
    with gzip.open(log, "rt", errors="replace") as lines:
        for line in lines:
            if found := re.match(r";\s*(?:MaxProcs|MaxNodes)\s*:\s*(\d+)", line):
                return int(found[1])
    raise SystemExit(f"{log}: its header has neither MaxProcs nor MaxNodes")


def beside_pyss(log: Path, discipline: str, pyss: Path | None, python: str, repeat: int) -> tuple[str, bool]:
    """Both in turns, each at its best; and does the bound hold?"""
    name = log.name.removesuffix(".swf.gz")
    ours, theirs = [], []
    with tempfile.TemporaryDirectory() as folder:
        plain = Path(folder, f"{name}.swf")
        plain.write_bytes(gzip.decompress(log.read_bytes()))
        size = str(processors(log))
        scheduler = ["--num-processors", size, "--input-file", plain, "--scheduler", PYSS[discipline]]
        for _ in range(repeat):
            ours.append(run([sys.executable, "-c", PLAY, log, discipline, TIES.get(name, "ends-first")]).seconds)
            if pyss is not None:
                theirs.append(run([python, pyss / "run_simulator.py", *scheduler], pyss).seconds)
    words = f"{min(ours):.1f} s"
    if not theirs:
        return words, True
    ratio = min(ours) / min(theirs)
    return f"{words}, pyss {min(theirs):.1f} s: {ratio:.1f} ×, at most {RATIO[discipline]:g}", ratio <= RATIO[
        discipline
    ]


def made_up(path: Path, number: int, size: int = 256) -> None:
    """A log at a load of about 0.8: sizes are powers of two, most jobs short, limits 1 to 5 times what they need."""
    generator = np.random.default_rng(0)
    sizes = 2 ** generator.integers(0, 7, number)
    runs = np.clip(np.exp(generator.normal(6.5, 1.5, number)), 10, 86_400).astype(int)
    limits = (runs * generator.uniform(1.0, 5.0, number)).astype(int) + 60
    gap = float((sizes * runs).mean()) / (0.8 * size)
    submitted = np.cumsum(generator.exponential(gap, number)).astype(int)
    users = generator.integers(0, 50, number)
    with gzip.open(path, "wt") as log:
        log.write(f"; Version: 2.2\n; MaxNodes: {size}\n; MaxProcs: {size}\n")
        for index in range(number):
            fields = [index + 1, submitted[index], -1, runs[index], sizes[index], -1, -1, sizes[index], limits[index]]
            log.write(" ".join(map(str, [*fields, -1, 1, users[index], 1, -1, 1, -1, -1, -1])) + "\n")


def many(number: int) -> tuple[str, bool]:
    """A made-up log, which tells how cost grows; bounds are for 100,000 jobs, and in proportion for fewer."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder, "made-up.swf.gz")
        made_up(log, number)
        cost = run([sys.executable, "-c", PLAY, log, "easy", "ends-first"])
    bound = MANY_SECONDS * number / MANY_JOBS
    words = f"{cost.seconds:.0f} s, at most {bound:g}; {cost.memory / (1 << 20):.0f} MiB, at most 1024"
    return f"{words}; {cost.said} started", cost.seconds <= bound and cost.memory <= MANY_MEMORY


def main() -> int:
    """Measure, print, compare with the bounds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--logs", type=Path, default=LOGS)
    parser.add_argument("--pyss", type=Path)
    parser.add_argument("--python", default="python2")
    parser.add_argument("--jobs", type=int, default=MANY_JOBS)
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--only", choices=sorted(PYSS))
    arguments = parser.parse_args()
    logs = sorted((arguments.logs / "swf").glob("*.swf.gz"))
    if not logs:
        print(f"no logs in {arguments.logs / 'swf'}: left out; name their folder with --logs", file=sys.stderr)
    if arguments.pyss is None:
        print("pyss is not named, so nothing is compared with it: --pyss FOLDER, --python python2.7", file=sys.stderr)
    run([sys.executable, "-c", "import fairway.conformance.slurm.log_run"])  # so that modules are compiled
    all_hold = True
    for log in logs:
        for discipline in (arguments.only,) if arguments.only else PYSS:
            words, holds = beside_pyss(log, discipline, arguments.pyss, arguments.python, arguments.repeat)
            all_hold &= holds
            print(
                f"{log.name.removesuffix('.swf.gz'):16} {discipline:14} {words}   {'yes' if holds else 'NO'}",
                flush=True,
            )
    if arguments.jobs:
        words, holds = many(arguments.jobs)
        all_hold &= holds
        print(f"{'made up':16} {arguments.jobs:<14} {words}   {'yes' if holds else 'NO'}", flush=True)
    return int(not all_hold)


if __name__ == "__main__":
    sys.exit(main())
