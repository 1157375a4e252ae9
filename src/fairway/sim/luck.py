"""Chance for pods: each pod has its own, whatever happens to the others.

In: the seed of a simulation and the name of the part that asks. Out: numbers from 0 to 1 for a pod, which follow from
the seed and the pod's name alone: not from the order in which pods are placed. So one more fault, or another policy,
leaves the luck of all pods as it was. Called by the kubelets.
"""

from __future__ import annotations

from hashlib import blake2b

from fairway.model import Pod

__all__ = ["Luck"]

SPAN = float(1 << 53)  # as many steps as a float between 0 and 1 has


class Luck:
    """One part's source of chance."""

    __slots__ = ("_key",)

    def __init__(self, seed: int, part: str) -> None:
        self._key = blake2b(f"{seed}/{part}".encode(), digest_size=32).digest()

    def of(self, pod: Pod) -> tuple[float, float]:
        """Two independent numbers, at least 0 and less than 1. A stateful pod that comes again gets new ones."""
        owner = pod.metadata.controller
        comes_again = owner is not None and owner.kind == "StatefulSet"
        text = f"{pod.key}/{pod.metadata.creation_timestamp}" if comes_again else pod.key
        digest = blake2b(text.encode(), digest_size=16, key=self._key).digest()
        first, second = int.from_bytes(digest[:8], "big"), int.from_bytes(digest[8:], "big")
        return (first >> 11) / SPAN, (second >> 11) / SPAN
