"""Manifests rewritten with racks and servers, for users of other simulators too.

In: files and directories of nodes and pods. Out: beside each file that has any, a file with the suffix `-hier` in its
name: nodes have labels that say their rack and server (`topology`), and so have pods that are on a node, or are tied to
one by a selector for its host name. All else stays as it is. Nothing is written before everything was read, and its own
earlier output is never taken as input. Called by `fairway topology`.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec
import yaml

from fairway.model import DecodeError
from fairway.model.nesting import check_nesting
from fairway.model.text_file import Progress, read_bytes
from fairway.model.yaml_text import read_yaml
from fairway.own_file import check_own, replacing
from fairway.trace.manifest_objects import SUFFIXES
from fairway.trace.topology import RACK, ServerPlace, places
from fairway.words import visible

__all__ = ["SUFFIX", "Rewritten", "rewrite_files"]

SUFFIX: Final = "-hier"
WHAT: Final = "a manifest with racks"
HEADING: Final = "# Written by fairway topology"
HOSTNAME: Final = "kubernetes.io/hostname"
# PyYAML would write these without quotes, and other readers would take them for numbers.
NUMBER_LIKE: Final = re.compile(r"[-+.]?[0-9][0-9_.eExXoO+a-fA-F-]*")


class Rewritten(NamedTuple):
    """A file that was written, and what is in it."""

    original: str
    path: str
    num_nodes: int
    num_pods: int  # with labels, having a node


class _File(NamedTuple):
    path: Path
    documents: list[Any]
    is_json: bool

    def objects(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Nodes and pods, in lists or not, each with its kind."""
        for document in self.documents:
            yield from _objects(document)


def rewrite_files(
    paths: Sequence[str | os.PathLike[str]],
    servers_per_rack: int,
    *,
    write: bool = True,
    progress: Progress | None = None,
) -> tuple[list[Rewritten], list[str]]:
    """Rewrite manifests; also says which files were passed over, and why."""
    notes: list[str] = []
    files = []
    originals = _originals(paths, notes)
    for path in originals:
        files.append(_read(path))
        if progress is not None:
            progress(1 / len(originals))
    nodes = {
        _name(thing, file.path): _labels(thing) for file in files for kind, thing in file.objects() if kind == "Node"
    }
    if not nodes:
        raise DecodeError("no node in these files to give a rack to", source=", ".join(map(str, originals)))
    found = places(nodes.items(), servers_per_rack)
    by_host = {labels[HOSTNAME]: found[name] for name, labels in nodes.items() if HOSTNAME in labels}
    done = []
    texts: list[str] = []
    for file in files:
        counts = _mark(file, found, by_host)
        plain = _plain(file.path)
        target = file.path.with_name(f"{plain.stem}{SUFFIX}{plain.suffix}")
        if counts is None:
            notes.append(f"{file.path} has no nodes and no pods; it is left alone")
            continue
        done.append(Rewritten(str(file.path), str(target), *counts))
        texts.append(_text(file))
        check_own(target, WHAT, partial(_is_rewritten, texts[-1]))
    if write:
        for one, text in zip(done, texts, strict=True):
            _write(Path(one.path), text, Path(one.original))
    return done, notes


def _plain(path: Path) -> Path:
    """The name without .gz: what is written is not compressed."""
    return path.with_suffix("") if path.suffix == ".gz" else path


def _originals(paths: Sequence[str | os.PathLike[str]], notes: list[str]) -> list[Path]:
    found: dict[Path, None] = {}
    for path in map(Path, paths):
        if path.is_dir():
            below = sorted(file for file in path.rglob("*") if _plain(file).suffix in SUFFIXES and file.is_file())
            found |= dict.fromkeys(file for file in below if not _plain(file).stem.endswith(SUFFIX))
        elif _plain(path).stem.endswith(SUFFIX):
            notes.append(f"{path} is not read: names in {SUFFIX} are what this command writes")
        else:
            found[path] = None
    if not found:
        raise DecodeError(f"no *.yaml, *.yml or *.json file to read (names in {SUFFIX} do not count)")
    return list(found)


