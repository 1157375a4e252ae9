"""The door to an API server that tests replace: the shape of a request, spelled once.

In: requests, as `fairway.live.api.api_server.ApiServer` has them. Out: whatever `answered` makes of one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fairway.live.api.connection import Answer

__all__ = ["ApiDoor"]


class ApiDoor:
    """An API server of a test's own."""

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, Any] | None = None,
        body: bytes | None = None,
        content_type: str = "application/json",
        timeout: float = 30.0,  # noqa: ASYNC109 - it is the request's
    ) -> Answer:
        """One request."""
        return await self.answered(method, path, query or {}, body)

    async def answered(self, method: str, path: str, query: Mapping[str, Any], body: bytes | None) -> Answer:
        """What it says."""
        raise NotImplementedError
