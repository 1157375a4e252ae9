"""Why, for a pod of a run: its story, and the moment that is asked about, explained.

In: an open run, a pod of it, and a time or an attempt. Out: a `RunAnswer`: what happened to the pod, then the answer
that the scheduler's cycle gives again on the cluster as it was: the funnel, the scores, the fixes; as text, as HTML, as
a document. Without a time or an attempt it is the attempt that placed the pod, or the end of the run if it waits.
Called by `fairway why --run` and by the library's `run.why`.
"""

from __future__ import annotations

import difflib
import shlex
from typing import Any

from fairway.exit_codes import USAGE
from fairway.explain.explanation import COLUMNS, Explanation
from fairway.explain.explanation_text import answer_lines, node_lines, told_document
from fairway.explain.jobs.job_answer import explain_run_job
from fairway.explain.jobs.job_explanation import JobExplanation
from fairway.explain.jobs.job_text import headline
from fairway.explain.run_moment import Moment
from fairway.explain.run_story import Story, story_document, story_lines
from fairway.explain.run_time import check_time, run_notes
from fairway.explain.run_trial import pod_trial
from fairway.model import UserError
from fairway.record import Run
from fairway.tables import plain_table
from fairway.words import time_text, visible

__all__ = ["RunAnswer", "answer"]

NAMED = 10


class RunAnswer:
    """Why a pod of a run is where it is, or nowhere, at one moment. Prints as `fairway why` does."""

    def __init__(
        self, path: str, story: Story, moment: Moment, explanation: Explanation, node: str | None, all_nodes: bool
    ) -> None:
        self.path = path
        self.story = story
        self.moment = moment
        self.explanation = explanation
        self.node = node
        self.all_nodes = all_nodes
        self.notes: list[str] = []  # about the run
        self.job: JobExplanation | None = None  # that the pod belongs to, where its scheduler treats it as one

    @property
    def pod(self) -> str:
        """`namespace/name`."""
        return str(self.story.row["pod"])

    @property
    def at(self) -> float:
        """The moment, in seconds of the run's clock."""
        return self.moment.at

    @property
    def attempt(self) -> int | None:
        """The attempt that is explained; None if it is a moment between attempts."""
        return None if self.moment.decision is None else int(self.moment.decision["attempt"])

    @property
    def fits(self) -> bool:
        """Does the pod get a node at this moment? One that belongs to a job only with the others."""
        return self.explanation.verdict.is_placed and (self.job is None or self.job.is_placed)

    @property
    def options(self) -> str:
        """Those of `fairway why` that ask about this moment again."""
        when = f"--at {shlex.quote(time_text(self.at))}" if self.attempt is None else f"--attempt {self.attempt}"
        return f"--run {shlex.quote(self.path)} {when}"

    def rows(self) -> list[dict[str, Any]]:
        """Every node, or the one that was asked about: does it fit, who refuses it and why, what it scores."""
        return [row for row in self.explanation.node_rows() if self.node in (None, row["node"])]

    def document(self) -> dict[str, Any]:
        """Everything, in plain values: what `-o json` prints."""
        about = {
            "run": self.path,
            "command": f"fairway why {_word(self.pod)} {self.options}",
            "story": story_document(self.story),
            "atSeconds": self.at,
            "attempt": self.attempt,
        }
        job = {} if self.job is None else {"job": self.job.document()}
        return about | told_document(self.explanation, self.rows(), self.lines()) | job

    def lines(self) -> list[str]:
        """The text."""
        when = time_text(self.at)
        title = f"{when}:" if self.attempt is None else f"{when}, attempt {self.attempt}:"
        if self.node is not None:
            return [title, *node_lines(self.explanation, self.node)]
        opening = [] if self.job is None else [headline(self.job), ""]
        if self.job is not None and self.job.state != "started":
            title += " by itself, without the other members,"
        return [*opening, *story_lines(self.story), "", title, *answer_lines(self.explanation, self.all_nodes)]

    def __str__(self) -> str:
        lines = self.lines()
        if self.all_nodes and self.node is None:
            shown = [column for column in COLUMNS if not column.wide]
            lines += ["", *plain_table(self.rows(), shown).splitlines()]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<why {self.pod} at {time_text(self.at)}: {self.explanation.verdict.result}>"

    def _repr_html_(self) -> str:
        """In a notebook: the text, its first line in bold."""
        from fairway.pages import render  # noqa: PLC0415 - only notebooks need it

        first, _, rest = str(self).partition("\n")
        return render("answer.html", first=first, rest=rest)


