"""Decisions of a run: the log, filtered and page by page, and one attempt with all that was kept of it.

In: a run and a question. Out: a page, or a `DecisionAnswer`. Called by `routes`.
"""

from __future__ import annotations

from typing import Final

from fairway.web.page_error import PageError
from fairway.web.paging import PageOf, columns_of, page_begin, page_of
from fairway.web.pods import where_of
from fairway.web.questions import DecisionQuestion, DecisionsQuestion
from fairway.web.shapes import DecisionAnswer, DecisionColumns, FilterCount
from fairway.web.sources import RunSource

__all__ = ["decisions_page", "one_decision"]


SORTS: Final = {
    "time": "decision_id",
    "-time": "decision_id DESC",
    "cycle": "cycle_seconds, decision_id",
    "-cycle": "cycle_seconds DESC, decision_id",
}


def decisions_page(source: RunSource, question: DecisionsQuestion) -> PageOf[DecisionColumns]:
    """In the order in which they were made, or the slowest first."""
    conditions = {
        "namespace": "starts_with(pod, $namespace || '/')",
        "pod": "pod = $pod",
        "node": "node = $node",
        "scheduler": "scheduler = $scheduler",
        "outcome": "outcome = $outcome",
        "refused_by": "decision_id IN (SELECT decision_id FROM filter_counts WHERE plugin = $refused_by)",
        "after": "decision_id > $after",
        "begin": "time_seconds >= $begin",
        "end": "time_seconds <= $end",
    }
    where, values = where_of(conditions, {name: getattr(question, name) for name in conditions})
    (count,) = source.rows(f"SELECT count(*) AS num FROM decisions{where}", **values)
    begin = page_begin(question)
    rows = source.rows(
        f"SELECT * FROM decisions{where} ORDER BY {SORTS[question.sort]} LIMIT $limit OFFSET $first",
        **values,
        limit=question.limit,
        first=begin,
    )
    return page_of(question, columns_of(DecisionColumns, rows), begin, len(rows), count["num"])


def one_decision(source: RunSource, question: DecisionQuestion) -> DecisionAnswer:
    """With who refused, the best nodes, who had to go, what plugins took."""
    number = question.id
    rows = source.rows("SELECT * FROM decisions WHERE decision_id = $number", number=number)
    if not rows:
        hint = f"it kept {source.known.decisions} decisions; options.decisions of the run says which"
        raise PageError(404, "no_such_decision", f"the run has no decision {number}", hint)
    counts = source.rows(
        "SELECT plugin, code, reason, num_nodes FROM filter_counts WHERE decision_id = $number ORDER BY number",
        number=number,
    )
    return DecisionAnswer(
        decision=columns_of(DecisionColumns, rows),
        filter_counts=[FilterCount(**row) for row in counts],
        scores=source.rows(
            "SELECT rank, node, total, plugin, score FROM scores WHERE decision_id = $number ORDER BY rank, plugin",
            number=number,
        ),
        preemptions=source.rows(
            "SELECT node, victim FROM preemptions WHERE decision_id = $number ORDER BY number", number=number
        ),
        plugin_times=source.rows(
            "SELECT plugin, point, num_calls, cpu_seconds FROM plugin_times WHERE decision_id = $number ORDER BY rowid",
            number=number,
        ),
    )