def _read(path: Path) -> _File:
    data = read_bytes(path)
    if _plain(path).suffix == ".json":
        check_nesting(data, str(path))
        try:
            return _File(path, [msgspec.json.decode(data)], is_json=True)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise DecodeError(str(error), source=str(path)) from error
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DecodeError("is not UTF-8 text", source=str(path)) from error
    return _File(path, [tree for tree, _ in read_yaml(text, str(path))], is_json=False)


def _objects(tree: Any, kind: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    if not isinstance(tree, dict):
        return
    own = tree.get("kind") or kind
    if own in {"Node", "Pod"} and tree.get("apiVersion", "v1") == "v1":
        yield own, tree
    elif isinstance(own, str) and own.endswith("List") and isinstance(tree.get("items"), list):
        for item in tree["items"]:
            yield from _objects(item, own.removesuffix("List"))


def _meta(thing: Mapping[str, Any]) -> dict[str, Any]:
    meta = thing.get("metadata")
    return meta if isinstance(meta, dict) else {}


def _labels(thing: Mapping[str, Any]) -> dict[str, str]:
    labels = _meta(thing).get("labels")
    return labels if isinstance(labels, dict) else {}


def _name(thing: Mapping[str, Any], path: Path) -> str:
    name = _meta(thing).get("name")
    if not isinstance(name, str) or not name:
        raise DecodeError("must be there, and be text", source=str(path), subject="Node", field="metadata.name")
    return name


def _mark(
    file: _File, by_name: Mapping[str, ServerPlace], by_host: Mapping[str, ServerPlace]
) -> tuple[int, int] | None:
    """Write the labels into the trees; how many nodes and pods got them, None if there is neither in the file."""
    num_objects = num_nodes = num_pods = 0
    for kind, thing in file.objects():
        num_objects += 1
        if kind == "Node":
            place: ServerPlace | None = by_name[_name(thing, file.path)]
            num_nodes += 1
        else:
            place = _place_of_pod(thing, by_name, by_host)
            num_pods += place is not None
        if place is not None:
            meta = thing["metadata"] = _meta(thing)
            meta["labels"] = _labels(thing) | place.labels
    return (num_nodes, num_pods) if num_objects else None


def _place_of_pod(
    pod: Mapping[str, Any], by_name: Mapping[str, ServerPlace], by_host: Mapping[str, ServerPlace]
) -> ServerPlace | None:
    spec = pod.get("spec")
    if not isinstance(spec, dict):
        return None
    if isinstance(node := spec.get("nodeName"), str) and node:
        return by_name.get(node)
    selector = spec.get("nodeSelector")
    host = selector.get(HOSTNAME) if isinstance(selector, dict) else None
    return by_host.get(host, by_name.get(host)) if isinstance(host, str) else None


class _Dumper(yaml.SafeDumper):
    """Writes YAML that readers of any YAML version take for the same."""

    def ignore_aliases(self, data: Any) -> bool:
        """Nothing is written by reference."""
        return True


def _represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    if "\n" in text:
        return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|")
    style = '"' if NUMBER_LIKE.fullmatch(text) else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _represent_text)


def _text(file: _File) -> str:
    if file.is_json:
        return json.dumps(file.documents[0], indent=2, ensure_ascii=False) + "\n"
    text: str = yaml.dump_all(
        file.documents, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=120, explicit_start=True
    )
    return f"{HEADING} from {visible(file.path.name, one_line=True)}\n{text}"


def _write(path: Path, text: str, original: Path) -> None:
    """All of it, or nothing, for whoever may read the original."""
    with replacing(path, WHAT, partial(_is_rewritten, text)) as beside:
        beside.write_text(text, encoding="utf-8")
        shutil.copymode(original, beside)


def _is_rewritten(text: str, path: Path) -> bool:
    """YAML says in its first line who wrote it; JSON has no such line, but has our labels, or is what it is to be."""
    data = path.read_bytes()
    return data.startswith(HEADING.encode()) or f'"{RACK}"'.encode() in data or data == text.encode()
