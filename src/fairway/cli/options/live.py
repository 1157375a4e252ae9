"""The options of commands that can look at a live cluster: which one.

In: nothing. Out: a decorator for click commands; the value arrives as `live`, a `LiveCluster`, or None if no live
cluster is meant. `--live` means the current context of the kubeconfig; naming a context or a kubeconfig implies it.
And those of asking a running scheduler: where it is, and how its certificate is checked.
And that of looking again and again.
Used by `why`, `try`, `status` and the commands about queues.
"""

from __future__ import annotations

import functools
import shlex
import sys
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeVar

import click

from fairway.cli.output import narrate, say

__all__ = [
    "LiveCluster",
    "live_options",
    "refuse_live",
    "refuse_with_scheduler",
    "repeat",
    "scheduler_options",
    "watch_option",
]

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")


class LiveCluster(NamedTuple):
    """A cluster to read, as it was named."""

    kubeconfig: str | None
    context: str | None

    @property
    def arguments(self) -> str:
        """The same as words of a command line, to be shown in a hint."""
        words = [] if self.kubeconfig is None else ["--kubeconfig", self.kubeconfig]
        words += [] if self.context is None else ["--context", self.context]
        return shlex.join(words or ["--live"])


def scheduler_options(command: F) -> F:
    """Add the options of asking a running scheduler; the value arrives as `scheduler`, a `SchedulerAddress` or None."""

    @functools.wraps(command)
    def with_scheduler(
        *args: Any,
        scheduler: str | None,
        certificate_authority: str | None,
        certificate_fingerprint: str | None,
        insecure_skip_tls_verify: bool,
        **rest: Any,
    ) -> Any:
        ways = {
            "--certificate-authority": certificate_authority,
            "--certificate-fingerprint": certificate_fingerprint,
            "--insecure-skip-tls-verify": insecure_skip_tls_verify,
        }
        given = [name for name, value in ways.items() if value]
        if scheduler is None:
            if given:
                raise click.UsageError(f"{given[0]} is about --scheduler, which is not given")
            return command(*args, scheduler=None, **rest)
        if len(given) > 1:
            raise click.UsageError(f"{given[0]} and {given[1]} exclude each other")
        from fairway.live.scheduler_client import SchedulerAddress

        if insecure_skip_tls_verify:
            narrate(f"warning: whoever answers at {scheduler} sees your token: its certificate is not checked")
        address = SchedulerAddress(scheduler, certificate_authority, certificate_fingerprint, insecure_skip_tls_verify)
        return command(*args, scheduler=address, **rest)

    options = (
        click.option(
            "--scheduler", metavar="URL", help="Ask this running scheduler itself, such as https://localhost:10259."
        ),
        click.option(
            "--certificate-authority", metavar="FILE", help="Who may have signed the scheduler's certificate."
        ),
        click.option(
            "--certificate-fingerprint", metavar="SHA256", help="Of the scheduler's certificate, from its log."
        ),
        click.option("--insecure-skip-tls-verify", is_flag=True, help="Do not check the scheduler's certificate."),
    )
    made: Any = with_scheduler
    for option in reversed(options):
        made = option(made)
    return made  # type: ignore[no-any-return]


def live_options(command: F) -> F:
    """Add the options to a command."""

    @functools.wraps(command)
    def with_cluster(*args: Any, live: bool, kubeconfig: str | None, context: str | None, **rest: Any) -> Any:
        is_meant = live or kubeconfig is not None or context is not None
        return command(*args, live=LiveCluster(kubeconfig, context) if is_meant else None, **rest)

    options = (
        click.option("--live", is_flag=True, help="The cluster of the kubeconfig's current context."),
        click.option("--context", metavar="NAME", help="The cluster of this context."),
        click.option(
            "--kubeconfig",
            type=click.Path(),
            metavar="FILE",
            help="Its kubeconfig.  [default: KUBECONFIG, ~/.kube/config]",
        ),
    )
    made: Any = with_cluster
    for option in reversed(options):
        made = option(made)
    return made  # type: ignore[no-any-return]


def refuse_with_scheduler(others: Mapping[str, object]) -> None:
    """Complain about options that a running scheduler, asked itself, has no use for: none is passed over silently."""
    for name, value in others.items():
        if value:
            raise click.UsageError(f"{name} and --scheduler exclude each other", click.get_current_context())


def refuse_live(live: LiveCluster | None, **others: object) -> None:
    """Complain about options that name another cluster as well."""
    if live is None:
        return
    for name, value in others.items():
        if value:
            words = (
                f"--{name.replace('_', '-')} and a live cluster (--live, --context, --kubeconfig) exclude each other"
            )
            raise click.UsageError(words, click.get_current_context())


watch_option = click.option(
    "-w",
    "--watch",
    type=click.FloatRange(0.1, 86_400),
    is_flag=False,
    flag_value=2.0,
    metavar="[SECONDS]",
    help="Of a live cluster: again and again, every 2 seconds or as many as are given, until Ctrl-C.",
)
"""It arrives as `watch`: seconds, or None."""


def repeat(show: Callable[[], T], seconds: float | None) -> T:
    """Once, or again and again: on a terminal each time in the place of the last, in a pipe one below the other."""
    from time import sleep  # noqa: TID251 - until the next look at a cluster that runs by the wall clock

    while True:
        if seconds is not None and sys.stdout.isatty():
            click.clear()
        shown = show()
        if seconds is None:
            return shown
        sleep(seconds)
        if not sys.stdout.isatty():
            say()
