"""`fairway run`: schedule for real.

In: a cluster, by kubeconfig or from inside a pod, and a configuration. Out: scheduled pods, until a signal. The flags
are kube-scheduler's, so that it can take its place; what they mean is in `fairway.live.process`.
"""

from __future__ import annotations

import logging
import secrets
from typing import TYPE_CHECKING, Any, TypeVar

import click

from fairway.cli.help_text import CONTEXT, Command
from fairway.cli.options.ledger import ledger_of, ledger_options
from fairway.cli.options.plugins import allow_plugins_option
from fairway.cli.stream.options import ADDRESS, follower_options, followers_of
from fairway.exit_codes import USAGE

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Sequence

    from fairway.cycle import Profile
    from fairway.explain.more_nodes import Steps
    from fairway.live.asked_queues import AskedQueues
    from fairway.live.followers import Follower
    from fairway.live.process import RunOptions
    from fairway.model import Pod, PriorityClass
    from fairway.stream.address import Address

__all__ = ["DURATION", "LEAST_HISTORY", "SIX_HOURS", "live_errors", "run"]

T = TypeVar("T")
SIX_HOURS, LEAST_HISTORY = 6 * 3600.0, 10

HELP = """\b
Examples:
  fairway run --scheduler-name fairway                  beside the cluster's own scheduler
  fairway run --config scheduler.yaml                   in its place, with its configuration
  fairway run --shadow --record day.duckdb              bind nothing, compare with who does
  fairway run --kubeconfig admin.conf --context lab --leader-elect=false
  fairway run --scheduler-name fairway --stream 127.0.0.1:4243   and let others follow: fairway watch
  fairway run --scheduler-name fairway --web :8443      and show it in a browser
  fairway run --ledger postgresql://fairway@db/books --ledger-password-file pw   and keep the books for years
  fairway run --config policy.yaml --extender :8888     a policy for the scheduler that is there

Schedule the pods of a cluster.

The same decisions as kube-scheduler's, the same flags, events, conditions and metrics; pods are served that name one of
the configuration's profiles as their schedulerName. SIGTERM ends it after the bindings under way.
"""


