"""Pods of the kinds in the table: JobSet, RayCluster, Prometheus and the like.

In: an object of a kind that Fairway does not decode, as parsed, its entry of the `KindTable`, and the other objects
of the files, which it may point at. Out: a `Wanted` for each of its pod templates, which makes pods as the kind's
controller would: named, labelled and owned. What the entry counts on and the object does not have is `CannotCount`:
the object is then named as not counted. Called by `expansion`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fairway.kinds.controllers import MAX_PODS, Copy, Wanted
from fairway.kinds.custom_claims import claim_templates, with_claims
from fairway.kinds.kind_table import Count, KindEntry, PodOwner, PodsEntry
from fairway.kinds.rolling_plan import rolling_plan
from fairway.kinds.tree_text import MISSING, Scope, fill_text, fill_tree, find_value, merge_trees
from fairway.model import (
    DecodeError,
    ObjectMeta,
    Pod,
    PodTemplateSpec,
    Skipped,
    decode_object,
)
from fairway.model.template import template_pod

__all__ = ["CannotCount", "CustomOwner", "wanted_by_table"]

TRUE = (True, "true")
NUMBERED = re.compile(r"\$\((index|i\d)\)")
"""A label that tells the pods of one template apart."""


class CannotCount(Exception):  # noqa: N818 - it is no error of the user's
    """The object lacks what would tell its pods; the text says what."""


@dataclass(frozen=True, slots=True)
class CustomOwner:
    """Whoever owns pods and is of no kind that is decoded."""

    api_version: str
    kind: str
    metadata: ObjectMeta


@dataclass(frozen=True, slots=True)
class PodSet:
    """One set of pods: an entry, and the item of the object it is about."""

    entry: PodsEntry
    scope: Scope
    path: str  # that of the item, for messages

    @property
    def part(self) -> str:
        """How people call these pods."""
        return fill_text(self.entry.part, self.scope)


def wanted_by_table(one: Skipped, entry: KindEntry, meta: ObjectMeta, others: Sequence[Skipped]) -> list[Wanted]:
    """What this object wants to run; `meta` are its name and namespace, `others` what it may point at."""
    scope: dict[str, Any] = {"object": one.tree, "name": meta.name, "namespace": meta.namespace}
    for name, reference in entry.refer.items():
        target = fill_text(f"$({reference.name})", scope)
        kinds = "/".join(reference.kinds)
        found = next((other for other in others if other.kind in reference.kinds and other.name == target), None)
        if found is None:
            raise CannotCount(f"its {kinds} {target or '?'} is not in the files")
        scope[name] = found.tree
    pod_sets = [pod_set for pods in entry.pods for pod_set in _pod_sets(pods, scope)]
    if not pod_sets:
        paths = " or ".join(pods.each for pods in entry.pods if pods.each)
        raise CannotCount(f"it has nothing at {paths}" if paths else "it says nothing of pods that is read here")
    stopped = any(find_value(scope, path) in TRUE for path in entry.stopped)
    return [_wanted(one, entry, meta, pod_set, stopped=stopped) for pod_set in pod_sets]


def _pod_sets(pods: PodsEntry, scope: Scope) -> Iterator[PodSet]:
    if not pods.each:
        if _is_meant(pods, scope):
            yield PodSet(pods, scope, "")
        return
    items = find_value(scope, pods.each)
    pairs: list[tuple[Any, Any, str]] = []
    if isinstance(items, Mapping):
        pairs = [(key, item, f"{pods.each}.{key}") for key, item in items.items()]
    elif isinstance(items, list):
        pairs = [(number, item, f"{pods.each}[{number}]") for number, item in enumerate(items)]
    for key, item, path in pairs:
        inner = {**scope, "item": item, "key": key}
        if _is_meant(pods, inner):
            yield PodSet(pods, inner, path)


def _is_meant(pods: PodsEntry, scope: Scope) -> bool:
    for path, value in pods.only.items():
        found = fill_text(f"$({path})", scope)
        if value == "*":
            if not found:
                return False
        elif (found == value.removeprefix("!")) == value.startswith("!"):
            return False
    return True


def _wanted(one: Skipped, entry: KindEntry, meta: ObjectMeta, pod_set: PodSet, *, stopped: bool) -> Wanted:
    pods, part = pod_set.entry, pod_set.part
    title = f"{one.kind} {meta.namespace}/{meta.name}"
    scope = {**pod_set.scope, "part": part}
    template, path = _template(one, title, pods, scope, pod_set.path)
    factors = [_number(count, scope, one, title) for count in pods.count]
    number = math.prod(factors)
    if number > MAX_PODS:
        raise DecodeError(f"{number} pods are too many to try; at most {MAX_PODS}", source=one.source, subject=title)
    remark = entry.remark
    if stopped or any(find_value(scope, path) in TRUE for path in pods.stopped):
        number, remark = 0, "suspended"
    elif entry.together:
        least = fill_text("$(" + entry.together + ")", scope)
        remark = f"{least} start together or not at all" if least else "they start together or not at all"
    make = _copies(one, meta, pods, scope, factors, template)
    labels = {key: fill_text(value, scope) for key, value in pods.labels.items() if not NUMBERED.search(value)}
    return Wanted(
        one.kind,
        meta.namespace,
        meta.name,
        one.source,
        number,
        make,
        path=path,
        remark=remark,
        part=part,
        marks=labels,
        rolling=rolling_plan(one, number),
    )


def _template(one: Skipped, title: str, pods: PodsEntry, scope: Scope, item_path: str) -> tuple[PodTemplateSpec, str]:
    """The pod template, and its path in the object."""
    paths = (pods.template,) if isinstance(pods.template, str) else pods.template
    path, tree = next(
        ((path, tree) for path in paths if isinstance(tree := find_value(scope, path), Mapping)), ("", None)
    )
    if tree is None:
        if not pods.pod:
            shown = " or ".join(path.replace("item.", f"{item_path}.", 1) for path in paths)
            raise CannotCount(f"it has no {shown}")
        tree = fill_tree(pods.pod, scope)
    for change, is_over in ((pods.fill, False), (pods.change, True)):
        if change:
            filled = fill_tree(change, scope)
            tree = merge_trees(tree, filled) if is_over else merge_trees(filled, tree)
    path = f"{path.replace('item.', f'{item_path}.', 1)}." if path else ""
    whole = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": tree.get("metadata") or {},
        "spec": _named(tree.get("spec")),
    }
    try:
        pod = decode_object(whole, one.source)
    except DecodeError as error:
        raise DecodeError(error.problem, source=one.source, subject=title, field=f"{path}{error.field}") from error
    assert isinstance(pod, Pod)
    return PodTemplateSpec(metadata=pod.metadata, spec=pod.spec), path


def _named(spec: Any) -> Any:
    """With names for containers that leave theirs to the operator."""
    if not isinstance(spec, Mapping):
        return spec
    named = dict(spec)
    for field, prefix in (("containers", "container"), ("initContainers", "init-container")):
        if isinstance(containers := spec.get(field), list):
            named[field] = [
                {"name": f"{prefix}-{number}", **container} if isinstance(container, Mapping) else container
                for number, container in enumerate(containers)
            ]
    return named


def _number(count: Count | int, scope: Scope, one: Skipped, title: str) -> int:
    if isinstance(count, int):
        return count
    paths = (count.path,) if isinstance(count.path, str) else count.path
    values = (_integer(scope, path, one, title) for path in paths)
    number = next((value for value in values if value is not None), count.default)
    if count.at_most and (most := _integer(scope, count.at_most, one, title)) is not None:
        number = min(number, most)
    if count.at_least and (least := _integer(scope, count.at_least, one, title)) is not None:
        number = max(number, least)
    return max(0, number - count.minus)


def _integer(scope: Scope, path: str, one: Skipped, title: str) -> int | None:
    value = find_value(scope, path)
    if value is MISSING:
        return None
    if isinstance(value, str) and value.isdecimal():  # an annotation
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        problem = f"{value!r} is not a number of pods; allowed: 0 or more"
        raise DecodeError(problem, source=one.source, subject=title, field=path)
    return value


def _copies(
    one: Skipped,
    meta: ObjectMeta,
    pods: PodsEntry,
    scope: Scope,
    factors: Sequence[int],
    template: PodTemplateSpec,
) -> Callable[[int], Copy]:
    firsts = [count.first if isinstance(count, Count) else 0 for count in pods.count]
    claims = [made for claim in pods.claims for made in claim_templates(claim, scope, one.source)]

    def make(index: int) -> Copy:
        numbers: dict[str, Any] = {"index": index}
        rest = index
        for position in reversed(range(1, len(factors))):
            rest, digit = divmod(rest, max(1, factors[position]))
            numbers[f"i{position}"] = digit + firsts[position]
        numbers["i0"] = rest + (firsts[0] if firsts else 0)
        inner = {**scope, **numbers}
        # A part has no name where there is only one.
        name = fill_text(pods.name if pods.part else pods.name.replace("-$(part)", ""), inner).lower()
        labels = {key: fill_text(value, inner) for key, value in pods.labels.items()}
        pod = template_pod(_owner(one, meta, pods.owner, inner), template, name, labels)
        return with_claims(pod, claims)

    return make


def _owner(one: Skipped, meta: ObjectMeta, owner: PodOwner | None, scope: Scope) -> CustomOwner:
    if owner is None:
        return CustomOwner(one.api_version, one.kind, meta)
    name = fill_text(owner.name, scope)
    return CustomOwner(owner.api_version, owner.kind, ObjectMeta(name=name, namespace=meta.namespace))
