"""The definitions of our kinds: made from the structs, kept where they are installed from, and complete."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
import yaml

from deploy.crds import KINDS, MANIFEST_FILE, definitions, files

Schema = dict[str, Any]


def test_what_is_installed_is_what_the_structs_say() -> None:
    for path, text in files().items():
        assert path.read_text() == text, f"{path} is not up to date: python -m deploy.crds"


def test_manifest_is_the_definitions_themselves() -> None:
    assert list(yaml.safe_load_all(MANIFEST_FILE.read_text())) == definitions()


def _schema(kind: str) -> Schema:
    (found,) = [each for each in definitions() if each["spec"]["names"]["kind"] == kind]
    (version,) = found["spec"]["versions"]
    return dict(version["schema"]["openAPIV3Schema"])


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.kind)
def test_columns_show_something_that_is_there(kind: Any) -> None:
    for column in kind.columns:
        schema = _schema(kind.kind)
        for step in column.path.strip(".").split("."):
            schema = schema["properties"][step]
        assert schema.get("type", "string") == column.kind


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.kind)
def test_every_field_of_the_struct_is_a_field_of_the_kind(kind: Any) -> None:
    properties = _schema(kind.kind)["properties"]
    names = {field.encode_name for field in msgspec.structs.fields(kind.spec)}
    assert set(properties["spec"]["properties"]) == names
    names = {field.encode_name for field in msgspec.structs.fields(kind.status)}
    assert set(properties["status"]["properties"]) == names | set(kind.more_status)


def _parts(schema: Schema) -> Iterator[Schema]:
    yield schema
    for part in schema.get("properties", {}).values():
        yield from _parts(part)
    for name in ("items", "additionalProperties"):
        if name in schema:
            yield from _parts(schema[name])


def test_texts_and_lists_are_bounded_so_that_rules_cost_little() -> None:
    for kind in KINDS:
        for part in _parts(_schema(kind.kind)["properties"]["spec"]):
            if part.get("type") == "string":
                assert "maxLength" in part or "enum" in part
            if part.get("type") == "array":
                assert "maxItems" in part
            if "additionalProperties" in part:
                assert "maxProperties" in part
