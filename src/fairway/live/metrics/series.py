"""Numbers and histograms that cost little to write to, and their lines of text, which cost little to make again.

In: what the service counts, in `Number` and `Histogram`; who may ask for the text often, while thousands of pods are
being bound. Out: `text()` of a series, in the Prometheus text format. Names and labels are put together once, and the
lines of a series are kept until its numbers change. Bounds are written as Go writes them ("1", not "1.0": a label is
text, and dashboards compare it). `instruments` holds them all.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from itertools import accumulate

__all__ = ["Histogram", "HistogramSeries", "Number", "NumberSeries", "escaped", "go_float"]


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
        self.total += value  # first: whoever reads in between, in another thread, comes again for the count
        self.counts[bisect_left(self.bounds, value)] += 1


class NumberSeries:
    """A number with its name and labels."""

    __slots__ = ("_number", "_prefix", "_text", "_value")

    def __init__(self, number: Number, name: str, labels: Mapping[str, str]) -> None:
        self._number = number
        self._prefix = _prefix(name, labels)
        self._value: float | None = None
        self._text = ""

    def text(self) -> str:
        """Its line."""
        value = self._number.value
        if value != self._value:
            self._value = value
            self._text = f"{self._prefix}{_value_text(value)}\n"
        return self._text


class HistogramSeries:
    """A histogram with its name and labels."""

    __slots__ = ("_counts", "_histogram", "_prefixes", "_text")

    def __init__(self, histogram: Histogram, name: str, labels: Mapping[str, str]) -> None:
        self._histogram = histogram
        bounds = (*map(go_float, histogram.bounds), "+Inf")
        self._prefixes = [_prefix(f"{name}_bucket", {**labels, "le": bound}) for bound in bounds]
        self._prefixes += [_prefix(f"{name}_sum", labels), _prefix(f"{name}_count", labels)]
        self._counts: list[int] = []
        self._text = ""

    def text(self) -> str:
        """Its lines: a bucket each, the sum, and how many there are."""
        counts = self._histogram.counts
        if counts != self._counts:  # each observation is in one of them
            self._counts = list(counts)
            sums = [_value_text(number) for number in accumulate(self._counts)]
            values = (*sums, _value_text(self._histogram.total), sums[-1])
            lines = (f"{prefix}{value}\n" for prefix, value in zip(self._prefixes, values, strict=True))
            self._text = "".join(lines)
        return self._text


def _prefix(name: str, labels: Mapping[str, str]) -> str:
    """What stands before the value; labels in the order of their names."""
    if not labels:
        return f"{name} "
    pairs = ",".join(f'{label}="{_quoted(value)}"' for label, value in sorted(labels.items()))
    return f"{name}{{{pairs}}} "


def escaped(text: str) -> str:
    """A help text in one line."""
    return text.replace("\\", r"\\").replace("\n", r"\n")


def _quoted(text: str) -> str:
    return escaped(text).replace('"', r"\"")


def _value_text(value: float) -> str:
    """A value as prometheus_client writes it: with a fraction always, as Go does from a million on."""
    return go_float(value) if value >= 10**6 else repr(float(value))


def go_float(number: float) -> str:
    """A bound as Go's `strconv.FormatFloat` writes it: shortest, with an exponent from a million on."""
    text = repr(float(number)).removesuffix(".0")
    if number < 10**6 or "e" in text:
        return text
    digits = text.replace(".", "")
    exponent = len(text.partition(".")[0]) - 1
    mantissa = f"{digits[0]}.{digits[1:]}".rstrip("0").rstrip(".")
    return f"{mantissa}e+{exponent:02d}"
