"""Objects of kinds that Fairway does not decode, sorted: what they want to run, or why that can not be told.

In: what the files hold besides the known kinds, and the table of kinds. Out: an `Expansion`: objects of known kinds
that were written in an old version or under another name, `Wanted`s by the table, what was not counted, and what makes
no pods. Called by `explain.manifest_files` and `trace.other_kinds`.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from fairway.kinds.controllers import Wanted
from fairway.kinds.custom_kinds import CannotCount, wanted_by_table
from fairway.kinds.kind_table import KindTable
from fairway.kinds.made_objects import made_objects
from fairway.kinds.not_counted import NotCounted, reason_to_count
from fairway.kinds.old_versions import present_version, read_as
from fairway.kinds.workflow import with_widest
from fairway.model import DecodeError, Loaded, ObjectMeta, Skipped, dns_subdomain_problem

__all__ = ["Expansion", "expand"]

DEEPEST: Final = 4
"""So many objects may hold one another."""


@dataclass(slots=True)
class Expansion:
    """What came of the objects."""

    loaded: list[Loaded] = field(default_factory=list)  # to be treated as if they had been written so
    wanted: list[Wanted] = field(default_factory=list)
    not_counted: list[NotCounted] = field(default_factory=list)
    others: list[Skipped] = field(default_factory=list)  # of no concern to a scheduler
    old: Counter[str] = field(default_factory=Counter)  # versions that are gone: "extensions/v1beta1 Deployment"


def expand(
    skipped: Sequence[Skipped], table: KindTable, elsewhere: Sequence[Skipped] = (), *, is_cluster: bool = False
) -> Expansion:
    """Sort them; what they point at may be `elsewhere`. What is in a cluster has its pods there already."""
    result = Expansion()
    numbers: Counter[str] = Counter()
    waiting = deque((one, 0) for one in skipped)
    while waiting:
        one, depth = waiting.popleft()
        present = present_version(one)
        if present is not None:
            result.loaded.append(Loaded(present, one.source))
            result.old[f"{one.api_version} {one.kind}"] += 1
            continue
        if is_cluster:
            result.others.append(one)
            continue
        entry = table.find(one.api_version, one.kind)
        meta = _meta(one, numbers)
        reason = reason_to_count(one) if entry is None else entry.not_counted
        if entry is not None and entry.read_as:
            result.loaded.append(Loaded(read_as(one, entry.read_as), one.source))
        elif entry is not None and entry.pods:
            _check_name(one, meta)
            others = [*skipped, *elsewhere]
            try:
                told = with_widest(one, others) if entry.steps else one
                if entry.steps and not told.tree["widest"]:
                    result.others.append(one)  # its steps only wait, or ask somebody
                    continue
                result.wanted += wanted_by_table(told, entry, meta, others)
            except CannotCount as problem:
                reason = str(problem)
        elif entry is not None and entry.makes:
            made = list(made_objects(one, entry, meta)) if depth < DEEPEST else []
            result.loaded += [each for each in made if isinstance(each, Loaded)]
            waiting.extendleft((each, depth + 1) for each in reversed(made) if isinstance(each, Skipped))
            paths = " or ".join(part.object for part in entry.makes)
            reason = "" if made else f"it has nothing at {paths}" if depth < DEEPEST else "it is too deep in others"
        elif not reason:
            result.others.append(one)
        if reason:
            name = f"{meta.namespace}/{meta.name or '?'}"
            result.not_counted.append(NotCounted(one.kind, name, reason, one.source))
    return result


def _meta(one: Skipped, numbers: Counter[str]) -> ObjectMeta:
    """Name, labels and namespace; a name left to the server is its prefix and a number, the same on every run."""
    tree = one.tree.get("metadata")
    tree = tree if isinstance(tree, Mapping) else {}
    name, prefix = _text(tree, "name"), _text(tree, "generateName")
    if not name and prefix:
        numbers[prefix] += 1
        name = f"{prefix}{numbers[prefix]}"
    return ObjectMeta(name=name, namespace=_text(tree, "namespace") or "default", uid=_text(tree, "uid"))


def _text(tree: Mapping[str, Any], key: str) -> str:
    value = tree.get(key)
    return value if isinstance(value, str) else ""


def _check_name(one: Skipped, meta: ObjectMeta) -> None:
    problem = dns_subdomain_problem(meta.name) if meta.name else "must not be empty"
    if problem:
        raise DecodeError(problem, source=one.source, subject=f"{one.kind} {meta.name}", field="metadata.name")
