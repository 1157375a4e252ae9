"""`fairway conformance`: does the engine decide as kube-scheduler did, and place GPUs as was published?

In: files of recorded decisions (`corpus` reads them, `corpus_run` runs them). Out: a table of cases, pods and pods that
came out otherwise, by focus; on request the first differences in detail. Exit code 0: all match; 3: some do not.
Cases are independent of one another, so they are spread over all cores. With `--openb`, the published results of GPU
policies are checked instead, by `openb_conformance`; with `--slurm`, what a real Slurm planned, by `slurm_conformance`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

import click

from fairway.cli.help_text import CONTEXT, Command
from fairway.cli.main import CommandError
from fairway.cli.output import Column, emit, is_structured, narrate, output_option, progress, say
from fairway.exit_codes import NO

if TYPE_CHECKING:
    from fairway.conformance.corpus import CaseLine
    from fairway.conformance.corpus_run import CaseResult

__all__ = ["conformance"]

COLUMNS: Final = (
    Column("focus", "FOCUS"),
    Column("cases", "CASES", right=True),
    Column("pods", "PODS", right=True),
    Column("mismatches", "MISMATCHES", right=True),
)

HELP = """\b
Examples:
  fairway conformance tests/conformance/corpus           every focus, all cores
  fairway conformance mixed.jsonl.gz --show 3            the first three mismatches in detail
  fairway conformance corpus/ --case mixed-00012 -o json
  fairway conformance --openb openb/ --expected openb-expected/   the published results of GPU policies
  fairway conformance --slurm recorded/                  plans, shares and priorities of a real Slurm

Compare Fairway's decisions with those recorded from kube-scheduler.

CORPUS is a file of cases (.jsonl, .jsonl.gz; one a line) or a directory of such files. Everything that was recorded is
compared: which nodes fit and why others do not, every plugin's score on every node, the choice, messages, volumes,
preemption. A focus is the plugin, or the subject, that a case was made for.

With --openb DATA and --expected DIR, every run (trace, policy, seed) that tables (allo, frag, frag_ratio) or placement
files under DIR speak of is made from the openb trace under DATA: tables have to agree within 0.01 percentage points,
placements pod by pod and device by device, and for Random the means over seeds within 0.3 points.

With --slurm DIR, the files in DIR that were recorded from a real Slurm are made again. plan-*.jsonl.gz: a machine,
waiting jobs, and when and where Slurm planned them; job by job the start has to be Slurm's, and Fairway's own plan of
the whole has to be valid. fairshare*, priority*: trees of shares and priorities of jobs, which have to be the same.
swf/NAME.swf.gz with swf-expected/NAME.POLICY.starts.gz: logs of jobs, which are played through the whole engine and
have to start when they did in other simulators (some minutes). docs/batch.md says what each row of the table means.

