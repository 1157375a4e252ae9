"""An API server without a network, whose every answer and watch event comes when a test says so.

In: requests and watches of a `LiveScheduler`, for which this stands in the place of its connection; what users do
(`put`, `remove`). Out: `objects`, the truth; `calls`, requests that wait for `serve`, `refuse`, `answer` or `lose`;
`watches`, each of which lags behind until `tell` lets it hear of the next change. Lists may be stale (`staleness`), as
those of an API server with a cache are. Requests that only tell people something are served at once.
"""

from __future__ import annotations

import asyncio
import copy
import json
from collections import Counter
from collections.abc import AsyncGenerator, Mapping
from typing import Any

from fairway.live.api.connection import Answer, StreamError
from fairway.live.api.problems import Unreachable
from tests.live.fake_api_server import merged

Tree = dict[str, Any]
URL = "https://api"
KINDS = {"pods": ("Pod", "v1"), "nodes": ("Node", "v1")}


def status(code: int, message: str) -> Answer:
    return Answer(code, {}, json.dumps({"kind": "Status", "code": code, "message": message}).encode())


class Call:
    """A request on its way: not yet served (no `outcome`), or served and not yet answered."""

    def __init__(self, method: str, path: str, body: Any) -> None:
        self.method, self.path, self.body = method, path, body
        parts = path.split("/")[3:]  # after /api/v1
        self.resource, name = parts[2:4] if parts[0] == "namespaces" else parts[:2]
        self.key = f"{parts[1]}/{name}" if parts[0] == "namespaces" else name
        self.outcome: Answer | None = None
        self.future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()

    def __repr__(self) -> str:
        return f"{self.method} {self.key.rpartition('/')[2]}"


class Watch:
    """One open stream: everything up to `since` has been said."""

    def __init__(self, resource: str, since: int) -> None:
        self.resource, self.since = resource, since
        self.lines: asyncio.Queue[list[bytes] | Exception | None] = asyncio.Queue()


