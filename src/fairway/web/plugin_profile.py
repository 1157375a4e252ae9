"""Where the schedulers' time went, as a tree: the whole, schedulers, extension points, plugins.

In: a run that was recorded with plugin times, and a stretch. Out: a `PluginTree`. What attempts took beside plugins is
a child of its own (`rest`), so that a scheduler's children add up to its cycles and what was used between them. Called
by `routes`.
"""

from __future__ import annotations

from collections.abc import Iterable

from fairway.web.page_error import PageError
from fairway.web.questions import StretchQuestion
from fairway.web.shapes import PluginTree
from fairway.web.sources import RunSource

__all__ = ["REST", "plugin_tree"]

REST = "rest"


def plugin_tree(source: RunSource, question: StretchQuestion) -> PluginTree:
    """The whole of it."""
    if not source.run.meta.get("options", {}).get("plugin_times"):
        what = "the run does not say what plugins took: nobody measured it"
        raise PageError(404, "not_recorded", what, "fairway sim SCENARIO --plugin-times --save RUN")
    begin, end = source.stretch(question.begin, question.end)
    rows = source.rows(
        """
        SELECT scheduler, point, plugin, sum(num_calls)::BIGINT AS num_calls, sum(cpu_seconds) AS cpu_seconds,
            coalesce(sum(cpu_seconds) FILTER (decision_id IS NOT NULL), 0.0) AS in_attempts
        FROM plugin_times WHERE time_seconds BETWEEN $begin AND $end GROUP BY ALL
        ORDER BY cpu_seconds DESC, scheduler, point, plugin
        """,
        begin=begin,
        end=end,
    )
    cycles = source.rows(
        """
        SELECT scheduler, sum(cycle_seconds) AS cpu_seconds, count(*) AS num FROM decisions
        WHERE time_seconds BETWEEN $begin AND $end GROUP BY scheduler ORDER BY scheduler
        """,
        begin=begin,
        end=end,
    )
    schedulers = []
    for name in dict.fromkeys(row["scheduler"] for row in (*cycles, *rows)):
        ours = [row for row in rows if row["scheduler"] == name]
        points = []
        for point in dict.fromkeys(row["point"] for row in ours):
            leaves = [
                PluginTree(row["plugin"], row["cpu_seconds"], row["num_calls"], [])
                for row in ours
                if row["point"] == point
            ]
            points.append(_sum(point, leaves))
        spent = [row for row in cycles if row["scheduler"] == name]
        rest = sum(row["cpu_seconds"] for row in spent) - sum(row["in_attempts"] for row in ours)
        attempts = sum(row["num"] for row in spent)
        schedulers.append(_sum(name, [*points, PluginTree(REST, max(rest, 0.0), attempts, [])]))
    return _sum("all", schedulers)


def _sum(name: str, children: Iterable[PluginTree]) -> PluginTree:
    parts = sorted(children, key=lambda child: -child.cpu_seconds)
    return PluginTree(name, sum(part.cpu_seconds for part in parts), sum(part.num_calls for part in parts), parts)
