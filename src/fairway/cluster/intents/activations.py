"""Pods that plugins want tried again without waiting.

In: `ask`, by a plugin at any time (it reaches this as `self.cluster.activations`). Out: for the scheduler, `take`: whom
to make active when it has finished what it is at, wherever they wait; their gates are asked all the same, and one that
is being tried comes again after its attempt. Nothing happens within these calls. As `PodsToActivate` in kube-scheduler
1.36's framework/interface.go.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from fairway.model import Pod

__all__ = ["Activations"]


class Activations:
    """Who is to be tried again, each once, in the order they were asked for."""

    def __init__(self) -> None:
        self._pods: dict[str, Pod] = {}  # by uid

    def __len__(self) -> int:
        return len(self._pods)

    def ask(self, pods: Iterable[Pod]) -> None:
        """Try these again; those that do not wait are left alone."""
        self._pods.update((pod.metadata.uid, pod) for pod in pods)

    def take(self) -> Sequence[Pod]:
        """Those that were asked for since the last time."""
        if not self._pods:
            return ()
        pods, self._pods = list(self._pods.values()), {}
        return pods
