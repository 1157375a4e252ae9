"""Changes that a scheduler does not read, and that replace pods all the same: environment, commands, mounts, probes.

In: a controller that replaces its pods, the `Fleet` that the cluster has of it as far as the model tells, and the
objects as they are written, in the files and in the cluster (`WrittenForms`). Out: the fleet, with pods that run
another template among the former ones, and the places at which it differs; or a note that it could not be compared. A
pod's template is that of its ReplicaSet or its ControllerRevision, else of its controller, else it is the pod itself.
Called by `standing`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final, Protocol

from fairway.explain.workloads.template_changes import template_changes, unread_fields
from fairway.explain.workloads.there import Fleet
from fairway.kinds.controllers import Wanted
from fairway.model import Pod
from fairway.model.owned import REVISION

__all__ = ["UnreadChanges", "WrittenForms"]

LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
BY_SETS: Final = ("Deployment", "Rollout")
"""Kinds whose pods belong to ReplicaSets."""
NAMED: Final = 4
Tree = Mapping[str, Any]


class WrittenForms(Protocol):
    """Where objects are, with all of their fields."""

    def find(self, kind: str, namespace: str, name: str) -> Tree | None:
        """The object; None if it is not there, or may not be read."""


class UnreadChanges:
    """What is asked for, beside what runs, both as they are written."""

    def __init__(self, asked: WrittenForms, there: WrittenForms) -> None:
        self._asked = asked
        self._there = there

    def judged(self, wanted: Wanted, fleet: Fleet, notes: list[str]) -> Fleet:
        """The fleet, with those pods among the former ones that were made from another template after all."""
        written = self._asked.find(wanted.kind, wanted.namespace, wanted.name)
        template = _template(written)
        if template is None:
            return fleet
        groups: dict[str, list[Pod]] = {}
        for pod in fleet.present:
            groups.setdefault(_group(wanted, pod), []).append(pod)
        controller = self._there.find(wanted.kind, wanted.namespace, wanted.name)
        present: list[Pod] = []
        former = list(fleet.former)
        places: dict[str, None] = {}
        unknown = 0
        for group, pods in groups.items():
            found = self._running(wanted, group, pods[0], controller, len(groups))
            if found is None:
                unknown += len(pods)
                present += pods
                continue
            running, is_pod = found
            changes = template_changes(template, running, None if is_pod else _applied(controller), is_pod=is_pod)
            places |= dict.fromkeys(changes)
            (former if changes else present).extend(pods)
        if unknown and (fields := unread_fields(template)):
            notes.append(_not_compared(wanted.title, unknown, fields))
        if places:
            notes.append(f"{wanted.title} differs from what runs in {_few(list(places))}")
        return replace(fleet, present=tuple(present), former=tuple(former), is_unread=bool(places))

    def _running(
        self, wanted: Wanted, group: str, pod: Pod, controller: Tree | None, num_groups: int
    ) -> tuple[Tree, bool] | None:
        """The template that these pods are of, or one of them and True; None if nobody has kept it."""
        kind = "ReplicaSet" if wanted.kind in BY_SETS else "ControllerRevision"
        owner = self._there.find(kind, wanted.namespace, group)
        for form in (owner, controller if num_groups == 1 else None):  # a controller has one template only
            template = _template(form)
            if template is not None and not _is_cut_down(form, template):
                return template, False
        single = self._there.find("Pod", pod.metadata.namespace, pod.metadata.name)
        return None if single is None or _is_cut_down(single, single) else (single, True)


def _group(wanted: Wanted, pod: Pod) -> str:
    """Pods of one template have this in common: the ReplicaSet, or the revision, that they are of."""
    if wanted.kind in BY_SETS:
        return pod.metadata.controller.name if pod.metadata.controller is not None else ""
    mark = pod.metadata.labels.get(REVISION, "")
    return f"{wanted.name}-{mark}" if wanted.kind == "DaemonSet" else mark


def _template(form: Tree | None) -> Tree | None:
    """The pod template in an object; that of a ControllerRevision is in its data."""
    form = _tree(form)
    spec = _tree(_tree(form.get("data")).get("spec")) or _tree(form.get("spec"))
    template = spec.get("template")
    return template if isinstance(template, Mapping) else None


def _applied(controller: Tree | None) -> Tree | None:
    """The template that was applied last, as kubectl notes it."""
    notes = _tree(_tree(_tree(controller).get("metadata")).get("annotations"))
    try:
        return _template(json.loads(notes.get(LAST_APPLIED, "")))
    except (ValueError, TypeError):
        return None


def _is_cut_down(form: Tree | None, template: Tree) -> bool:
    """True of what an API server gave out and somebody kept in part: fields that servers fill in are not there."""
    return "uid" in _tree(_tree(form).get("metadata")) and not unread_fields(template)


def _not_compared(title: str, number: int, fields: list[str]) -> str:
    return (
        f"{title}: of {number} pods there no {_few(fields, 'or')} is known, so those could not be compared and are "
        "taken for unchanged; --rollout plays the roll-out all the same"
    )


def _few(names: list[str], last: str = "and") -> str:
    if len(names) > NAMED:
        return f"{', '.join(names[:NAMED])} {last} {len(names) - NAMED} more"
    return f" {last} ".join(part for part in (", ".join(names[:-1]), names[-1]) if part)


def _tree(value: Any) -> Tree:
    return value if isinstance(value, Mapping) else {}
