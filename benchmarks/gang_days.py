"""Whole days of gangs, one mode after the other: who starts, how long jobs wait, what is held, what a run costs.

In: modes, seeds and a length, as options; the scenario is `examples/scenarios/gangs/day.yaml`, 500 nodes and some
20,000 pods in jobs of 1 to 128. Out: a row of a table for each mode, over all seeds, as docs/gangs.md shows it, printed
as soon as the mode is done; with `--each`, a line of JSON for each run as well. The CPU time is that of the simulation
with everything recorded. Run by hand (all of it takes more than an hour, most of it `pfnet`), and by tests in small.

    $ python benchmarks/gang_days.py [--modes kube,fairway] [--seeds 5] [--until 24h] [--each]
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from time import process_time
from typing import NamedTuple

import msgspec

from fairway.record import Run
from fairway.scenario.scenario import load_scenario
from fairway.scenario.simulate import simulate

DAY = Path(__file__).parents[1] / "examples" / "scenarios" / "gangs" / "day.yaml"
MODES = ("kube", "coscheduling", "pfnet", "fairway")
HEADING = (
    "| mode | jobs started | job wait p50 (s) | p95 (s) | partial-hold node-hours | deadlocks | utilisation (CPU)"
    " | CPU seconds a run |"
)


class DayFigures(NamedTuple):
    """What became of the jobs of one run."""

    mode: str
    seed: int
    created: int
    started: int
    wait_p50: float  # seconds from complete to started, of those that started
    wait_p95: float
    partial_hold_node_hours: float
    deadlocks: int
    utilisation_cpu: float
    cpu_seconds: float  # of the simulation itself


def measure(mode: str, seed: int, until: str | None = None) -> DayFigures:
    """One run, recorded in a folder that is gone afterwards."""
    scenario = load_scenario(DAY).with_overrides(until=until)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "day.duckdb"
        begun = process_time()
        simulate(scenario, record=path, policy=mode, seed=seed)
        cpu_seconds = process_time() - begun
        with Run.open(path) as run:
            flat = run.metrics().flat()
    return DayFigures(
        mode,
        seed,
        int(flat["jobs_created"]),
        int(flat["jobs_started"]),
        flat["job_wait_p50"],
        flat["job_wait_p95"],
        flat["partial_hold_node_hours"],
        int(flat["deadlocks"]),
        flat["utilisation_cpu"],
        cpu_seconds,
    )


def row(days: Sequence[DayFigures]) -> str:
    """The runs of one mode as a row of the table: the least and the most of each figure."""
    cells = (
        days[0].mode,
        ", ".join(f"{day.started:,}" for day in days),
        _span([day.wait_p50 for day in days], 2),
        _span([day.wait_p95 for day in days]),
        _span([day.partial_hold_node_hours for day in days], 1),
        _span([day.deadlocks for day in days]),
        _span([100 * day.utilisation_cpu for day in days], 1) + " %",
        _span([day.cpu_seconds for day in days]),
    )
    return f"| {' | '.join(cells)} |"


def _span(values: Sequence[float], digits: int = 0) -> str:
    texts = [f"{value:,.{digits if value else 0}f}" for value in (min(values), max(values))]
    return texts[0] if texts[0] == texts[1] else " to ".join(texts)


def main(arguments: Sequence[str] | None = None) -> int:
    """Play the days and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--modes", default=",".join(MODES), help=f"some of {', '.join(MODES)}")
    parser.add_argument("--seeds", type=int, default=5, metavar="N", help="seeds 0 to N - 1 (default: 5)")
    parser.add_argument("--until", metavar="TIME", help="only the beginning, such as 4h (default: all 24 hours)")
    parser.add_argument("--each", action="store_true", help="also a line of JSON for each run, on standard error")
    options = parser.parse_args(arguments)
    modes = options.modes.split(",")
    if unknown := [mode for mode in modes if mode not in MODES]:
        parser.error(f"no mode {', '.join(unknown)}; there are: {', '.join(MODES)}")
    if options.seeds < 1:
        parser.error("--seeds: at least 1")
    created: list[int] = []
    for mode in modes:
        days = []
        for seed in range(options.seeds):
            days.append(measure(mode, seed, options.until))
            if options.each:
                print(msgspec.json.encode(days[-1]._asdict()).decode(), file=sys.stderr, flush=True)
        if not created:
            created = [day.created for day in days]
            print(f"Jobs created: {', '.join(f'{number:,}' for number in created)} (seeds 0 to {options.seeds - 1})\n")
            print(f"{HEADING}\n|{'---|' * HEADING.count(' | ')}---|")
        print(row(days), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
