"""The description of the API, made of the types and the table of routes: OpenAPI 3.1.

In: `ROUTES`. Out: a document in plain values, served as `/openapi.json`. A test asks every route and holds the answer
against it. Called by `server`.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from fairway import __version__
from fairway.web.live.event_stream import EventStream
from fairway.web.page_error import FailureAnswer
from fairway.web.routes import ROUTES, Route, ServedTile
from fairway.web.shapes import Document

__all__ = ["BASE", "openapi_document"]

BASE: Final = "/fairway/api/v1"
REFERENCE: Final = "#/components/schemas/{name}"
ARROW: Final = "application/vnd.apache.arrow.stream"
STATUSES: Final = {
    "400": "something is wrong with the question", "401": "no token, or a wrong one", "403": "not from here",
    "404": "there is no such thing", "406": "not in this form", "409": "several are meant",
    "429": "too many are asking", "500": "a mistake of the server", "503": "it took too long, or the server is ending",
}  # fmt: skip


def openapi_document() -> dict[str, Any]:
    """All of it."""
    kinds = [route.answer for route in ROUTES if route.answer not in (ServedTile, Document, EventStream)]
    schemas, components = msgspec.json.schema_components([*kinds, FailureAnswer], ref_template=REFERENCE)
    by_kind = {str(kind): schema for kind, schema in zip([*kinds, FailureAnswer], schemas, strict=True)}
    failure = _json(by_kind[str(FailureAnswer)])
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Fairway's pages",
            "version": __version__,
            "description": "Recorded runs, asked. GET only; nothing is ever changed.",
        },
        "servers": [{"url": BASE}],
        "security": [{"token": []}],
        "paths": {route.path: {"get": _operation(route, by_kind, failure)} for route in ROUTES},
        "components": {"schemas": components, "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
    }


def _operation(route: Route, by_kind: dict[str, Any], failure: dict[str, Any]) -> dict[str, Any]:
    if route.answer is ServedTile:
        content = {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}
    elif route.answer is EventStream:
        content = {"text/event-stream": {"schema": {"type": "string"}}}
    else:
        content = _json({"type": "object"} if route.answer is Document else by_kind[str(route.answer)])
    if route.is_table:
        content[ARROW] = {"schema": {"type": "string", "format": "binary"}}
    refusals = {status: {"description": text, "content": failure} for status, text in STATUSES.items()}
    return {
        "operationId": "_".join(part.strip("{}") for part in route.parts),
        "summary": (route.question.__doc__ or "").strip(),
        "parameters": _parameters(route),
        "responses": {"200": {"description": "the answer", "content": content}, **refusals},
    }


def _parameters(route: Route) -> list[dict[str, Any]]:
    _, components = msgspec.json.schema_components([route.question], ref_template=REFERENCE)
    schema = components[route.question.__name__]
    in_path = {part[1:-1] for part in route.parts if part.startswith("{")}
    required = set(schema.get("required", ()))
    return [
        {
            "name": name,
            "in": "path" if name in in_path else "query",
            "required": name in required or name in in_path,
            "schema": kind,
        }
        for name, kind in schema.get("properties", {}).items()
    ]


def _json(schema: Any) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}
