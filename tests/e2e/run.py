"""One scheduler's run through the specs, on a control plane of its own.

In: a scheduler's name, the test program, the suites and an expression for the names of specs. Out: the file of results,
beside the logs of everything that took part. The suites run one after the other, each spec on its own: many of them
count what is on the nodes. Called by `__main__`, in a thread for each scheduler: a failure of one ends the other too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Event
from typing import NamedTuple

from tests.e2e.cluster import NUM_NODES, Cluster
from tests.e2e.report import Results, read_results
from tests.e2e.specs import chosen_files, skipped_names
from tests.kube.processes import Program, wait_until

__all__ = ["Choice", "run_specs"]


class Choice(NamedTuple):
    """What is run: the test program, which of its specs, for how long at most; and the sign to break off."""

    specs: Path
    suites: Sequence[str]
    focus: str
    hours: float
    is_over: Event


def run_specs(scheduler: str, choice: Choice, logs: Path, say: Callable[[str], None]) -> Results:
    """Start everything, run the suites, stop everything; the results stay in `logs`."""
    results = logs / "results.jsonl"
    cluster = Cluster(logs)
    try:
        say("starting a control plane ...")
        cluster.start()
        program = cluster.start_scheduler(scheduler)
        for suite in choice.suites:
            if program.is_running:
                _run_suite(cluster, program, suite, choice, results, say)
    except BaseException:
        choice.is_over.set()
        raise
    finally:
        cluster.stop()
    return read_results(results)


def _run_suite(
    cluster: Cluster, scheduler: Program, suite: str, choice: Choice, results: Path, say: Callable[[str], None]
) -> None:
    log = cluster.directory / f"specs-{suite}.log"
    flags = [
        f"--kubeconfig={cluster.kubeconfig()}",
        "--provider=skeleton",
        f"--num-nodes={NUM_NODES}",
        "--dump-logs-on-failure=false",  # there are none
        "--disable-log-dump=true",
        f"--results={results}",
        f"--ginkgo.focus-file={chosen_files(suite)}",
        f"--ginkgo.skip={skipped_names()}",
        f"--ginkgo.timeout={choice.hours:g}h",
        "--ginkgo.no-color",
        "--ginkgo.v",
        "--ginkgo.seed=1",  # the same order for both
    ]
    if choice.focus:
        flags.append(f"--ginkgo.focus={choice.focus}")
    known = len(read_results(results).specs)
    say(f"running the specs of test/e2e/{suite}; their log is {log}")
    program = Program([choice.specs, *flags], log)
    seen = known

    def has_ended() -> bool:
        nonlocal seen
        is_over = not program.is_running  # first, so that nothing written before the end is missed
        so_far = read_results(results)
        for result in list(so_far.specs.values())[seen:]:
            seen += 1
            say(f"{seen}/{so_far.planned} {result.state:7} {result.seconds:6.1f} s  {result.name}")
        return is_over or choice.is_over.is_set() or not scheduler.is_running

    try:
        wait_until(has_ended, f"the specs of {suite} have ended", choice.hours * 3600 + 120, every=0.5)
    finally:
        code = program.stop()
    if seen < read_results(results).planned or (code and seen == known):
        say(f"the test program ended early, with code {code}; {log} says why")
    elif seen == known:
        say(f"no spec of test/e2e/{suite} has been chosen")
    if not scheduler.is_running:
        say(f"the scheduler has ended, with code {scheduler.exit_code()}; {scheduler.log} says why")
