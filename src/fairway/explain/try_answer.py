"""Would these pods fit, and where: the answer of a trial, as text, as HTML, as a document.

In: the verdicts about all pods of a trial, in the order in which they were placed. Out: a `TryAnswer`. For pods that
fit nowhere it has kube-scheduler's message and the funnel of reasons, those with the same answer together. Called by
`fairway try` and by the library's `fairway.try_`.
"""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import Any, Final

from fairway.explain.funnel import funnel_document, funnel_lines
from fairway.explain.trial import Trial, Verdict
from fairway.tables import Column, plain_table
from fairway.words import nodes_text

__all__ = ["COLUMNS", "TryAnswer", "try_all"]

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


class TryAnswer:
    """What became of each pod. Prints as `fairway try` does."""

    def __init__(
        self,
        verdicts: Sequence[Verdict],
        num_nodes: int,
        notes: Sequence[str] = (),
        not_counted: Sequence[str] = (),
    ) -> None:
        self.verdicts = tuple(verdicts)
        self.num_nodes = num_nodes
        self.notes = list(notes)  # about what was read
        self.not_counted = list(not_counted)  # what may make pods, and was not looked at: which and why

    @property
    def fits(self) -> bool:
        """Do all pods get a node?"""
        return all(verdict.is_placed for verdict in self.verdicts)

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
        }

    @property
    def summary(self) -> str:
        """What came of it all, in one line."""
        return _summary(self.verdicts)

    def lines(self) -> list[str]:
        """What follows the table: why pods fit nowhere, and what came of it all."""
        return [*self.failure_lines(), "", self.summary, *(f"not counted: {one}" for one in self.not_counted)]

    def failure_lines(self) -> list[str]:
        """Why pods fit nowhere; those with the same answer together."""
        lines = []
        for (message, funnel), names in self._failures().items():
            more = f" and {len(names) - NAMED_PODS} more" if len(names) > NAMED_PODS else ""
            lines += ["", f"{', '.join(names[:NAMED_PODS])}{more}: {message}"]
            lines += funnel_lines(funnel, self.num_nodes) if funnel else ()
        return lines

    def _failures(self) -> dict[Any, list[str]]:
        groups: dict[Any, list[str]] = {}
        for verdict in self.verdicts:
            if not verdict.is_placed and verdict.result in ("unschedulable", "error"):
                groups.setdefault((verdict.message, verdict.funnel), []).append(verdict.pod.key)
        return groups

    def __str__(self) -> str:
        table = plain_table(self.rows(), [column for column in COLUMNS if not column.wide])
        return "\n".join([*table.splitlines(), *self.lines()])

    def __repr__(self) -> str:
        return f"<try: {_summary(self.verdicts)}>"

    def _repr_html_(self) -> str:
        """In a notebook: the text."""
        return f'<pre style="line-height:1.3">{html.escape(str(self))}</pre>'


def try_all(trial: Trial) -> TryAnswer:
    """Place all pods of the trial, most important first."""
    verdicts = [trial.place(pod, wanted) for pod, wanted in trial.queue()]
    not_counted = [f"{one.title} ({one.reason})" for one in trial.manifests.not_counted]
    return TryAnswer(verdicts, trial.manifests.num_nodes, trial.manifests.notes, not_counted)


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
