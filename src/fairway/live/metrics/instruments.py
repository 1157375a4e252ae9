"""Counters, gauges and histograms that cost little to write to.

In: `of(name, *label values)`, which gives the one instrument to write to. Out: `render()`, the text that is scraped.
prometheus_client's own instruments lock and search every bucket at each observation; a decision makes some twenty
observations, so here each is a list index and an addition. The text is made by `series`. One thread writes.
"""

from __future__ import annotations

from typing import Any

from fairway.live.metrics.families import FAMILIES, Family
from fairway.live.metrics.series import Histogram, HistogramSeries, Number, NumberSeries, escaped

__all__ = ["Instruments"]


class Instruments:
    """All instruments of a process, by family and label values."""

    def __init__(self, families: tuple[Family, ...] = FAMILIES) -> None:
        self._families = {family.name: family for family in families}
        self._made: dict[tuple[str, ...], Any] = {}
        self._series: dict[str, list[NumberSeries | HistogramSeries]] = {family.name: [] for family in families}
        for family in families:
            if not family.labels:
                self.of(family.name)

    def of(self, *key: str) -> Any:
        """The instrument of a family with these label values, in the family's order of labels."""
        found = self._made.get(key)
        if found is None:
            family = self._families[key[0]]
            if len(key) != len(family.labels) + 1:
                raise ValueError(f"{family.name} has the labels {family.labels}, not {len(key) - 1} of them")
            labels = dict(zip(family.labels, key[1:], strict=True))
            if family.kind == "histogram":
                found = Histogram(family.buckets)
                self._series[family.name].append(HistogramSeries(found, family.name, labels))
            else:
                found = Number()
                self._series[family.name].append(NumberSeries(found, family.name, labels))
            self._made[key] = found
        return found

    def render(self) -> bytes:
        """Everything in the Prometheus text format; of what has not changed since the last time, the text is kept."""
        parts = []
        for name, family in self._families.items():
            parts.append(f"# HELP {name} {escaped(family.help)}\n# TYPE {name} {family.kind}\n")
            parts += [series.text() for series in self._series[name]]
        return "".join(parts).encode()
