"""Who waits at a moment: for what, in which place of the schedulers' queues, since when, refused by whom.

In: a run, and a time. Out: pods that wait for the same reason together, as `fairway status` tells them; and, if the run
kept the queue's moves, how many are in each place, and a page of those who wait. The
last move of each pod before the time says where it is. Called by `routes`.
"""

from __future__ import annotations

from typing import Any

from fairway.explain.queues.queue_jobs import queue_jobs
from fairway.explain.run_status import waiting_pods
from fairway.web.paging import columns_of, next_word, page_begin
from fairway.web.pods import last_refusals
from fairway.web.questions import MomentQuestion, QueueQuestion
from fairway.web.shapes import QueueColumns, QueuePage, WaitingAnswer, WaitingColumns
from fairway.web.sources import RunSource
from fairway.web.waking import what_wakes

__all__ = ["queue_page", "waiting_groups"]


def waiting_groups(source: RunSource, question: MomentQuestion) -> WaitingAnswer:
    """By reason."""
    at, run = source.time(question.at), source.run
    groups = waiting_pods(run, at, queue_jobs(run, at) if source.has_queues else ())
    rows = [
        {
            "reason": one.reason,
            "pods": one.num_pods,
            "longest_seconds": one.longest,
            "longest_pod": one.pod,
            "job": one.job or None,
        }
        for one in groups
    ]
    ended = source.rows(
        "SELECT reason, count(*) AS num FROM pods WHERE ended_seconds <= $at GROUP BY reason ORDER BY num DESC, reason",
        at=at,
    )
    columns = columns_of(WaitingColumns, rows)
    return WaitingAnswer(at, sum(columns.pods), columns, {str(row["reason"]): row["num"] for row in ended})


def queue_page(source: RunSource, question: QueueQuestion) -> QueuePage:
    """Those who wait longest first."""
    source.check_queue()
    at, begin = source.time(question.at), page_begin(question)
    some = "" if question.scheduler is None else " AND m.scheduler = $scheduler"
    values = {"at": at} | ({} if question.scheduler is None else {"scheduler": question.scheduler})
    there = f"""
        FROM (
            SELECT m.pod_id, m.scheduler, arg_max(m.place, m.rowid) AS place, max(m.rowid) AS move,
                arg_max(m.event, m.rowid) AS event, arg_max(m.time_seconds, m.rowid) AS since_seconds,
                arg_max(m.place IS NULL, m.rowid) AS is_out
            FROM queue_moves m WHERE m.time_seconds <= $at AND m.pod_id IS NOT NULL{some} GROUP BY m.pod_id, m.scheduler
        ) q JOIN pods p USING (pod_id) WHERE NOT q.is_out
    """
    counts = source.rows(f"SELECT place, count(*) AS num {there} GROUP BY place ORDER BY num DESC, place", **values)
    rows = source.rows(
        f"""
        SELECT q.pod_id, p.pod, q.scheduler, q.place, q.since_seconds, q.event, p.created_seconds,
            (SELECT count(*) FROM decisions d WHERE d.pod_id = q.pod_id AND d.time_seconds <= $at) AS attempts
        {there} ORDER BY p.created_seconds, q.pod_id, q.scheduler LIMIT $limit OFFSET $first
        """,
        **values,
        limit=question.limit,
        first=begin,
    )
    refusals = last_refusals(source, [row["pod_id"] for row in rows], at)
    nothing: dict[str, Any] = {"refused_by": None, "refusal": None, "plugins": []}
    told = [row | refusals.get(row["pod_id"], nothing) for row in rows]
    told = [row | {"wakes": what_wakes(row["place"], row["plugins"])} for row in told]
    total = sum(row["num"] for row in counts)
    places = {row["place"]: row["num"] for row in counts}
    columns = columns_of(QueueColumns, told)
    return QueuePage(places, columns, len(rows), total, next_word(question, begin, len(rows), total))
