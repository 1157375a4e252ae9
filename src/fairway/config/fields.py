"""Strict decoding: plain values in, a struct out, and every problem with the field it is in.

kube-scheduler decodes its configuration strictly (apis/config/scheme, `EnableStrict`): a field nobody knows is an
error, null means absent. `decode_fields` does the same for any msgspec struct, going by its types alone, and goes on
after the first problem, so that a person repairs a file once. What is no JSON value is written as a `Notation` says;
configurations and scenarios differ in nothing else. Called by `configuration`, `plugin_args` and `scenario`.
"""

from __future__ import annotations

import math
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, Final, Literal, NamedTuple, TypeVar, Union, get_args, get_origin

import msgspec

from fairway.config.field_words import bare, describe, rules
from fairway.model import Quantity, parse_quantity
from fairway.model.duration import Duration, parse_duration
from fairway.model.field_problem import Problem, alternatives, shown
from fairway.words import excerpt

__all__ = [
    "KUBERNETES",
    "ConfigError",
    "Notation",
    "Problem",
    "alternatives",
    "decode_fields",
    "decode_value",
    "kind_problems",
    "shown",
]

S = TypeVar("S", bound=msgspec.Struct)

MOST_PROBLEMS: Final = 100
"""So many are told of one file."""


class ConfigError(ValueError):
    """A configuration that cannot be used; the message has one line a problem, each naming file and field."""

    def __init__(self, source: str, problems: Sequence[Problem]) -> None:
        self.source = source
        self.problems = tuple(problems)
        lines = [
            ": ".join(excerpt(part) for part in (source, *problem) if part) for problem in self.problems[:MOST_PROBLEMS]
        ]
        if len(self.problems) > MOST_PROBLEMS:
            lines.append(f"... and {len(self.problems) - MOST_PROBLEMS} problems more")
        super().__init__("\n".join(lines))

    def __reduce__(self) -> tuple[type[ConfigError], tuple[str, tuple[Problem, ...]]]:
        return type(self), (self.source, self.problems)


class Notation(NamedTuple):
    """How values of a type that JSON does not have are written."""

    read: Callable[[Any], Any]
    """From the value in the file; `TypeError` or `ValueError` if it is none."""
    words: str
    """What is allowed there."""


def _go_duration(value: Any) -> Duration:
    if not isinstance(value, str):
        raise TypeError("no text")
    return parse_duration(value)


KUBERNETES: Final[Mapping[type, Notation]] = {
    Duration: Notation(_go_duration, 'a duration such as "15s" or "1m30s"'),
    Quantity: Notation(parse_quantity, 'a quantity: a number, or text such as "250m" or "2Gi"'),
}


def kind_problems(data: Any, api_version: str, kind: str) -> Iterator[Problem]:
    """Is it a file of that kind at all?"""
    if not isinstance(data, dict):
        yield Problem("", f"not a {kind} but {'empty' if data is None else shown(data)}")
        return
    for key, wanted in (("apiVersion", api_version), ("kind", kind)):
        found = data.get(key)
        if found is None:
            yield Problem(key, f"missing; write {key}: {wanted}")
        elif found != wanted:
            yield Problem(key, f"{shown(found)} is not supported; allowed: {wanted}")


def decode_fields(
    data: Any, kind: type[S], path: str, problems: list[Problem], notations: Mapping[type, Notation] = KUBERNETES
) -> S | None:
    """The struct, or None after adding to `problems` all that is wrong with the data."""
    before = len(problems)
    struct: S | None = decode_value(data, kind, path, problems, notations)
    return struct if len(problems) == before else None


def decode_value(
    data: Any, kind: Any, path: str, problems: list[Problem], notations: Mapping[type, Notation] = KUBERNETES
) -> Any:
    """The value as a type wants it, be it a struct or not; None and a problem or more when it does not fit."""
    return _Decoder(problems, notations).value(data, kind, path)


@cache
def _fields(kind: type[msgspec.Struct]) -> dict[str, msgspec.structs.FieldInfo]:
    return {field.encode_name: field for field in msgspec.structs.fields(kind)}