class GoDuration(click.ParamType):  # type: ignore[type-arg]  # generic for type checkers only
    """A duration as Go writes it."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Seconds."""
        from fairway.model.duration import parse_duration

        if not isinstance(value, str):
            return value
        try:
            return parse_duration(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


def _switch(name: str, help_text: str) -> Callable[[Any], Any]:
    """A flag that may be written alone or, as kube-scheduler's are, with =true or =false."""
    return click.option(name, type=bool, is_flag=False, flag_value="true", default=None, help=help_text)


DURATION = GoDuration()


@click.command(cls=Command, help=HELP, context_settings=CONTEXT)
@click.option("--config", metavar="FILE", help="A KubeSchedulerConfiguration.  [default: kube-scheduler's defaults]")
@click.option("--scheduler-name", metavar="NAME", help="Serve pods of this schedulerName, instead of --config.")
@click.option(
    "--feature-gates",
    metavar="NAME=BOOL,...",
    default="",
    help="kube-scheduler's GenericWorkload, GangScheduling, TopologyAwareWorkloadScheduling, WorkloadAwarePreemption.",
)
@click.option(
    "--kubeconfig", metavar="FILE", help="Which cluster.  [default: KUBECONFIG, ~/.kube/config, or the pod's]"
)
@click.option("--context", metavar="NAME", help="Of the kubeconfig.  [default: its current one]")
@click.option("--master", metavar="URL", help="The API server's address, if not the kubeconfig's.")
@click.option("--secure-port", type=click.IntRange(0, 65535), default=10259, show_default=True, help="0: no server.")
@click.option("--bind-address", default="0.0.0.0", show_default=True, help="Where to listen.")
@click.option("--trust-loopback", is_flag=True, help="On a loopback --bind-address, answer without asking for a token.")
@click.option("--tls-cert-file", metavar="FILE", default="", help="To serve with.  [default: self-signed]")
@click.option("--tls-private-key-file", metavar="FILE", default="", help="Its key.")
@click.option("--kube-api-qps", type=float, default=0.0, help="Requests a second at most.  [default: no limit]")
@click.option("--kube-api-burst", type=int, default=0, help="So many at once, all the same.")
@_switch("--leader-elect", "Work only while holding the lease.  [default: as configured, true]")
@click.option("--leader-elect-lease-duration", type=DURATION, help="After which others take over.  [default: 15s]")
@click.option("--leader-elect-renew-deadline", type=DURATION, help="After which we give up.  [default: 10s]")
@click.option("--leader-elect-retry-period", type=DURATION, help="Between renewals.  [default: 2s]")
@click.option(
    "--leader-elect-resource-name",
    metavar="NAME",
    help="The lease.  [default: kube-scheduler, or NAME of --scheduler-name]",
)
@click.option("--leader-elect-resource-namespace", metavar="NAME", help="Where it is.  [default: kube-system]")
@click.option(
    "--logging-format", "--log-format", type=click.Choice(["json", "text"]), default="json", show_default=True
)
@click.option("-v", "--v", "verbosity", type=int, default=0, help="Log more: 1 or higher.")
@click.option("--shadow", is_flag=True, help="Bind nothing; log where the cluster's own scheduler decides otherwise.")
@_switch("--batch", "Serve queues of jobs, where the cluster has them.  [default: true]")
@click.option("--clean-up", is_flag=True, help="Take finalizers, taints and cordons of queues off a cluster; end.")
@ledger_options("Enter every line of the queues' books into this PostgreSQL; no password in it.")
@click.option("--record", metavar="RUN", help="Write everything that happens into this run.")
@click.option("--anonymise", is_flag=True, help="With --record: other names in the place of all names.")
@follower_options
@click.option("--web", type=ADDRESS, help="Serve pages over HTTPS: nodes and pods over time, why pods wait.")
@click.option("--web-history", type=DURATION, help="With --web: how much of what happened they show.  [default: 6h]")
@click.option(
    "--stream-scores",
    metavar="N",
    type=click.IntRange(0, 1000),
    default=0,
    help="With --stream: keep the scores of N best nodes for readers; each decision is looked at twice.",
)
@click.option("--extender", metavar="HOST:PORT", help="Only advise a stock kube-scheduler, as its extender.")
@click.option("--client-ca-file", metavar="FILE", default="", help="With --extender: callers show a certificate of it.")
@click.option("--token-file", metavar="FILE", default="", help="With --extender: callers send the token in it.")
@allow_plugins_option
@click.option("--authentication-kubeconfig", expose_value=False, hidden=True)  # kube-scheduler's; we have one
@click.option("--authorization-kubeconfig", expose_value=False, hidden=True)
def run(
    *,
    config: str | None,
    scheduler_name: str | None,
    kube_api_qps: float,
    kube_api_burst: int,
    logging_format: str,
    verbosity: int,
    extender: str | None,
    stream: Address | None,
    sniffer: Address | None,
    web: Address | None,
    web_history: float | None,
    ledger_url: str | None,
    ledger_password_file: str | None,
    clean_up: bool,
    **options: Any,
) -> int:
    """Run a scheduler; see HELP."""
    from fairway.cli.main import CommandError
    from fairway.config.feature_gates import GROUP_GATES, FeatureGatesError, gangs_of
    from fairway.live.api import logs
    from fairway.live.process import RunOptions, run_scheduler

    if config is not None and scheduler_name is not None:
        raise CommandError(
            "--config and --scheduler-name were both given", "name the scheduler in the configuration's profile", USAGE
        )
    if extender is None and (options["client_ca_file"] or options["token_file"]):
        raise CommandError("--client-ca-file and --token-file are for --extender", "leave them out", USAGE)
    if options["anonymise"] and options["record"] is None:
        raise CommandError("--anonymise is for --record", "name the run to write, or leave it out", USAGE)
    if options["stream_scores"] and stream is None:
        raise CommandError("--stream-scores is for --stream", "leave it out, or say where to serve", USAGE)
    if extender is not None and (stream is not None or sniffer is not None or web is not None):
        what = "--stream, --sniffer and --web are for a scheduler, not for an --extender"
        raise CommandError(what, "leave them out", USAGE)
    if web is None and web_history is not None:
        raise CommandError("--web-history is for --web", "leave it out, or say where to serve", USAGE)
    if web_history is not None and web_history < LEAST_HISTORY:
        raise CommandError(f"--web-history: less than {LEAST_HISTORY} s are of no use", "give 10m or more", USAGE)
    ledger = ledger_of(ledger_url, ledger_password_file)
    if ledger is not None and (extender is not None or options["shadow"] or options["batch"] is False):
        raise CommandError("--ledger is for a scheduler that serves queues", "leave it out", USAGE)
    try:
        gangs_of(options["feature_gates"])
    except FeatureGatesError as error:
        raise CommandError(f"--feature-gates: {error}", f"give {', '.join(GROUP_GATES)} only", USAGE) from error
    followers = followers_of(stream, sniffer)
    if web is not None:
        seconds = SIX_HOURS if web_history is None else web_history
        followers = (*followers, _pages(web, scheduler_name or config or "fairway", seconds))
    logs.set_up("json" if logging_format == "json" else "text", logging.DEBUG if verbosity else logging.INFO)
    elected = {
        name.removeprefix("leader_elect_") if name != "leader_elect" else name: value
        for name in list(options)
        if name.startswith("leader_elect") and (value := options.pop(name)) is not None
    }
    chosen = RunOptions(
        config=config,
        scheduler_name=scheduler_name,
        api_qps=kube_api_qps,
        api_burst=kube_api_burst,
        leader_election=elected,
        followers=followers,
        ledger=ledger,
        explain=_explain,
        queues=_queues,
        **options,
    )
    if clean_up:
        return _clean_up(chosen)
    if extender is not None:
        from fairway.live.extender_service.process import run_extender

        return live_errors(run_extender(chosen, extender))
    return live_errors(run_scheduler(chosen))


def _pages(address: Address, name: str, seconds: float) -> Follower:
    from fairway.live.api.clock import wall_nanoseconds
    from fairway.web.live.web_follower import WebFollower

    return WebFollower(address, secrets.token_hex(8), name, seconds, wall_nanoseconds)


def _clean_up(options: RunOptions) -> int:
    """Take away what queues have put on the cluster, and say what that was."""
    from fairway.cli.output import say
    from fairway.live.clean_up import run_clean_up

    done = live_errors(run_clean_up(options))
    say(done.words)
    return 0


def _explain(
    profile: Profile, pod: Pod, classes: Sequence[PriorityClass], node: str | None, all_nodes: bool
) -> Steps[dict[str, Any]]:
    """What `fairway why --scheduler` is told; what words take is imported when somebody asks."""
    from fairway.explain.scheduler_answer import scheduler_answer

    return scheduler_answer(profile, pod, classes, node, all_nodes)


def _queues() -> AskedQueues:
    """Who answers what the commands about queues ask; imported when somebody asks."""
    from fairway.explain.queues.queue_answers import QueueAnswers

    return QueueAnswers()


def live_errors(story: Coroutine[Any, Any, T]) -> T:
    """Run a story of the live room; its problems become errors with their exit codes."""
    import asyncio

    from fairway.cli.main import CommandError
    from fairway.live.api.problems import LiveProblem

    try:
        return asyncio.run(story)
    except LiveProblem as problem:
        why = f"{problem.what}\n{problem.why}" if problem.why else problem.what
        raise CommandError(why, problem.fix, problem.exit_code) from None
