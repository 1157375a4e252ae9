"""`fairway jobs`: who waits for what, who runs, who starts when?

In: a run and a time of it, a job or which jobs are meant. Out: a table of jobs, or all about one. Called by
`fairway.cli.main`; `explain.queues` reads the run.
"""

from __future__ import annotations

import getpass

import click

from fairway.cli.help_text import CONTEXT, Command
from fairway.cli.output import emit, is_structured, narrate, output_option, say, word
from fairway.cli.queues.options import moment_words, open_moment, queue_option, run_options, user_option
from fairway.exit_codes import NO

__all__ = ["jobs"]

HELP = """\b
Examples:
  fairway jobs --run queues.duckdb --at 12h                  at noon: who waits, who runs, who starts when?
  fairway jobs --run queues.duckdb --at 12h --queue batch --state Queued
  fairway jobs --run queues.duckdb --at 12h --user ada -o wide
  fairway jobs ml/train --run queues.duckdb --at 12h         all about one job
  fairway jobs --run queues.duckdb --at 12h -o json

List the jobs that wait in queues of a run or run from them, at one time, the end unless --at says otherwise; those that
are over only with --state Finished. START is when a job began, and on how many nodes; or when it likely will, and the
time by which it nearly always will have (safe). A ~ stands where plugins that the plan does not see have refused the
job before. Dates are those that were told at that time. docs/batch.md says what the reasons mean.

\b
Exit codes: 0 yes; 3 the job that is asked about can not run as it is (Refused); 1 a file is wrong; 2 usage.
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
@run_options
@queue_option
@user_option
@click.option("--mine", is_flag=True, help="Jobs of the user who asks.")
@click.option("--state", type=click.Choice(STATES, case_sensitive=False), help="Jobs in this state only.")
@click.option("-n", "--namespace", metavar="NAME", help="Jobs of this namespace only.")
@output_option
def jobs(
    job: str | None,
    *,
    run_path: str | None,
    at: float | None,
    queue: str | None,
    user: str | None,
    mine: bool,
    state: str | None,
    namespace: str | None,
    output: str,
) -> int:
    """See HELP, which is what users read."""
    context = click.get_current_context()
    if mine and user is not None:
        raise click.UsageError("--mine and --user exclude each other", context)
    if job is not None:
        given = {"--queue": queue, "--user": user, "--mine": mine, "--state": state, "--namespace": namespace}
        others = [name for name, value in given.items() if value]
        if others:
            raise click.UsageError(f"{others[0]} chooses among all jobs; leave it out, or JOB", context)
        return _show_job(job, run_path, at, output)
    from fairway.batch.reasons import JobState
    from fairway.explain.queues.job_list import COLUMNS, EXACT_COLUMNS, JobChoice, job_list

    with open_moment(run_path, at) as (run, moment):
        whose = getpass.getuser() if mine else user
        found = job_list(run, moment, JobChoice(queue, whose, None if state is None else JobState(state), namespace))
    if is_structured(output):
        emit(found.exact_rows(), EXACT_COLUMNS, output, {"run": run_path} | found.document(), "job")
        return 0
    emit(found.rows(), COLUMNS, output)
    say(found.line)
    waiting = next((each for each in found.jobs if each.waits), None)
    if waiting is not None:
        narrate(f"→ fairway jobs {word(waiting.job)} {moment_words(run_path, moment)}")
    return 0


def _show_job(name: str, run_path: str | None, at: float | None, output: str) -> int:
    from fairway.batch.reasons import JobState
    from fairway.explain.queues.job_list import EXACT_COLUMNS
    from fairway.explain.queues.job_sheet import job_sheet

    with open_moment(run_path, at) as (run, moment):
        sheet = job_sheet(run, moment, name)
    if is_structured(output):
        emit(sheet.exact_rows(), EXACT_COLUMNS, output, {"run": run_path} | sheet.document(), "job")
    else:
        say("\n".join(sheet.lines()))
        if sheet.job.waits:
            narrate(f"→ fairway why {word(sheet.job.job)} {moment_words(run_path, moment)}")
    return NO if sheet.job.state is JobState.REFUSED else 0
