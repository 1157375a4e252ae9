"""`fairway sim`: what would this policy do?

In: a scenario, and what to change in it. Out: what a day came to, in numbers, and what to try next; with several
policies, their comparison. Runs that nobody wants to keep are recorded in a temporary folder, for the metrics.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fairway.cli.help_text import CONTEXT, Command
from fairway.cli.options.scenario import FORMER_NAMES, change_options
from fairway.cli.output import Column, emit, is_structured, narrate, output_option, say
from fairway.cli.stream.options import ADDRESS
from fairway.cli.stream.sim_stream import streaming
from fairway.exit_codes import FAILED, NO, NOT_COUNTED

if TYPE_CHECKING:
    from fairway.compare.fewest_nodes import SizeTried
    from fairway.compare.simulations import Finished
    from fairway.scenario.scenario import Scenario
    from fairway.stream.address import Address

__all__ = ["check_place", "sim", "tell_problems"]

HELP = """\b
Examples:
  fairway sim day.yaml                                          what would happen?
  fairway sim day.yaml --policy default --policy packed         and with another policy?
  fairway sim day.yaml --nodes 800 --until 12h --save day.duckdb
  fairway sim --nodes nodes.yaml --workload pods.yaml           without a scenario file
  fairway sim day.yaml --print-scenario                         with everything that was left open
  fairway sim day.yaml --fewest-nodes 'wait_p95<60s'            how many nodes would do?
  fairway sim --replay day.duckdb                               does it come out the same again?

Simulate a cluster: what runs where, who waits and for how long.

SCENARIO is a file of kind Scenario: a cluster, a workload, schedulers, what goes wrong. The same scenario and seed give
the same decisions. --save keeps the run, with every decision, for why, status and compare; with several policies there
is one for each, named after it.

--fewest-nodes simulates clusters of other sizes, in the proportions of the scenario's groups of nodes, until the
smallest is found that keeps the conditions. Unless one speaks of pods (pods_waiting<=3), all pods have to be placed.

