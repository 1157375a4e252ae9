"""Why, for a pod of files: here, not there, or nowhere, and what would fix it.

In: a trial and the name of one of its pods. The pods before it in the queue are placed first, so the answer is that of
the moment at which `fairway try` came to it. Out: a `WhyAnswer`, as text, as HTML, as a document. Called by `fairway
why` and by the library's `fairway.why`; pods of a run are `run_answer`'s.
"""

from __future__ import annotations

import difflib
import html
from collections.abc import Sequence
from typing import Any, Final

from fairway.exit_codes import USAGE
from fairway.explain.explanation import COLUMNS, Explanation
from fairway.explain.explanation_text import answer_lines, node_lines, told_document
from fairway.explain.jobs.job_answer import job_of_pod
from fairway.explain.jobs.job_explanation import JobExplanation
from fairway.explain.jobs.job_text import headline
from fairway.explain.jobs.job_trial import know_members, others_of, place_job, units
from fairway.explain.trial import Trial
from fairway.kinds.controllers import Wanted
from fairway.model import Pod, UserError
from fairway.tables import plain_table

__all__ = ["WhyAnswer", "why_pod"]

NAMED: Final = 10


class WhyAnswer:
    """Why a pod goes where it goes, or nowhere. Prints as `fairway why` does."""

    def __init__(
        self,
        explanation: Explanation,
        node: str | None,
        all_nodes: bool,
        notes: Sequence[str] = (),
        job: JobExplanation | None = None,
    ) -> None:
        self.explanation = explanation
        self.node = node
        self.all_nodes = all_nodes
        self.notes = list(notes)  # about what was read
        self.job = job  # that the pod belongs to

    @property
    def pod(self) -> str:
        """`namespace/name`."""
        return self.explanation.pod.key

    @property
    def fits(self) -> bool:
        """Does the pod get a node? One that belongs to a job only with the others."""
        return self.explanation.verdict.is_placed and (self.job is None or self.job.is_placed)

    def rows(self) -> list[dict[str, Any]]:
        """Every node, or the one that was asked about: does it fit, who refuses it and why, what it scores."""
        return [row for row in self.explanation.node_rows() if self.node in (None, row["node"])]

    def document(self) -> dict[str, Any]:
        """Everything, in plain values: what `-o json` prints."""
        job = {} if self.job is None else {"job": self.job.document()}
        return told_document(self.explanation, self.rows(), self.lines()) | job

    def lines(self) -> list[str]:
        """The text."""
        if self.node is not None:
            return node_lines(self.explanation, self.node)
        opening = [] if self.job is None else [headline(self.job), "", "by itself, without the other members:"]
        return [*opening, *answer_lines(self.explanation, self.all_nodes)]

    def __str__(self) -> str:
        lines = self.lines()
        if self.all_nodes and self.node is None:
            lines += ["", *plain_table(self.rows(), [one for one in COLUMNS if not one.wide]).splitlines()]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<why {self.pod}: {self.explanation.verdict.result}>"

    def _repr_html_(self) -> str:
        """In a notebook: the text, its first line in bold."""
        first, _, rest = str(self).partition("\n")
        return f'<pre style="line-height:1.3"><b>{html.escape(first)}</b>\n{html.escape(rest)}</pre>'


def why_pod(trial: Trial, name: str, *, node: str | None = None, all_nodes: bool = False) -> WhyAnswer:
    """Explain what the trial decides about one of its pods."""
    known = trial.cluster.nodes.row_of
    if node is not None and node not in known:
        raise UserError(f"there is no node {node}", f"there are: {_few(sorted(known))}", USAGE)
    queue = trial.queue()
    place = _find(name, queue)
    asked, wanted = queue[place]
    know_members(trial, (pod for pod, _ in queue))
    others = others_of(trial)
    for group, members in units(trial, queue, others):
        if any(pod is asked for pod, _ in members):
            break
        if group is None:
            trial.place(*members[0])
        else:
            place_job(trial, group, members, others)
    job = job_of_pod(trial, asked, others=others)
    return WhyAnswer(Explanation.of_trial(trial, asked, wanted), node, all_nodes, trial.manifests.notes, job)


def _find(name: str, queue: Sequence[tuple[Pod, Wanted]]) -> int:
    """The place in the queue of the pod that is meant."""
    name = name.removeprefix("pod/")
    found = [place for place, (pod, _) in enumerate(queue) if name in (pod.key, pod.metadata.name)]
    if len(found) == 1:
        return found[0]
    keys = [pod.key for pod, _ in queue]
    if found:
        which = _few([keys[place] for place in found])
        raise UserError(f"there are {len(found)} pods called {name}", f"say which: {which}", USAGE)
    close = difflib.get_close_matches(name, {word for key in keys for word in (key, key.partition("/")[2])}, n=3)
    hint = f"did you mean {' or '.join(close)}?" if close else f"there are: {_few(keys)}"
    raise UserError(f"no pod to place is called {name}", hint, USAGE)


def _few(names: Sequence[str]) -> str:
    return ", ".join(names[:NAMED]) + (f" and {len(names) - NAMED} more" if len(names) > NAMED else "")
