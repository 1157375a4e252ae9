"""Pods of a run as a table: filtered, sorted, page by page, each with the last refusal it met.

In: a run and a `PodsQuestion`. Out: a page. What can be sorted by is in a table of names; everything else that people
say reaches SQL as a parameter. Called by `routes`.
"""

from __future__ import annotations

import bisect
import difflib
import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from fairway.explain.queues.queue_jobs import queue_jobs
from fairway.explain.run_status import waiting_pods
from fairway.explain.run_story import Story, story_document
from fairway.record.curves import wait_shares
from fairway.web.page_error import PageError
from fairway.web.paging import PageOf, columns_of, page_begin, page_of
from fairway.web.questions import PodQuestion, PodsQuestion, SomePodsQuestion
from fairway.web.shapes import Document, PodColumns, WaitsAnswer
from fairway.web.sources import RunSource
from fairway.words import time_text

__all__ = ["REFUSED_LAST", "find_pod", "last_refusals", "no_such_pod", "pod_story", "pods_page", "waits", "where_of"]

WAIT: Final = "coalesce(bound_seconds, ended_seconds, $at) - created_seconds"
STATE: Final = (
    "CASE WHEN ended_seconds IS NOT NULL THEN 'ended' WHEN bound_seconds IS NULL THEN 'waiting' ELSE 'running' END"
)
THEN: Final = """
    (
        SELECT p.* REPLACE (
            CASE WHEN bound_seconds <= $at THEN bound_seconds END AS bound_seconds,
            CASE WHEN started_seconds <= $at THEN started_seconds END AS started_seconds,
            CASE WHEN ended_seconds <= $at THEN ended_seconds END AS ended_seconds,
            CASE WHEN ended_seconds <= $at THEN reason END AS reason,
            CASE WHEN bound_seconds <= $at THEN node END AS node,
            coalesce(num_made, 0) AS attempts
        ) FROM pods p LEFT JOIN (
            SELECT pod_id, count(*) AS num_made FROM decisions WHERE time_seconds <= $at GROUP BY pod_id
        ) USING (pod_id) WHERE created_seconds <= $at
    )
"""
"""Pods as they were at a time; attempts that were not kept are not counted."""
SORTS: Final = {
    "pod": "pod", "owner": "owner", "namespace": "namespace", "user": "user_name", "priority": "priority",
    "state": STATE, "created": "created_seconds", "bound": "bound_seconds", "ended": "ended_seconds", "wait": WAIT,
    "attempts": "attempts", "node": "node", "reason": "reason",
}  # fmt: skip
REFUSED_LAST: Final = """
    SELECT pod_id FROM filter_counts JOIN (
        SELECT pod_id, max(decision_id) AS decision_id FROM decisions
        WHERE node IS NULL AND pod_id IS NOT NULL AND time_seconds <= $at GROUP BY pod_id
    ) USING (decision_id) WHERE plugin = $refused_by
"""
WAITED: Final = "attempts > 0 OR bound_seconds IS NULL"
"""Some scheduler was to place it."""
POINTS: Final = 480
UP_TO: Final = (0.0, 1.0, 3.0, 10.0, 30.0, 60.0, 180.0, 600.0, 1800.0, 3600.0, 10800.0, 43200.0, 86400.0, 604800.0)
"""Seconds; the ends of classes of waits."""
NAMED: Final = 10


def pods_page(source: RunSource, question: PodsQuestion) -> PageOf[PodColumns]:
    """Some of them, and how many there are."""
    name = question.sort.removeprefix("-")
    if name not in SORTS:
        raise PageError(400, "bad_parameter", f"sort: nothing is called {name}", f"there are: {', '.join(SORTS)}")
    way = "DESC" if question.sort.startswith("-") else "ASC"
    begin = page_begin(question)
    some, values = _some(source, question)
    (count,) = source.rows(f"SELECT count(*) AS num {some}", **values)
    sort = SORTS[name]
    rows = source.rows(
        f"""
        SELECT *, user_name AS "user", {STATE} AS state, {WAIT} AS wait_seconds {some}
        ORDER BY {sort} {way} NULLS LAST, pod_id {way} LIMIT $limit OFFSET $begin
        """,
        **values,
        limit=question.limit,
        begin=begin,
    )
    refusals = last_refusals(source, [row["pod_id"] for row in rows], values["at"])
    nothing = {"refused_by": None, "refusal": None}
    told = [row | refusals.get(row["pod_id"], nothing) for row in rows]
    return page_of(question, columns_of(PodColumns, told), begin, len(rows), count["num"])


