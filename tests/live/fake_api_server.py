"""A small API server for tests: real HTTP, the list, watch, binding and patch protocol, and faults on demand.

In: requests from `fairway.live`, objects from a test (`put`, `delete`). Out: what a kube-apiserver would answer, as far
as a scheduler relies on it. Kinds of other API groups are served from `serve` to `withdraw`, as if their definitions
came and went; their objects are put as `plural.group`. A test may add faults (`fault`), cut or silence watches, forget
history (`compact`), or send raw lines. `requests` keeps everything that was asked. Deterministic: no threads, no
timers.
"""

from __future__ import annotations

import asyncio
import copy
import json
import re
import ssl
from bisect import bisect_right
from collections.abc import Awaitable, Callable
from typing import Any

from aiohttp import web

from fairway.live.watches.watched_kinds import WATCHED
from fairway.model import ApiObject, PriorityClass

Tree = dict[str, Any]
Fault = Callable[[web.Request, Callable[[], Awaitable[web.StreamResponse]]], Awaitable[web.StreamResponse | None]]
NAMESPACED = {
    "pods",
    "services",
    "replicationcontrollers",
    "replicasets",
    "statefulsets",
    "poddisruptionbudgets",
    "persistentvolumeclaims",
    "csistoragecapacities",
    "events",
    "leases",
}
KINDS: dict[str, ApiObject] = {watched.path.rsplit("/", 1)[1]: watched.kind() for watched in WATCHED}
KINDS["priorityclasses"] = PriorityClass()


def status(code: int, message: str, **headers: str) -> web.Response:
    body = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "message": message}
    return web.json_response(
        body, status=code, headers={name.replace("_", "-"): text for name, text in headers.items()}
    )


