"""Plugins as users write them, of the extension points after the choice of a node; named by `module:Class`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fairway.cluster import PodClass
from fairway.model import Pod
from fairway.plugin import Attempt, Code, Patch, Plugin, PostFilterResult, Preparation, Refusal, Wait, Waiting, patch_of

__all__ = ["LICENSED", "ByRank", "Licence", "Mark", "Pairs", "Uncordon", "Uneven"]

LICENSED = "example.com/licence"


class ByRank(Plugin):
    """Sorts the queue by a label: ranks in numbers, the lowest first; then the longest waiting."""

    def queue_sort(self, waiting: Waiting) -> tuple[int, float]:
        return int(waiting.pod.metadata.labels["rank"]), waiting.timestamp


class Uneven(Plugin):
    """Sorts the queue by keys that can not be compared with each other."""

    def queue_sort(self, waiting: Waiting) -> Any:
        rank = waiting.pod.metadata.labels.get("rank", "")
        return (int(rank),) if rank.isdigit() else rank


class Pairs(Plugin):
    """Holds pods of a pair (a label) until the other one has a node; one called "no" gives its partner back."""

    def permit(self, pod: Pod, pod_class: PodClass, row: int) -> Wait | None:
        pair = pod.metadata.labels.get("pair")
        if pair is None:
            return None
        partners = [held for held in self.cluster.held if held.pod.metadata.labels["pair"] == pair]
        for partner in partners:
            if pod.metadata.name == "no":
                self.cluster.held.reject(partner.uid, self.name, "the partner says no")
            else:
                self.cluster.held.allow(partner.uid, self.name)
        return None if partners else Wait(float(pod.metadata.labels.get("seconds", 600)))


class Uncordon(Plugin):
    """Makes nodes ready that are switched off (a label), if a pod fits nowhere; writes nonsense if the pod says so."""

    def post_filter(self, attempt: Attempt) -> PostFilterResult:
        if attempt.pod.metadata.labels.get("mistake") == "list":
            return PostFilterResult(None, writes=["uncordon"])  # type: ignore[arg-type]
        if attempt.pod.metadata.labels.get("mistake"):
            return PostFilterResult(Refusal(("no",)), writes=(Patch("Node", "not-there", {}), *self._writes()))
        return PostFilterResult(Refusal(("a node is switched on",)), writes=self._writes())

    def _writes(self) -> tuple[Patch, ...]:
        off = [there for there in self.cluster.nodes.objects if there is not None and there.spec.unschedulable]
        return tuple(patch_of(there, {"spec": {"unschedulable": None}}) for there in off[:1])


class Mark(Plugin):
    """Writes on the node whom it is for, before the pod is bound there."""

    def pre_bind(self, pod: Pod, pod_class: PodClass, row: int) -> Preparation | None:
        there = self.cluster.nodes.objects[row]
        assert there is not None
        return Preparation((patch_of(there, {"metadata": {"labels": {"for": pod.metadata.name}}}),))


class Licence(Plugin):
    """Asks for a licence by an annotation on the pod, and waits until somebody gives it, or refuses."""

    def pre_bind(self, pod: Pod, pod_class: PodClass, row: int) -> Preparation | Refusal | None:
        wanted = pod.metadata.labels.get("licence", "")
        if not wanted:
            return None
        if wanted == "unknown":
            return Refusal(("there is no such licence",))

        def is_given(versions: Sequence[int]) -> bool | Refusal:
            answers = {row.metadata.labels.get("licence") for row in self.cluster.nodes.objects if row is not None}
            if wanted == "broken":
                raise OSError("the licence server is away")
            if f"no-{wanted}" in answers:
                return Refusal((f"{wanted} is denied",), Code.ERROR)
            return wanted in answers and len(versions) == 1

        asked = patch_of(pod, {"metadata": {"annotations": {LICENSED: wanted}}})
        return Preparation((asked,), is_given, 30, about=frozenset(("Node a",)), doing="waiting for a licence")
