"""Plain values to structs, strictly: every problem is found, and each names its field and says what is allowed.

In: what a YAML or JSON file holds, and a struct type. Out: the struct, or None and a list of `Problem`s. It goes by
the types alone, as msgspec sees them, so the options of trace readers are decoded like the scenario's own fields.
Besides what JSON has it reads durations ("1h30m", or seconds) and quantities ("250m", "2Gi"). Called by `scenario`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Final, TypeVar

import msgspec
from msgspec import inspect

from fairway.config.fields import ConfigError, Problem, alternatives, shown
from fairway.model import Quantity, parse_quantity
from fairway.model.duration import Duration, parse_duration
from fairway.trace.annotations import parse_seconds

__all__ = ["Problem", "ScenarioError", "child", "decode_struct", "read_duration", "read_value"]

S = TypeVar("S", bound=msgspec.Struct)


class ScenarioError(ConfigError):
    """A scenario that cannot be run; one line a problem, each naming file and field."""


def decode_struct(value: Any, kind: type[S], path: str, problems: list[Problem]) -> S | None:
    """The struct, or None after adding to `problems` all that is wrong with the value."""
    before = len(problems)
    made = read_value(value, _shape(kind), path, problems)
    return made if len(problems) == before else None


def read_duration(value: Any) -> Duration:
    """Seconds from a number, from Go's text (1h30m, 500ms) or from days and weeks (2d); `ValueError` otherwise."""
    if isinstance(value, str):
        try:
            seconds = parse_duration(value)
        except ValueError:
            seconds = Duration(parse_seconds(value))
        if seconds < 0:
            raise ValueError("negative")
        return seconds
    return Duration(parse_seconds(value))


def child(path: str, key: Any) -> str:
    """The path of a field, or of an entry under a name that is no word."""
    if not (isinstance(key, str) and key.isidentifier()):
        return f"{path}[{shown(key)}]"
    return f"{path}.{key}" if path else key


@cache
def _shape(kind: type) -> inspect.Type:
    return inspect.type_info(kind)


CUSTOM: Final[dict[type, tuple[Callable[[Any], Any], str]]] = {
    Duration: (read_duration, 'a duration: seconds, or text such as "90s", "1h30m" or "2d"'),
    Quantity: (parse_quantity, 'a quantity: a number, or text such as "250m" or "2Gi"'),
}


def read_value(value: Any, shape: inspect.Type, path: str, problems: list[Problem]) -> Any:
    """The value as its type wants it; None and a problem when it does not fit."""
    if isinstance(shape, inspect.Metadata):
        return read_value(value, shape.type, path, problems)
    if isinstance(shape, inspect.UnionType):
        return _read_union(value, shape, path, problems)
    if isinstance(shape, inspect.AnyType):
        return value
    if isinstance(shape, inspect.StructType):
        return _read_struct(value, shape, path, problems)
    if isinstance(shape, inspect.VarTupleType | inspect.ListType):
        if not isinstance(value, list | tuple):
            return _refuse(value, shape, path, problems)
        return tuple(
            read_value(part, shape.item_type, f"{path}[{index}]", problems) for index, part in enumerate(value)
        )
    if isinstance(shape, inspect.DictType):
        return _read_mapping(value, shape, path, problems)
    return _read_leaf(value, shape, path, problems)


def _read_struct(value: Any, shape: inspect.StructType, path: str, problems: list[Problem]) -> Any:
    if not isinstance(value, Mapping):
        return _refuse(value, shape, path, problems)
    before = len(problems)
    fields = {field.encode_name: field for field in shape.fields}
    tag = {shape.tag_field} if shape.tag_field else set()
    made: dict[str, Any] = {}
    for key, part in value.items():
        if key in fields:
            if part is not None:  # null is absent, as everywhere in Kubernetes
                made[fields[key].name] = read_value(part, fields[key].type, child(path, key), problems)
        elif key not in tag:
            words = alternatives(str(key)[:60], [*sorted(tag), *fields])
            problems.append(Problem(child(path, key), f"unknown field{words}"))
    problems.extend(
        Problem(child(path, name), f"missing; it is {described(field.type)}")
        for name, field in fields.items()
        if field.required and field.name not in made
    )
    if len(problems) > before:
        return None
    try:
        return shape.cls(**made)
    except (TypeError, ValueError) as error:  # what a struct itself objects to
        problems.append(Problem(path, str(error)))
        return None


def _read_union(value: Any, shape: inspect.UnionType, path: str, problems: list[Problem]) -> Any:
    """By the form of the value, or by its tag; a text or number is tried on each option."""
    options = [_bare(option) for option in shape.types if not isinstance(option, inspect.NoneType)]
    if len(options) == 1:
        return read_value(value, options[0], path, problems)
    structs = [option for option in options if isinstance(option, inspect.StructType)]
    if isinstance(value, Mapping) and len(structs) > 1:
        return _read_tagged(value, structs, path, problems)
    for option in options:
        attempt: list[Problem] = []
        made = read_value(value, option, path, attempt)
        if not attempt or _takes(option, value):
            problems.extend(attempt)
            return made
    return _refuse(value, shape, path, problems)