class FakeApiServer:
    """Objects by collection; every change gets the next version."""

    def __init__(self, streams_lists: bool = True) -> None:
        self.version = 100
        self.compacted = 0
        self.streams_lists = streams_lists
        self.objects: dict[str, dict[str, Tree]] = {}  # resource -> key -> object
        self.history: list[tuple[int, str, str, Tree, Tree | None]] = []  # version, resource, type, object, before
        self.requests: list[tuple[str, str, Any]] = []
        self.faults: list[tuple[str, re.Pattern[str], Fault, list[int]]] = []
        self.streams: list[Stream] = []
        self.served: dict[str, tuple[str, str]] = {}  # kinds of other groups: plural.group -> apiVersion, kind
        self.cluster_scoped: set[str] = set()  # those of them that are in no namespace
        self._changed = asyncio.Event()
        self._runner: web.AppRunner | None = None
        self.url = ""
        self._numbers = iter(range(1, 10**9))

    async def start(self, port: int = 0, tls: ssl.SSLContext | None = None) -> None:
        app = web.Application()
        app.router.add_route("*", "/{tail:.*}", self._serve)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", port, reuse_address=True, ssl_context=tls)
        await site.start()
        assert site._server is not None  # noqa: SLF001 - aiohttp does not tell the port otherwise
        port = site._server.sockets[0].getsockname()[1]  # type: ignore[attr-defined]  # noqa: SLF001
        self.url = f"{'http' if tls is None else 'https'}://127.0.0.1:{port}"

    async def stop(self) -> None:
        for stream in list(self.streams):
            stream.cut()
        if self._runner is not None:
            await self._runner.cleanup()

    # -- what a test does ----------------------------------------------------------------------------------------------

    def put(self, resource: str, tree: Tree) -> Tree:
        """Create or replace an object, as a user would."""
        meta = tree.setdefault("metadata", {})
        if resource in NAMESPACED or (resource in self.served and resource not in self.cluster_scoped):
            meta.setdefault("namespace", "default")
        key = f"{meta['namespace']}/{meta['name']}" if "namespace" in meta else meta["name"]
        before = self.objects.setdefault(resource, {}).get(key)
        meta.setdefault("uid", before["metadata"]["uid"] if before else f"uid-{next(self._numbers)}")
        self.version += 1
        meta["resourceVersion"] = str(self.version)
        meta.setdefault("creationTimestamp", "2026-01-01T00:00:00Z")
        if resource in KINDS or resource in self.served:
            api_version, kind = self.kind_of(resource)
            tree = {"kind": kind, "apiVersion": api_version} | tree
        self.objects[resource][key] = tree
        self._remember(resource, "MODIFIED" if before else "ADDED", tree, before)
        return tree

    def delete(self, resource: str, key: str) -> None:
        tree = copy.deepcopy(self.objects[resource].pop(key))
        self.version += 1
        tree["metadata"]["resourceVersion"] = str(self.version)
        self._remember(resource, "DELETED", tree, tree)

    def serve(self, resource: str, kind: str, version: str = "v1alpha1", *, is_namespaced: bool = True) -> None:
        """A definition of this kind was made; the resource is its plural with its group."""
        if not is_namespaced:
            self.cluster_scoped.add(resource)
        self.served[resource] = (f"{resource.partition('.')[2]}/{version}", kind)

    def withdraw(self, resource: str, tells: bool = True) -> None:
        """The definition was deleted: first its objects, then the kind; `tells`: watches hear of the objects."""
        if tells:
            for key in list(self.objects.get(resource, {})):
                self.delete(resource, key)
        self.objects.pop(resource, None)
        del self.served[resource]
        for stream in self.streams:
            if stream.resource == resource:
                stream.end()
        self._changed.set()

    def kind_of(self, resource: str) -> tuple[str, str]:
        """Version and kind, as objects have them."""
        if resource in KINDS:
            return KINDS[resource].api_version, KINDS[resource].kind
        return self.served[resource]

    def pod(self, name: str) -> Tree:
        return self.objects["pods"][name if "/" in name else f"default/{name}"]

    def fault(self, method: str, pattern: str, fault: Fault, times: int = 1) -> None:
        """Let `fault` answer the next requests of that kind; None: the ordinary answer."""
        self.faults.append((method, re.compile(pattern), fault, [times]))

    def answer(
        self, method: str, pattern: str, code: int, message: str = "injected", times: int = 1, **headers: str
    ) -> None:
        async def refuse(request: web.Request, go_on: object) -> web.StreamResponse:
            return status(code, message, **headers)

        self.fault(method, pattern, refuse, times)

    def compact(self) -> None:
        """Forget the past: watches from before are answered with 410."""
        self.compacted = self.version
        self.history.clear()

    def sent(self, method: str, pattern: str) -> list[Any]:
        """The bodies of such requests, in order."""
        return [body for verb, path, body in self.requests if verb == method and re.search(pattern, path)]

    async def until(self, holds: Callable[[], Any], seconds: float = 60.0) -> None:
        """Come back when something holds; looked at upon every request and change, and every now and then."""
        async with asyncio.timeout(seconds):
            while not holds():
                self._changed.clear()
                waiting = asyncio.ensure_future(self._changed.wait())
                await asyncio.wait([waiting], timeout=0.02)
                waiting.cancel()

    # -- serving -----------------------------------------------------------------------------------------------------

    def _remember(self, resource: str, verb: str, tree: Tree, before: Tree | None) -> None:
        self.history.append((self.version, resource, verb, copy.deepcopy(tree), copy.deepcopy(before)))
        for stream in self.streams:
            stream.wake.set()
        self._changed.set()

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        text = await request.text()
        body = json.loads(text) if text else None
        path = request.path_qs
        self.requests.append((request.method, path, body))
        self._changed.set()

        async def go_on() -> web.StreamResponse:
            return await self._answer(request, body)

        for method, pattern, fault, left in self.faults:
            if left[0] and method == request.method and pattern.search(path):
                left[0] -= 1
                answer = await fault(request, go_on)
                if answer is not None:
                    return answer
        return await go_on()

    async def _answer(self, request: web.Request, body: Any) -> web.StreamResponse:  # noqa: PLR0911, PLR0912
        parts = request.path.strip("/").split("/")
        if parts == ["version"]:
            return web.json_response({"major": "1", "minor": "36", "gitVersion": "v1.36.4"})
        if len(parts) == 3 and parts[0] == "apis":
            return self._discovery("/".join(parts[1:]))
        group = parts[1] if parts[0] == "apis" else ""
        rest = parts[2:] if parts[0] == "api" else parts[3:]
        namespace = ""
        if len(rest) > 2 and rest[0] == "namespaces":
            namespace, rest = rest[1], rest[2:]
        resource, name = rest[0], rest[1] if len(rest) > 1 else ""
        if f"{resource}.{group}" in self.served:
            resource = f"{resource}.{group}"
        elif group and group not in ("apps", "policy") and not group.endswith(".k8s.io"):
            resource = f"{resource}.{group}"
            if resource not in self.served:
                return web.Response(status=404, text="404 page not found\n")
        sub = "/".join(rest[2:])
        key = f"{namespace}/{name}" if namespace else name
        if request.query.get("watch") == "true":
            return await self._watch(request, resource)
        if not name:
            if resource == "selfsubjectaccessreviews":
                return web.json_response(body | {"status": {"allowed": True}}, status=201)
            return self._list(request, resource) if request.method == "GET" else self._create(resource, namespace, body)
        found = self.objects.get(resource, {}).get(key)
        if found is None:
            return status(404, f'{resource} "{name}" not found')
        match request.method, sub:
            case "GET", "":
                return web.json_response(found)
            case "POST", "binding":
                return self._bind(found, body)
            case "PATCH", _:
                return self._patch(resource, found, body)
            case "PUT", "status" if resource in self.served:
                return web.json_response(self.put(resource, copy.deepcopy(found) | {"status": body["status"]}))
            case "PUT", _:
                return web.json_response(self.put(resource, body))
            case "DELETE", "":
                self.delete(resource, key)
                return web.json_response(found)
        return status(405, "no such verb")

    def _discovery(self, api_version: str) -> web.Response:
        found = [
            {"name": resource.partition(".")[0], "kind": kind, "namespaced": True, "verbs": ["list", "watch"]}
            for resource, (served, kind) in self.served.items()
            if served == api_version
        ]
        if not found:
            return web.Response(status=404, text="404 page not found\n")
        return web.json_response({"kind": "APIResourceList", "groupVersion": api_version, "resources": found})

    def _create(self, resource: str, namespace: str, body: Tree) -> web.Response:
        if namespace:
            body["metadata"]["namespace"] = namespace
        return web.json_response(self.put(resource, body), status=201)

    def _bind(self, found: Tree, body: Tree) -> web.Response:
        name = found["metadata"]["name"]
        if body["metadata"].get("uid", found["metadata"]["uid"]) != found["metadata"]["uid"]:
            return status(409, "Precondition failed: UID in precondition differs")
        if found["spec"].get("nodeName"):
            node = found["spec"]["nodeName"]
            words = f'pod {name} is already assigned to node "{node}"'
            return status(409, f'Operation cannot be fulfilled on pods/binding "{name}": {words}')
        bound = copy.deepcopy(found)
        bound["spec"]["nodeName"] = body["target"]["name"]
        state = bound.setdefault("status", {})
        others = [one for one in state.get("conditions", ()) if one["type"] != "PodScheduled"]
        state["conditions"] = [*others, {"type": "PodScheduled", "status": "True"}]
        state.pop("nominatedNodeName", None)
        self.put("pods", bound)
        return web.json_response({"kind": "Status", "status": "Success", "code": 201}, status=201)

    def _patch(self, resource: str, found: Tree, body: Tree) -> web.Response:
        wanted = body.get("metadata", {})
        for field in ("uid", "resourceVersion"):
            if field in wanted and wanted[field] != found["metadata"][field]:
                return status(409, f"the object has been modified; {field} differs")
        return web.json_response(self.put(resource, merged(copy.deepcopy(found), body)))

    def _selected(self, request: web.Request, tree: Tree | None) -> bool:
        selector = request.query.get("fieldSelector", "")
        phase = (tree or {}).get("status", {}).get("phase", "")
        return tree is not None and all(f"status.phase!={phase}" != part for part in selector.split(","))

    def _list(self, request: web.Request, resource: str) -> web.Response:
        things = [one for one in self.objects.get(resource, {}).values() if self._selected(request, one)]
        begin = int(request.query.get("continue", 0))
        limit = int(request.query.get("limit", len(things) or 1))
        meta: Tree = {"resourceVersion": str(self.version)}
        if begin + limit < len(things):
            meta["continue"] = str(begin + limit)
        left_out = () if resource in self.served else ("kind", "apiVersion")
        items = [{name: value for name, value in one.items() if name not in left_out} for one in things]
        return web.json_response({"kind": "List", "metadata": meta, "items": items[begin : begin + limit]})

    async def _watch(self, request: web.Request, resource: str) -> web.StreamResponse:
        initial = request.query.get("sendInitialEvents") == "true"
        if initial and not self.streams_lists:
            return status(422, "sendInitialEvents is forbidden")
        since = int(request.query.get("resourceVersion", 0))
        if not initial and since < self.compacted:
            return status(410, "too old resource version")
        stream = Stream(self, request, resource, self.version if initial else since)
        await stream.response.prepare(request)
        self.streams.append(stream)
        self._changed.set()
        try:
            if initial:
                for tree in list(self.objects.get(resource, {}).values()):
                    if self._selected(request, tree):
                        await stream.send("ADDED", tree)
                await stream.bookmark({"k8s.io/initial-events-end": "true"})
            await stream.follow()
        except ConnectionError:
            pass
        finally:
            self.streams.remove(stream)
            self._changed.set()
        return stream.response


