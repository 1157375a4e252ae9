"""The types of the API's answers, for the scripts of the pages: made of the server's own description.

In: the OpenAPI document. Out: `src/fairway/web/static/answers.d.ts`, which `make page-types` writes; a test says when
that is not what the server answers any more.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Final

from fairway.web.openapi import openapi_document

__all__ = ["FILE", "script_types"]

FILE: Final = Path(__file__).parents[2] / "src" / "fairway" / "web" / "static" / "answers.d.ts"
HEAD: Final = "// Answers of the API; made by `make page-types` of the server's own types.\n"
NAMES: Final = {"integer": "number", "number": "number", "string": "string", "boolean": "boolean", "null": "null"}


def script_types() -> str:
    """The text of the file."""
    components = openapi_document()["components"]["schemas"]
    return HEAD + "".join(_interface(name, schema) for name, schema in sorted(components.items()))


def _interface(name: str, schema: dict[str, Any]) -> str:
    fields = "".join(f"  {field}: {_type(kind)};\n" for field, kind in schema.get("properties", {}).items())
    return f"\nexport interface {_name(name)} {{\n{fields}}}\n"


def _name(name: str) -> str:
    return re.sub(r"\W+", "_", name).strip("_")


def _type(schema: dict[str, Any]) -> str:
    if "$ref" in schema:
        return _name(schema["$ref"].rpartition("/")[2])
    if "anyOf" in schema:
        return " | ".join(_type(kind) for kind in schema["anyOf"])
    if "enum" in schema:
        return " | ".join(f'"{value}"' for value in schema["enum"])
    match schema.get("type"):
        case "array":
            return f"({_type(schema.get('items', {}))})[]"
        case "object":
            extra = schema.get("additionalProperties", {})
            return f"Record<string, {_type(extra) if isinstance(extra, dict) else 'any'}>"
        case str(kind):
            return NAMES[kind]
    return "any"


if __name__ == "__main__":
    FILE.write_text(script_types())
