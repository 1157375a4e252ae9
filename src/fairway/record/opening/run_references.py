"""Whether the tables of a run agree on who is who.

In: an open file whose tables and rows are those of a run. Out: nothing, or a `RecordError` that names table and value.
Nodes and pods have a number and a name, and tables refer to them by both: from a file in which somebody renamed a node
in one table, or that was put together from two, answers would be wrong. Numbers and names may not contradict each other
in any run; in one that is complete and lacks no rows, every node and pod that is referred to is there. Called by
`run_opening`, once, before anything is read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import duckdb

from fairway.record.errors import RecordError, quoted

__all__ = ["check_references"]

NUMBERED: Final = (
    ("pods", "node", "nodes"),
    ("occupancy", "node", "nodes"),
    ("occupancy", "pod", "pods"),
    ("data_reads", "pod", "pods"),
)
"""Table, what it refers to by number (`node_id`) and name, and the table of these."""

NAMED: Final = (
    ("decisions", "node"),
    ("decisions", "nominated_node"),
    ("scores", "node"),
    ("data", "node"),
    ("preemptions", "node"),
    ("data_reads", "node"),
    ("data_reads", "source_node"),
)
"""Tables that refer to nodes by name alone, and the column."""

JOBS: Final = (
    ("pods", "job_id", "jobs", "job_id"),
    ("decisions", "job_id", "jobs", "job_id"),
    ("decisions", "job_decision_id", "job_decisions", "job_decision_id"),
    ("job_decisions", "job_id", "jobs", "job_id"),
    ("job_decisions", "blocking_pod_id", "pods", "pod_id"),
    ("holds", "pod_id", "pods", "pod_id"),
    ("holds", "job_id", "jobs", "job_id"),
    ("holds", "node_id", "nodes", "node_id"),
    ("jobs", "pod_id", "pods", "pod_id"),
    ("job_states", "job_id", "jobs", "job_id"),
    ("estimates", "job_id", "jobs", "job_id"),
    ("charges", "job_id", "jobs", "job_id"),
)
"""Where numbers alone refer to jobs, or to what belongs to them: table and column, and where they have to be."""

PLAIN_NAME: Final = "[A-Za-z0-9._-]+"
"""Names that JSON has as they are."""


def check_references(cursor: duckdb.DuckDBPyConnection, path: Path, names: set[str], meta: Mapping[str, Any]) -> None:
    """Look for what can not be."""
    is_whole = meta.get("complete") is True
    if is_whole and "gaps" in names:
        is_whole = cursor.execute("SELECT count(*) FROM gaps").fetchone() == (0,)
    jobs = JOBS if is_whole and {"jobs", "job_decisions", "holds"} <= names else ()
    known = [one for one in jobs if one[0] in names and one[1] in _columns(cursor, one[0])]  # older runs lack some
    for query, words in (*_questions(names, is_whole), *_job_questions(known)):
        row = cursor.execute(query).fetchone()
        if row is not None:
            raise RecordError(f"{path} is damaged: {words.format(*map(quoted, row))}")


def _questions(names: set[str], is_whole: bool) -> Iterator[tuple[str, str]]:
    """What finds a row that can not be, and what to say of it."""
    yield (
        f"SELECT node FROM nodes WHERE regexp_full_match(node, '{PLAIN_NAME}')"
        """ AND NOT contains(manifest, concat('"name":"', node, '"')) LIMIT 1""",
        "its table nodes has the node {0} with the manifest of another",
    )
    for table, what, among in NUMBERED:
        if table not in names:
            continue
        number = f"{what}_id"
        same = f"FROM {table} one JOIN (SELECT DISTINCT {number}, {what} FROM {among}) two USING ({number})"
        yield (
            f"SELECT one.{what}, one.{number}, two.{what} {same} WHERE one.{what} <> two.{what} LIMIT 1",
            f"its table {table} has the {what} {{0}} as number {{1}}, which its table {among} calls {{2}}",
        )
        if is_whole:
            yield (
                f"SELECT {what}, {number} FROM {table} ANTI JOIN {among} USING ({number})"
                f" WHERE {number} IS NOT NULL LIMIT 1",
                f"its table {table} has the {what} {{0}} as number {{1}}, which its table {among} does not have",
            )
    for table, column in NAMED if is_whole else ():
        if table in names:
            yield (
                f"SELECT {column} FROM {table} WHERE {column} <> ''"
                f" AND {column} NOT IN (SELECT node FROM nodes) LIMIT 1",
                f"its table {table} has the node {{0}} in the column {column}, which its table nodes does not have",
            )


def _job_questions(references: Iterable[tuple[str, str, str, str]]) -> Iterator[tuple[str, str]]:
    for table, column, among, number in references:
        yield (
            f"SELECT {column} FROM {table} WHERE {column} IS NOT NULL"
            f" AND {column} NOT IN (SELECT {number} FROM {among}) LIMIT 1",
            f"its table {table} has the number {{0}} in the column {column}, which its table {among} does not have",
        )


def _columns(cursor: duckdb.DuckDBPyConnection, table: str) -> set[str]:
    return {column[0] for column in cursor.execute(f"SELECT * FROM {table} LIMIT 0").description or ()}
