"""`fairway`: the group of commands, and the one place where failures become words and exit codes.

In: the arguments of the process. Out: the exit code: 0 yes, 1 failed, 2 usage, 3 the answer is no, 4 cannot reach or
not allowed, 5 not all was counted, 130 interrupted, 141 nobody reads any more. A command's module is imported when that
command runs, so `--help` answers at once. Called as the script `fairway` (and `kubectl-fairway`), and by
`python -m fairway`.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import click
from click.shell_completion import CompletionItem

from fairway import __version__
from fairway.cli.help_text import CONTEXT, ExamplesFirst
from fairway.cli.output import say
from fairway.exit_codes import CLOSED_PIPE, FAILED, INTERRUPTED
from fairway.words import excerpt

__all__ = ["CommandError", "fairway", "main"]

DEBUG: Final = "FAIRWAY_DEBUG"
LONGEST_LINE, MOST_LINES = 4000, 200
"""What is told of an error at most, whatever it quotes."""
CANNOT_READ: Final = "cannot be read"
CHECK_PATH: Final = "check the path and its permissions"


class CommandEntry(NamedTuple):
    """Where a command is, and its line in the overview, which is printed without importing it."""

    module: str
    name: str
    summary: str


COMMANDS: Final[dict[str, CommandEntry]] = {
    "demo": CommandEntry("fairway.cli.examples.commands", "demo", "A day of a thousand nodes under two policies."),
    "sim": CommandEntry("fairway.cli.sim", "sim", "What would this policy do?"),
    "compare": CommandEntry("fairway.cli.compare", "compare", "Which is better, where do they differ?"),
    "run": CommandEntry("fairway.cli.run", "run", "Schedule a cluster's pods, for real."),
    "record": CommandEntry("fairway.cli.record", "record", "Keep what a cluster does, whatever schedules it."),
    "watch": CommandEntry("fairway.cli.stream.watch", "watch", "Follow what a scheduler decides, as it does."),
    "try": CommandEntry("fairway.cli.try_", "try_command", "Would it fit, where, and how many?"),
    "why": CommandEntry("fairway.cli.why", "why", "Why here, why not there, what would fix it?"),
    "status": CommandEntry("fairway.cli.status", "status", "What is free, who waits, where does the time go?"),
    "jobs": CommandEntry("fairway.cli.queues.jobs", "jobs", "Who waits for what, who runs, who starts when?"),
    "when": CommandEntry("fairway.cli.queues.when", "when", "When would it start? Changes nothing."),
    "queue": CommandEntry("fairway.cli.queues.queue", "queue", "How are the queues, is there room?"),
    "extend": CommandEntry("fairway.cli.queues.extend", "extend", "May a job run for longer?"),
    "hold": CommandEntry("fairway.cli.queues.job_orders", "hold", "Let a job not start."),
    "release": CommandEntry("fairway.cli.queues.job_orders", "release", "Let a job start again."),
    "requeue": CommandEntry("fairway.cli.queues.job_orders", "requeue", "Let a job wait again."),
    "cancel": CommandEntry("fairway.cli.queues.job_orders", "cancel", "End a job for good."),
    "shares": CommandEntry("fairway.cli.queues.shares", "shares", "Who is entitled to what, who used it?"),
    "usage": CommandEntry("fairway.cli.queues.usage", "usage", "Who used how much? The books."),
    "maintenance": CommandEntry(
        "fairway.cli.queues.maintenance", "maintenance", "Which nodes are needed when, who is in the way?"
    ),
    "sniff": CommandEntry(
        "fairway.cli.stream.sniff", "sniff", "Be told what schedulers do, in scheduler-sniffer's protocol."
    ),
    "import": CommandEntry("fairway.cli.stream.import_", "import_command", "A log of scheduler-sniffer as a run."),
    "ui": CommandEntry("fairway.cli.pages.ui", "ui", "Runs, or a scheduler at work, in a browser."),
    "export": CommandEntry("fairway.cli.export", "export", "A run for other tools: Parquet, CSV, a Perfetto trace."),
    "topology": CommandEntry(
        "fairway.cli.topology", "topology", "Racks and servers for nodes, as labels in manifests."
    ),
    "conformance": CommandEntry(
        "fairway.cli.conformance", "conformance", "Is it exact? Compare with recorded decisions."
    ),
    "metrics": CommandEntry("fairway.cli.metrics", "metrics", "What do the numbers mean?"),
    "completion": CommandEntry(
        "fairway.cli.completion", "completion", "A script that makes a shell complete all this."
    ),
    "bench": CommandEntry("fairway.cli.bench", "bench", "Is it fast? Decisions per second, latency, memory."),
    "examples": CommandEntry("fairway.cli.examples.commands", "examples", "What to try first: list them, copy them."),
}

HELP = """\b
Examples:
  fairway sim examples/scenarios/day.yaml                    a cluster's day in seconds
  fairway compare day.yaml --policy default --policy packed --seeds 5
  fairway try -f workload.yaml --cluster cluster.yaml        would it fit, and where?
  fairway why web-0 -f workload.yaml --cluster cluster.yaml  why is this pod waiting, what would fix it?
  fairway bench --nodes 5000 --pods 20000 --mix mixed        how many decisions a second?
  fairway conformance tests/conformance/corpus               does it decide as kube-scheduler does?