class ModelServer:
    url = URL

    def __init__(self, streams_lists: bool) -> None:
        self.on_request: Any = None
        self.on_wait: Any = None
        self.streams_lists = streams_lists
        self.version = 100
        self.staleness = 0  # how many changes lists may lag behind
        self.compacted = 0
        self.objects: dict[str, dict[str, Tree]] = {"pods": {}, "nodes": {}}
        self.history: list[tuple[int, str, str, Tree | None, Tree | None]] = []  # version, resource, key, before, after
        self._states: dict[int, dict[str, dict[str, Tree]]] = {100: {"pods": {}, "nodes": {}}}
        self.calls: list[Call] = []
        self.requests: list[str] = []  # every call there was, by name
        self.deletions: Counter[str] = Counter()  # by uid: how often somebody was told that a pod has to go
        self.watches: list[Watch] = []
        self._numbers = iter(range(1, 10**9))

    # -- what users do -------------------------------------------------------------------------------------------------

    def put(self, resource: str, tree: Tree) -> Tree:
        tree = copy.deepcopy(tree)
        meta = tree["metadata"]
        meta.setdefault("uid", f"{meta['name']}-{next(self._numbers)}")
        meta["resourceVersion"] = str(self.version + 1)
        tree["kind"], tree["apiVersion"] = KINDS[resource]
        self._change(resource, key_of(tree), tree)
        return tree

    def remove(self, resource: str, key: str) -> None:
        self._change(resource, key, None)

    def _change(self, resource: str, key: str, after: Tree | None) -> None:
        self.version += 1
        before = self.objects[resource].pop(key, None)
        if after is not None:
            self.objects[resource][key] = after
        self.history.append((self.version, resource, key, before, after))
        self._states[self.version] = {name: dict(things) for name, things in self.objects.items()}

    # -- requests --------------------------------------------------------------------------------------------------

    async def check(self) -> tuple[int, int]:
        return 1, 36

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, Any] | None = None,
        body: bytes | None = None,
        content_type: str = "application/json",
        timeout: float = 30.0,  # noqa: ASYNC109
    ) -> Answer:
        if method == "GET" and path.count("/") == 3:
            return self._list(path.rsplit("/", 1)[1], query or {})
        if "/events" in path:
            return Answer(201, {}, b"{}")
        call = Call(method, path, json.loads(body) if body else None)
        if method == "PATCH":
            return self._served(call)
        self.calls.append(call)
        self.requests.append(repr(call))
        try:
            async with asyncio.timeout(timeout):
                return await call.future
        except TimeoutError:
            raise Unreachable(URL, "no answer in time") from None

    def serve(self, call: Call) -> None:
        """The request takes effect; its answer is on its way. It does so even if nobody waits for that any more."""
        call.outcome = self._served(call)

    def refuse(self, call: Call, code: int) -> None:
        call.outcome = status(code, "not now")

    def answer(self, call: Call) -> None:
        self.calls.remove(call)
        if not call.future.done():
            assert call.outcome is not None
            if call.method == "DELETE" and call.outcome.status == 200:
                self.deletions[call.body["preconditions"]["uid"]] += 1
            call.future.set_result(call.outcome)

    def lose(self, call: Call) -> None:
        """The connection breaks, before or after the request took effect."""
        self.calls.remove(call)
        if not call.future.done():
            call.future.set_exception(Unreachable(URL, "connection reset"))

    def _served(self, call: Call) -> Answer:
        resource, key = call.resource, call.key
        found = self.objects[resource].get(key)
        if found is None:
            return status(404, f'{resource} "{key}" not found')
        if call.method == "GET":
            return Answer(200, {}, json.dumps(found).encode())
        wanted = call.body.get("preconditions") or call.body.get("metadata") or {}
        for field in ("uid", "resourceVersion"):
            if wanted.get(field, found["metadata"][field]) != found["metadata"][field]:
                return status(409, f"{field} differs")
        tree = copy.deepcopy(found)
        if call.method == "DELETE":
            if not found["spec"].get("nodeName"):
                self.remove(resource, key)
            elif "deletionTimestamp" not in found["metadata"]:
                tree["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
                self.put(resource, tree)
            return Answer(200, {}, b"{}")
        if call.path.endswith("/binding"):
            if found["spec"].get("nodeName") or "deletionTimestamp" in found["metadata"]:
                return status(409, "the pod has a node, or is being deleted")
            tree["spec"]["nodeName"] = call.body["target"]["name"]
            tree["status"].pop("nominatedNodeName", None)
            self.put(resource, tree)
            return Answer(201, {}, b"{}")
        merged(tree["status"], call.body.get("status", {}))
        self.put(resource, tree)
        return Answer(200, {}, json.dumps(self.objects[resource][key]).encode())

    def _list(self, resource: str, query: Mapping[str, Any]) -> Answer:
        version = self.version
        if query.get("resourceVersion") == "0":
            version = max(100, self.compacted, version - self.staleness)
        items = [one for one in self._states[version][resource].values() if is_selected(one)]
        tree = {"metadata": {"resourceVersion": str(version)}, "items": items}
        return Answer(200, {}, json.dumps(tree).encode())

    # -- watches ---------------------------------------------------------------------------------------------------

    async def stream(
        self, path: str, query: Mapping[str, Any], silence_seconds: float = 90.0
    ) -> AsyncGenerator[list[bytes], None]:
        resource = path.rsplit("/", 1)[1]
        is_list = query.get("sendInitialEvents") == "true"
        if is_list and not self.streams_lists:
            raise StreamError(status(422, "sendInitialEvents is forbidden"))
        since = self.version if is_list else int(query["resourceVersion"])
        if since < self.compacted:
            raise StreamError(status(410, "too old"))
        watch = Watch(resource, since)
        if is_list:
            lines = [_line("ADDED", one) for one in self.objects[resource].values() if is_selected(one)]
            meta = {"resourceVersion": str(since), "annotations": {"k8s.io/initial-events-end": "true"}}
            kind, group = KINDS[resource]
            lines.append(_line("BOOKMARK", {"kind": kind, "apiVersion": group, "metadata": meta}))
            watch.lines.put_nowait(lines)
        self.watches.append(watch)
        try:
            while (lines_or_end := await watch.lines.get()) is not None:
                if isinstance(lines_or_end, Exception):
                    raise lines_or_end
                yield lines_or_end
        finally:
            self.watches.remove(watch)

    def untold(self, watch: Watch) -> list[tuple[int, str, str, Tree | None, Tree | None]]:
        return [one for one in self.history if one[0] > watch.since and one[1] == watch.resource]

    def tell(self, watch: Watch) -> None:
        """The watch hears of the next change."""
        version, _, _, before, after = self.untold(watch)[0]
        watch.since = version
        was_in, is_in = is_selected(before), is_selected(after)
        if after is not None and is_in:
            watch.lines.put_nowait([_line("MODIFIED" if was_in else "ADDED", after)])
        elif was_in:
            last = copy.deepcopy(after or before)
            assert last is not None
            last["metadata"]["resourceVersion"] = str(version)
            watch.lines.put_nowait([_line("DELETED", last)])

    def cut(self, watch: Watch) -> None:
        watch.lines.put_nowait(Unreachable(URL, "connection reset"))

    def compact(self) -> None:
        """Forget the past: every watch has to begin with a new list."""
        self.compacted = self.version
        for watch in self.watches:
            self.cut(watch)


def key_of(tree: Tree) -> str:
    meta = tree["metadata"]
    return f"{meta['namespace']}/{meta['name']}" if "namespace" in meta else str(meta["name"])


def is_selected(tree: Tree | None) -> bool:
    return tree is not None and tree.get("status", {}).get("phase") not in ("Succeeded", "Failed")


def _line(verb: str, tree: Tree) -> bytes:
    return json.dumps({"type": verb, "object": tree}).encode()
