"""What is published about scenario files says what the types say."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest
import yaml
from msgspec import inspect

from fairway.config.fields import Problem, decode_value
from fairway.scenario.fields import NOTATIONS
from fairway.scenario.scenario import decode_scenario
from fairway.scenario.scenario_file import ScenarioFile
from fairway.scenario.schema import json_schema, schema_text
from fairway.scenario.text import plain_values
from fairway.trace.annotations import (
    ARRIVAL,
    DURATION,
    EXIT_CODE,
    FAIL_AFTER,
    FAIL_PROBABILITY,
    START_LATENCY,
    USER,
)

DOCS = Path(__file__).parents[2] / "docs"
TEXT = (DOCS / "scenario.md").read_text()
ROW = re.compile(r"^\| `(\w+)` \| (.+?) \| `(.+?)` \| (.+) \|$", re.MULTILINE)
SEE_BELOW = {"schedulers", "ladder"}  # lists of structs; structs themselves are known by their default


class Row(NamedTuple):
    field: str
    default: str
    example: str
    meaning: str


def sections() -> Iterator[tuple[str, list[Row]]]:
    for section in TEXT.split("\n## ")[1:]:
        title, _, body = section.partition("\n")
        if rows := [Row(*match) for match in ROW.findall(body)]:
            yield title, rows


TABLES = dict(sections())
each_table = pytest.mark.parametrize("title", TABLES)


def structs_at(shape: inspect.Type, path: str) -> list[inspect.StructType]:
    """The structs that a path such as spec.workload[].swf leads to."""
    if isinstance(shape, inspect.Metadata):
        return structs_at(shape.type, path)
    if isinstance(shape, inspect.UnionType):
        return [struct for option in shape.types for struct in structs_at(option, path)]
    if isinstance(shape, inspect.VarTupleType) and path.startswith("[]"):
        return structs_at(shape.item_type, path.removeprefix("[]").removeprefix("."))
    if isinstance(shape, inspect.DictType) and path.startswith("{}"):
        return structs_at(shape.value_type, path.removeprefix("{}").removeprefix("."))
    if not isinstance(shape, inspect.StructType) or path.startswith(("[]", "{}")):
        return []
    if not path:
        return [shape]
    found = re.match(r"(\w+)\.?(.*)", path)
    assert found is not None
    (field,) = (field for field in shape.fields if field.encode_name == found[1])
    return structs_at(field.type, found[2])


def structs_of(title: str) -> list[inspect.StructType]:
    return structs_at(inspect.type_info(ScenarioFile), "" if title == "The file" else title)


def default_words(field: inspect.Field) -> str:
    if field.required:
        return "required"
    if field.encode_name in SEE_BELOW:
        return "see below"
    made = field.default if field.default_factory is msgspec.NODEFAULT else field.default_factory()
    default = plain_values(made)
    assert default is not msgspec.NODEFAULT
    if isinstance(made, msgspec.Struct) and default:
        return "see below"
    return "–" if default is None else f"`{json.dumps(default)}`"


def test_the_published_schema_is_the_one_of_the_types() -> None:
    text = (DOCS / "scenario.schema.json").read_text()
    assert text == schema_text(), "run: python -m fairway.scenario.schema > docs/scenario.schema.json"


@each_table
def test_a_table_has_every_field_and_its_default(title: str) -> None:
    structs = structs_of(title)
    assert structs
    expected = {field.encode_name: default_words(field) for struct in structs for field in struct.fields}
    expected |= {struct.tag_field: "required" for struct in structs if struct.tag_field}
    assert {row.field: row.default for row in TABLES[title]} == expected


@each_table
def test_the_examples_of_a_table_are_right(title: str) -> None:
    fields = [field for struct in structs_of(title) for field in msgspec.structs.fields(struct.cls)]
    for row in TABLES[title]:
        for field in fields:
            problems: list[Problem] = []
            if field.encode_name == row.field:
                decode_value(yaml.safe_load(row.example), field.type, row.field, problems, NOTATIONS)
            assert problems == []


def test_every_struct_has_a_table() -> None:
    documented = {struct.cls.__name__ for title in TABLES for struct in structs_of(title)}
    assert documented == set(json_schema()["$defs"])


def test_every_annotation_that_the_simulation_obeys_is_documented() -> None:
    listed = set(re.findall(r"^\| `(fairway\.dev/[\w-]+)`", TEXT, re.MULTILINE))
    assert listed == {ARRIVAL, DURATION, FAIL_AFTER, FAIL_PROBABILITY, EXIT_CODE, START_LATENCY, USER}


def test_the_first_example_is_a_scenario() -> None:
    found = re.search(r"```yaml\n(.+?)```", TEXT, re.DOTALL)
    assert found is not None
    made = decode_scenario(found[1].encode(), "small.yaml")
    assert (made.name, made.workload().num_arrivals) == ("small", 200)


def schema_problems(value: Any, schema: dict[str, Any], root: dict[str, Any]) -> list[str]:
    """Just as much of JSON Schema as ours uses."""
    if "$ref" in schema:
        schema = {**root["$defs"][schema["$ref"].rpartition("/")[2]], "description": ""}
    if "anyOf" in schema:
        tried = [schema_problems(value, option, root) for option in schema["anyOf"]]
        return [] if [] in tried else min(tried, key=len)
    if "enum" in schema and value not in schema["enum"]:
        return [f"{value!r} is not in {schema['enum']}"]
    if "const" in schema and value != schema["const"]:
        return [f"{value!r} is not {schema['const']}"]
    kinds = {
        "object": dict,
        "array": list,
        "string": str,
        "integer": int,
        "number": int | float,
        "boolean": bool,
        "null": type(None),
    }
    kind = schema.get("type")
    if kind is not None and not isinstance(value, kinds[kind]):
        return [f"{value!r} is no {kind}"]
    if kind == "array":
        return [text for part in value for text in schema_problems(part, schema["items"], root)]
    if kind == "string" and not re.search(schema.get("pattern", ""), value):
        return [f"{value!r} is not like {schema['pattern']}"]
    if kind != "object":
        return []
    known = schema.get("properties", {})
    missing = [f"{name} is missing" for name in schema.get("required", ()) if name not in value]
    others = schema.get("additionalProperties", True)
    for name, part in value.items():
        inner = known.get(name, others)
        if inner is False:
            missing.append(f"{name} is unknown")
        elif isinstance(inner, dict):
            missing += schema_problems(part, inner, root)
    return missing


SCENARIOS = sorted((DOCS.parent / "examples" / "scenarios").glob("*.yaml"))


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_examples_satisfy_the_schema(path: Path) -> None:
    schema = json_schema()
    data = yaml.safe_load(path.read_text())
    assert schema_problems(data, schema, schema) == []
    data["spec"]["sede"] = 1
    assert schema_problems(data, schema, schema) == ["sede is unknown"]