def answer(
    run: Run,
    pod: str,
    *,
    at: float | None = None,
    attempt: int | None = None,
    node: str | None = None,
    all_nodes: bool = False,
) -> RunAnswer:
    """Explain one moment of a pod's life."""
    row = _find(run, pod.removeprefix("pod/"), at)
    story = Story.of(run, row)
    moment = _moment(run, story, at, attempt)
    trial, found, wanted = pod_trial(run, row, moment)
    if node is not None and node not in trial.cluster.nodes.row_of:
        there = sorted(trial.cluster.nodes.row_of)
        what = f"there is no node {node} at {time_text(moment.at)}"
        raise UserError(what, f"there are: {_few(there)}", USAGE)
    made = RunAnswer(str(run.path), story, moment, Explanation.of_trial(trial, found, wanted), node, all_nodes)
    made.notes = [*run_notes(run), *trial.notes]
    made.job = _job(run, row, moment)
    return made


def _job(run: Run, row: dict[str, Any], moment: Moment) -> JobExplanation | None:
    """The pod's job, as it was at that moment."""
    if row.get("job_id") is None:
        return None
    (job,) = run.jobs.where("job_id = ?", row["job_id"])
    return explain_run_job(run, job, moment)


def _find(run: Run, name: str, at: float | None) -> dict[str, Any]:
    """The pod meant; of several with one name, one after the other, the latest created by then."""
    found = list(run.pods.where("pod = $1 OR uid = $1 OR ends_with(pod, '/' || $1)", name))
    keys = sorted({row["pod"] for row in found})
    if len(keys) > 1:
        raise UserError(f"there are {len(keys)} pods called {name}", f"say which: {_few(keys)}", USAGE)
    if found:
        by_then = [row for row in found if at is None or row["created_seconds"] <= at]
        return (by_then or found)[-1]
    known = [row["pod"] for row in run.sql("SELECT DISTINCT pod FROM pods ORDER BY pod")]
    hint = f"did you mean {' or '.join(close)}?" if (close := _close(run, name, known)) else f"there are: {_few(known)}"
    raise UserError(f"the run has no pod called {name}", hint if known else "it has no pods at all", USAGE)


def _close(run: Run, name: str, pods: list[str]) -> list[str]:
    """Pods and jobs that may be meant: those of that name in another namespace, or else of names that are alike."""
    jobs = [row["job"] for row in run.sql("SELECT DISTINCT job FROM jobs ORDER BY job")] if run.knows_jobs else []
    known = sorted({*pods, *jobs})
    if elsewhere := [key for key in known if key.rpartition("/")[2] == name.rpartition("/")[2]]:
        return elsewhere[:3]
    words = {word for key in known for word in (key, key.partition("/")[2])} if len(known) < 100_000 else set()
    return difflib.get_close_matches(name, sorted(words), n=3)


def _moment(run: Run, story: Story, at: float | None, attempt: int | None) -> Moment:
    """The attempt meant, or the time; of a pod that has its node by then, the attempt that gave it one."""
    row, attempts = story.row, [one.row for one in story.attempts]
    if attempt is not None:
        for one in attempts:
            if one["attempt"] == attempt:
                return Moment(one["time_seconds"], one)
        kept = _few([str(one["attempt"]) for one in attempts]) or "none were kept"
        made = f"{row['attempts']} attempt{'' if row['attempts'] == 1 else 's'}"
        raise UserError(f"the run has no attempt {attempt} for {row['pod']}, of {made}", f"it has: {kept}", USAGE)
    time = check_time(run, at)
    if time < row["created_seconds"]:
        created = time_text(row["created_seconds"])
        raise UserError(f"there is no {row['pod']} yet at {time_text(time)}", f"it was created at {created}", USAGE)
    over = row["bound_seconds"] if row["bound_seconds"] is not None else row["ended_seconds"]
    if over is None or time < over:
        return Moment(time)
    past = [one for one in attempts if one["time_seconds"] <= over]
    placed = [one for one in past if one["outcome"] == "scheduled" and one["node"] == row["node"]]
    if placed or past:
        last = (placed or past)[-1]
        return Moment(last["time_seconds"], last)
    if row["ended_seconds"] is not None and row["created_seconds"] == row["ended_seconds"]:
        raise UserError(f"{row['pod']} was gone as soon as it was there", "there is nothing to explain")
    return Moment(row["created_seconds"])


def _word(name: str) -> str:
    """As one word of a command line that people paste."""
    return shlex.quote(visible(name, one_line=True))


def _few(names: list[str]) -> str:
    return ", ".join(names[:NAMED]) + (f" and {len(names) - NAMED} more" if len(names) > NAMED else "")
