"""A live desk and its scheduler in a world of a few lines: nothing happens by itself, and nothing is sent anywhere.

In: objects that come and go, time that passes, as a test says. Out: passes in steps or whole, attempts one by one, pods
that run from the moment they have a node until their time is over. What the desk writes counts as written at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from fairway.batch.actions import Action, DeletePod
from fairway.batch.job import BatchJob
from fairway.batch.restoration import catch_up
from fairway.batch.settings import BatchSettings
from fairway.cluster import Event, Verb
from fairway.config import default_configuration
from fairway.config.planned_profiles import with_queues
from fairway.live.batch.live_desk import LiveDesk
from fairway.live.batch.objects import AccountObject, JobRecordObject
from fairway.live.batch.outbox import ObjectKey, Outbox
from fairway.model import Node, Pod
from fairway.model.batch import QueueLimits, QueueSpec, WeightSpec
from fairway.model.duration import Duration
from fairway.model.group import GroupKey
from fairway.plan import PassOutcome, Steps
from fairway.plugins.registry import PLANNING, REGISTRY
from fairway.scheduler import Scheduler
from fairway.testing import node
from tests.live.batch_server import BatchServer, DyingDoor
from tests.live.virtual_clock import VirtualClock
from tests.test_scheduler import SmallWorld

__all__ = ["DeskRoom", "Left"]

PLAIN = WeightSpec(age=0, size=0, fair_share=0, queue=0, class_=0)
LIMITS = QueueLimits(max=Duration(100_000), kill_grace=Duration(0))


class Left(NamedTuple):
    """What one desk leaves to the next one."""

    accounts: Sequence[AccountObject]
    records: Sequence[JobRecordObject]
    pods: Sequence[Pod] = ()
    now: float = 0.0
    last_led: float | None = None


class DeskRoom(SmallWorld):
    """Queues, nodes, and whoever comes."""

    def __init__(
        self,
        queues: Mapping[str, dict[str, Any]],
        cpus: Sequence[int],
        left: Left | None = None,
        outbox: Outbox | None = None,
        **settings: Any,
    ) -> None:
        """`outbox`: where it writes to; None: nowhere."""
        super().__init__(accepts=False)
        self.advance(0.0 if left is None else left.now)
        made = {
            name: QueueSpec(**{"weights": PLAIN, "limits": LIMITS, **spec}).completed() for name, spec in queues.items()
        }
        if outbox is None:
            outbox = Outbox(DyingDoor(BatchServer()), VirtualClock(), lambda: True, sends=False)
        self.told: list[str] = []
        self.live = LiveDesk(BatchSettings(made, **settings), outbox, self.now, self)
        self.desk = self.live.desk

        def confirmed(key: ObjectKey, payload: Any) -> None:
            if self.live.books.confirmed(key, payload):
                self.live.books.forget_settled()

        outbox.on_confirmed = confirmed
        configuration = with_queues(default_configuration(REGISTRY), {"default-scheduler"}, PLANNING)
        self.scheduler = Scheduler(configuration, self, tie_break="first", attendant=self.desk)
        if left is not None:
            assert not self.live.books.load(left.accounts, left.records)
        self.desk.attend(self.scheduler)
        self.pods: dict[str, Pod] = {}  # by uid: all that are there
        self.nodes: dict[str, Node] = {}
        self.ends: dict[str, float] = {}  # by uid: of those that run
        self.ran: set[str] = set()  # names
        self.steps: Steps[PassOutcome | None] | None = None
        self._answers: list[Event] = []
        self._num_pods = 0
        for number, cpu in enumerate(cpus):
            self.happen(Verb.ADDED, node(f"n{number}", cpu=cpu))
        if left is not None:
            catch_up(self.desk, left.pods, self.nodes.values(), self.desk.observe, left.last_led)
        self.desk.resume()
        for each in () if left is None else left.pods:
            self._keep(Verb.ADDED, each)
            self.scheduler.observe(Event(Verb.ADDED, each))

    # -- the desk's hands (`live_desk.Tellers`) ------------------------------------------------------------------------

    def queued(self, pod: Pod, reason: str, message: str) -> None:
        """Nobody looks at it."""

    def group_queued(self, group: GroupKey, message: str) -> None:
        """Likewise."""

    def tell(self, pod: Pod, reason: Any, note: str = "") -> None:
        """By the desk, or by the scheduler."""
        self.told.append(f"{pod.metadata.name}: {reason}: {note}")

    def carry_out(self, actions: Sequence[Action]) -> None:
        """Pods go when the desk says so."""
        for action in actions:
            if isinstance(action, DeletePod) and action.pod in self.pods:
                self._answers.append(Event(Verb.DELETED, self.pods[action.pod]))

    # -- what happens --------------------------------------------------------------------------------------------------

    def bind(self, pod: Pod, node: str, before: Sequence[Any] = ()) -> None:
        """It runs from then on; the answer comes after the attempt."""
        spec = msgspec.structs.replace(pod.spec, node_name=node)
        status = msgspec.structs.replace(pod.status, phase="Running")
        self._answers.append(Event(Verb.MODIFIED, msgspec.structs.replace(pod, spec=spec, status=status)))

    def happen(self, verb: Verb, thing: Node | Pod) -> None:
        """Tell the desk and the scheduler, in the order in which the service does."""
        self._keep(verb, thing)
        self.desk.observe(Event(verb, thing))
        self.scheduler.observe(Event(verb, thing))
        self._hear()

    def _hear(self) -> None:
        """What the desk and the scheduler wanted has happened."""
        while self._answers:
            answer = self._answers.pop(0)
            if answer.object.metadata.uid in self.pods:
                self.happen(answer.verb, answer.object)

    def _keep(self, verb: Verb, thing: Node | Pod) -> None:
        if isinstance(thing, Node):
            self.nodes[thing.metadata.name] = thing
            return
        uid = thing.metadata.uid
        if verb is Verb.DELETED:
            self.pods.pop(uid, None)
            self.ends.pop(uid, None)
        else:
            self.pods[uid] = thing
            if thing.spec.node_name and uid not in self.ends:
                self.ran.add(thing.metadata.name)
                self.ends[uid] = self.now() + float(thing.metadata.annotations.get("fairway.dev/duration", "1000"))

    def come(self, pod: Pod) -> Pod:
        """A pod was created."""
        self._num_pods += 1
        meta = msgspec.structs.replace(pod.metadata, uid=f"uid-{self._num_pods}")
        made = msgspec.structs.replace(pod, metadata=meta)
        self.happen(Verb.ADDED, made)
        return made

    def pass_time(self, seconds: float) -> None:
        """Whoever has run for as long as it wants is done, each in its moment."""
        until = self.now() + seconds
        while due := sorted((end, uid) for uid, end in self.ends.items() if end <= until):
            end, uid = due[0]
            self.advance(max(end - self.now(), 0.0))
            pod = self.pods[uid]
            self.happen(Verb.DELETED, msgspec.structs.replace(pod, status=_succeeded(pod)))
        self.advance(max(until - self.now(), 0.0))

    def step_pass(self, number: int) -> None:
        """Some steps of the pass that is under way, or of the next one if one is due."""
        if self.steps is None and self.desk.is_due:
            self.steps = self.desk.pass_steps()
        for _ in range(number if self.steps is not None else 0):
            assert self.steps is not None
            if next(self.steps, self) is self:
                self.steps = None
                break

    def decide(self, number: int) -> None:
        """So many attempts, if there is anybody to try."""
        self._hear()
        for _ in range(number):
            if self.desk.machine.calendar.lacks_promises or self.scheduler.step() is None:
                return
            self._hear()

    def settle(self) -> None:
        """Passes and attempts until there is nothing to do at this moment."""
        for _ in range(200):
            while self.steps is not None:
                self.step_pass(100)
            self.decide(1000)
            if not self.desk.is_due:
                return
            self.step_pass(1)
        raise AssertionError("there is no end to it")

    def job(self, name: str) -> BatchJob | None:
        return self.desk.book.find(f"default/{name}")


def _succeeded(pod: Pod) -> Any:
    return msgspec.structs.replace(pod.status, phase="Succeeded")
