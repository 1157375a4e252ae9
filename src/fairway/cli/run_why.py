"""`fairway why POD --run RUN`: a pod's story, and the moment that is asked about, explained.

In: a run, a pod of it, and a time or an attempt. Out: what happened to the pod, then the answer that the scheduler's
cycle gives again on the cluster as it was: the funnel, the scores, the fixes. Without a time or an attempt it is the
attempt that placed the pod, or the end of the run if it waits. Called by `why`.
"""

from __future__ import annotations

import difflib
import shlex
from typing import Any

import click

from fairway.cli.explanation import COLUMNS, Explanation
from fairway.cli.explanation_text import answer_lines, node_lines
from fairway.cli.main import FAILED, NO, USAGE, CommandError
from fairway.cli.output import emit, is_structured, narrate
from fairway.cli.run_moment import Moment
from fairway.cli.run_options import check_time, time_text
from fairway.cli.run_story import Story, story_document, story_lines
from fairway.cli.run_trial import pod_trial
from fairway.record import Run

__all__ = ["explain_run"]

NAMED = 10


def explain_run(
    path: str,
    pod_name: str,
    *,
    at: float | None,
    attempt: int | None,
    node_name: str | None,
    all_nodes: bool,
    output: str,
) -> int:
    """Print the answer; returns the exit code."""
    with Run.open(path) as run:
        row = _find(run, pod_name.removeprefix("pod/"), at)
        story = Story.of(run, row)
        moment = _moment(run, story, at, attempt)
        trial, pod, wanted = pod_trial(run, row, moment)
    if node_name is not None and node_name not in trial.cluster.nodes.row_of:
        there = sorted(trial.cluster.nodes.row_of)
        what = f"there is no node {node_name} at {time_text(moment.at)}"
        raise CommandError(what, f"there are: {_few(there)}", USAGE)
    explanation = Explanation(trial, pod, wanted)
    rows = [row for row in explanation.node_rows() if node_name in (None, row["node"])]
    if is_structured(output):
        document = {"run": path, "story": story_document(story), "atSeconds": moment.at, "attempt": _number(moment)}
        emit(rows, COLUMNS, output, document | explanation.document(rows))
    else:
        _print(story, moment, explanation, rows, node_name, all_nodes, output)
        other = explanation.other_node()
        if other is not None and node_name is None and not all_nodes and output != "wide":
            narrate(f"→ fairway why {row['pod']} --node {other} {_options(path, moment)}")
    if explanation.verdict.result == "error":
        return FAILED
    return 0 if explanation.verdict.is_placed else NO


def _print(
    story: Story,
    moment: Moment,
    explanation: Explanation,
    rows: list[dict[str, Any]],
    node_name: str | None,
    all_nodes: bool,
    output: str,
) -> None:
    title = f"{time_text(moment.at)}, attempt {_number(moment)}" if moment.decision else time_text(moment.at)
    every = all_nodes or output == "wide"
    if node_name is not None:
        click.echo("\n".join([f"{title}:", *node_lines(explanation, node_name)]))
        return
    click.echo("\n".join([*story_lines(story), "", f"{title}:", *answer_lines(explanation, every)]))
    if every:
        click.echo()
        emit(rows, COLUMNS, "wide" if output == "wide" else "table")


def _find(run: Run, name: str, at: float | None) -> dict[str, Any]:
    """The pod meant; of several with one name, one after the other, the latest created by then."""
    found = list(run.pods.where("pod = $1 OR uid = $1 OR ends_with(pod, '/' || $1)", name))
    keys = sorted({row["pod"] for row in found})
    if len(keys) > 1:
        raise CommandError(f"there are {len(keys)} pods called {name}", f"say which: {_few(keys)}", USAGE)
    if found:
        by_then = [row for row in found if at is None or row["created_seconds"] <= at]
        return (by_then or found)[-1]
    known = [row["pod"] for row in run.sql("SELECT DISTINCT pod FROM pods ORDER BY pod")]
    words = {word for key in known for word in (key, key.partition("/")[2])} if len(known) < 100_000 else set()
    close = difflib.get_close_matches(name, sorted(words), n=3)
    hint = f"did you mean {' or '.join(close)}?" if close else f"there are: {_few(known)}"
    raise CommandError(f"the run has no pod called {name}", hint if known else "it has no pods at all", USAGE)


def _moment(run: Run, story: Story, at: float | None, attempt: int | None) -> Moment:
    """The attempt meant, or the time; of a pod that has its node by then, the attempt that gave it one."""
    row, attempts = story.row, [one.row for one in story.attempts]
    if attempt is not None:
        for one in attempts:
            if one["attempt"] == attempt:
                return Moment(one["time_seconds"], one)
        kept = _few([str(one["attempt"]) for one in attempts]) or "none were kept"
        made = f"{row['attempts']} attempt{'' if row['attempts'] == 1 else 's'}"
        raise CommandError(f"the run has no attempt {attempt} for {row['pod']}, of {made}", f"it has: {kept}", USAGE)
    time = check_time(run, at)
    if time < row["created_seconds"]:
        created = time_text(row["created_seconds"])
        raise CommandError(f"there is no {row['pod']} yet at {time_text(time)}", f"it was created at {created}", USAGE)
    over = row["bound_seconds"] if row["bound_seconds"] is not None else row["ended_seconds"]
    if over is None or time < over:
        return Moment(time)
    past = [one for one in attempts if one["time_seconds"] <= over]
    placed = [one for one in past if one["outcome"] == "scheduled" and one["node"] == row["node"]]
    if placed or past:
        last = (placed or past)[-1]
        return Moment(last["time_seconds"], last)
    if row["ended_seconds"] is not None and row["created_seconds"] == row["ended_seconds"]:
        raise CommandError(f"{row['pod']} was gone as soon as it was there", "there is nothing to explain")
    return Moment(row["created_seconds"])


def _number(moment: Moment) -> int | None:
    return None if moment.decision is None else int(moment.decision["attempt"])


def _options(path: str, moment: Moment) -> str:
    which = f"--attempt {_number(moment)}" if moment.decision else f"--at {shlex.quote(time_text(moment.at))}"
    return f"--run {shlex.quote(path)} {which}"


def _few(names: list[str]) -> str:
    return ", ".join(names[:NAMED]) + (f" and {len(names) - NAMED} more" if len(names) > NAMED else "")
