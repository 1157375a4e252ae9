"""How good dates are, and what they cost: logs of jobs played under EASY, each job told at submission when it starts.

In: nothing, or `--logs` (a folder with `swf/`; beside the checkout if it is there), `--seeds`, `--every` (only each
such job is asked, for a quicker look), `--lublin` (that log's first 2,000 jobs too, for information). Out: a table with
bounds; exit code 1 if one is missed. Called by `make bench-estimates`. Logs that are not there are told and left out.
"""

from __future__ import annotations

import argparse
import runpy
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))  # logs are played by the tests

from fairway.plan import Discipline, EstimateBook, Present, QueueRule, forecast, run_pass
from fairway.plan.calibration import EstimateSummary, summarise
from tests.plan.estimated_log import made_up_log, play_estimated, waited
from tests.plan.pool_log import LoggedJob, read_log

LOGS: Final = Path(__file__).resolve().parents[2] / "shared" / "batch"
COST: Final = 6.0
"""CPU seconds of a forecast: 5,000 nodes, 15,000 running pods, 1,000 waiting jobs."""


class Figure(NamedTuple):
    """A line of the table."""

    name: str
    value: str
    bound: str = ""
    holds: bool = True


def minutes(seconds: float | None) -> float:
    """For printing; nothing measured is no number, and within no bound."""
    return float("nan") if seconds is None else seconds / 60


def summary_of(jobs: list[LoggedJob], processors: int, ties: str, every: int) -> tuple[EstimateSummary, float]:
    """How dates of a log held, and the median wait."""
    assert ties in ("ends-first", "each")
    log = play_estimated(jobs, processors, Discipline.EASY, "each" if ties == "each" else "ends-first", every)
    judgements = waited(log, jobs)
    wait = float(np.median([start - estimate.as_of for estimate, start in judgements]))
    return summarise(judgements, log.promises_kept), wait


def told(summary: EstimateSummary, wait: float) -> Iterator[Figure]:
    """What has no bound."""
    yield Figure("jobs that waited, median wait", f"{summary.num_jobs}, {minutes(wait):.0f} min")
    yield Figure("likely: median error", f"{minutes(summary.median_error):+.1f} min")
    yield Figure("likely: median absolute error", f"{minutes(summary.median_absolute_error):.1f} min")
    yield Figure("safe: held", f"{summary.safe_held or 0:.1%}")
    yield Figure("safe: median slack", f"{minutes(summary.safe_slack):.0f} min")
    yield Figure("by limits: held", f"{summary.by_limits_held or 0:.1%}")
    yield Figure("by limits: median slack", f"{minutes(summary.by_limits_slack):.0f} min")
    yield Figure("promises kept", f"{summary.promises_kept or 0:.1%} of {summary.num_promised}")


def bounded(figures: Iterator[Figure], bounds: dict[str, tuple[str, bool]]) -> list[Figure]:
    """With their bounds, by name."""
    return [
        figure._replace(bound=bounds[figure.name][0], holds=bounds[figure.name][1]) if figure.name in bounds else figure
        for figure in figures
    ]


def real_log(path: Path, every: int) -> list[Figure]:
    """The bounds of a real log."""
    summary, wait = summary_of(read_log(path), 128, "each", every)
    bounds = {
        "likely: median error": ("± 10 min", abs(minutes(summary.median_error)) <= 10),
        "likely: median absolute error": ("≤ 65 min", minutes(summary.median_absolute_error) <= 65),
        "safe: held": ("≥ 95 %", (summary.safe_held or 0) >= 0.95),
        "safe: median slack": ("≤ by limits", minutes(summary.safe_slack) <= minutes(summary.by_limits_slack)),
        "promises kept": ("all", summary.promises_kept == 1.0),
    }
    return bounded(told(summary, wait), bounds)


def made_up(seed: int, every: int) -> list[Figure]:
    """The bounds of a made-up log."""
    summary, wait = summary_of(made_up_log(seed), 128, "ends-first", every)
    bounds = {
        "likely: median absolute error": ("≤ 20 min", minutes(summary.median_absolute_error) <= 20),
        "promises kept": ("all", summary.promises_kept == 1.0),
    }
    return bounded(told(summary, wait), bounds)


def cost() -> Figure:
    """What a forecast of a large cluster costs."""
    plan = runpy.run_path(str(Path(__file__).parent / "plan.py"))
    generator = np.random.default_rng(0)
    calendar, ends = plan["cluster"](5000, 15_000, generator), {}
    jobs = plan["waiting_jobs"](1150, generator)
    runs = {job.key: job.duration * float(generator.uniform(0.1, 1.0)) for job in jobs}
    rules = {"": QueueRule()}
    started = {job.key for job, _ in run_pass(calendar, jobs, 0.0, rules).started}
    for number in range(15_000):
        ends[f"pod-{number}"] = float(generator.integers(60, 24 * 3600))
    ends |= {key: runs[key] for key in started}
    left = [job for job in jobs if job.key not in started][:1000]
    before = time.process_time()
    estimates = forecast(Present(calendar, left, rules, runs, ends), EstimateBook())
    seconds = time.process_time() - before
    ways = [estimate.basis.way.value for estimate in estimates.values()]
    words = ", ".join(f"{ways.count(way)} {way}" for way in sorted(set(ways)))
    return Figure("CPU seconds of a forecast", f"{seconds:.2f} s ({words})", f"≤ {COST:g} s", seconds <= COST)


def main() -> int:
    """Measure, print, compare with the bounds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--logs", type=Path, default=LOGS)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--lublin", action="store_true")
    arguments = parser.parse_args()
    all_hold = True

    def show(title: str, figures: list[Figure]) -> None:
        nonlocal all_hold
        for figure in figures:
            all_hold &= figure.holds
            word = "" if not figure.bound else "yes" if figure.holds else "NO"
            print(f"{title:16} {figure.name:32} {figure.value:>36}   {figure.bound:12} {word}", flush=True)

    show("5,000 nodes", [cost()])
    for seed in range(arguments.seeds):
        show(f"made up, seed {seed}", made_up(seed, max(arguments.every, 3)))
    sp2, lublin = (arguments.logs / "swf" / f"{name}.swf.gz" for name in ("sdsc-sp2-5k", "lublin-256-5k"))
    if sp2.is_file():
        show("sdsc-sp2-5k", real_log(sp2, arguments.every))
    else:
        print(f"sdsc-sp2-5k is not at {sp2}: left out; name its folder with --logs", file=sys.stderr)
    if arguments.lublin and lublin.is_file():
        show(
            "lublin-256-5k",
            list(told(*summary_of(read_log(lublin)[:2000], 256, "ends-first", max(arguments.every, 4)))),
        )
    return int(not all_hold)


if __name__ == "__main__":
    sys.exit(main())
