"""Times in `spec.batch` of a scenario: of day, or durations from the beginning of the simulation.

In: texts as people write them. Out: problems with their fields. Used by `batch_section` and `batch_orders`.
"""

from __future__ import annotations

from collections.abc import Iterator

from fairway.batch.occurrences import parse_moment
from fairway.model.meta import EPOCH
from fairway.scenario.fields import Problem

__all__ = ["moment_problems"]


def moment_problems(text: str, path: str) -> Iterator[Problem]:
    """What is wrong with a time."""
    try:
        parse_moment(text, EPOCH.timestamp(), may_be_span=True)
    except ValueError as error:
        yield Problem(path, str(error))
