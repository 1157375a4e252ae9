"""`fairway bench`: how fast are decisions, and how much memory do they take?

In: a size and a mix of pods to make up (`bench.workloads`), or cases of a corpus file. Out: pods a second, latency,
memory, and the time to decode and load, measured by `bench.measurement`: the median of several runs.
The floors that must not be gone below are in `benchmarks/run.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, cast

import click
from click.core import ParameterSource

from fairway.cli.help_text import CONTEXT, Command
from fairway.cli.output import Column, emit, output_option, progress

if TYPE_CHECKING:
    from fairway.bench.measurement import Measurement
    from fairway.config.config_file import Sampling

__all__ = ["bench"]

COLUMNS: Final = (
    Column("workload", "WORKLOAD"),
    Column("sampling", "SAMPLING"),
    Column("nodes", "NODES", right=True),
    Column("pods", "PODS", right=True),
    Column("pods_per_second", "PODS/S", right=True),
    Column("p50_ms", "P50 MS", right=True),
    Column("p99_ms", "P99 MS", right=True),
    Column("max_ms", "MAX MS", right=True),
    Column("new_class_ms", "NEW CLASS MS", right=True),
    Column("peak_mib", "PEAK MIB", right=True),
    Column("scheduled", "SCHEDULED", right=True),
    Column("failed", "FAILED", right=True),
    Column("decode_seconds", "DECODE S", right=True),
    Column("load_seconds", "LOAD S", right=True),
    Column("repeat", "RUNS", right=True, wide=True),
    Column("seed", "SEED", right=True, wide=True),
)
SAMPLINGS: Final = ("all", "kube", "two-choices")
"""Those of `config_file.Sampling`, whose import would make --help wait; a test compares them."""
MAX_NODES: Final = 1_000_000
MAX_PODS: Final = 10_000_000
"""Beyond these a typing mistake is likelier than a wish; they would fill the memory before anything is measured."""

MIX_NAMES: Final = ("plain", "classes", "spread", "antiaffinity", "affinity", "mixed")

HELP = """\b
Examples:
  fairway bench --nodes 5000 --pods 20000 --mix mixed
  fairway bench --nodes 5000 --pods 20000 --mix plain --sampling kube -o json
  fairway bench case.jsonl --case replay-00001

Measure the decision loop: for every pod, decide where it goes and put it there.

CASE is a corpus file (.jsonl, .jsonl.gz); every case in it is run, or those named with --case, each pod with the
profile that its schedulerName names. Without CASE a cluster
is made up: nodes of three sizes (32, 48, 64 CPU with 4Gi each, 110 pods) in 10 zones, and pods of a mix:

\b
  plain         one class of pods: 500m CPU, 1Gi memory
  classes       20 classes that differ in their requests
  spread        20 apps, each spread over the zones (DoNotSchedule, maxSkew 1)
  antiaffinity  20 apps, no two pods of an app on one node (required anti-affinity)
  affinity      20 apps that prefer zones of another app, a disk and a pool
  mixed         20 apps with a service each, of ten kinds: plain, several sizes, tolerations (a tenth of the
                nodes is tainted), node selectors, preferred node affinity, hard and soft spreading,
                anti-affinity, preferred affinity, host ports

Times are wall clock of one thread; the garbage collector is on, with what was loaded frozen. Decoding and loading are
measured apart. NEW CLASS is a decision about a pod unlike any before it.
"""


@click.command(cls=Command, help=HELP, context_settings=CONTEXT)
@click.argument("case", required=False, type=click.Path(exists=True))
@click.option(
    "--case", "wanted", multiple=True, metavar="NAME", help="Run only this case of the file; may be repeated."
)
@click.option("--nodes", type=click.IntRange(1, MAX_NODES), default=1000, show_default=True, help="Nodes to make up.")
@click.option("--pods", type=click.IntRange(1, MAX_PODS), default=10000, show_default=True, help="Pods to make up.")
@click.option("--mix", type=click.Choice(MIX_NAMES), default="plain", show_default=True, help="What the pods are like.")
@click.option(
    "--sampling",
    type=click.Choice(SAMPLINGS),
    default="all",
    show_default=True,
    help="Score all feasible nodes, as many as kube-scheduler would, or two drawn at random.",
)
@click.option("--repeat", type=click.IntRange(min=1), default=3, show_default=True, help="Runs; the median is printed.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of the pods, and of ties.")
@output_option
@click.pass_context
def bench(
    ctx: click.Context,
    *,
    case: str | None,
    wanted: tuple[str, ...],
    nodes: int,
    pods: int,
    mix: str,
    sampling: str,
    repeat: int,
    seed: int,
    output: str,
) -> None:
    """Measure; see HELP."""
    shared = {"sampling": sampling, "repeat": repeat, "seed": seed}
    if case is None:
        if wanted:
            raise click.UsageError("--case names a case of a file; give the file too", ctx)
        values = _bench_mix(nodes, pods, mix, sampling, repeat, seed)
        row = {"workload": mix, "mix": mix, **shared, **values}
        emit([row], COLUMNS, output, document=row)
        return
    for option in ("nodes", "pods", "mix"):
        if ctx.get_parameter_source(option) is ParameterSource.COMMANDLINE:
            raise click.UsageError(f"--{option} is for a cluster that is made up; {case} says what there is", ctx)
    rows = [
        {"workload": name, **shared, **values} for name, values in _bench_file(case, wanted, sampling, repeat, seed)
    ]
    emit(rows, COLUMNS, output)


def _bench_mix(nodes: int, pods: int, mix: str, sampling: str, repeat: int, seed: int) -> dict[str, Any]:
    from fairway.bench.measurement import measure
    from fairway.bench.workloads import make_workload

    workload = make_workload(nodes, pods, mix, seed)

    def run(advance: Callable[[float], None]) -> Measurement:
        return measure(*workload, sampling=cast("Sampling", sampling), seed=seed, advance=advance)

    return _repeat(mix, run, pods, repeat)


def _bench_file(
    path: str, wanted: tuple[str, ...], sampling: str, repeat: int, seed: int
) -> list[tuple[str, dict[str, Any]]]:
    from fairway.bench.measurement import measure
    from fairway.conformance.corpus import RawCase, raw_case, read_lines

    lines = list(read_lines([path]))
    cases = [raw_case(line) for line in lines]
    if not cases:
        raise click.ClickException(f"{path} has no cases")
    missing = [name for name in wanted if name not in {case.name for case in cases}]
    if missing:
        raise click.BadParameter(f"no case of {path} is called {', '.join(missing)}", param_hint="--case")

    def bench_case(case: RawCase, source: str) -> dict[str, Any]:
        def run(advance: Callable[[float], None]) -> Measurement:
            return measure(
                case.objects,
                case.pods,
                config=case.config,
                source=source,
                sampling=cast("Sampling", sampling),
                seed=seed,
                advance=advance,
            )

        return _repeat(case.name, run, len(case.pods), repeat)

    return [
        (case.name, bench_case(case, line.source))
        for case, line in zip(cases, lines, strict=True)
        if not wanted or case.name in wanted
    ]


def _repeat(name: str, run: Callable[[Callable[[float], None]], Measurement], pods: int, repeat: int) -> dict[str, Any]:
    from fairway.bench.measurement import median_of

    with progress(name, pods * repeat) as advance:
        return median_of([run(advance) for _ in range(repeat)]).values()
