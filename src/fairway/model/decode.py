"""From manifests to objects.

In: bytes of JSON or YAML, parsed dicts, or paths of files and directories. Out: the objects of the kinds in
`codec.KINDS`, each with its source, and a note about every object of another kind. Whatever is wrong with the
input comes out as a `DecodeError` that names file, object and field, never as another exception.
Called by `trace/`, `live/`, `cli/` and the tests. Values are taken as written: see `default` and `validate`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from fairway.model.codec import KINDS, TOLD_KINDS, ApiObject, convert, json_decoder
from fairway.model.errors import DecodeError, Source
from fairway.model.explain import explain, name_type
from fairway.model.nesting import check_nesting, place_of
from fairway.model.yaml_text import read_yaml

__all__ = [
    "Loaded",
    "Skipped",
    "decode_object",
    "load_json",
    "load_yaml",
    "skipped_notes",
]

KIND_NAMES = frozenset(name for _, name in KINDS)


class Loaded(msgspec.Struct, frozen=True, gc=False):
    """An object and where it came from."""

    object: ApiObject
    source: Source


class Skipped(msgspec.Struct, frozen=True, gc=False):
    """An object of a kind that Fairway does not read; `tree` is what it says, as parsed."""

    api_version: str
    kind: str
    name: str
    source: Source
    tree: Mapping[str, Any] = {}

    @property
    def title(self) -> str:
        """Its kind; with its version, if Fairway reads that kind in another one."""
        return f"{self.kind} ({self.api_version})" if self.kind in KIND_NAMES else self.kind

    def __str__(self) -> str:
        return f"{self.source}: {self.api_version} {self.kind} {self.name} is of no concern to a scheduler, skipped"


def skipped_notes(titles: Counter[str]) -> list[str]:
    """What to tell people about objects of other kinds, counted by their titles."""
    others = [f"{count} {title}" for title, count in sorted(titles.items()) if "(" not in title]
    versions = [f"{count} {title}" for title, count in sorted(titles.items()) if "(" in title]
    notes = [f"skipped what is of no concern to a scheduler: {', '.join(others)}"] if others else []
    return [*notes, f"skipped, being of an API that is not read: {', '.join(versions)}"] if versions else notes


class _Header(msgspec.Struct, rename="camel", gc=False):
    kind: str | None = None
    api_version: str | None = None


_HEADER = msgspec.json.Decoder(_Header)
_ANYTHING = msgspec.json.Decoder()
_BYTE = re.compile(r"(?P<problem>.*) \(byte (?P<byte>\d+)\)")


def load_json(data: bytes, file: str, skipped: list[Skipped] | None = None) -> list[Loaded]:
    """One JSON object, or those of a list, each with its source; objects of other kinds are added to `skipped`."""
    source = Source(file)
    check_nesting(data, source)
    header = _read_json(data, source, _HEADER)
    kind = KINDS.get((header.api_version or "", header.kind or "")) if header is not None else None
    if kind is not None:
        return [Loaded(_decode_fast(data, kind, source), source)]
    return list(_expand(_read_json(data, source, _ANYTHING), source, skipped))


def load_yaml(data: bytes, file: str, skipped: list[Skipped] | None = None) -> list[Loaded]:
    """The objects of a YAML stream, lists expanded, each with its source; others are added to `skipped`."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DecodeError(f"not UTF-8 text at {place_of(data, error.start)}", source=file) from error
    documents = list(read_yaml(text, file))
    loaded: list[Loaded] = []
    for number, (tree, line) in enumerate(documents, 1):
        source = Source(file, number, line if len(documents) > 1 else None)
        loaded += _expand(tree, source, skipped)
    return loaded


def decode_object(data: Mapping[str, Any] | bytes, source: Source | str = "") -> ApiObject:
    """Decode exactly one object, from JSON bytes or from parsed JSON; an unknown kind is an error here."""
    where = source if isinstance(source, Source) else Source(source or "<object>")
    if isinstance(data, bytes):
        check_nesting(data, where)
        header = _read_json(data, where, _HEADER)
        kind = TOLD_KINDS.get((header.api_version or "", header.kind or "")) if header is not None else None
        if kind is not None:
            return _decode_fast(data, kind, where)
        data = _read_json(data, where, _ANYTHING)
    api_version, name = _identify(data, where)
    kind = TOLD_KINDS.get((api_version, name))
    if kind is None:
        known = ", ".join(f"{version} {kind}" for version, kind in TOLD_KINDS)
        raise DecodeError(f"{api_version} {name} is not a kind Fairway reads; it reads {known}", source=where)
    return _decode_tree(data, kind, where)