A Kubernetes scheduler that you program in Python and try on a cluster's day in seconds.
It decides exactly as kube-scheduler does until you tell it otherwise, and it can always say why.

\b
Exit codes: 0 yes; 1 failed; 2 usage; 3 the answer is no; 4 cannot reach or not allowed; 5 yes, but something that may
make pods was not counted; 130 interrupted;
141 nobody reads what is printed any more, as after | head.
"""


class CommandError(click.ClickException):
    """A failure in the user's words: what, why, and what to do next."""

    def __init__(self, what: str, hint: str = "", exit_code: int = FAILED) -> None:
        super().__init__(what)
        self.hint = hint
        self.exit_code = exit_code  # type: ignore[misc]  # click reads it from the instance


class LazyGroup(ExamplesFirst, click.Group):
    """Commands by name; the module is imported when the command is wanted."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names, in the order of the table above."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import one command."""
        entry = COMMANDS.get(cmd_name)
        if entry is None:
            return None
        command: click.Command = getattr(importlib.import_module(entry.module), entry.name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The overview, without importing anything."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry.summary) for name, entry in COMMANDS.items()])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """The same for shells: names with their lines, and options."""
        found = [
            CompletionItem(name, help=entry.summary) for name, entry in COMMANDS.items() if name.startswith(incomplete)
        ]
        return [*found, *click.Command.shell_complete(self, ctx, incomplete)]


@click.group(
    name="fairway",
    cls=LazyGroup,
    help=HELP,
    context_settings=CONTEXT,
    no_args_is_help=False,
    invoke_without_command=True,
)
@click.version_option(__version__, "-V", "--version", prog_name="fairway", message="%(prog)s %(version)s")
@click.pass_context
def fairway(ctx: click.Context) -> None:
    """See HELP, which is what users read."""
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


def main(args: Sequence[str] | None = None, command: click.Command = fairway) -> int:
    """Run a command line; returns the exit code."""
    name = "kubectl fairway" if os.path.basename(sys.argv[0]).startswith("kubectl-") else "fairway"  # noqa: PTH119 - pathlib costs 10 ms
    try:
        words = list(sys.argv[1:] if args is None else args)
        # `obj` is what `output.again` makes hints of.
        code = command.main(args=list(words), prog_name=name, standalone_mode=False, obj=words)
    except click.Abort as abort:
        return INTERRUPTED if isinstance(abort.__cause__, KeyboardInterrupt) else FAILED
    except SystemExit:
        if not _is_pipe_closed():
            raise
        return CLOSED_PIPE
    except click.ClickException as error:
        if _debugging():
            raise
        return _report_click(error)
    except Exception as error:  # the last resort: whatever happened, the user gets words
        if _debugging():
            raise
        return _report(error)
    return code if isinstance(code, int) else 0


def _is_pipe_closed() -> bool:
    """When nobody reads any more, as after `| head`, click puts something quiet in the place of stdout, and leaves."""
    return type(sys.stdout).__name__.endswith("PacifyFlushWrapper")


def _debugging() -> bool:
    return os.environ.get(DEBUG, "") not in {"", "0"}


def _report_click(error: click.ClickException) -> int:
    hint = getattr(error, "hint", "")
    if isinstance(error, click.UsageError) and error.ctx is not None:
        _complain(error.format_message())
        say(error.ctx.get_usage().replace("Usage:", "usage:", 1), err=True)
        say(f"→ {error.ctx.command_path} --help", err=True)
    else:
        _complain(error.format_message(), hint)
    return error.exit_code


def _report(error: Exception) -> int:
    """Failures that other rooms raise. Their modules are loaded already if they raised, so this imports nothing new."""
    from fairway.config.fields import ConfigError
    from fairway.cycle.guard import PluginError
    from fairway.model.errors import DecodeError, UserError
    from fairway.own_file import CannotWriteError
    from fairway.record.errors import RecordError

    match error:
        case CannotWriteError():
            _complain(str(error), "make room there, or name another place to write to")
        case RecordError():
            _complain(str(error), "name a run that `fairway sim --save RUN` wrote")
        case UserError():
            _complain(error.what, error.hint)
            return error.exit_code
        case DecodeError():
            _complain(str(error), _decode_hint(error))
        case ConfigError():
            _complain(str(error), _config_hint(error))
        case PluginError():
            _complain(str(error), f"mend the plugin; {DEBUG}=1 shows where it happened")
        case OSError() if error.filename is not None:
            _complain(f"{error.filename}: {error.strerror}", CHECK_PATH)
        case OSError() if error.strerror is not None:
            _complain(f"cannot read or write: {error.strerror}", "make room, or name another place")
        case MemoryError():
            _complain("out of memory", "use a smaller input, or a machine with more memory")
        case _:
            _complain(
                f"something unexpected: {type(error).__name__}: {error}",
                f"this is a bug in Fairway or in a plugin; {DEBUG}=1 shows where it happened",
            )
    return FAILED


def _config_hint(error: Any) -> str:
    """About the file where all of it is wrong, about fields where some are."""
    problems = error.problems
    if problems and all(CANNOT_READ in problem.text for problem in problems):
        return CHECK_PATH
    if problems and all("cannot be imported: ModuleNotFoundError" in problem.text for problem in problems):
        return (
            "plugins are looked for in the current folder and beside the file that names them: go where they are, or "
            "put PYTHONPATH=FOLDER before the command"
        )
    if problems and all("--allow-plugins" in problem.text for problem in problems):
        return "look at the code, then run the command again with --allow-plugins"
    if error.source == "the command line":
        return "correct the input named above and run the command again"
    if any(problem.path and not _is_of_another_kind(problem) for problem in problems):
        return "correct the fields named above; the rest of the file is understood"
    if any("not YAML" in problem.text or "not JSON" in problem.text for problem in problems):
        return "correct the text there, or name the file that was meant"
    return "name the file that was meant, or correct this one"


def _is_of_another_kind(problem: Any) -> bool:
    return problem.path in ("apiVersion", "kind") and "is not supported" in problem.text


def _decode_hint(error: Any) -> str:
    if CANNOT_READ in str(error):
        return CHECK_PATH
    kind = error.subject.split(" ")[0].lower()
    if not kind or not error.field:
        return "correct the input named above and run the command again"
    field = error.field.split(".")[0].split("[")[0]
    return f"correct that field; `kubectl explain {kind}.{field}` says what is allowed"


def _complain(what: str, hint: str = "") -> None:
    first, *others = what.split("\n")
    say(f"error: {excerpt(first, LONGEST_LINE)}", err=True)
    for line in others[:MOST_LINES]:
        say(f"       {excerpt(line, LONGEST_LINE)}", err=True)
    if len(others) > MOST_LINES:
        say(f"       ... and {len(others) - MOST_LINES} lines more", err=True)
    if hint:
        say(f"→ {hint}", err=True)
