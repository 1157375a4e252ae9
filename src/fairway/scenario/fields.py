"""How scenario files are decoded: strictly, as configurations are, with durations as people write them.

Besides Go's text ("1h30m") a duration may be a number of seconds, and may have days and weeks ("2d"). Called by
`scenario`, by the order-only experiments, and where a command takes a duration.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeVar

import msgspec

from fairway.config.fields import ConfigError, Notation, Problem, decode_fields
from fairway.config.spans import SPANS, read_span

__all__ = ["NOTATIONS", "Problem", "ScenarioError", "decode_struct", "read_duration"]

S = TypeVar("S", bound=msgspec.Struct)


class ScenarioError(ConfigError):
    """A scenario that cannot be run; one line a problem, each naming file and field."""


read_duration = read_span
NOTATIONS: Final[Mapping[type, Notation]] = SPANS


def decode_struct(value: Any, kind: type[S], path: str, problems: list[Problem]) -> S | None:
    """The struct, or None after adding to `problems` all that is wrong with the value."""
    return decode_fields(value, kind, path, problems, NOTATIONS)