\b
Exit codes: 0 all match; 3 some do not, or could not be run; 1 a file cannot be read.
"""


@click.command(cls=Command, help=HELP, context_settings=CONTEXT)
@click.argument("corpus", nargs=-1, type=click.Path(exists=True))
@click.option("--openb", metavar="DATA", type=click.Path(), help="The openb trace: check GPU policies instead.")
@click.option("--expected", metavar="DIR", type=click.Path(), help="With --openb: the published results.")
@click.option("--slurm", metavar="DIR", type=click.Path(exists=True), help="Recorded from Slurm: check this instead.")
@click.option(
    "--show", type=click.IntRange(min=0), default=0, metavar="N", help="Print the first N mismatches in detail."
)
@click.option("--case", "wanted", multiple=True, metavar="NAME", help="Run only this case; may be repeated.")
@click.option(
    "--jobs",
    type=click.IntRange(min=1),
    default=lambda: os.cpu_count() or 1,
    show_default="all cores",
    metavar="N",
    help="Processes to run cases in; 1: no other than this one.",
)
@output_option
@click.pass_context
def conformance(
    ctx: click.Context,
    corpus: Sequence[str],
    *,
    openb: str | None,
    expected: str | None,
    slurm: str | None,
    show: int,
    wanted: Sequence[str],
    jobs: int,
    output: str,
) -> None:
    """Run a corpus, or the published experiments; see HELP."""
    if slurm is not None:
        if openb is not None or expected is not None or corpus or wanted:
            raise click.UsageError("give --slurm DIR alone, without CORPUS, --case, --openb and --expected")
        from fairway.cli.slurm_conformance import check_slurm

        ctx.exit(check_slurm(slurm, jobs, show, output))
    if openb is not None or expected is not None:
        if openb is None or expected is None or corpus or wanted:
            raise click.UsageError("give --openb DATA and --expected DIR together, without CORPUS and --case")
        from fairway.cli.openb_conformance import check_openb

        ctx.exit(check_openb(openb, expected, jobs, show, output))
    if not corpus:
        raise click.UsageError("Missing argument 'CORPUS...'.")
    lines = _lines(corpus, wanted)
    results = []
    with progress("comparing", sum(len(line.data) for line in lines)) as advance:
        for size, result in _results(lines, jobs):
            results.append(result)
            advance(size)
    results.sort(key=lambda result: (result.focus, result.name))
    rows = _summary(results)
    if not rows[-1]["pods"]:
        raise click.ClickException("no case says what is expected: there is nothing to compare with")
    emit(rows, COLUMNS, output, document={**rows[-1], "focuses": rows[:-1], "first": _details(results, show)})
    if not is_structured(output):
        _narrate(results, show)
    ctx.exit(NO if rows[-1]["mismatches"] else 0)


def _lines(corpus: Sequence[str], wanted: Sequence[str]) -> list[CaseLine]:
    from fairway.conformance.corpus import case_name, read_lines

    lines = list(read_lines(corpus))
    if wanted:
        names = {case_name(line): line for line in lines}
        missing = [name for name in wanted if name not in names]
        if missing:
            raise click.BadParameter(f"no case is called {', '.join(missing)}", param_hint="--case")
        lines = [names[name] for name in wanted]
    if not lines:
        raise click.ClickException("the corpus has no cases")
    return lines


def _results(lines: Sequence[CaseLine], jobs: int) -> Iterator[tuple[int, CaseResult]]:
    """Every case's size and result, as they come in."""
    from fairway.pool import ProcessKilledError, run_all

    # The longest cases first, so that no process is left with one at the end.
    ordered = sorted(lines, key=lambda line: -len(line.data))
    try:
        yield from (result for _, result in run_all(_check, ordered, jobs))
    except ProcessKilledError as error:
        raise CommandError("a process was killed", "there may be too little memory; try --jobs 1") from error


def _check(line: CaseLine) -> tuple[int, CaseResult]:
    from fairway.conformance.corpus_run import check_line

    return len(line.data), check_line(line)


def _summary(results: Iterable[CaseResult]) -> list[dict[str, Any]]:
    """A row for each focus, and one for all together."""
    rows: dict[str, dict[str, Any]] = {}
    everything: dict[str, Any] = {"focus": "all", "cases": 0, "pods": 0, "mismatches": 0}
    for result in results:
        row = rows.setdefault(result.focus, {"focus": result.focus, "cases": 0, "pods": 0, "mismatches": 0})
        for counts in (row, everything):
            counts["cases"] += 1
            counts["pods"] += result.num_pods
            counts["mismatches"] += len(result.mismatches)
    return [*rows.values(), everything]


def _details(results: Iterable[CaseResult], show: int) -> list[dict[str, Any]]:
    details = [
        {
            "case": result.name,
            "focus": result.focus,
            "source": result.source,
            "pod": mismatch.pod,
            "differences": [difference._asdict() for difference in mismatch.differences],
        }
        for result in results
        for mismatch in result.mismatches
    ]
    return details[:show]


def _narrate(results: Sequence[CaseResult], show: int) -> None:
    for detail in _details(results, show):
        say(f"\n{detail['case']}, pod {detail['pod']} ({detail['source']})")
        for difference in detail["differences"]:
            say(f"  {difference['field']}")
            say(f"    expected  {difference['expected']}")
            say(f"    got       {difference['got']}")
    number = sum(len(result.mismatches) for result in results)
    if number > show:
        narrate(f"→ --show {min(number, 10)} prints the first mismatches in detail")
