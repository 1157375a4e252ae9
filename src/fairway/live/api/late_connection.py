"""A connection that is opened when it is first used, in the loop that uses it.

In: how to open one. Out: requests, as of any `ApiServer`. For threads with a loop of their own (the election's, the
HTTP server's), which are described before they run: connections belong to a loop.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol

from fairway.live.api.api_server import ApiServer
from fairway.live.api.connection import Answer

__all__ = ["Closable", "LateConnection"]


class Closable(ApiServer, Protocol):
    """A connection, as far as it matters here."""

    async def close(self) -> None:
        """Hang up."""


class LateConnection:
    """Opened when it is first used."""

    def __init__(self, open_connection: Callable[[], Awaitable[Closable]]) -> None:
        self._open = open_connection
        self._opened: Closable | None = None

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
        """As `ApiServer.request`."""
        if self._opened is None:
            self._opened = await self._open()
        return await self._opened.request(
            method, path, query=query, body=body, content_type=content_type, timeout=timeout
        )

    async def close(self) -> None:
        """Hang up, if it was ever used."""
        if self._opened is not None:
            await self._opened.close()
