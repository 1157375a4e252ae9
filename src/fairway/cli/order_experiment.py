"""`fairway compare` on an order-only scenario: policies × traces × seeds over all cores.

In: the scenario, and what the command line changes in it. Out: a folder with every run, tables in the form of the
published ones, figures (PNG) and a page (HTML); on stdout the comparison. Runs that the folder has already are not
made again, so an interrupted experiment goes on where it was. Called by the command `compare`.
"""

from __future__ import annotations

import importlib.util
from functools import lru_cache
from pathlib import Path
from time import process_time  # what a run takes is told; it decides nothing
from typing import Any, Final, NamedTuple

from fairway.cli.compare_options import num_cpus
from fairway.cli.openb_check import cost
from fairway.cli.openb_expected import Expected, read_expected
from fairway.cli.order_jobs import run_all
from fairway.cli.order_options import Wanted
from fairway.cli.order_results import Results, write_tables
from fairway.cli.order_store import StoredRun, fingerprint, read_run, remove_leftovers, run_path, write_run
from fairway.cli.output import Column, emit, is_structured, narrate, progress, say
from fairway.cluster.typical_pods import TypicalPods
from fairway.sim.defragment import defragment
from fairway.sim.openb_data import OpenbData
from fairway.sim.order_only import OrderedCluster, RunKey
from fairway.sim.order_scenario import OrderScenario, load_order_scenario

__all__ = ["compare_in_order"]

LOOKALIKE: Final = "data"
ENOUGH_TO_COMPARE: Final = 0.005  # percentage points: published values are told with two decimals


class _Piece(NamedTuple):
    """A run to make, in another process."""

    scenario: OrderScenario
    data: str
    key: RunKey
    path: str
    made_from: str


def compare_in_order(source: str, wanted: Wanted) -> int:
    """Run what is not there yet, then tell."""
    scenario = _changed(load_order_scenario(source), wanted)
    folder = Path(wanted.folder or f"{scenario.name}-results")
    folder.mkdir(parents=True, exist_ok=True)
    data = scenario.data(folder / LOOKALIKE)
    expected = _expected(scenario, wanted)
    runs = _run(scenario, data, folder, wanted.jobs or num_cpus())
    results = Results.of(scenario.name, runs, expected)
    write_tables(results, folder / "tables", scenario.spec.load)
    _draw(results, folder)
    page = _page(results, scenario, folder, wanted.html)
    emit(*_table(results), wanted.output, document=_document(results, scenario))
    if not is_structured(wanted.output):
        _narrate(results, folder, page)
    return 0


def _changed(scenario: OrderScenario, wanted: Wanted) -> OrderScenario:
    spec = scenario.spec
    changes: dict[str, Any] = {"seed": wanted.seed, "seeds": wanted.seeds, "traces": tuple(wanted.traces) or None}
    if wanted.openb is not None:
        changes |= {"data": str(Path(wanted.openb).absolute())}
    if wanted.profiles:
        own = {name: policy for name, policy in spec.profiles.items() if name in wanted.profiles}
        changes |= {"profiles": own, "policies": tuple(name for name in wanted.profiles if name not in own)}
    return scenario.with_changes(**changes)


def _expected(scenario: OrderScenario, wanted: Wanted) -> Expected | None:
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
    remove_leftovers(folder)
    keys = scenario.keys()
    runs: dict[RunKey, StoredRun] = {}
    pieces = []
    for trace in scenario.spec.traces:
        data.files(trace)  # what is missing is told before anything runs
    for key in keys:
        made_from, path = fingerprint(scenario, data, key), run_path(folder, key)
        found = read_run(path, made_from)
        if found is not None:
            runs[key] = found
        else:
            scenario.profile(key.policy)
            pieces.append(_Piece(scenario, str(data.folder), key, str(path), made_from))
    if runs and pieces:
        narrate(f"{len(runs)} of {len(keys)} runs are in {folder} already; {len(pieces)} are left")
    pieces.sort(key=lambda piece: (-cost(piece.key.policy), piece.key.trace, piece.key.seed))
    if pieces:
        total = sum(cost(piece.key.policy) for piece in pieces)
        try:
            with progress(f"{len(pieces)} runs", total) as advance:
                for number, stored in run_all(_make, pieces, jobs):
                    runs[pieces[number].key] = stored
                    advance(cost(pieces[number].key.policy))
        except KeyboardInterrupt:
            narrate(f"interrupted: {len(runs)} of {len(keys)} runs are in {folder}; the same command makes the others")
            raise
    return {key: runs[key] for key in keys}


@lru_cache(maxsize=1)
def _data(folder: str, node_list: str) -> OpenbData:
    return OpenbData(folder, node_list)


@lru_cache(maxsize=4)
def _typical(folder: str, node_list: str, trace: str, threshold: float, step: int) -> TypicalPods:
    return TypicalPods.of_pods(_data(folder, node_list).pods(trace), threshold=threshold, step=step)


def _make(piece: _Piece) -> StoredRun:
    scenario, key, spec = piece.scenario, piece.key, piece.scenario.spec
    data = _data(piece.data, spec.nodes)
    begun = process_time()
    workload = scenario.workload(data, key.trace, key.seed)
    rule = spec.typical_pods
    typical = _typical(piece.data, spec.nodes, key.trace, rule.threshold, rule.step)
    ordered = OrderedCluster(workload, scenario.profile(key.policy, key.seed), typical, key.seed)
    run = ordered.fill()
    seconds = process_time() - begun
    moved = None
    if spec.defragment is not None:
        moved = defragment(ordered.cluster, ordered.place, spec.defragment.share, spec.defragment.per_node).document()
    write_run(Path(piece.path), piece.made_from, run, seconds, moved)
    return StoredRun(run.columns, run.causes, run.capacity, len(run.rows), run.num_failed, seconds, moved)


# -- telling -----------------------------------------------------------------------------------------------------------


def _draw(results: Results, folder: Path) -> None:
    if importlib.util.find_spec("matplotlib") is None:
        narrate("note: no PNG figures without matplotlib; pip install 'fairway[plots]' brings it")
        return
    from fairway.cli.order_figures import bars_by_family, lines_of_trace, stacks_of_trace
    from fairway.cli.order_png import draw_bars, draw_lines, draw_stacks

    figures = folder / "figures"
    with progress("drawing", len(results.traces)) as advance:
        for bars in bars_by_family(results):
            draw_bars(bars, figures / f"{bars.name}.png")
        for trace in results.traces:
            heading = f"{results.name}, trace {trace}"
            draw_lines(lines_of_trace(results, trace), heading, figures / f"load-{trace}.png")
            stacks = stacks_of_trace(results, trace)
            draw_stacks(stacks, f"{stacks.title}: trace {trace}", figures / f"{stacks.name}.png")
            advance(1)


def _page(results: Results, scenario: OrderScenario, folder: Path, html: str | None) -> Path:
    from fairway.cli.order_report import order_html

    page = Path(html) if html is not None else folder / "report.html"
    page.write_text(order_html(results, scenario), encoding="utf-8")
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
