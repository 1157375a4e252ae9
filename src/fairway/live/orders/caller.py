"""An API server as one of its users: reads, writes, and hears what becomes of what was written.

In: a connection with the user's own credentials. Out: objects as plain trees. What the server refuses is told in its
words: what we may not do as a `Forbidden`, what makes no sense as a `UserError`. `hear` follows one kind of objects by
a watch until something is true or ten seconds have passed; it never polls. Used by all that gives orders.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from typing import Any, Final, NoReturn, TypeVar

import msgspec

from fairway.exit_codes import USAGE
from fairway.live.api.api_server import MERGE_PATCH
from fairway.live.api.clock import Clock, SystemClock
from fairway.live.api.connection import Answer, Connection, StreamError
from fairway.live.api.problems import Forbidden, LiveProblem, Unreachable, problem_of, status_message
from fairway.live.orders.own_kinds import no_queues
from fairway.model import UserError

__all__ = ["PATIENCE", "Caller", "Tree"]

T = TypeVar("T")
Tree = dict[str, Any]

PATIENCE: Final = 10.0
"""So many seconds an answer is waited for."""
PAUSE: Final = 0.2
PAGE: Final = 500
OK, CREATED, ACCEPTED, NOT_FOUND, CONFLICT = 200, 201, 202, 404, 409


class Caller:
    """One user."""

    def __init__(self, connection: Connection, patience: float = PATIENCE, clock: Clock | None = None) -> None:
        self._connection = connection
        self._patience = patience
        self._clock = clock or SystemClock()
        self.deaf: LiveProblem | None = None  # why nothing could be heard of an answer

    @property
    def namespace(self) -> str:
        """Where things are that are named without one."""
        return self._connection.namespace

    # -- requests ------------------------------------------------------------------------------------------------------

    async def read(self, path: str) -> Tree | None:
        """An object; None if there is none."""
        answer = await self._connection.request("GET", path)
        return None if answer.status == NOT_FOUND else self._tree("GET", path, answer)

    async def items(self, path: str) -> tuple[list[Tree], str] | None:
        """All objects there, and the version of the list; None: nobody serves such objects."""
        found: list[Tree] = []
        query: dict[str, str | int] = {"limit": PAGE}
        while True:
            answer = await self._connection.request("GET", path, query=query)
            if answer.status == NOT_FOUND:
                return None
            page = self._tree("GET", path, answer)
            found += page.get("items") or ()
            meta = page.get("metadata") or {}
            if not meta.get("continue"):
                return found, str(meta.get("resourceVersion", ""))
            query = {"limit": PAGE, "continue": meta["continue"]}

    async def change(self, path: str, change: Mapping[str, Any]) -> Tree | None:
        """Change some fields of an object; returns it as it is then, None if there is none."""
        answer = await self._connection.request(
            "PATCH", path, body=msgspec.json.encode(change), content_type=MERGE_PATCH
        )
        return None if answer.status == NOT_FOUND else self._tree("PATCH", path, answer)

    async def create(self, path: str, thing: Tree) -> Tree | None:
        """Make an object of ours; None if there is one of that name."""
        answer = await self._connection.request("POST", path, body=msgspec.json.encode(thing))
        if answer.status == NOT_FOUND:
            raise no_queues()
        return None if answer.status == CONFLICT else self._tree("POST", path, answer)

    async def delete(self, path: str, uid: str) -> bool:
        """Delete that very object; False if it is gone."""
        body = msgspec.json.encode({"preconditions": {"uid": uid}})
        answer = await self._connection.request("DELETE", path, body=body)
        if answer.status in (NOT_FOUND, CONFLICT):
            return False
        self._tree("DELETE", path, answer)
        return True

    def _tree(self, method: str, path: str, answer: Answer) -> Tree:
        if answer.status not in (OK, CREATED, ACCEPTED):
            self._refuse(method, path, answer)
        try:
            tree = msgspec.json.decode(answer.body)
        except msgspec.DecodeError as error:
            raise Unreachable(self._connection.url, f"its answer is no JSON: {error}") from None
        return tree if isinstance(tree, dict) else {}

    def _refuse(self, method: str, path: str, answer: Answer) -> NoReturn:
        problem = problem_of(self._connection.url, method, path, answer.status, answer.body)
        if problem is not None:
            raise problem
        words = status_message(answer.body)
        if answer.status < 500 and answer.status != 429:
            raise UserError(f"the API server refuses it: {words}", "correct what it names", USAGE)
        raise Unreachable(self._connection.url, f"it answers {answer.status}: {words}")

    # -- answers -------------------------------------------------------------------------------------------------------

    async def hear(self, path: str, name: str, version: str, tell: Callable[[str, Tree], T | None]) -> T | None:
        """What `tell` makes of the first change of that object that means something to it; None: none came in time.

        `tell` is given the verb (ADDED, MODIFIED, DELETED) and the object; `name` "": all objects there.
        """
        try:
            async with asyncio.timeout(self._patience):
                while True:
                    has_heard = False
                    async with aclosing(self._events(path, name, version)) as events:
                        async for verb, tree in events:
                            has_heard = True
                            version = str(tree.get("metadata", {}).get("resourceVersion", version))
                            if (told := tell(verb, tree)) is not None:
                                return told
                    if not name:
                        return None  # what happened since is not known any more
                    there = await self.read(f"{path}/{name}")  # the watch has ended: what is true now, and go on
                    if (told := tell("DELETED" if there is None else "MODIFIED", there or {})) is not None:
                        return told
                    version = str((there or {}).get("metadata", {}).get("resourceVersion", ""))
                    if not has_heard:
                        await self._clock.sleep(PAUSE)  # a server that ends each watch at once is not run down
        except TimeoutError:
            return None
        except Forbidden as problem:
            self.deaf = problem
            return None

    async def _events(self, path: str, name: str, version: str) -> AsyncGenerator[tuple[str, Tree]]:
        """The changes since a version, until the server ends the watch."""
        query = {"watch": "true", "resourceVersion": version, "timeoutSeconds": str(int(self._patience) + 5)}
        if name:
            query["fieldSelector"] = f"metadata.name={name}"
        try:
            async with aclosing(self._connection.stream(path, query)) as stream:
                async for lines in stream:
                    for line in lines:
                        event = msgspec.json.decode(line)
                        if event["type"] == "ERROR":
                            return
                        yield event["type"], event["object"]
        except StreamError as error:
            answer = error.answer
            watched = f"{path}?watch=true"
            problem = problem_of(self._connection.url, "GET", watched, answer.status, answer.body)
            if problem is not None:
                raise problem from None
            if answer.status >= 500:
                raise Unreachable(self._connection.url, status_message(answer.body)) from None
