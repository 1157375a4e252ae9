"""Counters, gauges and histograms that cost little to write to.

In: `of(name, *label values)`, which gives the one instrument to write to. Out: a collector for prometheus_client, which
writes the text. Its own instruments lock and search every bucket at each observation; a decision makes some twenty
observations, so here each is a list index and an addition. One thread writes. Bounds are written as Go writes them
("1", not "1.0": a label is text, and dashboards compare it).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from itertools import accumulate
from typing import Any

from prometheus_client.core import Metric

from fairway.live.metric_families import FAMILIES, Family

__all__ = ["Histogram", "Instruments", "Number", "go_float"]


class Number:
    """A counter or a gauge."""

    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value = 0.0

    def inc(self, change: float = 1.0) -> None:
        """Add to it."""
        self.value += change

    def dec(self, change: float = 1.0) -> None:
        """Take from it."""
        self.value -= change

    def set(self, value: float) -> None:
        """Say what it is."""
        self.value = value


class Histogram:
    """How many observations lie up to each bound."""

    __slots__ = ("bounds", "counts", "total")

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)  # the last one: beyond all bounds
        self.total = 0.0

    def observe(self, value: float) -> None:
        """Count one."""
        self.counts[bisect_left(self.bounds, value)] += 1
        self.total += value


class Instruments:
    """All instruments of a process, by family and label values."""

    def __init__(self, families: tuple[Family, ...] = FAMILIES) -> None:
        self._families = {family.name: family for family in families}
        self._made: dict[tuple[str, ...], Any] = {}
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
            found = self._made[key] = Histogram(family.buckets) if family.kind == "histogram" else Number()
        return found

    def collect(self) -> Iterator[Metric]:
        """For prometheus_client."""
        metrics = {}
        for family in self._families.values():
            name = family.name.removesuffix("_total") if family.kind == "counter" else family.name
            metrics[family.name] = Metric(name, family.help, family.kind)
        for (name, *values), instrument in list(self._made.items()):
            labels = dict(zip(self._families[name].labels, values, strict=True))
            if isinstance(instrument, Histogram):
                _add_buckets(metrics[name], labels, instrument)
            else:
                metrics[name].add_sample(name, labels, instrument.value)
        yield from metrics.values()


def _add_buckets(metric: Metric, labels: dict[str, str], histogram: Histogram) -> None:
    sums = list(accumulate(histogram.counts))
    for bound, number in zip(histogram.bounds, sums, strict=False):
        metric.add_sample(f"{metric.name}_bucket", {**labels, "le": go_float(bound)}, number)
    metric.add_sample(f"{metric.name}_bucket", {**labels, "le": "+Inf"}, sums[-1])
    metric.add_sample(f"{metric.name}_sum", labels, histogram.total)
    metric.add_sample(f"{metric.name}_count", labels, sums[-1])


def go_float(number: float) -> str:
    """A bound as Go's `strconv.FormatFloat` writes it: shortest, with an exponent from a million on."""
    text = repr(float(number)).removesuffix(".0")
    if number < 10**6 or "e" in text:
        return text
    digits = text.replace(".", "")
    exponent = len(text.partition(".")[0]) - 1
    mantissa = f"{digits[0]}.{digits[1:]}".rstrip("0").rstrip(".")
    return f"{mantissa}e+{exponent:02d}"
