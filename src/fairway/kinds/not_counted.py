"""What may make pods and was not counted.

In: an object of a kind that Fairway does not read and that has no entry in the table. Out: why it may make pods, or
"". A kind nobody here knows makes pods, as far as one can tell, if it holds a pod template, or if it is a custom
resource that says how many of something there are to be. Called by `expansion`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from fairway.model import Skipped, Source
from fairway.words import excerpt

__all__ = ["NotCounted", "reason_to_count"]

NUMBERS: Final = ("replicas", "instances", "nodeCount", "numNodes", "size")
"""Fields of a custom resource's spec that tell how many copies of something run."""

DEPTH: Final = 12


@dataclass(frozen=True, slots=True)
class NotCounted:
    """An object whose pods are missing from the answer, and why they are."""

    kind: str
    name: str  # with its namespace
    reason: str
    source: Source

    @property
    def title(self) -> str:
        """`JobSet a/b`; whoever wrote the file chose the words."""
        return f"{excerpt(self.kind)} {excerpt(self.name)}"


def reason_to_count(one: Skipped) -> str:
    """Why it may make pods, "" if nothing says so."""
    if any(_is_pod_spec(tree) for tree in _maps(one.tree, DEPTH)):
        return "it holds a pod template, and its kind is not in the table (--kinds)"
    group = one.api_version.rpartition("/")[0]
    spec = one.tree.get("spec")
    if "." not in group or group.endswith(".k8s.io") or not isinstance(spec, Mapping):
        return ""
    field = next((name for name in NUMBERS if _is_number(spec.get(name))), "")
    return f"it has spec.{field}, and its kind is not in the table (--kinds)" if field else ""


def _is_pod_spec(tree: Mapping[str, Any]) -> bool:
    containers = tree.get("containers")
    return (
        isinstance(containers, list)
        and bool(containers)
        and all(isinstance(one, Mapping) and ("image" in one or "resources" in one) for one in containers)
    )


def _maps(tree: Any, depth: int) -> Iterator[Mapping[str, Any]]:
    if isinstance(tree, Mapping):
        yield tree
    if depth and isinstance(tree, Mapping | list):
        for value in tree.values() if isinstance(tree, Mapping) else tree:
            yield from _maps(value, depth - 1)


def _is_number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0
