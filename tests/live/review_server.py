"""An API server that reviews tokens and access: the door behind which `authorization` is tested."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from fairway.live.api.connection import Answer
from fairway.live.api.problems import Unreachable
from tests.live.api_door import ApiDoor

TOKENS: dict[str, dict[str, Any]] = {
    "viewer-token": {"username": "viewer", "groups": ["system:authenticated"], "uid": "u1"},
    "nobody-token": {"username": "nobody", "groups": ["system:authenticated"]},
    "admin-token": {"username": "admin", "groups": ["system:masters"]},
}


class ReviewServer(ApiDoor):
    def __init__(self, allowed: Mapping[str, set[str]] | None = None) -> None:
        self.allowed = allowed or {}  # by user: paths
        self.reviews: list[dict[str, Any]] = []
        self.status = 201
        self.silent = False

    async def answered(self, method: str, path: str, query: Mapping[str, Any], body: bytes | None) -> Answer:
        if self.silent:
            raise Unreachable("https://api", "connection refused")
        assert method == "POST"
        assert body is not None
        review = msgspec.json.decode(body)
        self.reviews.append(review)
        if self.status != 201:
            return Answer(self.status, {}, b'{"message":"no"}')
        spec = review["spec"]
        if path == "/apis/authentication.k8s.io/v1/tokenreviews":
            user = TOKENS.get(spec["token"])
            status: dict[str, Any] = {"authenticated": user is not None, "user": user or {}}
        else:
            assert path == "/apis/authorization.k8s.io/v1/subjectaccessreviews"
            assert query == {"timeout": "10s"}
            status = {"allowed": spec["nonResourceAttributes"]["path"] in self.allowed.get(spec["user"], set())}
        return Answer(201, {}, msgspec.json.encode({**review, "status": status}))
