"""`fairway jobs`: who waits for what, who runs, who starts when?

In: a cluster or a run, a job or which jobs are meant. Out: a table of jobs, or all about one. Called by
`fairway.cli.main`; `explain.queues` has the answers.
"""

from __future__ import annotations

import getpass

import click

from fairway.cli.help_text import CONTEXT, Command
from fairway.cli.options.live import repeat, watch_option
from fairway.cli.output import emit, is_structured, output_option, say, word
from fairway.cli.queues.options import QueueSource, open_queues, queue_option, source_options, user_option
from fairway.exit_codes import NO

__all__ = ["jobs"]

HELP = """\b
Examples:
  fairway jobs                                               who waits, who runs, who starts when, in this cluster?
  fairway jobs --queue batch --state Queued --watch          and again, every two seconds
  fairway jobs ml/train --context lab                        all about one job
  fairway jobs --run queues.duckdb --at 12h                  of a run, at noon
  fairway jobs --run queues.duckdb --at 12h --user ada -o wide

List the jobs that wait in queues or run from them: of the cluster of the kubeconfig's context, read with your own
rights, or of a run at one time (--run, its end unless --at says otherwise). Those that are over are listed only with
--state Finished. START is when a job began, and on how many nodes; or when it likely will, and the time by which it
nearly always will have (safe). A ~ stands where plugins that the plan does not see have refused the job before. Dates
are those that were told. docs/batch.md says what the reasons mean.

\b
Exit codes: 0 yes; 3 the job that is asked about can not run as it is (Refused); 1 a file is wrong, or the cluster has
no queues; 2 usage; 4 the cluster can not be reached, or does not let you.
"""

STATES = ("Queued", "Refused", "Starting", "Running", "Ending", "Finished")


@click.command(
    name="jobs",
    cls=Command,
    help=HELP,
    context_settings=CONTEXT,
    short_help="Who waits for what, who runs, who starts when?",
)
@click.argument("job", metavar="[JOB]", required=False)
@source_options
@queue_option
@user_option
@click.option("--mine", is_flag=True, help="Jobs of the user who asks.")
@click.option("--state", type=click.Choice(STATES, case_sensitive=False), help="Jobs in this state only.")
@watch_option
@output_option
def jobs(
    job: str | None,
    *,
    source: QueueSource,
    queue: str | None,
    user: str | None,
    mine: bool,
    state: str | None,
    watch: float | None,
    output: str,
) -> int:
    """See HELP, which is what users read."""
    context = click.get_current_context()
    source.refuse(of_runs=False, watch=watch)
    if mine and user is not None:
        raise click.UsageError("--mine and --user exclude each other", context)
    if job is not None:
        given = {"--queue": queue, "--user": user, "--mine": mine, "--state": state}
        if source.is_run:
            given["--namespace"] = source.cluster.namespace
        others = [name for name, value in given.items() if value]
        if others:
            raise click.UsageError(f"{others[0]} chooses among all jobs; leave it out, or JOB", context)
        return repeat(lambda: _show_job(source, job, output), watch)
    whose = getpass.getuser() if mine else user
    return repeat(lambda: _show_jobs(source, (queue, whose, state), output), watch)


def _show_jobs(source: QueueSource, chosen: tuple[str | None, str | None, str | None], output: str) -> int:
    from fairway.batch.reasons import JobState
    from fairway.explain.queues.job_list import COLUMNS, EXACT_COLUMNS, JobChoice, job_list

    queue, user, state = chosen
    namespace = source.cluster.namespace if source.is_run else None  # of a cluster only that one was read
    with open_queues(source, ("jobrecords",), ("queues",)) as opened:
        found = job_list(opened.moment, JobChoice(queue, user, None if state is None else JobState(state), namespace))
        if is_structured(output):
            emit(found.exact_rows(), EXACT_COLUMNS, output, opened.about | found.document(), "job")
            return 0
        emit(found.rows(), COLUMNS, output)
        say(found.line)
        waiting = next((each for each in found.jobs if each.waits), None)
        if waiting is not None:
            opened.hint(f"jobs {word(waiting.job)}")
    return 0


def _show_job(source: QueueSource, name: str, output: str) -> int:
    from fairway.batch.reasons import JobState
    from fairway.explain.queues.job_list import EXACT_COLUMNS
    from fairway.explain.queues.job_sheet import job_sheet

    place = source.cluster.within(name)
    with open_queues(source._replace(cluster=place), ("jobrecords",), ("queues", "accounts")) as opened:
        sheet = job_sheet(opened.moment, name)
        if is_structured(output):
            emit(sheet.exact_rows(), EXACT_COLUMNS, output, opened.about | sheet.document(), "job")
        else:
            say("\n".join(sheet.lines()))
            if sheet.job.waits:
                opened.hint(f"why {word(sheet.job.job)}")
    return NO if sheet.job.state is JobState.REFUSED else 0
