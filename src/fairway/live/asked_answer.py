"""Long answers of a scheduler that has pods to place: a slice of work at a time, and not for long.

In: an answer in steps (`explain` makes them, the command `run` hands the maker over). Out: what it comes to. Between
two steps whatever else the process does has its turn; after `MOST_SECONDS` of work the steps are told to end with what
they have. One is worked out at a time. Called by `api_routes`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator, Iterable, Sequence
from typing import Any, Final, TypeAlias

from fairway.cycle import Profile
from fairway.live.api.clock import Clock
from fairway.model import ObjectMeta, Pod, PriorityClass

__all__ = ["AskedAnswers", "Explain", "classes_in_use"]

MOST_SECONDS: Final = 2.0
"""So much of the scheduler's own time an answer may take."""

Steps: TypeAlias = Generator[None, bool | None, dict[str, Any]]
Explain: TypeAlias = Callable[[Profile, Pod, Sequence[PriorityClass], str | None, bool], Steps]
"""A pod of a profile, the priorities there are, the node that is asked about, whether all are shown: the answer."""

BUILT_IN: Final = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}


class AskedAnswers:
    """Who is asked about pods, and does not forget the others over it."""

    def __init__(self, explain: Explain, clock: Clock, most_seconds: float = MOST_SECONDS) -> None:
        self._explain = explain
        self._clock = clock
        self._most_seconds = most_seconds
        self._turn = asyncio.Lock()

    async def about(
        self, profile: Profile, pod: Pod, pods: Iterable[Pod], node: str | None, all_nodes: bool
    ) -> dict[str, Any]:
        """The whole answer about a pod; `pods` are all that are known."""
        async with self._turn:
            steps = self._explain(profile, pod, classes_in_use(pods), node, all_nodes)
            used, goes_on = 0.0, None
            while True:
                begun = self._clock.monotonic()
                try:
                    steps.send(goes_on)
                except StopIteration as end:
                    answer: dict[str, Any] = end.value
                    return answer
                used += self._clock.monotonic() - begun
                goes_on = used < self._most_seconds
                await asyncio.sleep(0)


def classes_in_use(pods: Iterable[Pod]) -> list[PriorityClass]:
    """The priority classes that pods have, and Kubernetes' own two: schedulers are not told of others."""
    found = {name: PriorityClass(metadata=ObjectMeta(name=name), value=value) for name, value in BUILT_IN.items()}
    for pod in pods:
        name = pod.spec.priority_class_name
        if name and name not in found and pod.spec.priority is not None:
            found[name] = PriorityClass(
                metadata=ObjectMeta(name=name),
                value=pod.spec.priority,
                preemption_policy=pod.spec.preemption_policy,
            )
    return list(found.values())
