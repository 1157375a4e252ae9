"""Names that people look for: pods, nodes, owners; what begins so comes before what only holds it.

In: a run and a few letters. Out: at most 20 names, with their kinds. A pod is found by its name or `namespace/name`.
Called by `routes`.
"""

from __future__ import annotations

from fairway.web.questions import SearchQuestion
from fairway.web.shapes import FoundNames
from fairway.web.sources import RunSource

__all__ = ["search"]

FOUND = """
    SELECT kind, name FROM (
        SELECT DISTINCT 'pod' AS kind, pod AS name, lower(split_part(pod, '/', 2)) AS short FROM pods
        UNION ALL SELECT DISTINCT 'node', node, lower(node) FROM nodes
        UNION ALL SELECT DISTINCT 'owner', owner, lower(split_part(owner, '/', -1)) FROM pods WHERE owner IS NOT NULL
    ) WHERE contains(lower(name), lower($text))
    ORDER BY NOT (starts_with(short, lower($text)) OR starts_with(lower(name), lower($text))), length(name), kind, name
    LIMIT $limit
"""


def search(source: RunSource, question: SearchQuestion) -> FoundNames:
    """The first of them."""
    rows = source.rows(FOUND, text=question.text, limit=question.limit)
    return FoundNames([row["kind"] for row in rows], [row["name"] for row in rows])
