"""The API server, as the parts of the live room see it: one of the two doors that tests replace.

`connection.Connection` is the real one. Whoever only sends requests asks for an `ApiServer`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Protocol

from fairway.live.api.connection import Answer

__all__ = ["MERGE_PATCH", "STRATEGIC_MERGE_PATCH", "ApiServer"]

MERGE_PATCH: Final = "application/merge-patch+json"
"""Lists are replaced (RFC 7386)."""
STRATEGIC_MERGE_PATCH: Final = "application/strategic-merge-patch+json"
"""Lists are merged by the keys of their entries, as conditions are by their type: Kubernetes' own."""


class ApiServer(Protocol):
    """Something that answers requests, or raises `problems.Unreachable`."""

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, Any] | None = None,
        body: bytes | None = None,
        content_type: str = "application/json",
        timeout: float = 30.0,  # noqa: ASYNC109 - it is the request's, not the caller's
    ) -> Answer:
        """Send one request; any status is an answer."""
