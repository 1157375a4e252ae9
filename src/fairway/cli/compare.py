"""`fairway compare`: which is better, and where do they differ?

In: recorded runs, or a scenario with several policies and seeds, which are run in parallel. Out: metrics side by side
with what changed and how much of it is chance, the first different decision, and a report. Exit code 3 if a
`--fail-if` tripped.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from fairway.cli.help_text import CONTEXT, Command
from fairway.cli.optimum.options import (
    OptimumChoices,
    judge_policies,
    optimum_documents,
    optimum_options,
    optimum_section,
    print_optimum,
)
from fairway.cli.options.order import (
    OrderChoices,
    is_order_scenario,
    order_options,
    refuse_order_options,
    refuse_others,
)
from fairway.cli.options.scenario import FORMER_NAMES, change_options
from fairway.cli.output import Column, again, emit, is_structured, narrate, output_option, paint, progress, say
from fairway.exit_codes import FAILED, NO, NOT_COUNTED

if TYPE_CHECKING:
    from fairway.compare.gate import Gate
    from fairway.compare.metrics import Comparison, PolicyRuns
    from fairway.compare.simulations import Finished
    from fairway.record import Run

__all__ = ["compare", "show_comparison"]

HELP = """\b
Examples:
  fairway compare day.yaml --policy default --policy packed --seeds 5
  fairway compare default.duckdb packed.duckdb --html report.html
  fairway compare day.yaml --policy default --policy new.yaml --fail-if 'wait_p95>+5%'
  fairway compare day.yaml --optimum                 how far is each from the best possible placement?
  fairway compare examples/openb/demo.yaml           GPU sharing policies, by how much they leave unallocated

Compare policies: metrics side by side, what changed against the first one, and the first different decision.

Give recorded RUNS, or one SCENARIO: then each policy (without --policy: all of them) is run with each seed, in
parallel. With several seeds, ± is the standard deviation over them. --fail-if makes the exit code 3: 'wait_p95>+5%' is
a change against the first policy, 'pods_waiting>0' a value, which no policy may have, the first included.

An OrderScenario (docs/openb.md) runs policies × traces × seeds of GPU sharing experiments into a folder, --save; what
is there already is not run again.

