"""Who may ask a server of this machine: whoever was told its token, under a name that is this machine's.

In: the header `Host` and the header `Authorization` of a request. Out: nothing, or a `PageError`: 403 for another host
(a page of somebody else's, whose name was made to lead here), 401 without the token. There are no cookies, so nobody's
browser can be made to ask in their name. Called by `server` before anything else is looked at. Whoever may ask the
pages of a cluster's scheduler is another matter (`live.cluster_access`).
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Collection
from typing import Final, Protocol

from fairway.web.page_error import PageError

__all__ = ["TOKEN_BYTES", "LocalAccess", "PageAccess", "new_token"]

TOKEN_BYTES: Final = 32
HOSTS: Final = ("127.0.0.1", "localhost", "[::1]")


def new_token() -> str:
    """256 bits that nobody guesses."""
    return secrets.token_urlsafe(TOKEN_BYTES)


class PageAccess(Protocol):
    """The doorkeeper of one server; both raise a `PageError` for whoever may not."""

    def check_host(self, host: str | None) -> None:
        """Asked first, whatever is asked for."""

    async def user(self, path: str, host: str | None, authorization: str | None) -> str:
        """Who asks for that path; it holds something of a cluster or a run."""


class LocalAccess:
    """That of a server of this machine."""

    def __init__(self, token: str, port: int) -> None:
        self._token = token.encode()
        self._hosts: Collection[str] = {f"{host}:{port}" for host in HOSTS}

    def check_host(self, host: str | None) -> None:
        """Is it this machine that was asked for?"""
        if host is None or host.lower() not in self._hosts:
            raise PageError(
                403, "other_host", "this server answers on this machine only", "use the URL that was printed"
            )

    async def user(self, path: str, host: str | None, authorization: str | None) -> str:
        """Does whoever asks know the token? They are all one."""
        kind, _, token = (authorization or "").partition(" ")
        given = token.strip().encode("utf-8", "surrogateescape")
        if kind.lower() != "bearer" or not hmac.compare_digest(given, self._token):
            hint = "open the URL that was printed when the server started; programs send Authorization: Bearer TOKEN"
            raise PageError(401, "no_token", "no token, or a wrong one", hint)
        return ""