def _read_json(data: bytes, source: Source, decoder: msgspec.json.Decoder[Any]) -> Any:
    """Parse JSON; None when it does not have the decoder's shape, which a second look will explain."""
    try:
        return decoder.decode(data)
    except msgspec.ValidationError:
        if decoder is _HEADER:
            return None
        raise DecodeError("a number is out of range", source=source) from None
    except msgspec.DecodeError as error:
        raise _malformed(data, error, source) from error
    except UnicodeDecodeError as error:
        raise DecodeError("JSON is not UTF-8 text", source=source) from error


def _malformed(data: bytes, error: msgspec.DecodeError, source: Source) -> DecodeError:
    found = _BYTE.fullmatch(str(error))
    problem = (found["problem"] if found else str(error)).removeprefix("JSON is malformed: ")
    place = place_of(data, int(found["byte"]) if found else len(data))
    return DecodeError(f"JSON is malformed at {place}: {problem}", source=source)


def _expand(tree: Any, source: Source, skipped: list[Skipped] | None) -> Iterator[Loaded]:
    """Decode a tree that is an object, or a list of objects of one or of several kinds."""
    api_version, kind = _identify(tree, source)
    known = KINDS.get((api_version, kind))
    if known is not None:
        yield Loaded(_decode_tree(tree, known, source), source)
    elif kind.endswith("List") and "items" in tree:
        items = [] if tree["items"] is None else tree["items"]
        if not isinstance(items, list):
            raise DecodeError(f"expected a list, found {name_type(items)}", source=source, subject=kind, field="items")
        for index, item in enumerate(items):
            where = Source(source.file, source.document, source.line, index)
            if kind != "List" and isinstance(item, dict) and not item.get("kind"):
                # In a PodList the items do not say that they are pods.
                item = item | {"kind": kind.removesuffix("List"), "apiVersion": api_version}  # noqa: PLW2901
            yield from _expand(item, where, skipped)
    elif skipped is not None:
        meta = tree.get("metadata")
        name = meta.get("name") if isinstance(meta, dict) else None
        skipped.append(Skipped(api_version, kind, name if isinstance(name, str) else "", source, tree))


def _identify(tree: Any, source: Source) -> tuple[str, str]:
    if not isinstance(tree, Mapping):
        raise DecodeError(f"expected an object with apiVersion and kind, found {name_type(tree)}", source=source)
    for field, example in (("apiVersion", "v1"), ("kind", "Pod")):
        if not isinstance(tree.get(field), str) or not tree[field]:
            problem = f"must be there, and be text such as {example}"
            raise DecodeError(problem, source=source, subject=_subject(tree), field=field)
    return tree["apiVersion"], tree["kind"]


def _decode_fast(data: bytes, kind: type[ApiObject], source: Source) -> ApiObject:
    try:
        decoded: ApiObject = json_decoder(kind).decode(data)
        return decoded
    except msgspec.ValidationError:
        return _decode_tree(_read_json(data, source, _ANYTHING), kind, source)
    except (msgspec.DecodeError, UnicodeDecodeError):
        _read_json(data, source, _ANYTHING)
        raise DecodeError("JSON is malformed", source=source) from None


def _decode_tree(tree: Any, kind: type[ApiObject], source: Source) -> ApiObject:
    try:
        return convert(tree, kind)
    except msgspec.ValidationError:
        # The API prints null for what is absent; the structs want it absent.
        tree = _without_nulls(tree)
    try:
        return convert(tree, kind)
    except msgspec.ValidationError as error:
        problem, field = explain(tree, kind, error)
        raise DecodeError(problem, source=source, subject=_subject(tree), field=field) from error


def _without_nulls(tree: Any) -> Any:
    if isinstance(tree, dict):
        return {key: _without_nulls(value) for key, value in tree.items() if value is not None}
    if isinstance(tree, list):
        return [_without_nulls(value) for value in tree]
    return tree


def _subject(tree: Any) -> str:
    """Name an object that could not be decoded, as well as it lets itself be named."""
    kind = tree.get("kind")
    meta = tree.get("metadata")
    meta = meta if isinstance(meta, dict) else {}
    names = [part for part in (meta.get("namespace"), meta.get("name")) if isinstance(part, str) and part]
    return " ".join(part for part in (kind if isinstance(kind, str) else "", "/".join(names)) if part)
