"""What commands about queues have in common: which cluster or run, which moment, whose jobs.

In: nothing. Out: click options; `QueueCluster`, the cluster that is meant and where in it; `QueueSource`, that or a
run; and the queues of either, opened, so that one answer serves both. Used by the commands beside it.
"""

from __future__ import annotations

import contextlib
import functools
import shlex
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click

from fairway.cli.options.live import LiveCluster, live_options, scheduler_options
from fairway.cli.options.run import at_option, run_option, tell_notes
from fairway.cli.output import narrate
from fairway.words import time_text

if TYPE_CHECKING:
    from fairway.explain.queues.cluster_moment import ClusterQueues
    from fairway.explain.queues.queue_moment import QueueMoment
    from fairway.explain.queues.run_moment import RunMoment
    from fairway.live.scheduler_client import SchedulerAddress

__all__ = [
    "OpenQueues",
    "QueueCluster",
    "QueueSource",
    "ask_queues",
    "cluster_options",
    "moment_words",
    "open_moment",
    "open_queues",
    "queue_option",
    "source_options",
    "user_option",
]

F = TypeVar("F", bound=Callable[..., Any])


class QueueCluster(NamedTuple):
    """The cluster whose queues are meant, and where in it."""

    live: LiveCluster = LiveCluster(None, None)
    is_named: bool = False  # False: nobody named one, so the kubeconfig's current context is meant
    namespace: str | None = None  # as it was said; None: nobody said one
    is_everywhere: bool = False  # --all-namespaces

    @property
    def words(self) -> str:
        """The options that mean the same, for hints; "" for the current context."""
        words = [self.live.arguments] if self.is_named else []
        words += [] if self.namespace is None else ["-n", shlex.quote(self.namespace)]
        return " ".join([*words, *(["-A"] if self.is_everywhere else [])])

    def within(self, name: str) -> QueueCluster:
        """The same, for a job of that name: a namespace in it is the one to look at."""
        namespace = name.removeprefix("job/").rpartition("/")[0]
        return self if not namespace or self.namespace else self._replace(namespace=namespace)

    def job_name(self, name: str, default: str) -> tuple[str, str]:
        """Namespace and name of a job as it was written: `ml/train`, `job/train`, or `train` in -n or in `default`."""
        namespace, _, rest = name.removeprefix("job/").rpartition("/")
        return namespace or self.namespace or default, rest


def cluster_options(command: F) -> F:
    """Add the options that say which cluster, and where in it; the value arrives as `cluster`, a `QueueCluster`."""

    @functools.wraps(command)
    def with_place(
        *args: Any, live: LiveCluster | None, namespace: str | None, all_namespaces: bool, **rest: Any
    ) -> Any:
        if namespace is not None and all_namespaces:
            raise click.UsageError("--namespace and --all-namespaces exclude each other", click.get_current_context())
        named = QueueCluster() if live is None else QueueCluster(live, is_named=True)
        return command(*args, cluster=named._replace(namespace=namespace, is_everywhere=all_namespaces), **rest)

    options = (
        click.option("-n", "--namespace", metavar="NAME", help="In this namespace only."),
        click.option("-A", "--all-namespaces", is_flag=True, help="In all namespaces."),
    )
    made: Any = with_place
    for option in reversed(options):
        made = option(made)
    return live_options(made)  # type: ignore[no-any-return]


def run_options(command: F) -> F:
    """Add --run and --at."""
    made: Any = run_option(at_option(command))
    return made  # type: ignore[no-any-return]


queue_option = click.option("--queue", metavar="QUEUE", help="Jobs of this queue only.")
user_option = click.option("--user", metavar="USER", help="Jobs of this user only.")


@contextlib.contextmanager
def open_moment(run_path: str, at: float | None) -> Iterator[RunMoment]:
    """The moment of the run, after what is to be said of the run was said."""
    from fairway.explain.queues.run_moment import RunMoment
    from fairway.explain.run_time import check_time
    from fairway.record import Run

    with Run.open(run_path) as run:
        tell_notes(run)
        yield RunMoment(run, check_time(run, at))