def _read_tagged(
    value: Mapping[str, Any], structs: list[inspect.StructType], path: str, problems: list[Problem]
) -> Any:
    by_tag = {struct.tag: struct for struct in structs}
    field = str(structs[0].tag_field)
    words = ", ".join(map(str, by_tag))
    tag = value.get(field)
    if tag is None:
        problems.append(Problem(child(path, field), f"missing; it is one of {words}"))
    elif not isinstance(tag, str | int) or tag not in by_tag:
        close = alternatives(str(tag)[:60], map(str, by_tag))
        problems.append(Problem(child(path, field), f"{shown(tag)} is unknown{close}"))
    else:
        return _read_struct(value, by_tag[tag], path, problems)
    return None


def _read_mapping(value: Any, shape: inspect.DictType, path: str, problems: list[Problem]) -> Any:
    if not isinstance(value, Mapping):
        return _refuse(value, shape, path, problems)
    made = {}
    for key, part in value.items():
        at = f"{path}[{shown(key)}]"
        if not isinstance(key, str) or not _is_text(key):
            problems.append(Problem(at, "expected a string as the name"))
        else:
            made[key] = read_value(part, shape.value_type, at, problems)
    return made


def _read_leaf(value: Any, shape: inspect.Type, path: str, problems: list[Problem]) -> Any:
    if isinstance(shape, inspect.CustomType) and shape.cls in CUSTOM:
        try:
            return CUSTOM[shape.cls][0](value)
        except (TypeError, ValueError):
            return _refuse(value, shape, path, problems)
    if isinstance(shape, inspect.LiteralType):
        if isinstance(value, str | int) and not isinstance(value, bool) and value in shape.values:
            return value
        words = [str(word) for word in shape.values]
        problems.append(Problem(path, f"{shown(value)} is unknown{alternatives(str(value)[:60], words)}"))
        return None
    fits = False
    if isinstance(shape, inspect.BoolType):
        fits = isinstance(value, bool)
    elif isinstance(shape, inspect.StrType):
        fits = isinstance(value, str) and _is_text(value)
    elif isinstance(shape, inspect.IntType | inspect.FloatType) and not isinstance(value, bool):
        if isinstance(shape, inspect.IntType) and isinstance(value, float) and value.is_integer():
            value = int(value)  # 3.0 is 3, as YAML is read in Kubernetes
        whole = isinstance(shape, inspect.IntType)
        fits = isinstance(value, int if whole else int | float) and _is_within(value, shape)
        if fits and not whole:
            value = float(value)
    return value if fits else _refuse(value, shape, path, problems)


def _is_text(value: str) -> bool:
    """Lone surrogates, which JSON can write, are not text."""
    return value.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in value)


def _is_within(value: float, shape: inspect.IntType | inspect.FloatType) -> bool:
    try:
        if not math.isfinite(value):
            return False
    except OverflowError:
        return False
    return (
        (shape.ge is None or value >= shape.ge)
        and (shape.gt is None or value > shape.gt)
        and (shape.le is None or value <= shape.le)
        and (shape.lt is None or value < shape.lt)
    )


def _takes(shape: inspect.Type, value: Any) -> bool:
    """Is this the option that was meant, even if something within is wrong?"""
    if isinstance(value, Mapping):
        return isinstance(shape, inspect.StructType | inspect.DictType)
    return isinstance(value, list | tuple) and isinstance(shape, inspect.VarTupleType | inspect.ListType)


def _bare(shape: inspect.Type) -> inspect.Type:
    return _bare(shape.type) if isinstance(shape, inspect.Metadata) else shape


def _refuse(value: Any, shape: inspect.Type, path: str, problems: list[Problem]) -> None:
    problems.append(Problem(path, f"expected {described(shape)}, got {shown(value)}"))


def described(shape: inspect.Type) -> str:
    """What is allowed there, in words."""
    shape = _bare(shape)
    if isinstance(shape, inspect.UnionType):
        return " or ".join(described(each) for each in shape.types if not isinstance(each, inspect.NoneType))
    if isinstance(shape, inspect.StructType):
        return f"fields ({', '.join(field.encode_name for field in shape.fields)})"
    if isinstance(shape, inspect.VarTupleType | inspect.ListType):
        return "a list"
    if isinstance(shape, inspect.LiteralType):
        return f"one of {', '.join(map(str, shape.values))}"
    if isinstance(shape, inspect.CustomType) and shape.cls in CUSTOM:
        return CUSTOM[shape.cls][1]
    if isinstance(shape, inspect.IntType):
        return f"an integer{_bounds(shape)}"
    if isinstance(shape, inspect.FloatType):
        return f"a number{_bounds(shape)}"
    names = {inspect.DictType: "names and values", inspect.BoolType: "true or false", inspect.StrType: "a string"}
    return names.get(type(shape), "a value")


def _bounds(shape: inspect.IntType | inspect.FloatType) -> str:
    if shape.ge is not None and shape.le is not None:
        return f" from {shape.ge} to {shape.le}"
    words = (("from", shape.ge), ("above", shape.gt), ("up to", shape.le), ("below", shape.lt))
    text = "".join(f" {word} {bound}" for word, bound in words if bound is not None)
    return f"{text} on" if shape.ge is not None and not (shape.le or shape.lt) else text
