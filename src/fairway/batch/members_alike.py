"""What a job asks for, in short: its members by what each of them asks for.

In: pods, or amounts by resource. Out: `MembersAlike`, one for all members that ask for the same. Written into a job's
record, and read from there and from runs by what answers about jobs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from fairway.model import Pod
from fairway.model.requests import pod_requests
from fairway.words import amount_text

__all__ = ["MembersAlike", "alike", "alike_pods", "size_words"]


@dataclass(frozen=True, slots=True)
class MembersAlike:
    """Members that ask for the same."""

    count: int
    amounts: Mapping[str, int]  # what each of them asks for, by resource

    @property
    def words(self) -> str:
        """4 × 8 gpu: devices if it asks for any, else CPUs, else memory."""
        devices = [name for name in self.amounts if "/" in name and self.amounts[name]]
        name = next(iter(devices), "cpu" if self.amounts.get("cpu") else "memory")
        amount = amount_text(name, self.amounts.get(name, 0))
        return f"{self.count} × {amount} {name.rpartition('/')[2]}"


def alike(members: Iterable[Mapping[str, int]]) -> list[MembersAlike]:
    """Members by what they ask for, in the order in which they come."""
    counts: dict[tuple[tuple[str, int], ...], int] = {}
    for amounts in members:
        key = tuple((name, amount) for name, amount in amounts.items() if amount)
        counts[key] = counts.get(key, 0) + 1
    return [MembersAlike(count, dict(key)) for key, count in counts.items()]


def alike_pods(pods: Sequence[Pod]) -> tuple[MembersAlike, ...]:
    """The same of pods; () if one of them is known by its name alone."""
    if not all(pod.spec.containers for pod in pods):
        return ()
    return tuple(alike(pod_requests(pod) for pod in pods))


def size_words(members: Iterable[MembersAlike]) -> str:
    """What a job asks for, in words."""
    return " + ".join(each.words for each in members)
