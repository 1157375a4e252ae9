"""Situations in which a plugin is tried: a cluster, pods that want a node, and what happens next.

In: how many, and a seed. Out: `Situation`s, each the same on every machine. Whoever knows better what a plugin reacts
to makes situations of their own (`Situation(objects=[...], pods=[...])`) and hands them to `check_plugin`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from fairway.cluster import Event
from fairway.model import Pod
from fairway.testing.population import random_pod
from fairway.testing.world import World

__all__ = ["Dice", "Situation", "situations"]

T = TypeVar("T")

PODS_JUDGED = 3
EVENTS = 6


class Situation(NamedTuple):
    """API objects to load, pods to judge, and events that come one after the other."""

    objects: Sequence[Any]
    pods: Sequence[Pod]
    events: Sequence[Event] = ()


class Dice:
    """Choices from a seeded generator."""

    def __init__(self, generator: np.random.Generator) -> None:
        self._generator = generator

    def pick(self, things: Sequence[T]) -> T:
        """One of these."""
        return things[int(self._generator.integers(len(things)))]

    def flip(self, percent: int) -> bool:
        """True in so many of a hundred cases."""
        return int(self._generator.integers(100)) < percent


def situations(number: int, seed: int = 0) -> Iterator[Situation]:
    """So many situations, from an empty cluster to a crowded one."""
    generator = np.random.default_rng(seed)
    dice = Dice(generator)
    for _ in range(number):
        world = World(dice)
        world.populate(num_nodes=dice.pick((1, 2, 4, 6)), num_pods=dice.pick((0, 3, 6, 10)))
        for _ in range(dice.pick((0, 3))):  # so that some rows are dead and some have changed hands
            world.event()
        objects = tuple(world.objects.values())
        pods = tuple(random_pod(dice, f"judged-{number}") for number in range(PODS_JUDGED))
        yield Situation(objects, pods, tuple(world.event() for _ in range(EVENTS)))