@dataclass(frozen=True, slots=True)
class _Decoder:
    problems: list[Problem]
    notations: Mapping[type, Notation]

    def value(self, value: Any, kind: Any, path: str) -> Any:
        plain = bare(kind)
        origin = get_origin(plain)
        if plain is Any:
            return value
        if plain in self.notations:
            return self._written(value, plain, path)
        if origin in (Union, types.UnionType):
            return self._union(value, plain, path)
        if isinstance(plain, type) and issubclass(plain, msgspec.Struct):
            return self._struct(value, plain, path)
        if plain is tuple or origin in (tuple, list, set, frozenset):
            return self._list(value, kind, path)
        if origin is dict:
            return self._mapping(value, kind, path)
        if origin is Literal:
            return self._word(value, get_args(plain), path)
        return self._leaf(value, kind, path)

    def _struct(self, value: Any, kind: type[msgspec.Struct], path: str) -> Any:
        if not isinstance(value, Mapping):
            return self._refuse(value, kind, path)
        before = len(self.problems)
        fields = _fields(kind)
        tag = [kind.__struct_config__.tag_field] if kind.__struct_config__.tag_field else []
        removed: dict[str, str] = getattr(kind, "removed_fields", {})
        made: dict[str, Any] = {}
        for key, part in value.items():
            at = _child(path, key)
            if key in fields:
                if part is not None:  # null is absent, as everywhere in Kubernetes
                    made[fields[key].name] = self.value(part, fields[key].type, at)
            elif key in removed:
                self._object(at, f"unknown field; {removed[key]}")
            elif key not in tag:
                self._object(at, f"unknown field{alternatives(str(key)[:60], [*tag, *fields])}")
        for name, field in fields.items():
            if field.required and field.name not in made:
                self._object(_child(path, name), f"missing; it is {self._describe(field.type)}")
        if len(self.problems) > before:
            return None
        try:
            return kind(**made)
        except (TypeError, ValueError) as error:  # what a struct itself objects to
            return self._object(path, str(error))

    def _union(self, value: Any, kind: Any, path: str) -> Any:
        """By the form of the value, or by its tag; a text or number is tried on each option."""
        options = [option for option in get_args(kind) if option is not type(None)]
        if value is None and len(options) < len(get_args(kind)):
            return None
        if len(options) == 1:
            return self.value(value, options[0], path)
        structs = {option.__struct_config__.tag: option for option in map(bare, options) if _is_struct(option)}
        if isinstance(value, Mapping) and len(structs) > 1:
            return self._tagged(value, structs, path)
        for option in options:
            attempt = _Decoder([], self.notations)
            made = attempt.value(value, option, path)
            if not attempt.problems or _takes(bare(option), value):
                self.problems.extend(attempt.problems)
                return made
        return self._refuse(value, kind, path)

    def _tagged(self, value: Mapping[str, Any], structs: Mapping[Any, type[msgspec.Struct]], path: str) -> Any:
        field = str(next(iter(structs.values())).__struct_config__.tag_field)
        tag = value.get(field)
        if tag is None:
            return self._object(_child(path, field), f"missing; it is one of {', '.join(map(str, structs))}")
        if not isinstance(tag, str | int) or tag not in structs:
            close = alternatives(str(tag)[:60], map(str, structs))
            return self._object(_child(path, field), f"{shown(tag)} is unknown{close}")
        return self._struct(value, structs[tag], path)

    def _list(self, value: Any, kind: Any, path: str) -> Any:
        plain = bare(kind)
        make, parts = get_origin(plain) or plain, get_args(plain)
        if make is tuple and parts[-1:] != (...,):
            return self._leaf(value, kind, path)
        if not isinstance(value, list | tuple) or not _fits(list(value), list, kind):
            return self._refuse(value, kind, path)
        before = len(self.problems)
        made = [self.value(part, parts[0], f"{path}[{index}]") for index, part in enumerate(value)]
        return make(made) if len(self.problems) == before else None

    def _mapping(self, value: Any, kind: Any, path: str) -> Any:
        if not isinstance(value, Mapping) or not _fits(dict(value), dict, kind):
            return self._refuse(value, kind, path)
        made = {}
        for written, part in value.items():
            # As Kubernetes' own reader of YAML does: a whole number is a name like any other.
            key = str(written) if isinstance(written, int) and not isinstance(written, bool) else written
            at = f"{path}[{shown(key)}]"
            if not isinstance(key, str) or not _is_leaf(key, str):
                self._object(at, "expected a string as the name")
            else:
                made[key] = self.value(part, get_args(bare(kind))[1], at)
        return made

    def _written(self, value: Any, kind: type, path: str) -> Any:
        try:
            return self.notations[kind].read(value)
        except (TypeError, ValueError):
            return self._refuse(value, kind, path)

    def _word(self, value: Any, words: Sequence[Any], path: str) -> Any:
        if isinstance(value, str | int) and not isinstance(value, bool) and value in words:
            return value
        return self._object(path, f"{shown(value)} is unknown{alternatives(str(value)[:60], map(str, words))}")

    def _leaf(self, value: Any, kind: Any, path: str) -> Any:
        # 3.0 is 3, as YAML is read in Kubernetes
        whole = isinstance(value, float) and value.is_integer() and bare(kind) is int
        plain = int(value) if whole else value
        return msgspec.convert(plain, kind) if _is_leaf(plain, kind) else self._refuse(value, kind, path)

    def _refuse(self, value: Any, kind: Any, path: str) -> None:
        self._object(path, f"expected {self._describe(kind)}, got {shown(value)}")

    def _describe(self, kind: Any) -> str:
        return describe(kind, {written: notation.words for written, notation in self.notations.items()})

    def _object(self, path: str, text: str) -> None:
        self.problems.append(Problem(path, text))


def _is_struct(kind: Any) -> bool:
    return isinstance(bare(kind), type) and issubclass(bare(kind), msgspec.Struct)


def _takes(kind: Any, value: Any) -> bool:
    """Is this the option that was meant, even if something within is wrong?"""
    if isinstance(value, Mapping):
        return _is_struct(kind) or get_origin(kind) is dict
    return isinstance(value, list | tuple) and get_origin(kind) in (tuple, list, set, frozenset)


def _fits(parts: Any, form: type, kind: Any) -> bool:
    """Are there as many as the type wants?"""
    return all(_is_leaf(parts, Annotated[form, rule]) for rule in rules(kind))


def _is_leaf(value: Any, kind: Any) -> bool:
    try:
        if isinstance(value, str):
            value.encode()  # lone surrogates, which JSON can write, are no text
        return not isinstance(plain := msgspec.convert(value, kind), float) or math.isfinite(plain)
    except (msgspec.ValidationError, OverflowError, UnicodeError):
        return False


def _child(path: str, key: Any) -> str:
    """The path of a field, or of an entry under a name that is no word."""
    if not (isinstance(key, str) and key.isidentifier()):
        return f"{path}[{shown(key)}]"
    return f"{path}.{key}" if path else key
