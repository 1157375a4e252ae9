"""Which of a StatefulSet's or DaemonSet's pods are up to date.

In: the owner's template whenever it changes, and the pods that were there before the simulation began. Out: the label
of new pods, and whether a pod is of the latest template. Pods from a real cluster carry that cluster's labels: what
is there at first counts as up to date.
"""

from __future__ import annotations

from collections.abc import Iterable

from fairway.model import Pod, PodTemplateSpec
from fairway.model.owned import REVISION, revision_name

__all__ = ["Revisions"]


class Revisions:
    """The names of what is up to date."""

    __slots__ = ("_names", "latest")

    def __init__(self) -> None:
        self.latest = ""
        self._names: set[str | None] = set()

    def begin(self, owner: str, template: PodTemplateSpec, pods: Iterable[Pod]) -> None:
        """Take the pods that are there for those of the template; only the first time."""
        if not self.latest:
            self.latest = revision_name(owner, template)
            self._names = {pod.metadata.labels.get(REVISION) for pod in pods} | {self.latest}

    def change(self, owner: str, template: PodTemplateSpec) -> None:
        """The template is another one now."""
        self.latest = revision_name(owner, template)
        self._names = {self.latest}

    def has(self, pod: Pod) -> bool:
        """Is the pod up to date?"""
        return pod.metadata.labels.get(REVISION) in self._names
