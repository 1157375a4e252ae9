"""Making room: victims of preemption are told why, deleted, and the world is told.

In: `evict(victim, preemptor, node)` for each victim of a decision. Out: for each a DisruptionTarget condition, a
deletion with the pod's own grace period, and an event, in this order; the last victim of a preemptor only after all
others. Meanwhile the preemptor need not be tried again, and is not. Nobody is deleted twice, whoever wants the room and
however late the watch is. What fails is tried again after a pause that doubles, until it succeeds or nobody needs the
room any more. kube-scheduler 1.36: framework/preemption/executor.go.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Protocol
from weakref import WeakValueDictionary

import msgspec

from fairway.live.api.api_server import STRATEGIC_MERGE_PATCH, ApiServer
from fairway.live.api.clock import Clock
from fairway.live.api.problems import LiveProblem, status_message
from fairway.live.watches.watched_kinds import pod_path
from fairway.live.world.conditions import condition_patch
from fairway.live.world.events import EventWriter
from fairway.model import Pod
from fairway.model.disruption import PREEMPTED
from fairway.queue import profile_name

__all__ = ["Evictions", "Evictor"]

logger = logging.getLogger(__name__)
FIRST_DELAY, LONGEST_DELAY = 0.5, 30.0


class Evictions(Protocol):
    """Whom the evictor works for."""

    def may_write(self) -> bool:
        """Are we, at this moment, the one who may?"""

    def newest(self, pod: Pod) -> Pod | None:
        """The pod as the watch has it; None if it is no more."""

    def waits_for(self, preemptor: Pod, node: str) -> bool:
        """Is the room on that node still wanted?"""

    def making_room(self, preemptor: Pod, last: Pod | None) -> None:
        """Victims are being removed for the pod; `last`: all but this one know."""

    def made_room(self, preemptor: Pod, tries_again: bool) -> None:
        """They all know; or it does not go well, and the pod had better look for itself."""


class Evictor:
    """Removes victims."""

    def __init__(self, api: ApiServer, clock: Clock, world: Evictions, events: EventWriter) -> None:
        self._api = api
        self._clock = clock
        self._world = world
        self._events = events
        self._victims: dict[str, list[Pod]] = {}  # by the preemptor's uid, until its task has begun
        self._wanted: set[tuple[str, str, str]] = set()  # victim's uid, preemptor's uid, node: being seen to
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()  # by victim: one request at a time
        self._deleted: set[str] = set()  # uids of victims that have to go; the watch has not said so yet
        self._tasks: set[asyncio.Task[None]] = set()
        self._task_of: dict[str, asyncio.Task[None]] = {}  # by the preemptor's uid: the newest
        self.on_done: Callable[[bool, float], None] | None = None

    @property
    def backlog(self) -> int:
        """Preemptions under way."""
        return len(self._tasks)

    def evict(self, victim: Pod, preemptor: Pod, node: str) -> None:
        """Remove a victim; those of one decision come one after the other and are removed together."""
        uid, wanted = preemptor.metadata.uid, (victim.metadata.uid, preemptor.metadata.uid, node)
        if self._leaves(victim) or wanted in self._wanted:
            return
        self._wanted.add(wanted)
        known = self._victims.get(uid)
        if known is not None:
            known.append(victim)
            return
        self._victims[uid] = [victim]
        self._world.making_room(preemptor, None)
        task = asyncio.get_running_loop().create_task(self._make_room(preemptor, node))
        self._tasks.add(task)
        self._task_of[uid] = task
        task.add_done_callback(self._tasks.discard)

    def remove(self, pod: Pod, why: str) -> None:
        """Remove a pod for which its controller makes another; if that can not be done, it stays."""
        if self._world.may_write() and not self._leaves(pod):
            logger.info("pod %s is removed: %s", pod.key, why)
            task = asyncio.get_running_loop().create_task(self._remove_once(pod))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _remove_once(self, pod: Pod) -> None:
        try:
            problem, _ = await self._delete(pod)
        except LiveProblem as error:
            problem = error.why
        if problem and problem != GONE:
            logger.warning("pod %s could not be removed: %s", pod.key, problem)

    def confirm(self, uid: str) -> None:
        """An event showed that the pod is on its way out, or gone."""
        self._deleted.discard(uid)

    async def close(self) -> None:
        """Leave what is not done."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _make_room(self, preemptor: Pod, node: str) -> None:
        uid = preemptor.metadata.uid
        victims = self._victims.pop(uid)
        *others, last = victims
        begun = self._clock.monotonic()
        removed = False
        try:
            removed = all(await asyncio.gather(*(self._remove(victim, preemptor, node) for victim in others)))
            if removed:
                if self._is_newest(uid):
                    self._world.making_room(preemptor, last)
                removed = await self._remove(last, preemptor, node)
        finally:
            self._wanted -= {(victim.metadata.uid, uid, node) for victim in victims}
            if self._is_newest(uid):
                del self._task_of[uid]
                # If everybody is gone already, no event is left that would wake the pod.
                are_gone = all(self._world.newest(victim) is None for victim in victims)
                self._world.made_room(preemptor, tries_again=are_gone or not removed)
        if self.on_done is not None:
            self.on_done(removed, self._clock.monotonic() - begun)

    def _is_newest(self, uid: str) -> bool:
        """Is this task what was last decided for the preemptor?"""
        return self._task_of.get(uid) is asyncio.current_task()

    def _leaves(self, victim: Pod) -> bool:
        current = self._world.newest(victim)
        return current is None or current.is_terminating or victim.metadata.uid in self._deleted

    async def _remove(self, victim: Pod, preemptor: Pod, node: str) -> bool:
        """Try until the victim is on its way out, or need not be; says whether it is."""
        delay = FIRST_DELAY
        turn = self._turns.setdefault(victim.metadata.uid, asyncio.Lock())
        while self._world.may_write():
            async with turn:  # somebody else may want it gone, too
                if self._leaves(victim):
                    return True
                if not self._world.waits_for(preemptor, node):
                    logger.info("pod %s may stay: nobody needs its room any more", victim.key)
                    return False
                why, pause = await self._ask_to_go(victim, preemptor)
                if why == GONE:
                    return True
                if not why:
                    if not self._leaves(victim):
                        self._deleted.add(victim.metadata.uid)
                    self._events.preempted(victim, preemptor.metadata.uid, node)
                    return True
            logger.warning("pod %s could not be preempted for %s, trying again: %s", victim.key, preemptor.key, why)
            if delay == FIRST_DELAY and self._world.waits_for(preemptor, node):
                self._world.made_room(preemptor, tries_again=True)
            await self._clock.sleep(max(delay, pause or 0.0))
            delay = min(delay * 2, LONGEST_DELAY)
        return False

    async def _ask_to_go(self, victim: Pod, preemptor: Pod) -> tuple[str, float | None]:
        """Tell the victim why, and delete it; returns what went wrong, and for how long to leave the server alone."""
        try:
            why, pause = await self._tell_victim(self._world.newest(victim) or victim, preemptor)
            return (why, pause) if why else await self._delete(victim)
        except LiveProblem as problem:
            return problem.why, None

    async def _tell_victim(self, victim: Pod, preemptor: Pod) -> tuple[str, float | None]:
        """Write why; returns what went wrong, if anything did, and for how long the server wants to be left alone."""
        condition = {
            "type": PREEMPTED.type,
            "status": PREEMPTED.status,
            "reason": PREEMPTED.reason,
            "message": f"{profile_name(preemptor)}: {PREEMPTED.message}",
        }
        status = condition_patch(victim, condition, self._clock.now())
        if not status:
            return "", None
        body = msgspec.json.encode({"metadata": {"uid": victim.metadata.uid}, "status": status})
        answer = await self._api.request(
            "PATCH", pod_path(victim, "status"), body=body, content_type=STRATEGIC_MERGE_PATCH
        )
        if answer.status == 200:
            return "", None
        if answer.status == 404:
            return GONE, None
        return f"{answer.status} {status_message(answer.body)}", answer.retry_after

    async def _delete(self, victim: Pod) -> tuple[str, float | None]:
        """Ask for the pod's deletion; another pod of the same name is not meant."""
        options = {"kind": "DeleteOptions", "apiVersion": "v1", "preconditions": {"uid": victim.metadata.uid}}
        answer = await self._api.request("DELETE", pod_path(victim), body=msgspec.json.encode(options))
        if answer.status in (200, 202):
            return "", None
        if answer.status in (404, 409):
            return GONE, None
        return f"{answer.status} {status_message(answer.body)}", answer.retry_after


GONE = "it is gone"
