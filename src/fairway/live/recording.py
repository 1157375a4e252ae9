"""A live cluster, recorded: the same file that the simulator writes, whoever schedules.

In: what the watches tell and, where Fairway schedules or shadows, its decisions and queue moves. Out: calls of
`record.NullWriter` (a `RunWriter`, that is), in seconds from the beginning of the recording: nodes and their changes,
pods as they come, are bound by anybody, run, end and leave, and everything else that a decision may depend on.
`LiveRecorder` is a `service.Listener`; `record_cluster` only watches. The file itself is `recording_file`'s.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from typing import Any

from fairway.cluster import Event, Verb
from fairway.cycle import Decision
from fairway.live.api.clock import Clock
from fairway.live.api.connection import Connection
from fairway.live.watches.cluster_watch import ClusterWatch
from fairway.live.watches.watched_kinds import WATCHED_TO_THE_END
from fairway.model import Node, Pod, pod_requests
from fairway.model.device_need import GPU_INDEX
from fairway.model.requests import seem_alike
from fairway.queue import Place, QueuedPod, profile_name
from fairway.record import NullWriter

__all__ = ["LiveRecorder", "live_title", "record_cluster"]


class LiveRecorder:
    """Tells a writer what happens in a cluster."""

    def __init__(self, writer: NullWriter, now: Callable[[], float]) -> None:
        self._writer = writer
        self._now = now
        self._begun = now()
        self._nodes: dict[str, Node] = {}
        self._pods: dict[str, Pod] = {}  # by uid: those that have not ended
        self._bound: set[str] = set()

    @property
    def time(self) -> float:
        """Seconds since the recording began."""
        return max(self._now() - self._begun, 0.0)

    # -- what is heard -------------------------------------------------------------------------------------------------

    def saw(self, event: Event) -> None:
        """Something happened."""
        item, is_gone = event.object, event.verb is Verb.DELETED
        if isinstance(item, Pod):
            self._saw_pod(item, is_gone)
        elif isinstance(item, Node):
            self._saw_node(item, is_gone)
        elif is_gone:
            self._writer.object_deleted(self.time, item)
        else:
            self._writer.object_applied(self.time, item)

    def decided(self, decision: Decision, seconds: float) -> None:
        """An attempt was made."""
        self._writer.decided(self.time, profile_name(decision.pod), decision.attempt, decision, seconds)

    def queue_moved(self, queued: QueuedPod, before: Place | None, place: Place | None, event: str, now: float) -> None:
        """A waiting pod moved."""
        self._writer.queue_moved(self.time, queued.profile, queued.uid, before, place, event)

    def note(self, pod: Pod, reason: str, message: str) -> None:
        """Something worth telling about a pod."""
        self._writer.event(self.time, "Pod", pod.key, reason, message)

    # -- nodes ---------------------------------------------------------------------------------------------------------

    def _saw_node(self, node: Node, is_gone: bool) -> None:
        name = node.metadata.name
        before = self._nodes.pop(name, None)
        if is_gone:
            if before is not None:
                self._writer.node_gone(self.time, name, "Deleted")
            return
        self._nodes[name] = node
        if before is None:
            self._writer.node_added(self.time, node)
        elif what := _node_change(before, node):
            self._writer.node_changed(self.time, node, what)

    # -- pods ----------------------------------------------------------------------------------------------------------

    def _saw_pod(self, pod: Pod, is_gone: bool) -> None:
        uid, time = pod.metadata.uid, self.time
        before = self._pods.get(uid)
        if before is None:
            if is_gone or pod.is_finished:
                return  # over before we came
            self._writer.pod_created(time, pod, profile_name(pod))
        self._pods[uid] = pod
        node = pod.spec.node_name
        if node and uid not in self._bound and node in self._nodes:
            self._bound.add(uid)
            self._writer.bound(time, uid, node, pod.metadata.annotations.get(GPU_INDEX))
        if pod.status.phase == "Running" and uid in self._bound:
            self._writer.started(time, uid)
        if before is not None and not seem_alike(before, pod) and pod_requests(before) != pod_requests(pod):
            self._writer.resized(time, pod)
        if is_gone or pod.is_finished:
            del self._pods[uid]
            self._bound.discard(uid)
            self._writer.ended(time, uid, ending(pod))


def ending(pod: Pod) -> str:
    """How a pod ended, in the words of a run."""
    if pod.status.phase == "Succeeded":
        return "Succeeded"
    reasons = {one.reason for one in pod.status.conditions if one.type == "DisruptionTarget" and one.status == "True"}
    if "PreemptionByScheduler" in reasons:
        return "Preempted"
    if reasons or pod.status.reason == "Evicted":
        return "Evicted"
    if pod.status.phase == "Failed":
        return "Failed"
    return "Deleted"


def _node_change(before: Node, after: Node) -> str:
    """What is different, in a word; "" if it is nothing but a heartbeat."""
    if before.spec.unschedulable != after.spec.unschedulable:
        return "Cordoned" if after.spec.unschedulable else "Uncordoned"
    ready, was_ready = (
        next((one.status for one in node.status.conditions if one.type == "Ready"), "") for node in (after, before)
    )
    if ready != was_ready:
        return "Ready" if ready == "True" else "NotReady"
    if before.status.allocatable != after.status.allocatable:
        return "Resized"
    if before.spec != after.spec or before.metadata.labels != after.metadata.labels:
        return "Changed"
    return ""


def live_title(name: str) -> dict[str, Any]:
    """What a run of a live cluster has in the place of a scenario: there is none that could be run again."""
    return {"kind": "LiveCluster", "metadata": {"name": name}}


async def record_cluster(
    connection: Connection, writer: NullWriter, clock: Clock, stop: asyncio.Event, seconds: float | None = None
) -> float:
    """Watch and record, whoever schedules, for so long or until stopped; returns how long it was."""
    anchor = clock.now() - clock.monotonic()
    recorder = LiveRecorder(writer, lambda: anchor + clock.monotonic())

    def deliver(events: Sequence[Event]) -> None:
        for event in events:
            recorder.saw(event)

    watch = ClusterWatch(connection, clock, deliver, WATCHED_TO_THE_END)
    await watch.reach_server(stop)

    async def story() -> float:
        await watch.sync(stop)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await stop.wait()
        return recorder.time

    return await watch.run_with(story())
