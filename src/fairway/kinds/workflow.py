"""Argo Workflows: which pods run at the same time, at the most.

In: a Workflow as parsed, and the WorkflowTemplates of the files, which it may point at. Out: the pod templates of its
widest moment, each with the number of its pods, as a list that the table of kinds reads (`widest`). Steps run one after
the other, their parts and the tasks of one depth of a graph together. A list that is known only when it runs counts as
one; a step that may be left out counts. Raises `CannotCount`. Called by `expansion`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from fairway.kinds.custom_kinds import CannotCount
from fairway.model import Skipped

__all__ = ["with_widest"]

TASK: Final = re.compile(r"[A-Za-z0-9_-]+")
PODS: Final = ("container", "script", "containerSet", "resource", "data")
DEMANDS: Final = ("nodeSelector", "affinity", "tolerations", "schedulerName")
Tree = Mapping[str, Any]
Moment = Counter[tuple[str, str]]
"""So many pods of each template: (its WorkflowTemplate or "", its name)."""


def with_widest(one: Skipped, others: Sequence[Skipped]) -> Skipped:
    """The same Workflow with `widest`: [{name, count, template}, ...]; without one that no step runs a pod for."""
    walk = _Walk(_map(one.tree.get("spec")), others)
    moment = walk.widest(walk.home, str(walk.spec.get("entrypoint") or ""), ())
    limit = walk.spec.get("parallelism")
    parts = [
        {"name": name, "count": count, "template": walk.pod(place, name)}
        for (place, name), count in _within(moment, limit).items()
    ]
    return Skipped(one.api_version, one.kind, one.name, one.source, {**one.tree, "widest": parts})


class _Walk:
    """One Workflow, and where its templates are."""

    def __init__(self, spec: Tree, others: Sequence[Skipped]) -> None:
        self._others = others
        self._inline: dict[tuple[str, str], Tree] = {}  # templates that steps hold themselves, by the step's name
        self.home = ""  # the place of its own templates
        reference = _map(spec.get("workflowTemplateRef")).get("name")
        if isinstance(reference, str):
            spec = {**self._elsewhere(reference), **spec}
            self.home = reference
        self.spec = spec

    def widest(self, place: str, name: str, above: tuple[tuple[str, str], ...]) -> Moment:
        """The pods of a template at its widest moment; one that calls itself does so later."""
        if (place, name) in above:
            return Counter()
        template = self._find(place, name)
        above = (*above, (place, name))
        if any(field in template for field in PODS):
            return Counter({(place, name): 1})
        moments: list[Moment] = []
        for group in _groups(template):
            together: Moment = Counter()
            for step in group:
                inner = self._called(place, step, above)
                for key, count in inner.items():
                    together[key] += count * _times(step)
            moments.append(together)
        widest = max(moments, key=lambda moment: moment.total(), default=Counter())
        return _within(widest, template.get("parallelism"))

    def _called(self, place: str, step: Tree, above: tuple[tuple[str, str], ...]) -> Moment:
        reference = _map(step.get("templateRef"))
        if reference:
            return self.widest(str(reference.get("name")), str(reference.get("template")), above)
        if isinstance(step.get("inline"), Mapping):
            name = str(step.get("name"))
            self._inline[place, name] = step["inline"]
            return self.widest(place, name, above)
        return self.widest(place, str(step.get("template")), above)

    def pod(self, place: str, name: str) -> dict[str, Any]:
        """The template as that of a pod."""
        template, spec = self._find(place, name), self.spec
        main = dict(_map(template.get("container") or template.get("script")))
        inside = _list(_map(template.get("containerSet")).get("containers")) or [
            {"name": "main", "image": main.get("image", "executor"), "resources": main.get("resources") or {}}
        ]
        volumes = [*_list(spec.get("volumes")), *_list(template.get("volumes"))]
        known = {field: template.get(field) or spec.get(field) for field in DEMANDS}
        demands: dict[str, Any] = {
            "restartPolicy": "Never",
            "containers": [_plain(container) for container in [*inside, *_list(template.get("sidecars"))]],
            "initContainers": [_plain(container) for container in _list(template.get("initContainers"))],
            "volumes": [volume for volume in volumes if isinstance(volume, Mapping)],
            "priorityClassName": template.get("priorityClassName") or spec.get("podPriorityClassName"),
            "hostNetwork": spec.get("hostNetwork"),
            **known,
        }
        if "{{" in str({key: demands[key] for key in demands if key != "volumes"}):
            raise CannotCount(f"what the pods of {name} need is known when it runs")
        if "{{" in str(volumes):
            raise CannotCount(f"which volumes the pods of {name} have is known when it runs")
        labels = [_map(_map(tree).get("labels")) for tree in (spec.get("podMetadata"), template.get("metadata"))]
        metadata = {"labels": {key: value for some in labels for key, value in some.items() if "{{" not in str(value)}}
        return {"metadata": metadata, "spec": {key: value for key, value in demands.items() if value}}

    def _find(self, place: str, name: str) -> Tree:
        spec = self.spec if place == self.home else self._elsewhere(place)
        if (place, name) in self._inline:
            return self._inline[place, name]
        found = next((one for one in _list(spec.get("templates")) if _map(one).get("name") == name), None)
        if found is None:
            raise CannotCount(f"it has no template {name or '(entrypoint)'}{f' in {place}' if place else ''}")
        defaults = _map(spec.get("templateDefaults"))
        return {**defaults, **found}

    def _elsewhere(self, name: str) -> Tree:
        kinds = ("WorkflowTemplate", "ClusterWorkflowTemplate")
        found = next((one for one in self._others if one.kind in kinds and one.name == name), None)
        if found is None:
            raise CannotCount(f"its WorkflowTemplate {name} is not in the files")
        return _map(found.tree.get("spec"))


def _groups(template: Tree) -> Iterator[list[Tree]]:
    """What is called at the same time, one moment after the other."""
    for group in _list(template.get("steps")):
        yield [_map(step) for step in (group if isinstance(group, list) else [group])]
    tasks = {str(_map(task).get("name")): _map(task) for task in _list(_map(template.get("dag")).get("tasks"))}
    by_depth: dict[int, list[Tree]] = {}
    for name, task in tasks.items():
        by_depth.setdefault(_depth(name, tasks, ()), []).append(task)
    yield from (by_depth[depth] for depth in sorted(by_depth))


def _depth(name: str, tasks: Mapping[str, Tree], above: tuple[str, ...]) -> int:
    task = tasks[name]
    named = [str(one) for one in _list(task.get("dependencies"))] or TASK.findall(str(task.get("depends") or ""))
    before = [one for one in named if one in tasks and one not in above and one != name]
    return 1 + max((_depth(one, tasks, (*above, name)) for one in before), default=-1)


def _times(step: Tree) -> int:
    """How often a step runs at the same time, as far as it says."""
    sequence = _map(step.get("withSequence"))
    if sequence:
        count, start, end = (sequence.get(key) for key in ("count", "start", "end"))
        if _is_number(count):
            return int(str(count))
        return abs(int(str(end)) - (int(str(start)) if _is_number(start) else 0)) + 1 if _is_number(end) else 1
    return max(1, len(_list(step.get("withItems"))))


def _within(moment: Moment, limit: Any) -> Moment:
    """No more pods than may run at once, those that come first."""
    if not isinstance(limit, int) or isinstance(limit, bool) or limit <= 0:
        return moment
    left, kept = limit, Moment()
    for key, count in moment.items():
        kept[key] = min(count, left)
        left -= kept[key]
    return Counter({key: count for key, count in kept.items() if count})


def _plain(container: Any) -> dict[str, Any]:
    """What a scheduler sees of a container."""
    fields = ("name", "image", "resources", "ports", "restartPolicy")
    plain = {field: container[field] for field in fields if field in _map(container)}
    return plain | ({"image": "known-later"} if "{{" in str(plain.get("image")) else {})


def _is_number(value: Any) -> bool:
    return re.fullmatch(r"\d{1,6}", str(value)) is not None


def _map(value: Any) -> Tree:
    return value if isinstance(value, Mapping) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