\b
Exit codes: 0 it was simulated, whatever came of it; 1 a file or a plugin is wrong, or attempts to place a pod ended in
an error, as when a plugin raises; 2 usage; 3 with --replay: it came out otherwise, with --fewest-nodes: no size keeps
the conditions; 5 it was simulated, but something that may make pods was not counted; 130 interrupted.
"""

COLUMNS = (
    Column("metric", "METRIC"),
    Column("value", "VALUE", right=True),
    Column("unit", "UNIT"),
    Column("better", "BETTER", wide=True),
    Column("meaning", "MEANING", wide=True),
)
NUM_PROBLEMS = 5


@click.command(cls=Command, help=HELP, context_settings={**CONTEXT, **FORMER_NAMES})
@click.argument("scenario", required=False, type=click.Path())
@change_options
@click.option("--save", metavar="RUN", type=click.Path(), help="Keep the run in this file.")
@click.option(
    "--replay", "replayed", metavar="RUN", type=click.Path(), help="Run a saved run again: is every decision the same?"
)
@click.option("--stream", type=ADDRESS, help="Tell everything as it happens, to fairway watch.")
@click.option(
    "--fewest-nodes",
    "conditions",
    multiple=True,
    metavar="CONDITION",
    help="Instead: the smallest cluster of which this is true, such as wait_p95<60s; may be given several times.",
)
@click.option("--print-scenario", is_flag=True, help="Print the completed scenario, run nothing.")
@click.option("--jobs", type=click.IntRange(min=1), metavar="N", help="So many policies at a time.  [default: CPUs]")
@output_option
def sim(
    scenario: str | None,
    *,
    policies: Sequence[str],
    save: str | None,
    replayed: str | None,
    conditions: Sequence[str],
    print_scenario: bool,
    jobs: int | None,
    stream: Address | None,
    output: str,
    **changes: Any,
) -> int:
    """Run a scenario; see HELP."""
    if replayed is not None:
        from fairway.cli.replay import replay

        others = {
            "SCENARIO": scenario,
            "--policy": policies,
            "--save": save,
            "--print-scenario": print_scenario,
            "--stream": stream,
            "--fewest-nodes": conditions,
        }
        others |= {f"--{name.replace('_', '-')}": value for name, value in changes.items()}
        given = [name for name, value in others.items() if value not in (None, False, ())]
        if given:
            raise click.UsageError(f"--replay takes all from the run; leave out {', '.join(given)}")
        return replay(replayed, output)
    from fairway.cli.options.scenario import read_scenario, run_path, with_policies
    from fairway.cli.simulation_bar import run_with_bar
    from fairway.compare.simulations import SimulationJob
    from fairway.pool import num_cpus

    wanted = read_scenario(scenario, **changes)
    wanted, names = with_policies(wanted, policies or ("default",), is_run=not print_scenario)
    if conditions:
        if save is not None or print_scenario or stream is not None:
            raise click.UsageError("--fewest-nodes keeps no run: leave out --save, --stream and --print-scenario")
        return _fewest_nodes(wanted, names, conditions, jobs or num_cpus(), output)
    if print_scenario:
        _print_scenario(wanted, names, output)
        return 0
    with tempfile.TemporaryDirectory(prefix="fairway-") as folder:
        path = save or str(Path(folder) / "run.duckdb")
        paths = {name: path if len(names) == 1 else run_path(path, name, None) for name in names}
        check_place(paths.values())
        with streaming(stream, len(names), is_timed=wanted.spec.record.plugin_times) as follower:
            todo = [SimulationJob(wanted, name, wanted.seed, paths[name], follower) for name in names]
            finished = run_with_bar(todo, jobs or num_cpus(), is_kept=save is not None)
        tell_problems(finished)
        if wanted.spec.defragment is not None:
            from fairway.compare.defragmentations import step_lines

            for line in step_lines(finished):
                narrate(f"note: {line}")
        if len(names) > 1:
            from fairway.cli.compare import show_comparison

            show_comparison(finished, output, is_kept=save is not None)
        else:
            _show(wanted, finished[0], output, save)
        tell_not_counted(finished, output)
    if not is_structured(output):
        from fairway.cli.next_steps import next_lines

        for line in next_lines(scenario, changes, wanted, policies, save, finished):
            narrate(f"→ {line}")
    if any(one.num_errors for one in finished):
        return FAILED
    return NOT_COUNTED if finished[0].not_counted else 0


def _fewest_nodes(
    scenario: Scenario, names: Sequence[str], conditions: Sequence[str], num_processes: int, output: str
) -> int:
    """Search for each policy; every size is told as soon as it is known."""
    from fairway.cli.simulation_bar import run_with_bar
    from fairway.compare.fewest_nodes import (
        LARGEST,
        FewestNodes,
        judge,
        node_groups,
        num_generated,
        parse_conditions,
        search,
    )
    from fairway.compare.gate import GateError
    from fairway.compare.simulations import SimulationJob

    try:
        gates = parse_conditions(conditions)
    except GateError as error:
        raise click.UsageError(str(error)) from error
    start = num_generated(scenario)
    if not start:
        raise click.UsageError("--fewest-nodes needs nodes that the scenario generates (spec.cluster.nodes)")
    answers = []
    with tempfile.TemporaryDirectory(prefix="fairway-") as folder:
        for name in names:
            tried: dict[int, SizeTried] = {}

            def keeps(sizes: Sequence[int], name: str = name, tried: dict[int, SizeTried] = tried) -> list[bool]:
                todo = [
                    SimulationJob(scenario.with_overrides(nodes=size), name, scenario.seed, f"{folder}/{size}.duckdb")
                    for size in sizes
                ]
                finished = run_with_bar(todo, num_processes, is_kept=False)
                if not tried:
                    tell_problems(finished)
                for size, one in zip(sizes, finished, strict=True):
                    tried[size] = judge(size, gates, one.metrics.flat())
                    Path(one.path).unlink()
                    if not is_structured(output):
                        narrate(f"{name} · {size} nodes: {'yes' if tried[size].is_kept else 'no'}")
                return [tried[size].is_kept for size in sizes]

            search(keeps, start, LARGEST * start)
            answers.append(FewestNodes(name, gates, tuple(tried[size] for size in sorted(tried))))
    metrics = dict.fromkeys(gate.metric for gate in gates)
    columns = (
        *((Column("policy", "POLICY"),) if len(names) > 1 else ()),
        Column("nodes", "NODES", right=True),
        Column("kept", "KEPT"),
        *(Column(metric, metric.upper(), right=True) for metric in metrics),
    )
    rows = [row for answer in answers for row in answer.rows()]
    emit(rows, columns, output, document=[answer.document() for answer in answers])
    if not is_structured(output):
        say()
        for answer in answers:
            groups = "" if answer.num_nodes is None else node_groups(scenario.with_overrides(nodes=answer.num_nodes))
            say("\n".join(answer.lines(groups)))
    return 0 if all(answer.num_nodes is not None for answer in answers) else NO


def _print_scenario(scenario: Scenario, names: Sequence[str], output: str) -> None:
    from fairway.scenario.scenario import complete, to_yaml

    if len(names) == 1 and names != ["default"]:
        scenario = scenario.with_overrides(policy=names[0])
    whole = complete(scenario)
    if output == "json":
        emit([], (), "json", document=whole.as_dict())
    else:
        say(to_yaml(whole), nl=False)


def check_place(paths: Any, option: str = "--save") -> None:
    """A file that can not be written, or is not ours to replace, is told before the run, not after it."""
    from fairway.cli.main import CommandError
    from fairway.record.errors import CannotWriteError
    from fairway.record.writing.run_file import check_replaceable

    for path in map(Path, paths):
        try:
            check_replaceable(path)
        except CannotWriteError as error:
            raise CommandError(f"{option} {error}", "name another file, such as run.duckdb") from error
        if not path.parent.is_dir():
            raise CommandError(f"{option} {path}: there is no directory {path.parent}", f"mkdir -p {path.parent}")


def tell_problems(finished: Sequence[Finished]) -> None:
    """Each run of one scenario has read the same files."""
    problems = list(dict.fromkeys(problem for one in finished for problem in one.problems))
    for problem in problems[:NUM_PROBLEMS]:
        narrate(f"note: {problem}")
    if len(problems) > NUM_PROBLEMS:
        narrate(f"note: {len(problems) - NUM_PROBLEMS} more of these; --strict makes them errors, -o json lists all")


def tell_not_counted(finished: Sequence[Finished], output: str) -> None:
    """What may make pods, and whose pods are missing: each run of one scenario has read the same files."""
    for one in finished[0].not_counted:
        (narrate if is_structured(output) else say)(f"not counted: {one}")


def _show(scenario: Scenario, done: Finished, output: str, save: str | None) -> None:
    from fairway.compare.metrics import PolicyRuns, compare_policies
    from fairway.compare.text import metric_title, shown_rows, value_text
    from fairway.words import clock_text

    flat = done.metrics.flat()
    comparison = compare_policies([PolicyRuns(done.policy, {done.seed: flat}, {done.seed: done.path})])
    rows = shown_rows(comparison, everything=output != "table")
    if output in ("table", "wide"):
        length = clock_text(done.end_seconds)
        narrate(f"{scenario.name} · {done.policy} · seed {done.seed} · {length} in {done.cpu_seconds:.1f} s of CPU")
        lines = [(metric_title(row), value_text(row.values[done.policy].mean, row.definition)) for row in rows]
        left = max((len(title) for title, _ in lines), default=0) + 3
        right = max((len(value) for _, value in lines), default=0)
        for title, value in lines:
            say(f"{title.ljust(left)}{value.rjust(right)}")
        return
    document = {
        "scenario": scenario.name,
        "policy": done.policy,
        "seed": done.seed,
        "end_seconds": done.end_seconds,
        "conflicts": done.num_conflicts,
        "errors": done.num_errors,
        "metrics": done.metrics.to_dict(),
        "problems": done.problems,
        "notCounted": done.not_counted,
        "run": save,
    }
    table = [
        {
            "metric": row.name,
            "value": row.values[done.policy].mean,
            "unit": row.definition.unit,
            "better": row.definition.better,
            "meaning": row.definition.meaning,
        }
        for row in rows
    ]
    emit(table, COLUMNS, output, document=document)
