"""Would these pods fit, and where: the answer of a trial, as text, as HTML, as a document.

In: the verdicts about all pods of a trial, in the order in which they were placed. Out: a `TryAnswer`. For pods that
fit nowhere it has kube-scheduler's message and the funnel of reasons, those with the same answer together. Called by
`fairway try` and by the library's `fairway.try_`.
"""

from __future__ import annotations

import html
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from fairway.cycle.funnel import funnel_document, funnel_lines
from fairway.explain.jobs.job_answer import date_text
from fairway.explain.jobs.job_explanation import JobExplanation
from fairway.explain.jobs.job_text import job_lines
from fairway.explain.jobs.job_trial import know_members, others_of, place_job, profile_of_job, units
from fairway.explain.trial import Trial, Verdict
from fairway.tables import Column, plain_table
from fairway.words import nodes_text

__all__ = ["COLUMNS", "PlayedRollout", "TryAnswer", "try_all"]

COLUMNS: Final = (
    Column("pod", "POD"),
    Column("result", "RESULT"),
    Column("node", "NODE"),
    Column("detail", "DETAIL"),
    Column("priority", "PRIORITY", right=True, wide=True),
    Column("feasible", "FEASIBLE", right=True, wide=True),
    Column("score", "SCORE", right=True, wide=True),
    Column("from", "FROM", wide=True),
    Column("evicts", "EVICTS", wide=True),
    Column("message", "MESSAGE", wide=True),
)
NAMED_PODS = 4
EXPLAINED_JOBS = 5
"""So many jobs that can not start are explained: changes are tried for each."""


@dataclass(frozen=True, slots=True)
class PlayedRollout:
    """What came of a roll-out, in words and for programs; `rehearsal` plays them."""

    title: str
    is_complete: bool
    lines: tuple[str, ...]
    document: dict[str, Any]


class TryAnswer:
    """What became of each pod. Prints as `fairway try` does."""

    def __init__(
        self,
        verdicts: Sequence[Verdict],
        num_nodes: int,
        notes: Sequence[str] = (),
        not_counted: Sequence[str] = (),
        rollouts: Sequence[PlayedRollout] = (),
        there: Mapping[str, int] | None = None,
        jobs: Sequence[JobExplanation] = (),
    ) -> None:
        self.verdicts = tuple(verdicts)
        self.num_nodes = num_nodes
        self.notes = list(notes)  # about what was read
        self.not_counted = list(not_counted)  # what may make pods, and was not looked at: which and why
        self.rollouts = list(rollouts)  # in the order in which they were played
        self.there = dict(there or {})  # pods that the cluster has already, by what they are of
        self.jobs = list(jobs)  # that can not start, as they were found

    @property
    def fits(self) -> bool:
        """Do all pods get a node, and do all roll-outs come through?"""
        return all(verdict.is_placed for verdict in self.verdicts) and all(one.is_complete for one in self.rollouts)

    @property
    def nodes(self) -> dict[str, str | None]:
        """Where each pod goes, by `namespace/name`; None: nowhere."""
        return {verdict.pod.key: verdict.node or None for verdict in self.verdicts}

    @property
    def first_failure(self) -> str | None:
        """The first pod that gets no node and is not somebody else's; None if there is none."""
        failed = (one.pod.key for one in self.verdicts if not one.is_placed and one.result != "ignored")
        return next(failed, None)

    def rows(self) -> list[dict[str, Any]]:
        """Every pod: the result, the node, the detail."""
        return [_row(verdict, self.num_nodes) for verdict in self.verdicts]

    def document(self, rows: Sequence[dict[str, Any]] | None = None) -> dict[str, Any]:
        """Everything, or these rows, in plain values: what `-o json` prints."""
        funnels = {verdict.pod.key: funnel_document(verdict.funnel) for verdict in self.verdicts}
        return {
            "nodes": self.num_nodes,
            "placed": sum(verdict.is_placed for verdict in self.verdicts),
            "pods": [row | {"funnel": funnels[row["pod"]]} for row in (self.rows() if rows is None else rows)],
            "there": self.there,
            "rollouts": [one.document for one in self.rollouts],
            **({"jobs": [job.document() for job in self.jobs]} if self.jobs else {}),
        }

    @property
    def summary(self) -> str:
        """What came of it all: a line for the pods, and one for each thing besides."""
        lines = [_summary(self.verdicts)] if self.verdicts or not (self.rollouts or self.there) else []
        if not lines and not self.rollouts:
            lines = ["nothing to place: what is asked for is there already"]
        lines += [f"{one.title} {'rolls out' if one.is_complete else 'gets stuck'}" for one in self.rollouts]
        lines += [f"not counted: {one}" for one in self.not_counted]
        return "\n".join(lines)

    def lines(self) -> list[str]:
        """What follows the table: why pods fit nowhere, how roll-outs go, and what came of it all."""
        return [*self.failure_lines(), *self.rollout_lines(), "", self.summary]

    def rollout_lines(self) -> list[str]:
        """Every roll-out, step by step."""
        return [line for one in self.rollouts for line in ("", *one.lines)]

    def failure_lines(self) -> list[str]:
        """Why pods fit nowhere; those with the same answer together, and members of a job that can not start."""
        lines = [line for job in self.jobs for line in ("", *job_lines(job, date_text))]
        for (message, funnel), names in self._failures().items():
            more = f" and {len(names) - NAMED_PODS} more" if len(names) > NAMED_PODS else ""
            lines += ["", f"{', '.join(names[:NAMED_PODS])}{more}: {message}"]
            if funnel:  # of a member of a job, that of the nodes its job may go to
                lines += funnel_lines(funnel, funnel[0].num_left + funnel[0].num_refused)
        return lines

    def _failures(self) -> dict[Any, list[str]]:
        groups: dict[Any, list[str]] = {}
        told = {uid for job in self.jobs for book in (job.group, *job.companions) for uid in book.waiting}
        for verdict in self.verdicts:
            if verdict.pod.metadata.uid in told:
                continue
            if not verdict.is_placed and verdict.result in ("unschedulable", "error"):
                groups.setdefault((verdict.message, verdict.funnel), []).append(verdict.pod.key)
        return groups

    def __str__(self) -> str:
        rows = self.rows()
        table = plain_table(rows, [column for column in COLUMNS if not column.wide]).splitlines() if rows else []
        return "\n".join([*table, *self.lines()]).removeprefix("\n")

    def __repr__(self) -> str:
        return f"<try: {', '.join(self.summary.splitlines())}>"

    def _repr_html_(self) -> str:
        """In a notebook: the text."""
        return f'<pre style="line-height:1.3">{html.escape(str(self))}</pre>'


