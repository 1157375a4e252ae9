"""The options that `try` and `why` share: which files, which configuration, which seed.

In: nothing. Out: a decorator for click commands; the values arrive as `files` (an `Inputs`, made of -f, -k and
--kinds), `cluster_files`, `config` and `seed`.
Used by the commands that run a `Trial`.
"""

from __future__ import annotations

import datetime as dt
import shlex
from collections.abc import Callable, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.core import ParameterSource

from fairway.cli.options.plugins import allow_plugins_option

if TYPE_CHECKING:
    from fairway.explain.workloads.inputs import Inputs

__all__ = ["need_files", "refuse_files", "trial_arguments", "trial_options"]

F = TypeVar("F", bound=Callable[..., Any])

OPTIONS = (
    click.option(
        "-f",
        "--filename",
        "files",
        multiple=True,
        type=click.Path(allow_dash=True),
        metavar="FILE",
        help="Pods, or what makes pods (Deployment, StatefulSet, Job, ...), and what they need. A file, a folder, "
        "or - for standard input; may be given several times.",
    ),
    click.option(
        "-k",
        "--kustomize",
        "kustomizations",
        multiple=True,
        metavar="DIR",
        help="What kustomize makes of this folder; needs kustomize or kubectl.",
    ),
    click.option(
        "--kinds",
        "kind_files",
        multiple=True,
        metavar="FILE",
        help="More kinds that make pods, as a table (docs/kinds.md); what it says wins over Fairway's own.",
    ),
    click.option(
        "--cluster",
        "cluster_files",
        multiple=True,
        type=click.Path(allow_dash=True),
        metavar="FILE",
        help="The cluster: nodes, the pods on them, claims, volumes, ... May be given several times; not needed when "
        "the files of -f have nodes.",
    ),
    click.option(
        "--config",
        type=click.Path(),
        metavar="FILE",
        help="A KubeSchedulerConfiguration; kube-scheduler's defaults if there is none.",
    ),
    click.option(
        "--seed",
        type=click.IntRange(0, 2**63 - 1),
        default=0,
        show_default=True,
        help="Which of equally good nodes is taken depends on it.",
    ),
    click.option(
        "--clock",
        type=click.DateTime(("%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d")),
        metavar="DATE",
        help="The date, in UTC, for plugins that go by the clock, such as 2030-01-01T22:00.  [default: now]",
    ),
    allow_plugins_option,
)


def trial_options(command: F) -> F:
    """Add the options to a command."""

    @wraps(command)
    def with_inputs(
        *arguments: Any,
        files: Sequence[str],
        kustomizations: Sequence[str],
        kind_files: Sequence[str],
        clock: dt.datetime | None,
        **options: Any,
    ) -> Any:
        from fairway.explain.workloads.inputs import Inputs
        from fairway.live.api.clock import SystemClock
        from fairway.rehearsal.claims import ClaimKeeper

        time = SystemClock().now() if clock is None else clock.replace(tzinfo=dt.UTC).timestamp()
        inputs = Inputs(files, kustomizations, kind_files, claim_binder=ClaimKeeper, time=time)
        return command(*arguments, files=inputs, **options)

    decorated: Any = with_inputs
    for option in reversed(OPTIONS):
        decorated = option(decorated)
    result: F = decorated
    return result


def need_files(files: Inputs) -> None:
    """Complain if there is nothing to place."""
    if not files.names:
        context = click.get_current_context()
        option = next(one for one in context.command.params if one.name == "files")
        raise click.MissingParameter(ctx=context, param=option)


def refuse_files(*options: str) -> None:
    """Complain about options that make no sense with a run."""
    context = click.get_current_context()
    for option in context.command.params:
        name = max(option.opts, key=len).lstrip("-")
        if name in options and context.get_parameter_source(option.name or "") is ParameterSource.COMMANDLINE:
            raise click.UsageError(f"--{name} and --run exclude each other", context)


def trial_arguments(files: Inputs, cluster_files: Sequence[str], config: str | None, seed: int) -> str:
    """The same options as words of a command line, to be shown in a hint."""
    from fairway.config.plugin_folders import FOLDERS

    words = [word for file in files.files for word in ("-f", file)]
    words += [word for folder in files.kustomizations for word in ("-k", folder)]
    words += [word for file in files.kind_files for word in ("--kinds", file)]
    words += [word for file in cluster_files for word in ("--cluster", file)]
    if config is not None:
        words += ["--config", config]
    if seed:
        words += ["--seed", str(seed)]
    if FOLDERS.allows_all:
        words.append("--allow-plugins")
    return shlex.join(words)
