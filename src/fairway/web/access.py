"""Who may ask a server of this machine: whoever was told its token, under a name that is this machine's.

In: the header `Host` and the header `Authorization` of a request. Out: nothing, or a `PageError`: 403 for another host
(a page of somebody else's, whose name was made to lead here), 401 without the token. There are no cookies, so nobody's
browser can be made to ask in their name. Called by `server` before anything else is looked at.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Collection
from typing import Final

from fairway.web.page_error import PageError

__all__ = ["TOKEN_BYTES", "LocalAccess", "new_token"]

TOKEN_BYTES: Final = 32
HOSTS: Final = ("127.0.0.1", "localhost", "[::1]")


def new_token() -> str:
    """256 bits that nobody guesses."""
    return secrets.token_urlsafe(TOKEN_BYTES)


class LocalAccess:
    """The doorkeeper of one server."""

    def __init__(self, token: str, port: int) -> None:
        self._token = token.encode()
        self._hosts: Collection[str] = {f"{host}:{port}" for host in HOSTS}

    def check_host(self, host: str | None) -> None:
        """Is it this machine that was asked for?"""
        if host is None or host.lower() not in self._hosts:
            raise PageError(
                403, "other_host", "this server answers on this machine only", "use the URL that was printed"
            )

    def check_token(self, authorization: str | None) -> None:
        """Does whoever asks know the token?"""
        kind, _, token = (authorization or "").partition(" ")
        given = token.strip().encode("utf-8", "surrogateescape")
        if kind.lower() != "bearer" or not hmac.compare_digest(given, self._token):
            hint = "open the URL that was printed when the server started; programs send Authorization: Bearer TOKEN"
            raise PageError(401, "no_token", "no token, or a wrong one", hint)
