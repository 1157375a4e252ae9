"""A pages' server in a thread, asked as a program would: plain HTTP on 127.0.0.1.

In: run files. Out: a `Served` that is asked by path; `schema_problems` holds an answer against a JSON schema.
"""

from __future__ import annotations

import asyncio
import http.client
import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

from fairway.web.access import new_token
from fairway.web.openapi import BASE
from fairway.web.server import PageServer
from fairway.web.sources import RunSources, open_sources

__all__ = ["Reply", "Served", "at", "schema_problems", "served", "served_sources", "serving"]


class Reply(NamedTuple):
    """What came back."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The document."""
        return json.loads(self.body)

    @property
    def columns(self) -> Any:
        """Those of a table."""
        return self.json["columns"]

    @property
    def code(self) -> str:
        """Of a failure."""
        return str(self.json["error"]["code"])


class Served:
    """A server that runs, and its runs."""

    def __init__(self, sources: RunSources, token: str, port: int) -> None:
        self.sources = sources
        self.token = token
        self.port = port

    def ask(self, path: str, *, method: str = "GET", **headers: str | None) -> Reply:
        """One request, below the API; headers by name with `_` for `-`, None leaves one out."""
        return self.raw(BASE + path, method=method, **headers)

    def raw(self, path: str, *, method: str = "GET", **headers: str | None) -> Reply:
        """One request."""
        given = {"Authorization": f"Bearer {self.token}", "Host": f"127.0.0.1:{self.port}"}
        given |= {name.replace("_", "-"): value for name, value in headers.items() if value is not None}
        for name, value in headers.items():
            if value is None:
                del given[name.replace("_", "-")]
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            for name, value in given.items():
                connection.putheader(name, value)
            connection.endheaders()
            answer = connection.getresponse()
            return Reply(answer.status, dict(answer.getheaders()), answer.read())
        finally:
            connection.close()


def served(paths: Sequence[str]) -> AbstractContextManager[Served]:
    """Serve runs for as long as the block lasts."""
    return served_sources(open_sources(paths))


@contextmanager
def served_sources(sources: RunSources) -> Iterator[Served]:
    """Serve them for as long as the block lasts."""
    try:
        with serving(sources, new_token()) as server:
            yield server
    finally:
        sources.close()


@contextmanager
def serving(sources: RunSources, token: str, port: int = 0) -> Iterator[Served]:
    """The same, and they are there afterwards, too."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    server = PageServer(sources, token)
    try:
        port = asyncio.run_coroutine_threadsafe(server.start(port), loop).result(60)
        yield Served(sources, token, port)
    finally:
        asyncio.run_coroutine_threadsafe(server.stop(), loop).result(60)
        asyncio.run_coroutine_threadsafe(loop.shutdown_default_executor(), loop).result(60)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def at(*parts: object, **query: object) -> str:
    """A path of percent-encoded parts, and its query."""
    path = "".join(f"/{quote(str(part), safe='')}" for part in parts)
    return f"{path}?{urlencode(query, doseq=True)}" if query else path


KINDS: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
    "array": (list,),
    "object": (dict,),
}


def schema_problems(value: Any, schema: Any, root: Mapping[str, Any], where: str = "$") -> list[str]:
    """What of a JSON schema a value does not meet; of the words that the API's own schemas have."""
    if "$ref" in schema:
        return schema_problems(value, root[schema["$ref"].rpartition("/")[2]], root, where)
    if "anyOf" in schema:
        found = [schema_problems(value, one, root, where) for one in schema["anyOf"]]
        return [] if any(not problems for problems in found) else [f"{where}: none of {schema['anyOf']}"]
    if "enum" in schema:
        return [] if value in schema["enum"] else [f"{where}: {value!r} is none of {schema['enum']}"]
    unknown = schema.keys() - {
        "type", "properties", "required", "items", "additionalProperties", "title", "description", "default",
    }  # fmt: skip
    assert not unknown, f"{where}: the words {unknown} are not understood"
    kind = schema.get("type")
    if kind is not None and (not isinstance(value, KINDS[kind]) or (isinstance(value, bool) and kind != "boolean")):
        return [f"{where}: {value!r:.80} is no {kind}"]
    problems = []
    if kind == "array" and "items" in schema:
        for number, item in enumerate(value):
            problems += schema_problems(item, schema["items"], root, f"{where}[{number}]")
    if kind == "object":
        properties, more = schema.get("properties", {}), schema.get("additionalProperties", True)
        problems += [f"{where}: {name} is missing" for name in schema.get("required", ()) if name not in value]
        for name, item in value.items():
            if name in properties:
                problems += schema_problems(item, properties[name], root, f"{where}.{name}")
            elif isinstance(more, dict):
                problems += schema_problems(item, more, root, f"{where}.{name}")
            elif properties:
                problems.append(f"{where}: {name} is not described")
    return problems
