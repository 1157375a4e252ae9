"""Runs side by side: their numbers, what changed, and where their decisions part.

In: two to four runs of the server; the first is what the others are compared with. Out: a `ComparedRuns`. Numbers are
those of `record.metrics`, differences and doubts those that `fairway compare` prints. Called by `routes`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from fairway.compare.metrics import PolicyRuns, compare_policies
from fairway.compare.partings import partings
from fairway.compare.relation import origin_of, unrelated
from fairway.record.metric_definitions import definition_of
from fairway.web.page_error import PageError
from fairway.web.questions import CompareQuestion
from fairway.web.shapes import ComparedMetric, ComparedNodes, ComparedRuns, MetricAnswer, MetricShape
from fairway.web.sources import RunSource, RunSources

__all__ = ["compared", "metrics", "runs_of"]

NAMED: Final = 20


def metrics(source: RunSource) -> MetricAnswer:
    """A run in numbers, each with what it means."""
    shapes = []
    for name, value in _flat(source).items():
        definition = definition_of(name)
        if definition is not None:
            shapes.append(MetricShape(name, float(value), definition.unit, definition.better, definition.meaning))
    return MetricAnswer(shapes)


def compared(sources: RunSources, question: CompareQuestion) -> ComparedRuns:
    """The answer; which runs have nothing to do with each other is told in `notes`."""
    runs = runs_of(sources, question.run)
    key = ("compared", *question.run)
    return runs[0].cache.value(key, lambda: _compared(runs), lambda made: 1000 * len(made.metrics))


def runs_of(sources: RunSources, names: Sequence[str]) -> list[RunSource]:
    """Those of these ids."""
    if len(set(names)) < len(names):
        raise PageError(400, "bad_parameter", "run: a run is named twice", "leave one of them out")
    return [sources.find(name) for name in names]


def _compared(runs: Sequence[RunSource]) -> ComparedRuns:
    # A seed of its own would have nothing in common with the others': what is compared is run with run.
    columns = [PolicyRuns(one.id, {0: _flat(one)}, {0: str(one.run.path)}) for one in runs]
    comparison = compare_policies(columns)
    names = [one.id for one in runs]
    rows = []
    for row in comparison.rows:
        values = [row.values.get(name) for name in names]
        deltas = [row.deltas.get(name) for name in names[1:]]
        rows.append(
            ComparedMetric(
                row.name,
                row.definition.unit,
                row.definition.better,
                row.definition.meaning,
                [None if value is None else value.mean for value in values],
                [None if delta is None else delta.mean for delta in deltas],
                [None if delta is None else delta.relative for delta in deltas],
                [None if delta is None else delta.is_better for delta in deltas],
            )
        )
    first = []
    for parting, other in zip(partings(comparison), runs[1:], strict=True):
        document = parting.document()
        del document["seed"], document["policy"]
        first.append({"run": other.id, "sentence": parting.sentence(names[0])} | document)
    notes = [*unrelated([origin_of(one.run) for one in runs]), *_other_seeds(runs)]
    return ComparedRuns(names, notes, rows, first, [_nodes(runs[0], other) for other in runs[1:]])


def _other_seeds(runs: Sequence[RunSource]) -> list[str]:
    """Simulations of other seeds see other pods come."""
    first = runs[0]
    return [
        f"{first.id} has seed {first.run.seed} and {other.id} seed {other.run.seed}: what is shown may be chance"
        for other in runs[1:]
        if first.run.origin == other.run.origin == "simulated" and first.run.seed != other.run.seed
    ]


def _nodes(first: RunSource, other: RunSource) -> ComparedNodes:
    ours, theirs = ({row["node"] for row in one.rows("SELECT DISTINCT node FROM nodes")} for one in (first, other))
    only_first, only_other = sorted(ours - theirs), sorted(theirs - ours)
    return ComparedNodes(
        other.id, len(ours & theirs), len(only_first), len(only_other), only_first[:NAMED], only_other[:NAMED]
    )


def _flat(source: RunSource) -> dict[str, float]:
    return source.cache.value((source.id, "metrics"), lambda: source.run.metrics().flat(), lambda made: 200 * len(made))
