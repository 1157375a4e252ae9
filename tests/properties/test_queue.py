"""The queue neither loses nor duplicates a pod, whatever happens in whatever order."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from fairway.cluster import Action, ClusterEvent, Resource
from fairway.cluster.intents.nominations import Nominations
from fairway.model import Pod
from fairway.plugin import Hint, Refusal
from fairway.queue import Place, QueuedPod, QueueRules, QueueSettings, SchedulingQueue
from tests.queue.builders import (
    EVERYTHING,
    GATES_GONE,
    NODE_ADDED,
    NODE_LABEL,
    NODE_TAINT,
    POD_DELETED,
    VirtualClock,
    change,
    gate_plugin,
    pod,
)

UIDS = [f"pod{number}" for number in range(4)]
PLUGINS = ["Fit", "Labels", "Callback", "Quota"]
EVENTS = [
    NODE_ADDED,
    NODE_LABEL,
    NODE_TAINT,
    POD_DELETED,
    EVERYTHING,
    ClusterEvent(Resource.NODE, Action.UPDATE),
    ClusterEvent(Resource.OTHER, Action.ADD),
]

uids = st.sampled_from(UIDS)
plugins = st.sets(st.sampled_from(PLUGINS), max_size=2)
versions = st.builds(
    pod,
    uids,
    priority=st.integers(-1, 1),
    profile=st.sampled_from(["", "batch"]),
    labels=st.sampled_from([{}, {"team": "blue"}]),
    gates=st.sampled_from([(), (), ("wait",)]),
    nominated=st.sampled_from(["", "", "node1"]),
)


class QueueMachine(RuleBasedStateMachine):
    """The real queue beside a model that only knows which pods there are and which of them are in flight."""

    @initialize(initial=st.sampled_from([0.0, 1.0]), start=st.sampled_from([0.0, 1.7e9 + 0.3]))
    def start(self, initial: float, start: float) -> None:
        self.quota_is_left = True
        self.clock = VirtualClock(start)
        self.nominations = Nominations()
        hints = {
            "SchedulingGates": [GATES_GONE],
            "Fit": [Hint(ClusterEvent(Resource.POD, Action.ALL)), Hint(NODE_ADDED)],
            "Labels": [Hint(ClusterEvent(Resource.NODE, Action.UPDATE))],
            "Callback": [Hint(NODE_LABEL)],
            "Quota": [Hint(POD_DELETED, lambda *_: self.quota_is_left)],
        }
        self.queue = SchedulingQueue(
            {
                "default-scheduler": QueueRules(pre_enqueue={"SchedulingGates": gate_plugin}, hints=hints),
                "batch": QueueRules(pre_enqueue={"SchedulingGates": gate_plugin, "Quota": self.quota}, hints=hints),
            },
            self.clock,
            settings=QueueSettings(initial_backoff_seconds=initial, max_backoff_seconds=10 * initial),
            nominations=self.nominations,
            observer=self.observe,
        )
        self.known: dict[str, Pod] = {}  # uid to the newest version of pods that should be somewhere
        self.flying: dict[str, QueuedPod] = {}
        self.ghosts: set[str] = set()  # deleted in flight
        self.landed: dict[str, QueuedPod] = {}  # done, but the binding may yet fail
        self.seen: dict[str, Place | None] = {}

    def quota(self, _: Pod) -> Refusal | None:
        return None if self.quota_is_left else Refusal(("used up",))

    def observe(self, queued: QueuedPod, before: Place | None, after: Place | None, event: str, time: float) -> None:
        assert self.seen.get(queued.uid) is before
        assert before is not after
        assert event
        assert time == self.clock.time
        self.seen[queued.uid] = after

    # -- what can happen -----------------------------------------------------------------------------------------------

    @rule(version=versions)
    def add_or_update(self, version: Pod) -> None:
        uid = version.metadata.uid
        if uid in self.known:
            old = self.known[uid]
            if version.spec.scheduler_name != old.spec.scheduler_name:
                return  # the API does not let it change
            self.queue.update(old, version)
        else:
            queued = self.flying.get(uid)
            if queued is not None and version.spec.scheduler_name != queued.pod.spec.scheduler_name:
                return
            self.queue.add(version)
        self.known[uid] = version
        self.ghosts.discard(uid)
        self.landed.pop(uid, None)

    @rule(uid=uids)
    def delete(self, uid: str) -> None:
        self.queue.delete(self.known.pop(uid, pod(uid)))
        if uid in self.flying:
            self.ghosts.add(uid)
        self.landed.pop(uid, None)

    @rule()
    def pop(self) -> None:
        queued = self.queue.pop()
        if queued is None:
            wakeup = self.queue.next_wakeup()
            assert wakeup is None or wakeup > self.clock.time
        else:
            self.launched(queued)

    @rule(uid=uids)
    def take(self, uid: str) -> None:
        queued = self.queue.take(uid)
        if queued is not None:
            self.launched(queued)

    def launched(self, queued: QueuedPod) -> None:
        assert queued.uid not in self.flying
        assert queued.pod == self.known[queued.uid]
        assert not queued.is_gated
        self.flying[queued.uid] = queued

    @precondition(lambda self: self.flying)
    @rule(data=st.data())
    def done(self, data: st.DataObject) -> None:
        uid = data.draw(st.sampled_from(sorted(self.flying)))
        self.queue.done(uid)
        queued = self.flying.pop(uid)
        if self.known.pop(uid, None) is not None:
            self.landed[uid] = queued
        self.ghosts.discard(uid)

    @precondition(lambda self: self.flying or self.landed)
    @rule(data=st.data(), refused=plugins, pending=plugins, error=st.booleans())
    def fail(self, data: st.DataObject, refused: set[str], pending: set[str], error: bool) -> None:
        uid = data.draw(st.sampled_from(sorted({*self.flying, *self.landed})))
        queued = self.flying.pop(uid, None) or self.landed.pop(uid)
        self.landed.pop(uid, None)
        place = self.queue.requeue_failed(queued, refused, pending, error)
        assert place is queued.place
        if uid in self.ghosts:
            self.ghosts.remove(uid)
            assert place is None
        else:
            assert place not in (None, Place.IN_FLIGHT)
            self.known.setdefault(uid, queued.pod)

    @rule(events=st.lists(st.sampled_from(EVENTS), min_size=1, max_size=3))
    def move(self, events: list[ClusterEvent]) -> None:
        self.queue.move([change(event) for event in events])

    @rule(uid=uids)
    def activate(self, uid: str) -> None:
        self.queue.activate([pod(uid)])

    @rule(uid=uids, node=st.sampled_from([None, "", "node1", "node2"]))
    def nominate(self, uid: str, node: str | None) -> None:
        self.queue.nominate(self.known.get(uid, pod(uid)), node)

    @rule()
    def toggle_quota(self) -> None:
        self.quota_is_left = not self.quota_is_left

    @rule(seconds=st.sampled_from([0.001, 0.5, 1.0, 2.0, 11.0, 30.0, 301.0, 100_000.0]), tick=st.booleans())
    def wait(self, seconds: float, tick: bool) -> None:
        self.clock.time += seconds
        if tick:
            self.queue.tick()

    # -- what must hold ------------------------------------------------------------------------------------------------

    @invariant()
    def every_pod_is_in_one_place(self) -> None:
        pending = self.queue.pending()
        found = [queued.uid for pods in pending for queued in pods]
        assert sorted(found) == sorted({*self.known, *self.ghosts})
        assert len(self.queue) == len(found)
        assert [queued.uid for queued in pending.in_flight] == list(self.flying)
        assert self.queue.counts() == dict(zip(Place, map(len, pending), strict=True))
        for place, pods in zip(Place, pending, strict=True):
            for queued in pods:
                assert queued.place is place
                assert self.seen[queued.uid] is place
                assert queued.is_gated is (place is Place.GATED)
                assert (queued.latest or queued.pod) == self.known.get(queued.uid, queued.latest or queued.pod)

    @invariant()
    def the_order_is_right(self) -> None:
        pending = self.queue.pending()
        turns = [(-queued.pod.priority, queued.timestamp, queued.sequence) for queued in pending.active]
        assert turns == sorted(turns)
        for aside in (pending.unschedulable, pending.gated):
            assert all(queued.unschedulable_plugins or queued.pending_plugins for queued in aside)
            waits = [queued.last_tried for queued in aside]
            assert waits == sorted(waits)

    @invariant()
    def promises_are_for_pods_that_exist(self) -> None:
        promised = {one.metadata.uid for node in ("node1", "node2") for one in self.nominations.on(node)}
        assert promised <= {*self.known, *self.landed}

    def teardown(self) -> None:
        """Time alone brings every pod back that is not gated."""
        if not hasattr(self, "queue"):
            return
        for uid, queued in list(self.flying.items()):
            del self.flying[uid]
            self.queue.requeue_failed(queued, ["Fit"])
            self.ghosts.discard(uid)
        self.quota_is_left = True
        popped = []
        for _ in range(10 * len(UIDS)):
            wakeup = self.queue.next_wakeup()
            if wakeup is None:
                break
            assert wakeup >= self.clock.time
            self.clock.time = wakeup
            while (ready := self.queue.pop()) is not None:
                popped.append(ready.uid)
                self.queue.done(ready.uid)
        gated = [uid for uid, version in self.known.items() if version.spec.scheduling_gates]
        assert len(popped) == len(set(popped))
        assert {*self.known} - {*popped} <= {*gated}
        assert {*popped} <= {*self.known}


TestQueue = QueueMachine.TestCase
TestQueue.settings = settings(stateful_step_count=50)