def moment_words(run_path: str | None, at: float) -> str:
    """The options that mean the same moment, for hints."""
    return f"--run {shlex.quote(run_path or '')} --at {shlex.quote(time_text(at))}"


class QueueSource(NamedTuple):
    """Whose queues are asked about: those of a run at a moment, or those of a cluster now."""

    run_path: str | None
    at: float | None
    cluster: QueueCluster
    scheduler: SchedulerAddress | None = None  # asked for what only it knows

    @property
    def is_run(self) -> bool:
        """Is it a run?"""
        return self.run_path is not None

    def refuse(self, *, of_runs: bool, **given: object) -> None:
        """Complain about options that are for the other kind."""
        for name, value in given.items():
            if value not in (None, False) and self.is_run is not of_runs:
                what = "a run: --run RUN" if of_runs else "a live cluster, not for a run"
                raise click.UsageError(f"--{name.replace('_', '-')} is for {what}", click.get_current_context())


class OpenQueues(NamedTuple):
    """Queues that can be asked."""

    moment: QueueMoment
    about: dict[str, Any]  # what a document says of where it is from
    words: str  # options that mean the same, for hints
    run: RunMoment | None = None  # if it is a run

    def hint(self, command: str) -> None:
        """What to ask next."""
        narrate(f"→ fairway {command} {self.words}".rstrip())


def source_options(command: F) -> F:
    """Add the options that say whose queues; the value arrives as `source`, a `QueueSource`."""

    @functools.wraps(command)
    def with_source(
        *args: Any,
        run_path: str | None,
        at: float | None,
        cluster: QueueCluster,
        scheduler: SchedulerAddress | None,
        **rest: Any,
    ) -> Any:
        context = click.get_current_context()
        if run_path is None and at is not None:
            raise click.UsageError("--at is about a moment of a run: --run RUN", context)
        others = {"--live, --context and --kubeconfig": cluster.is_named, "--scheduler": scheduler is not None,
                  "--all-namespaces": cluster.is_everywhere}  # fmt: skip
        for name, is_given in others.items():
            if run_path is not None and is_given:
                raise click.UsageError(f"{name} and --run exclude each other", context)
        return command(*args, source=QueueSource(run_path, at, cluster, scheduler), **rest)

    made: Any = run_options(cluster_options(scheduler_options(with_source)))
    return made  # type: ignore[no-any-return]


@contextlib.contextmanager
def open_queues(source: QueueSource, needed: Sequence[str], useful: Sequence[str] = ()) -> Iterator[OpenQueues]:
    """The queues that are meant; `needed` and `useful`: the kinds that are read of a cluster, as RBAC calls them."""
    if source.run_path is not None:
        with open_moment(source.run_path, source.at) as moment:
            yield OpenQueues(moment, {"run": source.run_path}, moment_words(source.run_path, moment.at), moment)
        return
    from fairway.cli.run import live_errors

    found = live_errors(_read(source.cluster, needed, useful))
    for note in found.notes:
        narrate(f"note: {note}")
    yield OpenQueues(found.moment, {"cluster": found.url}, source.cluster.words)


async def _read(cluster: QueueCluster, needed: Sequence[str], useful: Sequence[str]) -> ClusterQueues:
    from fairway.explain.queues.cluster_moment import KindsWanted, read_queues
    from fairway.live.api.clock import SystemClock
    from fairway.live.api.connection import Connection

    clock = SystemClock()
    connection = await Connection.open(*cluster.live, user_agent_suffix="command", clock=clock, warn=narrate)
    try:
        home = None if cluster.is_everywhere else connection.namespace
        wanted = KindsWanted(needed, useful)
        return await read_queues(
            connection, connection.url, wanted, clock.now(), namespace=cluster.namespace, home=home
        )
    finally:
        await connection.close()


def ask_queues(source: QueueSource, path: str, body: bytes | None = None) -> dict[str, Any]:
    """What the scheduler says itself, that --scheduler names."""
    from fairway.cli.scheduler_api import ask_scheduler

    assert source.scheduler is not None
    return ask_scheduler(source.scheduler, source.cluster.live, path, body)
