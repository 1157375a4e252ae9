"""Objects as they stand in files, with every field: those that Fairway does not read among them.

In: the texts that `manifest_objects` read objects from, and what it read. Out: an object's whole tree, parsed again
when somebody asks for it, which is seldom. Kept for whoever compares what a person wrote with what runs
(`explain.workloads.unread_changes`); nothing else in Fairway sees more of an object than the model holds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from fairway.model import ApiObject, Skipped
from fairway.model.yaml_text import read_yaml

__all__ = ["WrittenObjects"]

KEPT: Final = frozenset(("Pod", "Deployment", "ReplicaSet", "StatefulSet", "DaemonSet"))
"""Kinds that have a pod template, or are made from one, and may be replaced by others."""
Key = tuple[str, str, str]


class WrittenObjects:
    """Texts of objects, by kind, namespace and name; of two that are called alike the last counts."""

    def __init__(self) -> None:
        self._texts: dict[Key, tuple[bytes, bool]] = {}
        self._trees: dict[Key, Mapping[str, Any]] = {}

    def note(self, text: bytes, things: Sequence[ApiObject], *, is_json: bool) -> None:
        """These things were read from that text."""
        for thing in things:
            if thing.kind in KEPT:
                meta = thing.metadata
                self._texts[thing.kind, meta.namespace or "default", meta.name] = text, is_json

    def note_others(self, skipped: Iterable[Skipped]) -> None:
        """Objects of kinds that are not read are known by their trees."""
        self._trees |= {_key(one.tree): one.tree for one in skipped}

    def find(self, kind: str, namespace: str, name: str) -> Mapping[str, Any] | None:
        """The whole object; None if it was in none of the files."""
        key = kind, namespace, name
        if key not in self._trees and key in self._texts:
            text, is_json = self._texts[key]
            self._trees |= {_key(tree): tree for tree in _trees(text, is_json=is_json)}
        return self._trees.get(key)


def _trees(text: bytes, *, is_json: bool) -> Iterator[Mapping[str, Any]]:
    """The objects of a text that was read before, so that nothing is wrong with it; lists are expanded."""
    documents: Iterable[Any]
    if is_json:
        documents = [msgspec.json.decode(text)]
    else:
        documents = [tree for tree, _ in read_yaml(text.decode("utf-8-sig"), "")]
    for document in documents:
        yield from _expand(document, "")


def _expand(tree: Any, kind: str) -> Iterator[Mapping[str, Any]]:
    if not isinstance(tree, Mapping):
        return
    own = tree.get("kind") or kind
    if own.endswith("List") and isinstance(items := tree.get("items"), list):
        for item in items:
            yield from _expand(item, own.removesuffix("List"))
    else:
        yield {"kind": own, **tree}


def _key(tree: Mapping[str, Any]) -> Key:
    meta = tree.get("metadata")
    meta = meta if isinstance(meta, Mapping) else {}
    return str(tree.get("kind")), str(meta.get("namespace") or "default"), str(meta.get("name"))
