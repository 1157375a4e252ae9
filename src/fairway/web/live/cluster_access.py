"""Who may see the pages of a cluster's scheduler: whom the API server lets `get` the path that they ask for.

In: a request's path, host and token. Out: who asks, or a `PageError`: 401 with no token or one that the cluster does
not know, 403 with the command that gives the right, 429, 500, and 503 while another scheduler leads. The scheduler's
process is asked, which knows the API server; tiles are of one path, whatever their numbers. Called by `server`.
"""

from __future__ import annotations

import re
import shlex
from typing import Any, Final, Protocol

from fairway.web.openapi import BASE
from fairway.web.page_error import PageError

__all__ = ["ClusterAccess"]

TILE: Final = re.compile(r"(/heat(?:/[^/]+)?)(?:/-?\d+){4}$")
CODES: Final = {401: "unauthorized", 403: "forbidden", 429: "too_busy"}


class SchedulerProcess(Protocol):
    """The process that knows."""

    async def ask(self, what: str, about: Any) -> Any:
        """What only it can answer."""

    def is_leading(self) -> bool:
        """As it was told last."""


class ClusterAccess:
    """The doorkeeper of a server that others reach."""

    def __init__(self, scheduler: SchedulerProcess) -> None:
        self._scheduler = scheduler

    def check_host(self, host: str | None) -> None:
        """Whatever name leads here, a token has to be shown."""

    async def user(self, path: str, host: str | None, authorization: str | None) -> str:
        """Who asks for that path."""
        kind, _, token = (authorization or "").partition(" ")
        token = token.strip() if kind.lower() == "bearer" else ""
        about = [TILE.sub(r"\1", path), host or "", token]
        status, words = await self._scheduler.ask("admit", about)
        if status == 403 and not token:
            status = 401
        if status == 401:
            hint = "a token of this cluster is needed, such as kubectl create token NAME prints; it is kept nowhere"
            raise PageError(401, CODES[401], "no token, or one that the cluster does not know", hint)
        if status == 403:
            raise PageError(403, CODES[403], words, _grant(words))
        if status != 200:
            raise PageError(status, CODES.get(status, "failed"), words, "ask again in a few seconds")
        if not self._scheduler.is_leading():
            hint = "ask the one that leads: its lease names it (kubectl get leases -A)"
            raise PageError(503, "not_leading", "this scheduler does not lead: another one decides", hint)
        return str(words)


def _grant(words: str) -> str:
    """Commands that give the right to see everything; the sentence names who lacks it."""
    found = re.search(r'User "([^"]*)"', words)
    user = shlex.quote(found[1]) if found else "NAME"
    rule = f"--verb=get --non-resource-url='{BASE}/*'"
    return (
        f"kubectl create clusterrole see-fairway {rule} && "
        f"kubectl create clusterrolebinding see-fairway --clusterrole=see-fairway --user={user}"
    )
