"""Runs side by side: their numbers, what changed, and where their decisions part.

In: two to four runs of the server; the first is what the others are compared with. Out: a `ComparedRuns`. Numbers are
those of `record.metrics`, differences and doubts those that `fairway compare` prints. Called by `routes`.
"""

from __future__ import annotations

from collections.abc import Sequence

from fairway.compare.metrics import PolicyRuns, compare_policies
from fairway.compare.partings import partings
from fairway.compare.relation import origin_of, unrelated
from fairway.record.metric_definitions import definition_of
from fairway.web.page_error import PageError
from fairway.web.questions import CompareQuestion
from fairway.web.shapes import ComparedMetric, ComparedRuns, MetricAnswer, MetricShape
from fairway.web.sources import RunSource, RunSources

__all__ = ["compared", "metrics"]


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
    runs = [sources.find(name) for name in question.run]
    if len(set(question.run)) < len(runs):
        raise PageError(400, "bad_parameter", "run: a run is named twice", "leave one of them out")
    key = ("compared", *question.run)
    return runs[0].cache.value(key, lambda: _compared(runs), lambda made: 1000 * len(made.metrics))


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
    return ComparedRuns(names, unrelated([origin_of(one.run) for one in runs]), rows, first)


def _flat(source: RunSource) -> dict[str, float]:
    return source.cache.value((source.id, "metrics"), lambda: source.run.metrics().flat(), lambda made: 200 * len(made))
