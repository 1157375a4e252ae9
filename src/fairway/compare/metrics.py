"""Metrics of several policies side by side: means over seeds, their spread, and what changed.

In: for each policy, the flat metrics of its runs, by seed. Out: a `Comparison`: rows with values and deltas against
the first policy. A delta is the mean of the differences seed by seed, so that what both policies owe to the seed
cancels out. Called by `compare` and `sim`; printed by `text`, drawn by `report`.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fairway.record.metric_definitions import Definition, definition_of

__all__ = ["Comparison", "Delta", "MetricRow", "MetricValue", "PolicyRuns", "compare_policies"]

STANDARD_ERRORS = 2.0  # a mean difference within so many of them may be chance
MEASURED = "timing_"  # differs from run to run, so it is no part of a comparison


@dataclass(frozen=True, slots=True)
class PolicyRuns:
    """A column: the runs of one policy, by seed."""

    name: str
    metrics: Mapping[int, Mapping[str, float]]  # seed to flat metrics
    paths: Mapping[int, str]  # seed to run

    @property
    def seeds(self) -> list[int]:
        """Its seeds, in the order they were given."""
        return list(self.metrics)


@dataclass(frozen=True, slots=True)
class MetricValue:
    """A metric of a policy."""

    mean: float
    std: float | None  # over seeds; None of a single one
    by_seed: dict[int, float]


@dataclass(frozen=True, slots=True)
class Delta:
    """What another policy changes."""

    mean: float
    std: float | None  # over seeds
    relative: float | None  # to the first policy's mean; None if that is 0
    is_better: bool | None  # None: no change, one that may be chance, or nobody can tell
    relative_std: float | None = None  # over seeds, of what each of them changes by; None if one has nothing to change


@dataclass(frozen=True, slots=True)
class MetricRow:
    """One metric of all policies."""

    name: str
    definition: Definition
    values: dict[str, MetricValue]  # by policy; those that have it
    deltas: dict[str, Delta]  # by policy, against the first


@dataclass(frozen=True, slots=True)
class Comparison:
    """All metrics of all policies."""

    policies: tuple[PolicyRuns, ...]
    rows: tuple[MetricRow, ...]

    @property
    def first(self) -> PolicyRuns:
        """What the others are compared with."""
        return self.policies[0]

    def row(self, name: str) -> MetricRow | None:
        """A metric by its name."""
        return next((row for row in self.rows if row.name == name), None)


def compare_policies(policies: Sequence[PolicyRuns]) -> Comparison:
    """Put policies side by side; the first is what the others are compared with."""
    names = dict.fromkeys(name for policy in policies for flat in policy.metrics.values() for name in flat)
    rows = (_row(name, policies) for name in names if not name.startswith(MEASURED))
    return Comparison(tuple(policies), tuple(row for row in rows if row is not None))


def _row(name: str, policies: Sequence[PolicyRuns]) -> MetricRow | None:
    definition = definition_of(name)
    if definition is None:
        return None
    by_policy = {
        policy.name: {seed: float(flat[name]) for seed, flat in policy.metrics.items() if name in flat}
        for policy in policies
    }
    values = {policy: _value(by_seed) for policy, by_seed in by_policy.items() if by_seed}
    base, *others = (policy.name for policy in policies)
    deltas = {}
    for other in others:
        if base in values and other in values:
            deltas[other] = _delta(by_policy[base], by_policy[other], definition)
    return MetricRow(name, definition, values, deltas)


def _value(by_seed: dict[int, float]) -> MetricValue:
    numbers = list(by_seed.values())
    return MetricValue(statistics.fmean(numbers), _spread(numbers), by_seed)


def _delta(base: Mapping[int, float], other: Mapping[int, float], definition: Definition) -> Delta:
    both = [seed for seed in base if seed in other]
    relative_std = None
    if both:
        differences = [other[seed] - base[seed] for seed in both]
        mean, std = statistics.fmean(differences), _spread(differences)
        if all(base[seed] for seed in both):
            relative_std = _spread([(other[seed] - base[seed]) / abs(base[seed]) for seed in both])
    else:
        mean, std = statistics.fmean(other.values()) - statistics.fmean(base.values()), None
    before = statistics.fmean([base[seed] for seed in both] or base.values())
    relative = mean / abs(before) if before else (0.0 if mean == 0 else None)
    is_better = None
    chance = 0.0 if std is None else STANDARD_ERRORS * std / math.sqrt(len(both))
    if definition.better and abs(mean) > chance:
        is_better = (mean < 0) == (definition.better == "lower")
    return Delta(mean, std, relative, is_better, relative_std)


def _spread(numbers: Sequence[float]) -> float | None:
    return statistics.stdev(numbers) if len(numbers) > 1 else None
