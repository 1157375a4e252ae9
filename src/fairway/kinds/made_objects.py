"""Objects that hold other objects: an AppWrapper with its Deployment, a CronWorkflow with its Workflow.

In: an object and its entry of the table of kinds, which says where the others are and of which kind, where they do not
say so themselves. Out: those objects, decoded if Fairway reads their kind, as `Skipped` if the table may. Raises
`DecodeError` for what no API server would take. Called by `expansion`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from fairway.kinds.kind_table import KindEntry, MadeObject
from fairway.kinds.tree_text import fill_text, find_value
from fairway.model import DecodeError, Loaded, ObjectMeta, Skipped, decode_object
from fairway.model.codec import KINDS

__all__ = ["made_objects"]


def made_objects(one: Skipped, entry: KindEntry, meta: ObjectMeta) -> Iterator[Loaded | Skipped]:
    """What it holds, in the order of the entry."""
    for made in entry.makes:
        for tree in _trees(one, made, meta):
            whole = _whole(tree, made, meta, one)
            api_version, kind, name = (str(part) for part in (whole["apiVersion"], whole["kind"], _name(whole)))
            if (api_version, kind) not in KINDS:
                yield Skipped(api_version, kind, name, one.source, whole)
                continue
            yield Loaded(decode_object(whole, one.source), one.source)


def _trees(one: Skipped, made: MadeObject, meta: ObjectMeta) -> Iterator[tuple[dict[str, Any], Mapping[str, Any]]]:
    scope = {"object": one.tree, "name": meta.name, "namespace": meta.namespace}
    items = find_value(scope, made.each) if made.each else [None]
    for item in items if isinstance(items, list) else ():
        inner = {**scope, "item": item}
        tree = find_value(inner, made.object)
        if isinstance(tree, Mapping):
            yield inner, tree


def _whole(
    found: tuple[dict[str, Any], Mapping[str, Any]], made: MadeObject, meta: ObjectMeta, one: Skipped
) -> dict[str, Any]:
    """As the API server would be sent it."""
    scope, tree = found
    if made.kind:
        version, _, kind = made.kind.rpartition(" ")
        spec = tree if made.is_spec else tree.get("spec")
        return {
            "apiVersion": version,
            "kind": kind,
            "metadata": {"name": fill_text(made.name, scope), "namespace": meta.namespace},
            "spec": spec,
        }
    if not isinstance(tree.get("apiVersion"), str) or not isinstance(tree.get("kind"), str):
        title = f"{one.kind} {meta.namespace}/{meta.name}"
        raise DecodeError("needs apiVersion and kind", source=one.source, subject=title, field=made.object)
    inside = tree.get("metadata")
    return {**tree, "metadata": {"namespace": meta.namespace, **(inside if isinstance(inside, Mapping) else {})}}


def _name(tree: Mapping[str, Any]) -> str:
    meta = tree.get("metadata")
    return str(meta.get("name", "")) if isinstance(meta, Mapping) else ""
