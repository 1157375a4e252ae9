"""What DataLocality can be told.

Without arguments: the ladder host, rack, zone, region; pods prefer to be near their data; half of a copy's worth goes
with the load of its node.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Literal

from fairway.cluster.datasets.data_ground import HOSTNAME
from fairway.model import label_key_problem
from fairway.model.field_problem import out_of_range, shown
from fairway.model.meta import Value
from fairway.plugin import MAX_SCORE, PluginArgs, Problem

__all__ = ["DataLocalityArgs", "Rung"]


class Rung(Value, frozen=True, kw_only=True):
    """A node whose label of that key is equal to the copy's gets so many points."""

    key: str
    points: float


LADDER: Final = (
    Rung(key=HOSTNAME, points=100),
    Rung(key="fairway.dev/rack", points=75),
    Rung(key="topology.kubernetes.io/zone", points=50),
    Rung(key="topology.kubernetes.io/region", points=25),
)


class DataLocalityArgs(PluginArgs, frozen=True, kw_only=True):
    """How near is near, and what load takes away."""

    mode: Literal["prefer", "require"] = "prefer"
    ladder: tuple[Rung, ...] = LADDER
    require_within: str = HOSTNAME
    load_penalty: float = 0.5
    load_from: Literal["requests", "annotation"] = "requests"
    gateway_on_storage: float = 1.0

    def problems(self) -> Iterator[Problem]:
        """Numbers out of bounds, keys that no label has, a ladder that is no ladder."""
        yield from out_of_range("loadPenalty", self.load_penalty, 0, 1)
        yield from out_of_range("gatewayOnStorage", self.gateway_on_storage, 0, 1)
        if not self.ladder:
            example = "{key: kubernetes.io/hostname, points: 100}"
            yield Problem("ladder", f"empty; at least one rung is needed, such as {example}")
        keys: list[str] = []
        for index, rung in enumerate(self.ladder):
            path = f"ladder[{index}]"
            if problem := label_key_problem(rung.key):
                yield Problem(f"{path}.key", problem)
            elif rung.key in keys:
                yield Problem(f"{path}.key", f"{shown(rung.key)} is the key of ladder[{keys.index(rung.key)}] already")
            keys.append(rung.key)
            yield from out_of_range(f"{path}.points", rung.points, 0, MAX_SCORE)
            if index and rung.points > self.ladder[index - 1].points:
                nearer = f"{self.ladder[index - 1].points:g} of the rung before, which is nearer"
                text = f"{rung.points:g} is more than the {nearer}; sort the ladder by points, most first"
                yield Problem(f"{path}.points", text)
        if self.require_within not in (*keys, HOSTNAME):
            allowed = ", ".join(dict.fromkeys((HOSTNAME, *keys)))
            yield Problem("requireWithin", f"{shown(self.require_within)} is no rung of the ladder; allowed: {allowed}")

    @property
    def near_keys(self) -> tuple[str, ...]:
        """Labels of which one has to be equal where data is required: that of `requireWithin` and all nearer ones."""
        keys = [rung.key for rung in self.ladder]
        if self.require_within not in keys:
            return (self.require_within,)
        return tuple(keys[: keys.index(self.require_within) + 1])