def _some(source: RunSource, question: SomePodsQuestion) -> tuple[str, dict[str, Any]]:
    """Which pods are meant, in SQL, and its parameters."""
    conditions = {
        "namespace": "namespace = $namespace",
        "owner": "(owner = $owner OR ends_with(owner, '/' || $owner))",
        "node": "node = $node",
        "user": "user_name = $user",
        "state": f"{STATE} = $state",
        "text": "contains(lower(pod), lower($text))",
        "refused_by": f"pod_id IN ({REFUSED_LAST})",
        "pods": "list_contains($pods, pod_id)",
    }
    at = source.time(question.at)
    given = {name: getattr(question, name, None) for name in conditions}
    if " " in (question.refused_by or ""):  # no plugin's name
        groups = waiting_pods(source.run, at, queue_jobs(source.run, at) if source.has_queues else ())
        numbers = (group.numbers for group in groups if group.reason == question.refused_by)
        given |= {"refused_by": None, "pods": list(next(numbers, ()))}
    where, values = where_of(conditions, given)
    table = "pods" if question.at is None else THEN
    return f"FROM {table}{where}", values | {"at": at}


def where_of(conditions: Mapping[str, str], given: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """The conditions of what was given, and their parameters."""
    values = {name: value for name, value in given.items() if value is not None}
    where = " AND ".join(f"({conditions[name]})" for name in values)
    return f" WHERE {where}" if where else "", values


def last_refusals(source: RunSource, pods: Sequence[int], at: float) -> dict[int, dict[str, Any]]:
    """By pod: who refused most nodes at its last attempt that failed by then, with what words, and all who refused."""
    rows = source.rows(
        """
        WITH latest AS (
            SELECT pod_id, max(decision_id) AS decision_id FROM decisions
            WHERE pod_id IN (SELECT unnest($pods)) AND node IS NULL AND time_seconds <= $at GROUP BY pod_id
        ), counted AS (
            SELECT decision_id, plugin, reason, sum(num_nodes) AS num_nodes, min(number) AS number
            FROM filter_counts JOIN latest USING (decision_id) GROUP BY ALL
        ), refused AS (
            SELECT decision_id, arg_max(plugin, (num_nodes, -number)) AS refused_by,
                arg_max(reason, (num_nodes, -number)) AS reason, list(DISTINCT plugin ORDER BY plugin) AS plugins
            FROM counted GROUP BY decision_id
        )
        SELECT pod_id, refused_by, coalesce(reason, message) AS refusal, coalesce(plugins, []) AS plugins
        FROM latest JOIN decisions USING (decision_id, pod_id) LEFT JOIN refused USING (decision_id)
        """,
        pods=list(pods),
        at=at,
    )
    return {row.pop("pod_id"): row for row in rows}


def find_pod(source: RunSource, namespace: str, name: str, uid: str | None = None) -> dict[str, Any]:
    """The row of the one pod that is meant."""
    key = f"{namespace}/{name}"
    rows = [row for row in source.run.pods.where("pod = ?", key) if uid in (None, row["uid"])]
    if not rows:
        raise no_such_pod(source, key if uid is None else f"{key} with uid {uid}")
    if len(rows) > 1:
        told = "; ".join(f"uid={row['uid']} created {time_text(row['created_seconds'])}" for row in rows[:NAMED])
        more = f"; and {len(rows) - NAMED} more" if len(rows) > NAMED else ""
        raise PageError(409, "several_pods", f"there are {len(rows)} pods called {key}", f"say which: {told}{more}")
    return rows[0]


def no_such_pod(source: RunSource, key: str) -> PageError:
    """With the nearest names."""
    known = [row["pod"] for row in source.rows("SELECT DISTINCT pod FROM pods ORDER BY pod LIMIT 50000")]
    close = difflib.get_close_matches(key, known, n=3)
    hint = f"did you mean {' or '.join(close)}?" if close else f"there are: {', '.join(known[:NAMED])}"
    return PageError(404, "no_such_pod", f"the run has no pod {key}", hint if known else "it has no pods at all")


def pod_story(source: RunSource, question: PodQuestion) -> Document:
    """All that the run kept about it."""
    row = find_pod(source, question.namespace, question.name, question.uid)
    return story_document(Story.of(source.run, row))


def waits(source: RunSource, question: SomePodsQuestion) -> WaitsAnswer:
    """Waits of pods, as a curve of shares and in classes."""
    some, values = _some(source, question)
    rows = source.rows(
        f"SELECT {WAIT} AS wait, bound_seconds IS NOT NULL AS is_placed FROM (SELECT * {some}) WHERE {WAITED}", **values
    )
    all_waits = np.array([row["wait"] for row in rows], np.float64)
    is_placed = np.array([row["is_placed"] for row in rows], np.bool_)
    seconds, shares = wait_shares(np.sort(np.where(is_placed, all_waits, math.inf)), POINTS)
    longest = float(all_waits.max(initial=0.0))
    up_to = [*UP_TO[: bisect.bisect_left(UP_TO, longest) + 1]]
    if longest > up_to[-1]:
        up_to.append(longest)
    placed, unplaced = (
        np.bincount(np.searchsorted(up_to, all_waits[mask]), minlength=len(up_to)) for mask in (is_placed, ~is_placed)
    )
    return WaitsAnswer(
        seconds.tolist(), shares.tolist(), int((~is_placed).sum()), up_to, placed.tolist(), unplaced.tolist()
    )
