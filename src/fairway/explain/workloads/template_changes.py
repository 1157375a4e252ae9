"""What a pod template says otherwise than what runs, in fields that Fairway's model does not hold.

In: the template as a person wrote it, and what runs, both as trees: the template of a ReplicaSet, StatefulSet or
DaemonSet, or a pod. Out: the places at which they differ, such as `containers[main].env[LOG_LEVEL].value`; values,
which may be secret, are not told. Only what the person wrote is looked for, because API servers fill in the rest; what
was taken out is known from what was applied last, or by fields that no server fills in. What schedulers read
(resources, affinity, tolerations, ...) is compared by its meaning in `same_template`. Called by `unread_changes`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, TypeGuard

import msgspec

from fairway.model import Container, PodSpec
from fairway.model.quantity import parse_quantity

__all__ = ["template_changes", "unread_fields"]

Tree = Mapping[str, Any]

BY_MEANING: Final = frozenset(
    (
        *("resources", "affinity", "nodeSelector", "tolerations", "topologySpreadConstraints", "overhead"),
        *("nodeName", "schedulerName", "priority", "priorityClassName", "preemptionPolicy"),
    )
)
"""Fields that `same_template` compares."""
UNFILLED: Final = frozenset(
    (
        *("command", "args", "workingDir", "env", "envFrom", "volumeMounts", "volumeDevices", "lifecycle"),
        *("livenessProbe", "readinessProbe", "startupProbe", "ports", "stdin", "tty"),
        *("volumes", "initContainers", "hostAliases", "dnsConfig", "shareProcessNamespace", "hostPID", "hostIPC"),
        *("securityContext", "serviceAccountName", "imagePullSecrets", "value", "valueFrom", "items", "sources"),
        *("configMap", "secret", "projected", "downwardAPI", "persistentVolumeClaim", "hostPath", "csi", "nfs"),
    )
)
"""Fields that no API server fills in: if they are in a template, somebody wrote them."""
NEVER_ADDED: Final = frozenset(
    ("command", "args", "workingDir", "livenessProbe", "readinessProbe", "startupProbe", "stdin", "tty", "value")
)
"""And these are not put into pods at their admission either."""
SET_FOR_PODS: Final = frozenset(("hostname", "subdomain"))
"""What a controller writes over in its pods."""
NAMES: Final = ("mountPath", "devicePath", "containerPort", "name", "ip", "path")
"""What tells the items of a list apart, tried in this order."""
HIDDEN: Final = "***HIDDEN***"
"""What support bundles have in the place of secrets."""
AMOUNTS: Final = frozenset(("sizeLimit", "divisor", "storage"))
CONTAINERS: Final = ("initContainers", "containers")


def template_changes(wanted: Tree, there: Tree, applied: Tree | None = None, *, is_pod: bool = False) -> list[str]:
    """Where the specs of these templates differ; `applied` is what was applied last, if that is known."""
    own, running = _tree(wanted.get("spec")), _tree(there.get("spec"))
    places = list(_written_otherwise(own, running, "", SET_FOR_PODS if is_pod else frozenset()))
    if is_pod:
        places += _taken_out(running, own, "", NEVER_ADDED)
    elif applied is not None:
        places += (place for place in _left_out(_tree(applied.get("spec")), own, running, ""))
    else:
        places += _taken_out(running, own, "", UNFILLED)
    return list(dict.fromkeys(places))


def unread_fields(template: Tree) -> list[str]:
    """Fields of a template, by name, that the model does not hold, and that are compared here only."""
    spec = _tree(template.get("spec"))
    held = {field.encode_name for field in msgspec.structs.fields(PodSpec)}
    found = [key for key, value in spec.items() if key not in held and not _is_nothing(value)]
    known = {field.encode_name for field in msgspec.structs.fields(Container)}
    for kind in CONTAINERS:
        for container in filter(_is_tree, _items(spec.get(kind))):
            found += (key for key, value in container.items() if key not in known and not _is_nothing(value))
    return list(dict.fromkeys(found))


def _written_otherwise(wanted: Tree, there: Tree, path: str, passed_over: frozenset[str]) -> Iterator[str]:
    """Where what is written is not what runs."""
    for key, value in wanted.items():
        if key in BY_MEANING or key in passed_over:
            continue
        place, running = _place(path, key), there.get(key)
        if _is_nothing(value) and (running is None or _is_nothing(running)):
            continue
        if _is_tree(value) and _is_tree(running):
            yield from _written_otherwise(value, running, place, passed_over)
        elif _is_named(value) and _is_named(running):
            for name, item, other in _pairs(value, running):
                if other is None:
                    yield f"{place}[{name}]"
                elif item is not None:
                    yield from _written_otherwise(item, other, f"{place}[{name}]", passed_over)
        elif not _is_same(key, value, running):
            yield place


def _taken_out(there: Tree, wanted: Tree, path: str, fields: frozenset[str]) -> Iterator[str]:
    """What runs with something that is not written, and that nobody but a person can have put there."""
    for key, running in there.items():
        place, value = _place(path, key), wanted.get(key)
        if key in BY_MEANING or _is_nothing(running):
            continue
        if value is None or _is_nothing(value):
            if key in fields:
                yield place
        elif _is_tree(running) and _is_tree(value):
            yield from _taken_out(running, value, place, fields)
        elif _is_named(running) and _is_named(value):
            for name, item, other in _pairs(running, value):
                if other is not None:
                    yield from _taken_out(_tree(item), other, f"{place}[{name}]", fields)
                elif key in fields:
                    yield f"{place}[{name}]"


def _left_out(applied: Tree, wanted: Tree, there: Tree, path: str) -> Iterator[str]:
    """What was applied last and still runs, and is not written any more: whoever applies this takes it out."""
    for key, before in applied.items():
        place, value, running = _place(path, key), wanted.get(key), there.get(key)
        if key in BY_MEANING or _is_nothing(before) or running is None:
            continue
        if value is None or _is_nothing(value):
            yield place
        elif _is_tree(before) and _is_tree(value):
            yield from _left_out(before, value, _tree(running), place)
        elif _is_named(before) and _is_named(value):
            runs = {name: item for name, item, _ in _pairs(running, before)} if _is_named(running) else {}
            for name, item, other in _pairs(before, value):
                if name not in runs:
                    continue
                if other is None:
                    yield f"{place}[{name}]"
                else:
                    yield from _left_out(_tree(item), other, _tree(runs[name]), f"{place}[{name}]")


def _pairs(some: Sequence[Tree], others: Sequence[Tree]) -> Iterator[tuple[str, Tree, Tree | None]]:
    """Each item of a list with its counterpart in another: by what tells them apart, or else by their place."""
    for name in NAMES:
        if _tells_apart(name, some) and _tells_apart(name, others):
            known = {str(item[name]): item for item in others}
            yield from ((str(item[name]), item, known.get(str(item[name]))) for item in some)
            return
    for index, item in enumerate(some):
        yield str(index), item, others[index] if index < len(others) else None


def _tells_apart(name: str, items: Sequence[Tree]) -> bool:
    return all(name in item for item in items) and len({str(item[name]) for item in items}) == len(items)


def _is_same(key: str, value: Any, running: Any) -> bool:
    if running in (value, HIDDEN):
        return True
    if key in AMOUNTS:
        try:
            return parse_quantity(str(value)) == parse_quantity(str(running))
        except ValueError:
            return False
    return False


def _is_nothing(value: Any) -> bool:
    """What an API server leaves out, or may: nothing, an empty text, no items, no, zero."""
    return value is None or value is False or (not isinstance(value, bool) and value in ("", 0, [], {}))


def _is_tree(value: Any) -> TypeGuard[Tree]:
    return isinstance(value, Mapping)


def _is_named(value: Any) -> TypeGuard[Sequence[Tree]]:
    """A list of trees."""
    return isinstance(value, list) and bool(value) and all(isinstance(item, Mapping) for item in value)


def _items(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _tree(value: Any) -> Tree:
    return value if isinstance(value, Mapping) else {}


def _place(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key
