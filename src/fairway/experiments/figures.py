"""What the figures of an experiment show; how they are drawn is for `svg_figures` (pages) and `png_figures` (files).

In: `Results`. Out: figures as plain values: lines against load, bars by trace, and bars of what is idle by cause; where
results were published, those beside ours. Called by `report` and `png_figures`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from fairway.cluster.gpus.fragmentation import Cause
from fairway.experiments.results import LoadCurve, Results, SeedValue

__all__ = ["CAUSE_WORDS", "Bars", "Line", "Lines", "Stacks", "bars_by_family", "lines_of_trace", "stacks_of_trace"]

Floats = NDArray[np.float64]

CAUSE_WORDS: Final = {
    Cause.LACKS_BOTH: "lacks CPU and GPU",
    Cause.LACKS_GPU: "lacks GPU",
    Cause.LACKS_CPU: "lacks CPU",
    Cause.NO_GPU_TASK: "asks for no GPU",
    Cause.NO_GPU_TASK_LACKS_CPU: "asks for no GPU, lacks CPU",
    Cause.NO_ACCESS: "wants another model",
    Cause.USABLE: "usable",
}
"""Why a typical pod cannot use what is idle, in the order in which it is shown."""

SHOWN: Final = {
    "unallocated": ("Unallocated GPU", "% of all GPUs", (75, 120)),
    "frag": ("Fragmentation", "% of all GPUs", (0, 130)),
    "frag_ratio": ("Fragmentation ratio", "% of idle GPUs", (0, 130)),
}
FAMILIES: Final = {
    "default": "the trace as it is",
    "gpushare": "more or less of the GPUs asked for in shares",
    "multigpu": "more or less of them asked for by pods with several",
    "gpuspec": "more or less pods that want a certain model",
    "cpu": "more or less pods without GPU",
}


@dataclass(frozen=True)
class Line:
    """One policy against load."""

    policy: str
    number: int  # of the policy, which has its colour by it
    loads: Floats  # (num_loads,) percent
    curve: LoadCurve
    published: Floats | None  # (num_published,) medians from the first load on


@dataclass(frozen=True)
class Lines:
    """A metric against load, a line for each policy."""

    name: str
    title: str
    unit: str
    x_range: tuple[int, int]
    lines: list[Line]

    @property
    def y_top(self) -> float:
        """The largest value in sight."""
        drawn = [values for line in self.lines for values in (line.curve.high, line.published) if values is not None]
        return max((float(np.nanmax(values)) for values in drawn if len(values)), default=1.0)


@dataclass(frozen=True)
class Bars:
    """A metric at one load: a group of bars for each trace, in it one for each policy."""

    name: str
    title: str
    unit: str
    traces: list[str]
    policies: list[str]
    values: dict[tuple[str, str], SeedValue]  # by trace and policy
    published: dict[tuple[str, str], SeedValue] = field(default_factory=dict)


@dataclass(frozen=True)
class Stacks:
    """What is idle at the end by cause: a bar for each policy, percent of all GPUs."""

    name: str
    title: str
    policies: list[str]
    parts: dict[str, Floats]  # by cause in words: (num_policies,)


def lines_of_trace(results: Results, trace: str) -> list[Lines]:
    """Unallocated GPU, fragmentation and its ratio against load."""
    figures = []
    for table, (title, unit, (low, high)) in SHOWN.items():
        lines = []
        for number, policy in enumerate(results.policies):
            whole = results.curve(table, trace, policy)
            if whole is None:
                continue
            end = min(high, len(whole.median) - 1)
            begin = min(low, max(end - 45, 0))
            part = slice(begin, end + 1)
            theirs = results.curve(table, trace, policy, published=True)
            lines.append(
                Line(
                    policy,
                    number,
                    np.arange(begin, end + 1, dtype=float),
                    LoadCurve(*(values[part] for values in whole)),
                    None if theirs is None else theirs.median[part],
                )
            )
        ends = [(int(line.loads[0]), int(line.loads[-1])) for line in lines]
        x_range = (min((first for first, _ in ends), default=0), max((last for _, last in ends), default=1))
        figures.append(Lines(f"{table}-{trace}", title, unit, x_range, lines))
    return figures


def bars_by_family(results: Results) -> list[Bars]:
    """Unallocated GPU at the load of comparison, for traces that vary the same thing."""
    figures = []
    for family, traces in results.families().items():
        values, published = {}, {}
        for trace in traces:
            for policy in results.policies:
                if (ours := results.value("unallocated", trace, policy)) is not None:
                    values[trace, policy] = ours
                if (theirs := results.value("unallocated", trace, policy, published=True)) is not None:
                    published[trace, policy] = theirs
        words = FAMILIES.get(family, "")
        title = f"Unallocated GPU at {results.load} % load" + (f":\n{words}" if words else "")
        figures.append(Bars(f"bars-{family}", title, "% of all GPUs", traces, results.policies, values, published))
    return figures


def stacks_of_trace(results: Results, trace: str) -> Stacks:
    """Where the idle GPUs are at the end, by what keeps a typical pod from using them."""
    policies = [policy for policy in results.policies if results.seeds(trace, policy)]
    rows = np.array([results.causes(trace, policy) for policy in policies])  # (num_policies, num_causes)
    parts = {words: rows[:, cause] for cause, words in CAUSE_WORDS.items()}
    return Stacks(f"causes-{trace}", "Idle GPUs at the end, by cause", policies, parts)
