"""`fairway compare` on an order-only scenario: policies × traces × seeds over all cores.

In: the scenario, and what the command line changes in it. Out: a folder with every run, tables in the form of the
published ones, figures (PNG) and a page (HTML); on stdout the comparison. Runs that the folder has already are not
made again, so an interrupted experiment goes on where it was. Called by the command `compare`.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any, Final

from fairway.cli.main import CommandError
from fairway.cli.options.order import OrderChoices
from fairway.cli.output import Column, emit, is_structured, narrate, progress, say
from fairway.compare.report_file import check_report_place, write_report
from fairway.experiments.experiment import make_runs, plan_runs
from fairway.experiments.openb_check import cost
from fairway.experiments.openb_data import OpenbData
from fairway.experiments.openb_expected import Expected, read_expected
from fairway.experiments.order_scenario import OrderScenario, load_order_scenario
from fairway.experiments.ordered_cluster import RunKey
from fairway.experiments.results import Results, write_tables
from fairway.experiments.stored_runs import StoredRun, run_path
from fairway.pool import ProcessKilledError, num_cpus
from fairway.words import count_text

__all__ = ["compare_in_order"]

LOOKALIKE: Final = "data"
ENOUGH_TO_COMPARE: Final = 0.005  # percentage points: published values are told with two decimals


def compare_in_order(source: str, wanted: OrderChoices) -> int:
    """Run what is not there yet, then tell."""
    scenario = load_order_scenario(source)
    for note in scenario.notes:
        narrate(f"note: {source}: {note}")
    scenario = _changed(scenario, wanted)
    folder = Path(wanted.folder or f"{scenario.name}-results")
    folder.mkdir(parents=True, exist_ok=True)
    check_report_place(_page_path(folder, wanted.html))
    data = scenario.data(folder / LOOKALIKE)
    expected = _expected(scenario, wanted)
    runs = _run(scenario, data, folder, wanted.jobs or num_cpus())
    results = Results.of(scenario.name, runs, expected)
    write_tables(results, folder / "tables", scenario.spec.load)
    _draw(results, folder)
    page = _page(results, scenario, len(data.nodes()), folder, wanted.html)
    emit(*_table(results), wanted.output, document=_document(results, scenario))
    if not is_structured(wanted.output):
        _narrate(results, folder, page)
    return 0


def _changed(scenario: OrderScenario, wanted: OrderChoices) -> OrderScenario:
    spec = scenario.spec
    changes: dict[str, Any] = {"seed": wanted.seed, "seeds": wanted.seeds, "traces": tuple(wanted.traces) or None}
    if wanted.openb is not None:
        changes |= {"data": str(Path(wanted.openb).absolute())}
    if wanted.policies:
        own = {name: policy for name, policy in spec.own_policies.items() if name in wanted.policies}
        changes |= {"own_policies": own, "policies": tuple(name for name in wanted.policies if name not in own)}
    return scenario.with_changes(**changes)


def _expected(scenario: OrderScenario, wanted: OrderChoices) -> Expected | None:
    if wanted.expected is not None:
        return read_expected(wanted.expected)
    if not scenario.spec.expected:
        return None
    folder = scenario.path(scenario.spec.expected)
    if not folder.is_dir():
        narrate(f"note: {folder} is not there, so nothing published is shown; --expected DIR names another place")
        return None
    return read_expected(folder)


# -- running -----------------------------------------------------------------------------------------------------------


def _run(scenario: OrderScenario, data: OpenbData, folder: Path, jobs: int) -> dict[RunKey, StoredRun]:
    """Every run, from the folder or made now; in the order of the scenario."""
    keys = scenario.keys()
    runs, pieces = plan_runs(scenario, data, folder)
    if runs and pieces:
        narrate(f"{len(runs)} of {len(keys)} runs are in {folder} already; {len(pieces)} are left")
    if pieces:
        try:
            with progress(f"{len(pieces)} runs", sum(cost(piece.key.policy) for piece in pieces)) as advance:
                for key, stored in make_runs(pieces, jobs):
                    runs[key] = stored
                    advance(cost(key.policy))
        except KeyboardInterrupt:
            narrate(f"interrupted: {len(runs)} of {len(keys)} runs are in {folder}; the same command makes the others")
            raise
        except ProcessKilledError as error:
            raise CommandError("a process was killed", "there may be too little memory; try --jobs 1") from error
    return {key: runs[key] for key in keys}


# -- telling -----------------------------------------------------------------------------------------------------------


def _draw(results: Results, folder: Path) -> None:
    if importlib.util.find_spec("matplotlib") is None:
        narrate("note: no PNG figures without matplotlib; pip install 'fairway[plots]' brings it")
        return
    from fairway.experiments.png_figures import draw_all

    with progress("drawing", len(results.traces)) as advance:
        draw_all(results, folder / "figures", advance)


def _page_path(folder: Path, html: str | None) -> Path:
    return Path(html) if html is not None else folder / "report.html"


def _page(results: Results, scenario: OrderScenario, num_nodes: int, folder: Path, html: str | None) -> Path:
    from fairway.compare.report_facts import day_fact
    from fairway.experiments.report import order_html

    page = _page_path(folder, html)
    day = day_fact(run_path(folder, key) for key in results.runs)
    write_report(page, order_html(results, scenario, [("Nodes", count_text(num_nodes)), day]))
    return page


def _table(results: Results) -> tuple[list[dict[str, Any]], list[Column]]:
    columns = [Column("trace", "TRACE"), *(Column(policy, policy, right=True) for policy in results.policies)]
    rows = []
    for trace in results.traces:
        ours = {policy: results.value("unallocated", trace, policy) for policy in results.policies}
        rows.append(
            {"trace": trace, **{policy: "–" if value is None else str(value) for policy, value in ours.items()}}
        )
        theirs = {policy: results.value("unallocated", trace, policy, published=True) for policy in results.policies}
        if any(theirs.values()):
            shown = {policy: "" if value is None else str(value) for policy, value in theirs.items()}
            num_seeds = {value.num_seeds for value in theirs.values() if value is not None}
            seeds = "" if num_seeds == {results.num_seeds} else f", {max(num_seeds)} seeds"
            rows.append({"trace": f"  published{seeds}", **shown})
    return rows, columns


def _document(results: Results, scenario: OrderScenario) -> dict[str, Any]:
    runs = [
        {
            **key._asdict(),
            "arrivals": run.num_arrivals,
            "turned_away": run.num_failed,
            "seconds": round(run.seconds, 3),
            "defragmented": run.defragmented,
        }
        for key, run in results.runs.items()
    ]
    return {"scenario": scenario.as_dict(), "load_percent": results.load, "summary": results.summary(), "runs": runs}


def _narrate(results: Results, folder: Path, page: Path) -> None:
    seeds = "one seed" if results.num_seeds == 1 else f"mean ± standard deviation over {results.num_seeds} seeds"
    say()
    say(f"Unallocated GPU, % of all, when pods have asked for {results.load} %; {seeds}.")
    taken = sum(run.seconds for run in results.runs.values())
    each = f"{taken / len(results.runs):.1f} s of CPU each"
    narrate(f"{len(results.runs)} runs, {each}; tables and figures: {folder}; report: {page}")
