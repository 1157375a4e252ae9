"""An API server that knows one lease and events: the door behind which leader election is tested without a network."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import msgspec

from fairway.live.api.connection import Answer
from fairway.live.api.problems import Unreachable

LEASE = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"


class LeaseServer:
    def __init__(self) -> None:
        self.lease: dict[str, Any] | None = None
        self.requests: list[tuple[str, str]] = []
        self.bodies: list[dict[str, Any]] = []
        self.events: list[dict[str, Any]] = []
        self.queries: list[Mapping[str, Any] | None] = []
        self.statuses: dict[str, int] = {}  # by method: answer with this instead
        self.silent = False
        self.held: asyncio.Event | None = None  # answers wait for it

    @property
    def spec(self) -> dict[str, Any]:
        assert self.lease is not None
        spec: dict[str, Any] = self.lease["spec"]
        return spec

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
        self.requests.append((method, path))
        self.queries.append(query)
        if self.held is not None:
            await self.held.wait()
        if self.silent:
            raise Unreachable("https://api", "connection refused")
        if path.endswith("/events"):
            self.events.append(msgspec.json.decode(body or b"{}"))
            return Answer(201, {}, b"{}")
        if method in self.statuses:
            status = self.statuses[method]
            return Answer(status, {}, msgspec.json.encode({"kind": "Status", "message": "no", "code": status}))
        given = None if body is None else msgspec.json.decode(body)
        return self._lease_request(method, path, given)

    def _lease_request(self, method: str, path: str, given: dict[str, Any] | None) -> Answer:
        if method == "POST":
            assert path == LEASE
            assert given is not None
            if self.lease is not None:
                return Answer(409, {}, b"{}")
            return self._store(given, 201)
        assert path == f"{LEASE}/kube-scheduler"
        if self.lease is None:
            return Answer(404, {}, b"{}")
        if method == "GET":
            return Answer(200, {}, msgspec.json.encode(self.lease))
        assert method == "PUT"
        assert given is not None
        if given["metadata"].get("resourceVersion") != self.lease["metadata"]["resourceVersion"]:
            return Answer(409, {}, msgspec.json.encode({"kind": "Status", "message": "modified", "code": 409}))
        return self._store(given, 200)

    def _store(self, given: dict[str, Any], status: int) -> Answer:
        before = 0 if self.lease is None else int(self.lease["metadata"]["resourceVersion"])
        self.bodies.append(given)
        metadata = {"uid": "lease-1", **given["metadata"], "resourceVersion": str(before + 1)}
        self.lease = {**given, "metadata": metadata}
        return Answer(status, {}, msgspec.json.encode(self.lease))
