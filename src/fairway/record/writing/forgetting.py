"""What stays of a run that is to forget everything before a time: a question in SQL for each table.

In: the tables of the schema. Out: conditions, with `$before` for the time, for rows that have ended; what is still open
is no concern of theirs. What happened at a time stays from that time on, what lasted stays if it ended after it, what
belongs to a decision stays with it. Of the moves of the queue the last one of each pod that waits stays, as if the pod
had come to that place from nowhere: places counted up to any later time are what they would be otherwise. Called by
`RowMemory`.
"""

from __future__ import annotations

from typing import Final

from fairway.record.schema import TABLES
from fairway.record.table_schema import TableSchema

__all__ = ["FORGETFUL", "remaining"]

UNTIL: Final = ("to_seconds", "ended_seconds", "time_seconds", "as_of_seconds")
"""Columns that say when something was over, or was; the first that a table has counts."""
OLDEST_DECISION: Final = "(SELECT min(decision_id) FROM decisions)"
QUEUE_MOVES: Final = """
    SELECT * EXCLUDE (was) REPLACE (CASE WHEN time_seconds >= $before THEN origin END AS origin) FROM (
        SELECT *, rowid AS was FROM queue_moves QUALIFY time_seconds >= $before OR (
            place IS NOT NULL AND pod_id IS NOT NULL
            AND rowid = max(rowid) FILTER (time_seconds < $before) OVER (PARTITION BY pod_id, scheduler)
        )
    ) ORDER BY was
"""


def _until(table: TableSchema) -> str:
    names = {column.name for column in table.columns}
    return next((name for name in UNTIL if name in names), "")


def remaining(table: TableSchema) -> str:
    """The rows that stay, in their order."""
    if table.name == "queue_moves":
        return QUEUE_MOVES
    if until := _until(table):
        return f"SELECT * FROM {table.name} WHERE coalesce({until}, $before) >= $before"
    if table.name == "templates":
        return (
            "SELECT * FROM templates WHERE template_id IN (SELECT template_id FROM pods UNION SELECT unnest($in_use))"
        )
    return f"SELECT * FROM {table.name} WHERE decision_id >= {OLDEST_DECISION}"


FORGETFUL: Final = [
    table
    for name, table in TABLES.items()
    if name in {"queue_moves", "templates"} or _until(table) or table.columns[0].name == "decision_id"
]
"""Those that grow; decisions before what belongs to them, pods before templates."""
