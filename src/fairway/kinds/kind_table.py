"""The table of kinds that make pods: which pods, how many, owned and labelled how.

In: `kinds.yaml` of this room, files of the same form (`--kinds`), and CustomResourceDefinitions with the annotation
`fairway.dev/pods`. Out: a `KindTable` that knows the entry for an API group and kind; what comes later wins. A table
that makes no sense is a `DecodeError` that names the file and the field. Called by whoever calls `expansion`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

import msgspec

from fairway.kinds.tree_text import path_problem
from fairway.model import DecodeError, Skipped
from fairway.model.explain import explain
from fairway.model.yaml_text import read_yaml

__all__ = [
    "PODS_ANNOTATION",
    "Claim",
    "Count",
    "KindEntry",
    "KindTable",
    "MadeObject",
    "PodOwner",
    "PodsEntry",
    "Reference",
    "open_table",
]

PODS_ANNOTATION = "fairway.dev/pods"
"""On a CustomResourceDefinition: the entry of its kind, without `group` and `kind`."""


class Entry(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True, gc=False):
    """A piece of the table; a field that it does not know is an error."""


class Count(Entry, frozen=True, kw_only=True):
    """A number at a path: the first of several that is there, else `default`."""

    path: str | tuple[str, ...]
    default: int = 1
    at_least: str = ""  # a path: not fewer than it says
    at_most: str = ""  # a path: not more than it says
    minus: int = 0
    first: int = 0  # what its index begins with in names


class PodOwner(Entry, frozen=True, kw_only=True):
    """Who owns the pods, where it is not the object itself."""

    api_version: str
    kind: str
    name: str


class Reference(Entry, frozen=True, kw_only=True):
    """Another object that this one points at; paths may begin with the name it is given here."""

    kinds: tuple[str, ...]
    name: str  # a path


class Claim(Entry, frozen=True, kw_only=True):
    """A claim that each pod gets, named after the pod as a StatefulSet names them."""

    name: str  # that of the volume in the pod
    path: str = ""  # where the claim's template, or a list of such, is
    spec: dict[str, Any] = {}


class PodsEntry(Entry, frozen=True, kw_only=True):
    """Pods of one template."""

    each: str = ""  # the path of a list or map: the pods of each `item` of it, whose name or key is `key`
    part: str = ""  # how people call these pods among those of the object: "head"
    only: dict[str, str] = {}
    template: str | tuple[str, ...] = ()  # where the pod template is: the first path that has one
    pod: dict[str, Any] = {}
    fill: dict[str, Any] = {}
    change: dict[str, Any] = {}
    count: tuple[Count | int, ...] = ()  # multiplied
    stopped: tuple[str, ...] = ()  # paths: there are no pods if one of them says true
    name: str = "$(name)-$(part)-$(index)"
    labels: dict[str, str] = {}
    owner: PodOwner | None = None
    claims: tuple[Claim, ...] = ()


class MadeObject(Entry, frozen=True, kw_only=True):
    """An object that this one holds, and makes."""

    object: str  # the path where it is, such as item.template
    each: str = ""  # the path of a list: one of each `item` of it
    kind: str = ""  # "batch/v1 Job", where it does not say so itself
    is_spec: bool = False  # what is there is its spec alone
    name: str = "$(name)"


class KindEntry(Entry, frozen=True, kw_only=True):
    """A kind of an API group, whatever its version."""

    group: str
    kind: str
    read_as: str = ""  # it has the form of this kind: "apps/v1 StatefulSet"
    pods: tuple[PodsEntry, ...] = ()
    makes: tuple[MadeObject, ...] = ()  # other objects, which are read as if they had been given
    steps: Literal["", "argo"] = ""  # whose language its steps are in; `widest` are the pods of their widest moment
    refer: dict[str, Reference] = {}
    stopped: tuple[str, ...] = ()  # paths: there are no pods if one of them says true
    together: str = ""  # a path, or `all`: so many pods start together or not at all
    remark: str = ""  # what a person should know about the pods
    makes_none: bool = False  # no pods come of it, whatever it looks like
    not_counted: str = ""  # pods come of it, and why they can not be told beforehand


class KindFile(Entry, frozen=True, kw_only=True):
    """A file of the table."""

    kinds: tuple[KindEntry, ...] = ()


class KindTable:
    """Entries by API group and kind."""

    def __init__(self, entries: Iterable[KindEntry]) -> None:
        self._entries = {(one.group, one.kind): one for one in entries}

    def find(self, api_version: str, kind: str) -> KindEntry | None:
        """The entry for objects that say so of themselves."""
        return self._entries.get((api_version.rpartition("/")[0], kind))

    def extended(self, entries: Iterable[KindEntry]) -> KindTable:
        """With more, which win."""
        return KindTable([*self._entries.values(), *entries])


def open_table(kind_files: Sequence[str] = (), skipped: Iterable[Skipped] = ()) -> KindTable:
    """Fairway's own table, with users' files, and with what CustomResourceDefinitions among `skipped` say."""
    table = _own_table().extended(entry for path in kind_files for entry in _read_file(path))
    return table.extended(entry for one in skipped if (entry := _annotated(one)) is not None)


@cache
def _own_table() -> KindTable:
    name = "kinds.yaml"
    text = files("fairway.kinds").joinpath(name).read_text(encoding="utf-8")
    return KindTable(_decode(text, name))


def _read_file(path: str) -> Iterable[KindEntry]:
    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise DecodeError(f"cannot be read: {error.strerror}", source=path) from error
    except UnicodeDecodeError as error:
        raise DecodeError("not UTF-8 text", source=path) from error
    return _decode(text, path)


def _decode(text: str, file: str) -> Iterable[KindEntry]:
    for tree, _ in read_yaml(text, file):
        table = _converted(tree, KindFile, file)
        for entry in table.kinds:
            _check(entry, file)
        yield from table.kinds


def _annotated(one: Skipped) -> KindEntry | None:
    """What a CustomResourceDefinition says about the pods of its kind."""
    if one.kind != "CustomResourceDefinition":
        return None
    meta, spec = one.tree.get("metadata"), one.tree.get("spec")
    annotations = meta.get("annotations") if isinstance(meta, Mapping) else None
    text = annotations.get(PODS_ANNOTATION) if isinstance(annotations, Mapping) else None
    if not isinstance(text, str) or not isinstance(spec, Mapping):
        return None
    names = spec.get("names")
    kind = names.get("kind") if isinstance(names, Mapping) else None
    where = f"{one.source}: CustomResourceDefinition {one.name}: metadata.annotations[{PODS_ANNOTATION}]"
    for tree, _ in read_yaml(text, where):
        if isinstance(tree, Mapping):
            tree = {**tree, "group": spec.get("group"), "kind": kind}  # noqa: PLW2901
        entry: KindEntry = _converted(tree, KindEntry, where)
        _check(entry, where)
        return entry
    return None


def _converted(tree: Any, kind: type[Any], where: str) -> Any:
    try:
        return msgspec.convert(tree, kind)
    except msgspec.ValidationError as error:
        problem, field = explain(tree, kind, error)
        raise DecodeError(problem, source=where, field=field) from error


def _check(entry: KindEntry, where: str) -> None:
    """Refuse an entry that says nothing about pods, or says it twice, and paths that are none."""
    subject = f"{entry.kind} ({entry.group})"
    says = [bool(entry.read_as), bool(entry.pods), bool(entry.makes), entry.makes_none, bool(entry.not_counted)]
    if sum(says) != 1:
        problem = "needs exactly one of pods, makes, readAs, makesNone and notCounted"
        raise DecodeError(problem, source=where, subject=subject)
    for number, made in enumerate(entry.makes):
        for path in filter(None, (made.each, made.object)):
            if problem := path_problem(path):
                raise DecodeError(problem, source=where, subject=subject, field=f"makes[{number}]")
    for number, pods in enumerate(entry.pods):
        field = f"pods[{number}]"
        if not pods.template and not pods.pod:
            raise DecodeError("needs template or pod", source=where, subject=subject, field=field)
        paths = [pods.each, *pods.stopped, *_paths(pods.template), *(claim.path for claim in pods.claims)]
        for count in pods.count:
            if isinstance(count, Count):
                paths += [*_paths(count.path), count.at_least, count.at_most]
        for path in filter(None, paths):
            if problem := path_problem(path):
                raise DecodeError(problem, source=where, subject=subject, field=field)


def _paths(value: str | tuple[str, ...]) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else value
