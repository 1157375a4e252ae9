"""A live cluster, recorded: the same file that the simulator writes, whoever schedules.

In: what the watches tell and, where Fairway schedules or shadows, its decisions and queue moves. Out: calls of
`record.Recorder`, in seconds from the beginning of the recording; what the watches tell is translated by
`record.translation`, as it is for simulations. `LiveRecorder` is a `service.Listener`; `record_cluster` only watches.
The file itself is `recording_file`'s.
"""

from __future__ import annotations

import asyncio
import contextlib
import datetime as dt
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from fairway.cluster import Event, Verb
from fairway.cluster.intents.held_pods import HeldPod, Settled
from fairway.cycle import Decision
from fairway.cycle.groups.group_decision import GroupDecision
from fairway.live.api.clock import Clock
from fairway.live.api.connection import Connection
from fairway.live.seen_attempts import FAILED_ATTEMPTS, FailedScheduling, SeenAttempts
from fairway.live.watches.cluster_watch import ClusterWatch
from fairway.live.watches.optional_kinds import RECORDED
from fairway.live.watches.watch import Reflector
from fairway.live.watches.watched_kinds import WATCHED_TO_THE_END
from fairway.model import Pod
from fairway.queue import Place, QueuedPod, profile_name
from fairway.record import Recorder, Scored
from fairway.record.translation import EventTranslator
from fairway.record.vocabulary import HoldEnd, HoldWhy

__all__ = ["LiveRecorder", "live_title", "record_cluster", "wall_clock"]


class LiveRecorder:
    """Tells a recorder what happens in a cluster."""

    def __init__(self, recorder: Recorder, now: Callable[[], float]) -> None:
        self._recorder = recorder
        self._now = now
        self._begun = now()  # seconds since 1970
        translator = EventTranslator(recorder, self._passed, dt.datetime.fromtimestamp(self._begun, dt.UTC))
        self.saw = translator.saw

    @property
    def begun(self) -> float:
        """When the recording began, in seconds since 1970."""
        return self._begun

    @property
    def time(self) -> float:
        """Seconds since the recording began."""
        return self._passed()

    def _passed(self) -> float:
        passed = self._now() - self._begun
        return passed if passed > 0.0 else 0.0  # noqa: FURB136 - `max` takes twice as long, and this is asked all the time

    # -- what is heard, besides what happens (`saw`) -------------------------------------------------------------------

    def decided(self, decision: Decision, seconds: float, best: Sequence[Scored] = ()) -> None:
        """An attempt was made."""
        self._recorder.decided(self._passed(), profile_name(decision.pod), decision.attempt, decision, seconds, best)

    def group_decided(self, decision: GroupDecision, seconds: float) -> None:
        """An attempt was made for a whole job."""
        self._recorder.group_decided(self.time, profile_name(decision.members[0].pod), decision, seconds)

    def held(self, held: HeldPod) -> None:
        """Permit plugins hold a pod that has its node."""
        self._recorder.held(self.time, held.uid, held.node, HoldWhy.PERMIT)

    def settled(self, settled: Settled) -> None:
        """They hold it no longer; one that may go keeps its room until it is bound."""
        if settled.is_allowed:
            self._recorder.held(self.time, settled.held.uid, settled.held.node, HoldWhy.BINDING)
        else:
            ended = HoldEnd.TIMEOUT if settled.held.deadline <= self._now() else HoldEnd.REJECTED
            self._recorder.released(self.time, settled.held.uid, ended)

    def queue_moved(self, queued: QueuedPod, before: Place | None, place: Place | None, event: str, now: float) -> None:
        """A waiting pod moved; one that comes back, because its binding failed, say, holds nothing any more."""
        t, uid = max(now - self._begun, 0.0), queued.pod.metadata.uid
        if before is None and place is not None:
            self._recorder.released(t, uid, HoldEnd.REJECTED)
        self._recorder.queue_moved(t, queued.profile, uid, before, place, event)

    def note(self, pod: Pod, reason: str, message: str) -> None:
        """Something worth telling about a pod."""
        self._recorder.event(self.time, "Pod", pod.key, reason, message)


def live_title(name: str) -> dict[str, Any]:
    """What a run of a live cluster has in the place of a scenario: there is none that could be run again."""
    return {"kind": "LiveCluster", "metadata": {"name": name}}


def wall_clock(clock: Clock) -> Callable[[], float]:
    """Seconds since 1970, by a clock that never goes back."""
    anchor = clock.now() - clock.monotonic()
    return lambda: anchor + clock.monotonic()


async def record_cluster(
    connection: Connection,
    live: LiveRecorder,
    clock: Clock,
    stop: asyncio.Event,
    seconds: float | None = None,
    attempts: SeenAttempts | None = None,
) -> float:
    """Watch and record, whoever schedules, for so long or until stopped; returns how long it was."""

    def deliver(events: Sequence[Event]) -> None:
        for event in events:
            if attempts is not None and event.verb is not Verb.ADDED:
                attempts.saw(event)  # what was tried comes before what came of it
            live.saw(event)
            if attempts is not None and event.verb is Verb.ADDED:
                attempts.saw(event)

    watch = ClusterWatch(connection, clock, deliver, WATCHED_TO_THE_END, optional=RECORDED)
    await watch.reach_server(stop)
    others = [] if attempts is None else [_watch_failures(connection, clock, attempts)]

    async def story() -> float:
        await watch.sync(stop)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await stop.wait()
        return live.time

    return await watch.run_with(story(), *others)


def _watch_failures(connection: Connection, clock: Clock, attempts: SeenAttempts) -> Coroutine[Any, Any, None]:
    """Events about attempts that failed, for somebody who may read them; conditions tell the rest of us the most."""

    def hear(events: Sequence[Event]) -> None:
        for event in events:
            if isinstance(event.object, FailedScheduling) and event.verb is not Verb.DELETED:
                attempts.saw_event(event.object, was_before=not reflector.synced.is_set())

    reflector = Reflector(connection, FAILED_ATTEMPTS, hear, clock)
    return reflector.run()