\b
Exit codes: 0 they were compared; 1 a file or a plugin is wrong, or attempts to place a pod ended in an error, as when
a plugin raises; 2 usage; 3 a --fail-if came true; 5 they were compared, but something that may make pods was not
counted; 130 interrupted.
"""

MAGIC: Final = b"DUCK"  # in a DuckDB file, after a checksum of 8 bytes


@click.command(cls=Command, help=HELP, context_settings={**CONTEXT, **FORMER_NAMES})
@click.argument("sources", nargs=-1, required=True, type=click.Path(), metavar="RUN...|SCENARIO")
@change_options
@order_options
@click.option("--seeds", type=click.IntRange(1, 10_000), metavar="N", help="So many seeds, counted up from the first.")
@click.option("--jobs", type=click.IntRange(min=1), metavar="N", help="So many processes.  [default: CPUs]")
@click.option("--fail-if", "conditions", multiple=True, metavar="CONDITION", help="Exit with 3 if this comes true.")
@click.option("--html", metavar="FILE", type=click.Path(dir_okay=False), help="Write a report with plots.")
@click.option("--save", metavar="RUN", type=click.Path(), help="Keep the runs, named RUN-policy-seedN.")
@optimum_options(of_runs=True)
@output_option
def compare(
    sources: Sequence[str],
    *,
    policies: Sequence[str],
    seeds: int | None,
    jobs: int | None,
    conditions: Sequence[str],
    html: str | None,
    save: str | None,
    output: str,
    traces: Sequence[str],
    openb: str | None,
    expected: str | None,
    optimum: OptimumChoices | None,
    **changes: Any,
) -> int:
    """Compare policies; see HELP."""
    from fairway.compare.gate import GateError, parse_gate

    if html is not None:
        from fairway.compare.report_file import check_report_place

        check_report_place(Path(html))
    wanted = OrderChoices(policies, traces, changes["seed"], seeds, openb, expected, save, html, jobs, output)
    if len(sources) == 1 and not _is_run(sources[0]) and is_order_scenario(sources[0]):
        refuse_others({**changes, "fail_if": conditions, "optimum": optimum})
        from fairway.cli.order_experiment import compare_in_order

        return compare_in_order(sources[0], wanted)
    refuse_order_options(wanted)
    try:
        gates = [parse_gate(text) for text in conditions]
    except GateError as error:
        raise click.UsageError(str(error)) from error
    if len(sources) > 1 or _is_run(sources[0]):
        of_scenario = {**changes, "policy": policies, "seeds": seeds, "save": save, "jobs": jobs}
        for name, value in of_scenario.items():
            if value not in (None, False, ()):
                raise click.UsageError(f"--{name} is for a SCENARIO; these are runs, which are what they are")
        return _compare(_read_policies(sources), gates, html, output, optimum, is_kept=True)
    with tempfile.TemporaryDirectory(prefix="fairway-") as folder:
        path = save or str(Path(folder) / "run.duckdb")
        finished = _run(sources[0], policies, seeds or 1, jobs, path, changes, is_kept=save is not None)
        from fairway.compare.policies import policies_of

        code = _compare(policies_of(finished), gates, html, output, optimum, is_kept=save is not None)
        from fairway.cli.sim import tell_not_counted

        tell_not_counted(finished, output)
        if any(one.num_errors for one in finished):
            return FAILED
        return code or (NOT_COUNTED if finished[0].not_counted else 0)


def _run(
    source: str,
    policies: Sequence[str],
    num_seeds: int,
    jobs: int | None,
    save: str,
    changes: dict[str, Any],
    *,
    is_kept: bool,
) -> list[Finished]:
    from fairway.cli.options.scenario import read_scenario, run_path, with_policies
    from fairway.cli.sim import check_place, tell_problems
    from fairway.cli.simulation_bar import run_with_bar
    from fairway.compare.simulations import SimulationJob
    from fairway.pool import num_cpus

    scenario = read_scenario(source, **changes)
    scenario, names = with_policies(scenario, policies or scenario.policy_names)
    seeds = range(scenario.seed, scenario.seed + num_seeds)
    todo = [
        SimulationJob(scenario, name, seed, run_path(save, name, None if num_seeds == 1 else seed))
        for seed in seeds
        for name in names
    ]
    check_place([job.path for job in todo])
    finished = run_with_bar(todo, jobs or num_cpus(), is_kept=is_kept)
    tell_problems(finished)
    if scenario.spec.defragment is not None:
        from fairway.compare.defragmentations import step_lines

        for line in step_lines(finished):
            narrate(f"note: {line}")
    return finished


def _is_run(path: str) -> bool:
    try:
        with Path(path).open("rb") as stream:
            return stream.read(12)[8:] == MAGIC
    except OSError:
        return path.endswith((".duckdb", ".db"))


def _read_policies(paths: Sequence[str]) -> list[PolicyRuns]:
    """The runs, measured, with a bar; what they say about themselves is told."""
    from fairway.cli.options.run import tell_notes
    from fairway.compare.policies import read_policies
    from fairway.compare.relation import origin_of, unrelated

    origins = []
    with progress("measuring", len(paths)) as advance:

        def opened(run: Run) -> None:
            origins.append(origin_of(run))
            if not run.is_complete:
                narrate(f"note: {run.path} is incomplete: {run.meta.get('interruption', 'it was interrupted')}")
            tell_notes(run)
            advance(1)

        policies = read_policies(paths, opened)
    for sentence in unrelated(origins):
        narrate(f"warning: {sentence}")
    return policies


def show_comparison(finished: Sequence[Finished], output: str, *, is_kept: bool) -> None:
    """The comparison of simulations that were just run, for `sim`, which has proposals of its own."""
    from fairway.compare.policies import policies_of

    _compare(policies_of(finished), (), None, output, is_kept=is_kept, proposes=False)


def _compare(
    policies: Sequence[PolicyRuns],
    gates: Sequence[Gate],
    html: str | None,
    output: str,
    optimum: OptimumChoices | None = None,
    *,
    is_kept: bool,
    proposes: bool = True,
) -> int:
    from fairway.compare.gate import GateError, tripped
    from fairway.compare.metrics import compare_policies
    from fairway.compare.partings import partings, why_commands
    from fairway.compare.text import comparison_document, comparison_lines, shown_rows

    comparison = compare_policies(policies)
    parted = partings(comparison)
    judged = judge_policies(policies, optimum)
    try:
        failures = [sentence for gate in gates for sentence in tripped(gate, comparison)]
    except GateError as error:
        raise click.UsageError(str(error)) from error
    if html is not None:
        from fairway.compare.report import report_html
        from fairway.compare.report_file import write_report

        best = optimum_section(judged, optimum)
        write_report(Path(html), report_html(comparison, parted, failures, is_kept=is_kept, optimum=best))
    if output in ("table", "wide"):
        for line in comparison_lines(comparison, shown_rows(comparison, everything=output == "wide"), paint):
            click.echo(line)  # it is made visible already, but for the colours
        for parting in parted:
            hint = ""
            if is_kept and (commands := why_commands(parting, policies)):
                hint = f" → {commands[-1]}"
            say(parting.sentence(comparison.first.name) + hint)
        print_optimum(judged, optimum)
    else:
        document = comparison_document(comparison)
        if not is_kept:
            for policy in document["policies"]:
                policy["runs"] = []
        document["first_difference"] = [parting.document() for parting in parted]
        document["failed"] = failures
        emit(*_table(comparison), output, document=document | optimum_documents(judged))
    if html is not None:
        narrate(f"report: {html}")
    for sentence in failures:
        narrate(f"failed: {sentence}")
    if proposes and not is_kept and not is_structured(output) and any(parting.pod for parting in parted):
        narrate("to ask why they part there, keep the runs:")
        narrate(f"→ {again('--save', 'compared.duckdb')}")
    return NO if failures else 0


def _table(comparison: Comparison) -> tuple[list[dict[str, Any]], list[Column]]:
    columns = [Column("metric", "METRIC"), Column("unit", "UNIT")]
    for policy in comparison.policies:
        columns += [Column(policy.name, policy.name), Column(f"{policy.name} std", f"{policy.name} std")]
    columns += [Column(f"{policy.name} delta", f"{policy.name} delta") for policy in comparison.policies[1:]]
    rows = []
    for row in comparison.rows:
        cells: dict[str, Any] = {"metric": row.name, "unit": row.definition.unit}
        for name, value in row.values.items():
            cells |= {name: value.mean, f"{name} std": value.std}
        cells |= {f"{name} delta": delta.mean for name, delta in row.deltas.items()}
        rows.append(cells)
    return rows, columns
