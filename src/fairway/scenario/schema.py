"""The JSON Schema of scenario files, made from their types.

Out: `json_schema()`, published as docs/scenario.schema.json, for editors and other tools. `python -m
fairway.scenario.schema` prints it. It says what the types say: names, kinds of values, bounds, defaults; what
else has to hold is checked when a scenario is read.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any, Final

import msgspec
from msgspec import inspect

from fairway.model import Quantity
from fairway.model.duration import Duration
from fairway.scenario.scenario_file import ScenarioFile
from fairway.scenario.text import plain_values

__all__ = ["json_schema", "schema_of", "schema_text"]

CUSTOM: Final[dict[type, dict[str, Any]]] = {
    Duration: {
        "anyOf": [
            {"type": "number", "minimum": 0},
            {"type": "string", "pattern": r"^([0-9]+(\.[0-9]*)?|\.[0-9]+|([0-9.]+(ns|us|µs|μs|ms|s|m|h|d|w))+)$"},
        ],
        "examples": ["90s", "1h30m", "2d", 0.5],
    },
    Quantity: {
        "anyOf": [
            {"type": "number"},
            {"type": "string", "pattern": r"^[+-]?[0-9.]*([eE][+-]?[0-9]+|[KMGTPE]i|[numkMGTPE])?$"},
        ],
        "examples": ["250m", "2Gi", 32],
    },
}
PLAIN: Final[dict[type, dict[str, Any]]] = {
    inspect.AnyType: {},
    inspect.BoolType: {"type": "boolean"},
    inspect.StrType: {"type": "string"},
    inspect.NoneType: {"type": "null"},
}


def json_schema() -> dict[str, Any]:
    """The schema of a whole scenario file."""
    return schema_of(ScenarioFile, "Fairway scenario")


def schema_of(kind: type, title: str) -> dict[str, Any]:
    """The schema of a file of another kind that is read in the same way."""
    root = inspect.type_info(kind)
    structs: dict[str, inspect.StructType] = {}
    _collect(root, structs)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": title,
        "$ref": f"#/$defs/{kind.__name__}",
        "$defs": {name: _struct(structs[name]) for name in sorted(structs)},
    }


def schema_text() -> str:
    """The schema as it is published."""
    return json.dumps(json_schema(), indent=2, ensure_ascii=False) + "\n"


def _parts(shape: inspect.Type) -> Iterator[inspect.Type]:
    match shape:
        case inspect.Metadata():
            yield shape.type
        case inspect.StructType():
            yield from (field.type for field in shape.fields)
        case inspect.UnionType():
            yield from shape.types
        case inspect.VarTupleType() | inspect.ListType():
            yield shape.item_type
        case inspect.DictType():
            yield shape.value_type


def _collect(shape: inspect.Type, structs: dict[str, inspect.StructType]) -> None:
    if isinstance(shape, inspect.StructType):
        name = shape.cls.__name__
        if name in structs:
            return
        structs[name] = shape
    for part in _parts(shape):
        _collect(part, structs)


def _struct(shape: inspect.StructType) -> dict[str, Any]:
    tag = {shape.tag_field: {"const": shape.tag}} if shape.tag_field else {}
    fields = {field.encode_name: _field(field) for field in shape.fields}
    schema: dict[str, Any] = {
        "type": "object",
        "description": " ".join((shape.cls.__doc__ or "").split()),
        "properties": {**tag, **fields},
        "additionalProperties": False,
    }
    needed = [*tag, *(field.encode_name for field in shape.fields if field.required)]
    return {**schema, "required": needed} if needed else schema


def _field(field: inspect.Field) -> dict[str, Any]:
    schema = _schema(field.type)
    if field.default is not msgspec.NODEFAULT and field.default is not None:
        schema = {**schema, "default": plain_values(field.default)}
    elif field.default_factory in (dict, list, tuple):
        schema = {**schema, "default": {} if field.default_factory is dict else []}
    return schema


def _schema(shape: inspect.Type) -> dict[str, Any]:
    match shape:
        case inspect.Metadata():
            return {**_schema(shape.type), **(shape.extra_json_schema or {})}
        case inspect.StructType():
            return {"$ref": f"#/$defs/{shape.cls.__name__}"}
        case inspect.UnionType():
            return {"anyOf": [_schema(part) for part in shape.types]}
        case inspect.VarTupleType() | inspect.ListType():
            return {"type": "array", "items": _schema(shape.item_type)}
        case inspect.DictType():
            return {"type": "object", "additionalProperties": _schema(shape.value_type)}
    return _leaf(shape)


def _leaf(shape: inspect.Type) -> dict[str, Any]:
    match shape:
        case inspect.LiteralType():
            return {"enum": list(shape.values)}
        case inspect.CustomType():
            return CUSTOM[shape.cls]
        case inspect.IntType() | inspect.FloatType():
            return _number(shape)
    return PLAIN[type(shape)]


def _number(shape: inspect.IntType | inspect.FloatType) -> dict[str, Any]:
    bounds = {
        "minimum": shape.ge,
        "exclusiveMinimum": shape.gt,
        "maximum": shape.le,
        "exclusiveMaximum": shape.lt,
    }
    kind = "integer" if isinstance(shape, inspect.IntType) else "number"
    return {"type": kind, **{name: bound for name, bound in bounds.items() if bound is not None}}


if __name__ == "__main__":
    sys.stdout.write(schema_text())