def try_all(trial: Trial, told: Callable[[int], None] = lambda number: None) -> TryAnswer:
    """Place all pods of the trial, most important first, and jobs as jobs; `told` hears how many were placed since."""
    verdicts: list[Verdict] = []
    jobs: list[JobExplanation] = []
    queue = trial.queue()
    know_members(trial, (pod for pod, _ in queue))
    others = others_of(trial)
    for group, members in units(trial, queue, others):
        if group is None:
            verdicts.append(trial.place(*members[0]))
        else:
            found = place_job(trial, group, members, others)
            verdicts += found.members
            profile = profile_of_job(trial, group)
            if not found.is_placed and profile is not None and len(jobs) < EXPLAINED_JOBS:
                jobs.append(JobExplanation(profile, group, others=others))
        told(len(members))
    not_counted = [f"{one.title} ({one.reason})" for one in trial.manifests.not_counted]
    there = {one.title: one.num_there for one in trial.manifests.wanted if one.num_there}
    return TryAnswer(verdicts, trial.manifests.num_nodes, trial.manifests.notes, not_counted, there=there, jobs=jobs)


def _row(verdict: Verdict, num_nodes: int) -> dict[str, Any]:
    decision = verdict.decision
    return {
        "pod": verdict.pod.key,
        "result": verdict.result,
        "node": verdict.node or None,
        "detail": _detail(verdict, num_nodes),
        "priority": verdict.pod.priority,
        "feasible": decision.num_feasible if decision else None,
        "score": decision.score if decision else None,
        "from": verdict.wanted.title,
        "evicts": [victim.key for victim in verdict.victims],
        "message": verdict.message or None,
    }


def _detail(verdict: Verdict, num_nodes: int) -> str:
    decision = verdict.decision
    match verdict.result:
        case "preempts" if not verdict.victims:
            words = "with its job, which evicts others"
        case "preempts":
            words = f"evicts {', '.join(victim.key for victim in verdict.victims)}"
        case "scheduled" if decision is not None and decision.via == "nominated":
            words = "was nominated to it"
        case "scheduled" if decision is not None:
            num = decision.num_feasible
            words = "the only node that fits" if num == 1 else f"best of {nodes_text(num)} that fit"
            if verdict.is_sampled:
                words = f"best of {nodes_text(num)} that fit among those looked at"
        case "unschedulable":
            words = f"fits on none of {nodes_text(num_nodes)}" if not verdict.remark else ""
        case _:
            words = verdict.message
    return ", ".join(part for part in (words, verdict.remark) if part)


def _summary(verdicts: Sequence[Verdict]) -> str:
    """What came of it all, in one line."""

    def count(*results: str) -> int:
        return sum(verdict.result in results for verdict in verdicts)

    victims = sum(len(verdict.victims) for verdict in verdicts)
    total = len(verdicts)
    text = f"{count('scheduled', 'preempts')} of {total} {'pod gets' if total == 1 else 'pods get'} a node"
    if victims:
        text += f" ({count('preempts')} by evicting {victims} pod{'' if victims == 1 else 's'})"
    for results, words in (
        (("unschedulable",), "fits nowhere" if count("unschedulable") == 1 else "fit nowhere"),
        (("gated",), "gated"),
        (("error",), "failed"),
        (("ignored",), "for another scheduler"),
    ):
        if number := count(*results):
            text += f", {number} {words}"
    return text
