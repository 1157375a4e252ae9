"""Objects of ours on an API server of a few lines: versions, statuses apart, and a process that dies at any request.

In: requests, as `fairway.live.api.api_server.ApiServer` has them. Out: what a kube-apiserver would answer. `DyingDoor`
is the same server as one process sees it, until its hour has come: before a request, or after it took effect and before
the answer. Nothing here is the code under test.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from fairway.live.api.connection import Answer
from tests.live.api_door import ApiDoor

Json = dict[str, Any]
ROOT = "/apis/fairway.dev/v1alpha1"


class BatchServer:
    """Objects by path."""

    def __init__(self) -> None:
        self.objects: dict[str, Json] = {}
        self.version = 0
        self.num_writes = 0

    def put(self, path: str, spec: Json | None = None, status: Json | None = None) -> Json:
        """As an operator would."""
        parts = path.removeprefix(f"{ROOT}/").split("/")
        namespace = {"namespace": parts[1]} if parts[0] == "namespaces" else {}
        self.version += 1
        meta = {"name": parts[-1], "uid": f"uid-{self.version}", "resourceVersion": str(self.version), **namespace}
        self.objects[path] = {"metadata": meta, "spec": spec or {}, "status": status or {}}
        return self.objects[path]

    def all(self, plural: str) -> list[Json]:
        """A copy of each object of a kind."""
        return [copy.deepcopy(each) for path, each in self.objects.items() if path.split("/")[-2] == plural]

    def answer(self, method: str, path: str, body: bytes | None) -> Answer:
        """What it says."""
        given: Json = json.loads(body) if body else {}
        if method == "POST":
            return self._create(path, given)
        is_status = path.endswith("/status")
        path = path.removesuffix("/status")
        there = self.objects.get(path)
        if there is None:
            return self._say(404, {"message": "not found"})
        if method == "GET":
            return self._say(200, there)
        version = given["metadata"].get("resourceVersion")
        if given["metadata"]["uid"] != there["metadata"]["uid"] or version not in (
            None,
            there["metadata"]["resourceVersion"],
        ):
            return self._say(409, {"message": "the object has been modified"})
        self.num_writes += 1
        self.version += 1
        if is_status:
            there["status"] = given["status"]
        elif "finalizers" in given["metadata"]:
            there["metadata"].pop("finalizers", None)
            if given["metadata"]["finalizers"]:
                there["metadata"]["finalizers"] = given["metadata"]["finalizers"]
        there["metadata"]["resourceVersion"] = str(self.version)
        return self._say(200, there)

    def _create(self, path: str, given: Json) -> Answer:
        path = f"{path}/{given['metadata']['name']}"
        if path in self.objects:
            return self._say(409, {"message": "already exists"})
        made = self.put(path, given.get("spec"))
        made["metadata"] |= {
            name: given["metadata"][name] for name in ("finalizers", "ownerReferences") if name in given["metadata"]
        }
        self.num_writes += 1
        return self._say(201, made)

    def _say(self, status: int, body: Json) -> Answer:
        return Answer(status, {}, json.dumps(body, sort_keys=True).encode())


class DiedError(BaseException):
    """The process is no more."""


async def nothing_happens(method: str, path: str) -> None:
    """On the way of a request."""


class DyingDoor(ApiDoor):
    """The server, until a process dies. `meanwhile`: what happens first to each of its requests; it may raise."""

    def __init__(self, server: BatchServer, dies_at: int | None = None, *, is_applied: bool = False) -> None:
        """`dies_at`: with that request, which takes effect or not."""
        self.server = server
        self._dies_at = dies_at
        self._is_applied = is_applied
        self.num_requests = 0
        self.is_dead = False
        self.meanwhile: Callable[[str, str], Awaitable[None]] = nothing_happens

    async def answered(self, method: str, path: str, query: Mapping[str, Any], body: bytes | None) -> Answer:
        """One request."""
        await self.meanwhile(method, path)
        if self.is_dead:
            raise DiedError
        self.num_requests += 1
        if self.num_requests == self._dies_at:
            self.is_dead = True
            if self._is_applied:
                self.server.answer(method, path, body)
            raise DiedError
        return self.server.answer(method, path, body)
