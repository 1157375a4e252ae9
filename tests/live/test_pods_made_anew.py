"""Bare pods that ask for it are made anew, once, wherever the process dies in the midst of it.

The rules, again and naively: while a pod is there, nobody makes another one of its name; in the place of each there
comes one and no second; each runs once; and in the end the job has succeeded, with as many restarts as pods were made.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, Final

import pytest

from fairway.batch.actions import Action, Tell
from fairway.batch.restoration import catch_up
from fairway.batch.settings import BatchSettings
from fairway.cluster import Event, Verb
from fairway.config import default_configuration
from fairway.config.planned_profiles import with_queues
from fairway.live.api.connection import Answer
from fairway.live.batch.job_actions import ActionTargets, JobActions
from fairway.live.batch.live_desk import LiveDesk
from fairway.live.batch.manifests import MOST_BYTES, PodManifests
from fairway.live.batch.objects import JobRecordObject
from fairway.live.batch.outbox import ObjectKey, Outbox
from fairway.model import Node, Pod, decode_object
from fairway.model.batch import FailureRules, QueueLimits, QueueSpec, WindowSpec
from fairway.model.batch.node_choice import NodeChoice
from fairway.model.codec import convert
from fairway.model.duration import Duration
from fairway.model.group import GroupKey
from fairway.plugins.registry import PLANNING, REGISTRY
from fairway.scheduler import Scheduler
from fairway.testing import node
from tests.live.batch_server import DiedError, DyingDoor, Json
from tests.live.pod_server import PodServer, bare_pod
from tests.live.virtual_loop import LoopClock, run_virtually
from tests.test_scheduler import SmallWorld

TICK: Final = 0.5
LONGEST: Final = 400  # ticks
VERBS: Final = {"ADDED": Verb.ADDED, "MODIFIED": Verb.MODIFIED, "DELETED": Verb.DELETED}


class Life(SmallWorld):
    """One leader, from what the server has until it dies."""

    def __init__(self, server: PodServer, door: DyingDoor, nodes: Sequence[Node], settings: BatchSettings) -> None:
        super().__init__()
        self.server, self.door, self.nodes = server, door, list(nodes)
        self.told: list[Tell] = []
        self.num_heard = 0
        self.clock = LoopClock()
        self.outbox = Outbox(door, self.clock, lambda: not door.is_dead)
        self.outbox.on_confirmed = self._confirmed
        self.manifests = PodManifests()
        targets = ActionTargets(
            self._pod,
            lambda uid: None,
            lambda name: None,
            lambda pod, reason, note, is_warning: None,
            self.told.append,
            self.manifests,
            lambda uid: "",
        )
        self.actions = JobActions(door, self.clock, self.outbox, targets, lambda: not door.is_dead)
        self.live = LiveDesk(settings, self.outbox, self.clock.now, self, self.manifests)
        self.desk = self.live.desk
        configuration = with_queues(default_configuration(REGISTRY), {"default-scheduler"}, PLANNING)
        self.scheduler = Scheduler(configuration, self, tie_break="first", attendant=self.desk)
        assert not self.live.books.load((), [convert(each, JobRecordObject) for each in server.all("jobrecords")])
        self.desk.attend(self.scheduler)
        for each in self.nodes:
            self.observe(Event(Verb.ADDED, each))
        for name in server.pods:
            line = json.dumps({"type": "ADDED", "object": server.pods[name]}).encode()
            self.manifests.keep("ADDED", decoded(server.pods[name]), line)
        self.num_heard = len(server.log)
        pods = [decoded(each) for each in server.pods.values()]
        catch_up(self.desk, pods, self.nodes, self.desk.observe)
        self.desk.resume()
        for pod in pods:
            self.scheduler.observe(Event(Verb.ADDED, pod))
        self.live.begin()
        self.tasks = [asyncio.ensure_future(part.run()) for part in (self.outbox, self.actions)]

    def _confirmed(self, key: ObjectKey, payload: Any) -> None:
        if self.live.books.confirmed(key, payload):
            self.outbox.let_go(key)

    def _pod(self, uid: str) -> Pod | None:
        job = self.desk.book.of(uid)
        return None if job is None else job.members.get(uid)

    def may_create(self, is_allowed: bool) -> None:
        """As `batch_service` finds it out."""
        self.manifests.may_create = self.desk.book.sayings.makes_pods = is_allowed

    # -- hands of the desk (`live_desk.Tellers`) and of the scheduler -------------------------------------------------

    def queued(self, pod: Pod, reason: str, message: str) -> None:
        """Nobody looks at it."""

    def group_queued(self, group: GroupKey, message: str) -> None:
        """Likewise."""

    def tell(self, pod: Pod, reason: Any, note: str = "") -> None:
        """Likewise."""

    def carry_out(self, actions: Sequence[Action]) -> None:
        self.actions.submit(actions)

    def bind(self, pod: Pod, node: str, before: Sequence[Any] = ()) -> None:
        self.server.bind(pod.metadata.name, node)

    # -- what it does --------------------------------------------------------------------------------------------------

    def observe(self, event: Event) -> None:
        self.desk.observe(event)
        self.scheduler.observe(event)

    def look(self) -> None:
        """Hear of what has happened, plan, and place."""
        for _ in range(20):
            for verb, line in self.server.lines_of(self.num_heard):
                self.num_heard += 1
                pod = decoded(json.loads(line)["object"])
                self.manifests.keep(verb, pod, line)
                self.observe(Event(VERBS[verb], pod))
            time = self.desk.next_time()
            self.desk.is_time |= time is not None and time <= self.live.now()
            if self.desk.is_due:
                self.desk.run_pass()
            elif self.scheduler.step() is None and self.num_heard == len(self.server.log):
                return

    async def end(self) -> None:
        for task in self.tasks:
            task.cancel()
        for result in await asyncio.gather(*self.tasks, return_exceptions=True):
            assert isinstance(result, asyncio.CancelledError | DiedError | BaseExceptionGroup), result


def decoded(tree: Json) -> Pod:
    pod = decode_object(json.dumps(tree).encode(), "test")
    assert isinstance(pod, Pod)
    return pod


def settings_of(windows: dict[str, WindowSpec] | None = None) -> BatchSettings:
    limits = QueueLimits(max=Duration(1000), kill_grace=Duration(2))
    failure = FailureRules(retries=3, broken_after=Duration(3), lost_after=Duration(5))
    return BatchSettings({"q": QueueSpec(limits=limits, failure=failure).completed()}, windows=windows or {})


class Case:
    """Something that happens to the pods of one job: `fate` says how the kubelets treat an incarnation."""

    num_made = 1
    may_create = True

    def __init__(self) -> None:
        self.server = PodServer()
        self.nodes = [node("a", cpu=2), node("b", cpu=2)]
        self.settings = settings_of()
        self.age: Counter[str] = Counter()  # ticks of a pod since it runs
        self.pods = [bare_pod("it", time_limit="500s")]

    def fate(self, pod: Json) -> str:
        """How it ends."""
        return "Succeeded" if "fairway.dev/made-anew-from" in pod["metadata"]["annotations"] else "Failed"

    def tick(self, number: int, life: Life) -> None:
        """Kubelets, and whoever else does something."""
        for name, pod in list(self.server.pods.items()):
            if pod["status"]["phase"] != "Running" or not self.answers(pod["spec"]["nodeName"]):
                continue
            self.age[pod["metadata"]["uid"]] += 1
            if "deletionTimestamp" in pod["metadata"]:
                self.server.vanish(name)
            elif self.age[pod["metadata"]["uid"]] > 6 and (phase := self.fate(pod)):
                self.server.end(name, phase)

    def answers(self, name: str) -> bool:
        return True


class Failing(Case):
    """It fails, and its pod stays as it is."""


class Gang(Case):
    """One of two members fails: both come again."""

    num_made = 2

    def __init__(self) -> None:
        super().__init__()
        said = {"gang": "g", "gang_size": "2", "time_limit": "500s"}
        self.pods = [bare_pod(f"g-{number}", **said) for number in range(2)]

    def fate(self, pod: Json) -> str:
        is_first = "fairway.dev/made-anew-from" not in pod["metadata"]["annotations"]
        return "Succeeded" if not is_first else "Failed" if pod["metadata"]["name"] == "g-1" else ""


class Lost(Case):
    """Its node is gone, so nobody says that the pod has ended until somebody collects it."""

    def __init__(self) -> None:
        super().__init__()
        self.gone_at: int | None = None
        self.nodes = [node("a", cpu=2)]

    def tick(self, number: int, life: Life) -> None:
        super().tick(number, life)
        pod = self.server.pods.get("it")
        if self.gone_at is None and pod is not None and pod["spec"].get("nodeName") == "a":
            self.gone_at = number
            gone, self.nodes = self.nodes[0], [node("b", cpu=2)]
            life.observe(Event(Verb.DELETED, gone))
            life.observe(Event(Verb.ADDED, self.nodes[0]))
        if self.gone_at is not None and number == self.gone_at + 40:
            assert pod is not None, "nobody says that it has ended"
            self.server.vanish("it")

    def answers(self, name: str) -> bool:
        return name != "a"


class Drained(Case):
    """A window drains all nodes: it is evicted, and runs afterwards."""

    def tick(self, number: int, life: Life) -> None:
        super().tick(number, life)
        if number == 4:  # when it runs: it would not begin before a window that it runs into
            start, length = "2026-01-01T00:00:10Z", Duration(20)
            window = WindowSpec(start=start, duration=length, mode="drain", drain_lead=Duration(0), nodes=NodeChoice())
            self.settings = settings_of({"w": window})
            life.live.change(self.settings)

    def fate(self, pod: Json) -> str:
        return "" if "fairway.dev/made-anew-from" not in pod["metadata"]["annotations"] else "Succeeded"


CASES: Final[list[Callable[[], Case]]] = [Failing, Gang, Lost, Drained]


async def played(case: Case, dies_at: int | None = None, *, is_applied: bool = False) -> tuple[Case, int, list[Tell]]:
    """The whole story; returns how many requests were sent."""
    server = case.server
    door = DyingDoor(server, dies_at, is_applied=is_applied)
    life = Life(server, door, case.nodes, case.settings)
    life.may_create(case.may_create)
    told, num_requests = list[Tell](), 0
    for pod in case.pods:
        server.come(pod)
    for number in range(LONGEST):
        life.look()
        await asyncio.sleep(TICK)
        if door.is_dead:
            await life.end()
            told, num_requests = told + life.told, num_requests + door.num_requests
            door = DyingDoor(server)
            life = Life(server, door, case.nodes, case.settings)
        case.tick(number, life)
        states = [each["status"].get("state") for each in server.all("jobrecords")]
        if states == ["Finished"] and not life.outbox.backlog and not life.actions.backlog:
            break
    await life.end()
    return case, num_requests + door.num_requests, told + life.told


def check(case: Case) -> None:
    server = case.server
    (record,) = server.all("jobrecords")
    status = record["status"]
    assert (status["state"], status.get("reason")) == ("Finished", "Succeeded"), status
    assert len(server.made) == case.num_made, [each["metadata"]["name"] for each in server.made]
    assert max(Counter(server.bound).values()) == 1
    assert len(server.bound) == 2 * len(case.pods)
    assert "pods" not in status["ledger"]
    for made in server.made:
        (first,) = [each for each in case.pods if each["metadata"]["name"] == made["metadata"]["name"]]
        annotations = dict(made["metadata"].pop("annotations"))
        former = annotations.pop("fairway.dev/made-anew-from")
        assert former in server.bound
        assert annotations == first["metadata"]["annotations"]
        assert made["metadata"] == {"name": first["metadata"]["name"], "namespace": "ns"}
        assert made["spec"] == first["spec"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__.lower())
def test_it_comes_again_once_wherever_the_process_dies(case: Callable[[], Case]) -> None:
    done, num_requests, _ = run_virtually(played(case()))
    check(done)
    assert num_requests > 5
    for dies_at in range(1, num_requests + 1):
        for is_applied in (False, True):
            again, _, _ = run_virtually(played(case(), dies_at, is_applied=is_applied))
            check(again)


def refused(why: str) -> Answer:
    return Answer(403, {}, json.dumps({"message": why}).encode())


def test_what_the_server_refuses_is_told_once_and_tried_again() -> None:
    case = Failing()
    answers = [refused("exceeded quota: small")] * 3
    case.server.refuses = lambda pod: answers.pop() if answers else None
    done, _, told = run_virtually(played(case))
    check(done)
    assert [(each.reason, each.is_warning) for each in told if each.reason.startswith("Pod")] == [
        ("PodNotMade", True),
        ("PodMadeAnew", False),
    ]
    assert "exceeded quota: small" in next(each.words for each in told if each.reason == "PodNotMade")


class Preceded(Failing):
    """Somebody else makes a pod of that name first, and takes it away some time later."""

    def __init__(self) -> None:
        super().__init__()
        self.uid = ""
        self.server.refuses = self.precede

    def precede(self, pod: Json) -> Answer | None:
        if not self.server.made and "it" not in self.server.pods and not self.uid:
            other = bare_pod("it")
            other["metadata"]["annotations"] = {}
            self.uid = self.server.come(other)["metadata"]["uid"]
        return None

    def tick(self, number: int, life: Life) -> None:
        super().tick(number, life)
        if number == 60:
            assert self.server.pods["it"]["metadata"]["uid"] == self.uid
            self.server.vanish("it")


def test_somebody_else_s_pod_of_that_name_is_left_alone() -> None:
    done, _, told = run_virtually(played(Preceded()))
    assert [each.words for each in told if each.reason == "PodNotMade"] == [
        "pod it is not made anew, and will be tried again: another pod has its name"
    ]
    assert len(done.server.made) == 1
    assert [each["status"]["reason"] for each in done.server.all("jobrecords")] == ["Succeeded"]


@pytest.mark.parametrize(
    ("may_create", "letters", "words"),
    [
        pytest.param(True, MOST_BYTES, "it takes 512 KiB to say how, and a record has 512 KiB", id="too large"),
        pytest.param(False, 10, "", id="not allowed"),
    ],
)
def test_where_it_can_not_be_made_anew_the_job_has_failed(may_create: bool, letters: int, words: str) -> None:
    case = Failing()
    case.may_create = may_create
    case.pods[0]["metadata"]["annotations"]["note"] = "x" * letters
    done, _, _ = run_virtually(played(case))
    (record,) = done.server.all("jobrecords")
    assert (record["status"]["state"], record["status"]["reason"]) == ("Finished", "Failed")
    assert words in record["status"].get("message", "")
    assert not done.server.made
    assert done.server.pods["it"]["status"]["phase"] == "Failed", "nothing was deleted"