class Stream:
    """One open watch."""

    def __init__(self, server: FakeApiServer, request: web.Request, resource: str, since: int) -> None:
        self.server, self.request, self.resource, self.since = server, request, resource, since
        self.response = web.StreamResponse(headers={"Content-Type": "application/json"})
        self.wake = asyncio.Event()
        self.is_cut = self.is_muted = self.is_ending = False

    def cut(self) -> None:
        """End the connection."""
        self.is_cut = True
        self.wake.set()

    def end(self) -> None:
        """Say what is left to say, then end the connection."""
        self.is_ending = True
        self.wake.set()

    def mute(self) -> None:
        """Stay connected, say nothing more."""
        self.is_muted = True

    def unmute(self) -> None:
        """Say what was held back, and go on."""
        self.is_muted = False
        self.wake.set()

    async def send(self, verb: str, tree: Tree) -> None:
        await self.raw(json.dumps({"type": verb, "object": tree}).encode() + b"\n")

    async def raw(self, data: bytes) -> None:
        await self.response.write(data)

    async def bookmark(self, annotations: Tree | None = None) -> None:
        api_version, kind = self.server.kind_of(self.resource)
        meta = {"resourceVersion": str(self.since), "annotations": annotations or {}}
        await self.send("BOOKMARK", {"kind": kind, "apiVersion": api_version, "metadata": meta})

    async def follow(self) -> None:
        while not self.is_cut:
            self.wake.clear()
            begin = bisect_right(self.server.history, self.since, key=lambda one: one[0])
            news = [one for one in self.server.history[begin:] if one[1] == self.resource]
            for version, _, verb, tree, before in [] if self.is_muted else news:
                self.since = version
                is_in, was_in = (self.server._selected(self.request, one) for one in (tree, before))  # noqa: SLF001
                if verb == "DELETED" or (was_in and not is_in):
                    if was_in:
                        await self.send("DELETED", tree)
                elif is_in:
                    await self.send("MODIFIED" if was_in else "ADDED", tree)
            if self.is_ending:
                return
            await self.wake.wait()


def merged(tree: Tree, patch: Tree) -> Tree:
    """A strategic merge patch, as far as pods need it: conditions by type, null deletes."""
    for name, value in patch.items():
        if name.startswith("$"):
            continue
        if value is None:
            tree.pop(name, None)
        elif name == "conditions":
            known = {one["type"]: one for one in tree.get(name, ())}
            for one in value:
                known[one["type"]] = merged(known.get(one["type"], {}), one)
            tree[name] = list(known.values())
        elif isinstance(value, dict):
            tree[name] = merged(tree.get(name) or {}, value)
        else:
            tree[name] = value
    return tree
