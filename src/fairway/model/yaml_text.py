"""YAML as Kubernetes reads it: JSON in other clothes.

In: the text of a manifest. Out: one tree of dicts, lists and scalars for each document, with the line it began at.
Keys become text, times and things like 12:30 stay text, a key written twice is an error, and aliases that
expand without end are refused. Called by `fairway.model.decode`; nothing else here touches YAML.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import yaml

from fairway.model.errors import DecodeError
from fairway.model.nesting import MAX_DEPTH

__all__ = ["read_yaml"]

MAX_DIGITS = 400
SPARE_VALUES = 100_000
"""How many more values than characters a document may have: without aliases it never has more."""

_Loader: type[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

TAG = "tag:yaml.org,2002:"
BOOLEANS = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}
INTEGER = re.compile(r"[-+]?(0b[01]+|0x[0-9a-fA-F]+|0[0-7]+|0|[1-9][0-9]*)")


def read_yaml(text: str, file: str) -> Iterator[tuple[Any, int]]:
    """Yield each document that is not empty, with its 1-based first line."""
    try:
        loader = _Loader(text)
    except yaml.YAMLError as error:
        raise _error(error, file) from error
    try:
        while not isinstance(event := loader.get_event(), yaml.StreamEndEvent):
            if isinstance(event, yaml.DocumentStartEvent):
                value, line = _Document(loader, file, len(text) + SPARE_VALUES).read()
                if value is not None:
                    yield value, line
    except yaml.YAMLError as error:
        raise _error(error, file) from error
    finally:
        loader.dispose()


def _error(error: yaml.YAMLError, file: str) -> DecodeError:
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark is not None:
        mark = error.problem_mark
        what = ", ".join(part for part in (error.context, error.problem) if part)
        return DecodeError(f"YAML is malformed at line {mark.line + 1}, column {mark.column + 1}: {what}", source=file)
    return DecodeError(f"YAML is malformed: {error}".replace("\n", " "), source=file)


class _Document:
    """Builds the values of one document from the parser's events.

    PyYAML's own composer calls itself in C for each level of nesting and falls over its stack on hostile input.
    """

    def __init__(self, loader: Any, file: str, max_values: int) -> None:
        self.loader = loader
        self.file = file
        self.num_left = max_values
        self.anchors: dict[str, tuple[Any, int]] = {}  # value, and how many values it is made of

    def read(self) -> tuple[Any, int]:
        event = self.loader.get_event()
        return self.build(event, 0), event.start_mark.line + 1

    def wrong(self, event: Any, problem: str) -> DecodeError:
        mark = event.start_mark
        return DecodeError(f"line {mark.line + 1}, column {mark.column + 1}: {problem}", source=self.file)

    def build(self, event: Any, depth: int) -> Any:
        if isinstance(event, yaml.AliasEvent):
            if event.anchor not in self.anchors:
                raise self.wrong(event, f"there is no complete &{event.anchor} before this *{event.anchor}")
            value, size = self.anchors[event.anchor]
            self.spend(event, size)
            return value
        if depth > MAX_DEPTH:
            raise self.wrong(event, f"nested more than {MAX_DEPTH} deep")
        before = self.num_left
        self.spend(event, 1)
        if isinstance(event, yaml.ScalarEvent):
            value = self.scalar(event)
        elif event.tag not in (None, "!", f"{TAG}map", f"{TAG}seq"):
            raise self.wrong(event, f"the tag {event.tag} is not allowed in a manifest")
        elif isinstance(event, yaml.MappingStartEvent):
            value = self.mapping(depth)
        else:
            value = list(self.children(yaml.SequenceEndEvent, depth))
        if event.anchor is not None:
            self.anchors[event.anchor] = (value, before - self.num_left)
        return value

    def spend(self, event: yaml.Event, size: int) -> None:
        self.num_left -= size
        if self.num_left < 0:
            raise self.wrong(event, "aliases expand this document to more than can be meant")

    def children(self, end: type[yaml.Event], depth: int) -> Iterator[Any]:
        while not isinstance(event := self.loader.get_event(), end):
            yield self.build(event, depth + 1)

    def mapping(self, depth: int) -> dict[str, Any]:
        result: dict[str, Any] = {}
        merged: dict[str, Any] = {}
        while not isinstance(event := self.loader.get_event(), yaml.MappingEndEvent):
            if isinstance(event, yaml.ScalarEvent) and self.tag(event) == "merge":
                source = self.loader.get_event()
                merged = self.merge(source, self.build(source, depth + 1)) | merged
                continue
            key = _key_text(self.build(event, depth + 1))
            if key is None:
                raise self.wrong(event, "a key must be text, a number, true or false")
            if key in result:
                raise self.wrong(event, f"the key {key!r} is there twice")
            result[key] = self.build(self.loader.get_event(), depth + 1)
        return merged | result if merged else result

    def merge(self, event: yaml.Event, value: Any) -> dict[str, Any]:
        """What `<<` brings in; of several mappings the first to have a key wins."""
        result: dict[str, Any] = {}
        for one in value if isinstance(value, list) else [value]:
            if not isinstance(one, dict):
                raise self.wrong(event, "'<<' takes a mapping or a list of mappings")
            result = one | result
        return result

    def tag(self, event: Any) -> str:
        """What kind of scalar this is: its own tag, or what it looks like."""
        if event.tag is not None and event.tag != "!":
            return str(event.tag).removeprefix(TAG)
        return str(self.loader.resolve(yaml.ScalarNode, event.value, event.implicit)).removeprefix(TAG)

    def scalar(self, event: Any) -> Any:
        text: str = event.value
        if not text.isascii() and not _is_encodable(text):
            raise self.wrong(event, "half of a surrogate pair is not a character")
        tag = self.tag(event)
        match tag:
            case "str" | "timestamp" | "value" | "merge":
                return text
            case "null":
                return None
            case "bool" if text.lower() in BOOLEANS:
                return BOOLEANS[text.lower()]
            case "int":
                plain = text.replace("_", "")
                return _integer(plain) if INTEGER.fullmatch(plain) and len(plain) < MAX_DIGITS else text
            case "float":
                return _float(text)
        raise self.wrong(event, f"the tag {tag} is not allowed in a manifest")


def _integer(text: str) -> int:
    sign, digits = (-1, text[1:]) if text.startswith("-") else (1, text.removeprefix("+"))
    if digits.startswith(("0b", "0x")):
        return sign * int(digits, 0)
    return sign * int(digits, 8 if digits.startswith("0") else 10)


def _float(text: str) -> float | str:
    plain = text.replace("_", "").lower().replace(".inf", "inf").replace(".nan", "nan")
    try:
        return float(plain)
    except ValueError:
        return text


def _key_text(key: object) -> str | None:
    """A key as JSON would have it."""
    if isinstance(key, bool):
        return str(key).lower()
    return str(key) if isinstance(key, str | int | float) else None


def _is_encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
