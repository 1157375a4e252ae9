"""Where the schedulers' time went: a table of plugins and extension points.

In: a run that was recorded with plugin times, and a time of it. Out: `PluginShare`s, the largest first, and lines of
text. Called by `status --plugins`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fairway.model import UserError
from fairway.record import Run
from fairway.tables import Column
from fairway.words import count_text

__all__ = ["COLUMNS", "PluginReport", "PluginShare", "plugin_lines", "plugin_rows", "read_plugin_times"]

COLUMNS = (
    Column("plugin", "PLUGIN"),
    Column("point", "POINT"),
    Column("calls", "CALLS", right=True),
    Column("cpuSeconds", "CPU (ms)", right=True),
    Column("perAttempt", "PER ATTEMPT (µs)", right=True),
    Column("share", "SHARE", right=True),
)


@dataclass(frozen=True, slots=True)
class PluginShare:
    """What a plugin used at an extension point."""

    plugin: str
    point: str
    num_calls: int
    cpu_seconds: float


@dataclass(frozen=True, slots=True)
class PluginReport:
    """All plugins of all schedulers, and what the attempts took in all."""

    shares: tuple[PluginShare, ...]  # the largest first
    num_attempts: int
    cpu_seconds: float  # of the attempts

    @property
    def in_plugins(self) -> float:
        """CPU seconds of all plugins."""
        return sum(one.cpu_seconds for one in self.shares)


def read_plugin_times(run: Run, at: float) -> PluginReport:
    """What was used up to that time."""
    if not run.meta.get("options", {}).get("plugin_times"):
        raise UserError(
            f"{run.path} does not say what plugins took: nobody measured it",
            "fairway sim SCENARIO --plugin-times --save RUN",
        )
    rows = run.sql(
        """
        SELECT plugin, point, sum(num_calls)::BIGINT AS num_calls, sum(cpu_seconds) AS cpu_seconds
        FROM plugin_times WHERE time_seconds <= ? GROUP BY plugin, point ORDER BY cpu_seconds DESC, plugin, point
        """,
        at,
    )
    shares = tuple(PluginShare(**row) for row in rows.rows())
    (attempts,) = run.sql(
        """
        SELECT count(*) AS num_attempts, coalesce(sum(cycle_seconds), 0.0) AS cpu_seconds
        FROM decisions WHERE time_seconds <= ?
        """,
        at,
    ).rows()
    return PluginReport(shares, **attempts)


def plugin_rows(report: PluginReport) -> list[dict[str, Any]]:
    """Rows with numbers."""
    total = report.in_plugins
    return [
        {
            "plugin": one.plugin,
            "point": one.point,
            "calls": one.num_calls,
            "cpuSeconds": one.cpu_seconds,
            "perAttempt": one.cpu_seconds * 1e6 / report.num_attempts if report.num_attempts else None,
            "share": one.cpu_seconds / total if total else None,
        }
        for one in report.shares
    ]


def plugin_lines(report: PluginReport) -> tuple[str, Sequence[dict[str, Any]]]:
    """A sentence, and the rows as people read them."""
    sentence = f"{count_text(report.num_attempts)} attempts took {report.cpu_seconds:.3g} s of CPU"
    if report.num_attempts:
        sentence += f", {report.cpu_seconds * 1e6 / report.num_attempts:.0f} µs each"
    sentence += f"; plugins {report.in_plugins:.3g} s"
    rows = [
        {
            **row,
            "cpuSeconds": f"{row['cpuSeconds'] * 1e3:,.1f}".replace(",", " "),
            "perAttempt": "" if row["perAttempt"] is None else f"{row['perAttempt']:.1f}",
            "share": "" if row["share"] is None else f"{row['share']:.1%}",
        }
        for row in plugin_rows(report)
    ]
    return sentence, rows
