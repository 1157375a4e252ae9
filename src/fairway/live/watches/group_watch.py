"""The kinds of one API group that a cluster may or may not serve: watched while it does, waited for while it does not.

In: a connection, a group with its version, and the kinds of it that somebody reads. Out: events to `deliver`, as of any
other kind; when a kind is no longer served, its objects are gone. Which kinds there are says the group's discovery
document, asked for every half a minute, at once when a watch finds its kind missing, and soon and several times when
somebody speaks of objects that are not known (`look_again`): it takes no right that every user does not have. Of a
group that the server may have in several versions, the first that it has is watched, for as long as it has that. Not
being served is no error, and is logged once. `cluster_watch` runs one for each group.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence

import msgspec

from fairway.cluster import Event
from fairway.live.api.clock import Clock
from fairway.live.api.connection import Answer, Connection
from fairway.live.api.problems import Forbidden, LiveProblem, Unauthorized, Unreachable, status_message
from fairway.live.watches.optional_kinds import OptionalKind
from fairway.live.watches.watch import Reflector
from fairway.model import ApiObject

__all__ = ["GroupWatch", "group_watches"]

logger = logging.getLogger(__name__)
PERIOD_SECONDS = 30.0  # between two looks at what is served
SOON_SECONDS = 1.0  # the least between two looks, and from the first to the second on somebody's behalf
FIRST_DELAY, LONGEST_DELAY = 0.2, PERIOD_SECONDS  # between two looks while the server gives no answer


class _Resource(msgspec.Struct, gc=False):
    name: str = ""


class _ResourceList(msgspec.Struct, gc=False):
    resources: list[_Resource] | None = None


class _Watched:
    """A kind that is served: its reflector, and the task that runs it."""

    def __init__(self, reflector: Reflector) -> None:
        self.reflector = reflector
        self.task = asyncio.ensure_future(reflector.run())


class GroupWatch:
    """Follows what one API group has."""

    def __init__(
        self,
        connection: Connection,
        kinds: Sequence[OptionalKind],
        deliver: Callable[[list[Event]], None],
        clock: Clock,
    ) -> None:
        self._connection = connection
        self._kinds = {kind.plural: kind for kind in kinds}
        self._api_versions = kinds[0].api_versions
        self._api_version = self._api_versions[0]  # the one that is watched, if anything is
        self._deliver = deliver
        self._clock = clock
        self._watched: dict[str, _Watched] = {}  # by plural
        self._missing: set[tuple[str, str]] = set()  # versions and plurals of which the server said it has no objects
        self._doubt = asyncio.Event()
        self._period = PERIOD_SECONDS  # until the next look
        self._looked_at = float("-inf")
        self._is_wanted = False  # was a look asked for?
        self._is_answered = False  # has the server ever said which kinds there are?
        self._problem: LiveProblem | None = None

    @property
    def is_settled(self) -> bool:
        """Is everything known that there is? Also if that is nothing, or nothing that we may see and can go without."""
        return self._is_answered and all(
            watched.reflector.synced.is_set() or self._goes_without(plural) for plural, watched in self._watched.items()
        )

    @property
    def is_served(self) -> bool:
        """Is every kind of it there, and known?"""
        return len(self._watched) == len(self._kinds) and all(
            watched.reflector.synced.is_set() for watched in self._watched.values()
        )

    @property
    def problem(self) -> LiveProblem | None:
        """Why it is not settled."""
        needed = [watched.reflector for plural, watched in self._watched.items() if not self._goes_without(plural)]
        return self._problem or next((one.problem for one in needed if one.problem is not None), None)

    @property
    def path(self) -> str:
        """Where the server tells which kinds there are."""
        return f"/apis/{self._api_version}"

    def objects(self) -> list[ApiObject]:
        """Everything of these kinds, as it is now."""
        return [thing for watched in self._watched.values() for thing in watched.reflector.store]

    def look_again(self) -> None:
        """Something of a kind that is not served is spoken of: it may be served by now, or in a moment."""
        if len(self._watched) < len(self._kinds):
            self._period = SOON_SECONDS
            self._is_wanted = True
            self._doubt.set()

    async def run(self) -> None:
        """Watch until cancelled."""
        delay = FIRST_DELAY
        try:
            while True:
                if self._is_wanted:
                    await self._clock.sleep(max(self._looked_at + SOON_SECONDS - self._clock.monotonic(), 0.0))
                    self._is_wanted = False
                self._doubt.clear()
                self._looked_at = self._clock.monotonic()
                served = await self._served()
                if served is None:
                    await self._pause(delay)
                    delay = min(delay * 2, LONGEST_DELAY)
                    continue
                delay = FIRST_DELAY
                await self._follow(served)
                self._is_answered = True
                period, self._period = self._period, min(self._period * 2, PERIOD_SECONDS)
                await self._pause(period * self._clock.chance.uniform(0.9, 1.1))
        finally:
            for watched in self._watched.values():
                watched.task.cancel()
            await asyncio.gather(*(watched.task for watched in self._watched.values()), return_exceptions=True)

    # -- what is served ------------------------------------------------------------------------------------------------

    async def _served(self) -> set[str] | None:
        """Which of the kinds there are, by their plurals, in the version that is watched from now on; None: no answer.

        What is watched already stays, if the server still has it: no version is better than another.
        """
        missing, self._missing = self._missing, set()
        versions = self._api_versions
        if self._watched:
            versions = (self._api_version, *(other for other in versions if other != self._api_version))
        for version in versions:
            served = await self._served_in(version, {plural for asked, plural in missing if asked == version})
            if served is None:
                return None
            if served:
                await self._turn_to(version)
                return served
        return set()

    async def _served_in(self, version: str, missing: set[str]) -> set[str] | None:
        path, url = f"/apis/{version}", self._connection.url
        try:
            answer = await self._connection.request("GET", path)
        except Unreachable as problem:
            self._problem = problem
            return None
        try:
            served = self._read(answer, missing)
        except (msgspec.MsgspecError, UnicodeDecodeError, ValueError) as error:
            self._problem = Unreachable(url, f"it answers {answer.status} for {path}: {error}")
            return None
        self._problem = None
        return served

    async def _turn_to(self, version: str) -> None:
        """Watch that version from now on; objects of another are gone with it."""
        if version != self._api_version:
            for plural in sorted(self._watched):
                await self._stop(plural)
            self._api_version = version

    def _read(self, answer: Answer, missing: set[str]) -> set[str]:
        """An answer of the discovery, given what watches have found missing."""
        if answer.status == 404:
            return set()
        if answer.status in (401, 403):
            return set(self._kinds) - missing  # it is closed to us: what there is shows when it is listed
        if answer.status != 200:
            raise ValueError(status_message(answer.body))
        listed = msgspec.json.decode(answer.body, type=_ResourceList).resources or []
        return {resource.name for resource in listed} & set(self._kinds)

    async def _follow(self, served: set[str]) -> None:
        """Watch exactly these kinds from now on."""
        for plural in sorted(set(self._watched) - served):
            await self._stop(plural)
        for plural, kind in self._kinds.items():
            if plural in served and plural not in self._watched:
                reflector = Reflector(self._connection, kind.watched(self._api_version), self._deliver, self._clock)
                reflector.on_missing = lambda plural=plural: self._doubts(plural)
                self._watched[plural] = _Watched(reflector)
                logger.info("%s of %s are served, and watched", plural, self._api_version)
        missing = sorted(set(self._kinds) - served)
        if missing and not self._is_answered:
            logger.info("%s of %s are not served; they are waited for", ", ".join(missing), self._api_version)

    async def _stop(self, plural: str) -> None:
        """The kind is no more, and its objects with it."""
        watched = self._watched.pop(plural)
        watched.task.cancel()
        await asyncio.gather(watched.task, return_exceptions=True)
        logger.info("%s of %s are no longer served", plural, self._api_version)
        watched.reflector.clear()

    def _doubts(self, plural: str) -> None:
        """A watch was told that there is no such kind."""
        self._missing.add((self._api_version, plural))
        self._doubt.set()

    def _goes_without(self, plural: str) -> bool:
        """Are we refused this kind, and can do without it?"""
        problem = self._watched[plural].reflector.problem
        return isinstance(problem, Forbidden | Unauthorized) and not self._kinds[plural].is_required

    async def _pause(self, seconds: float) -> None:
        """Wait so long, or until a watch finds its kind missing; a watch that failed fails here."""
        waits = [asyncio.ensure_future(self._clock.sleep(seconds)), asyncio.ensure_future(self._doubt.wait())]
        tasks = [watched.task for watched in self._watched.values()]
        try:
            await asyncio.wait([*waits, *tasks], return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()
        for task in tasks:
            if task.done():
                task.result()


def group_watches(
    connection: Connection, kinds: Sequence[OptionalKind], deliver: Callable[[list[Event]], None], clock: Clock
) -> list[GroupWatch]:
    """One for each group and version that these kinds are of."""
    groups: dict[str, list[OptionalKind]] = {}
    for kind in kinds:
        groups.setdefault(kind.api_version, []).append(kind)
    return [GroupWatch(connection, some, deliver, clock) for some in groups.values()]
