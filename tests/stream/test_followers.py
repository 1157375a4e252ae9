"""A scheduler's steps, told to a sniffer: a node chosen, the API server's yes, and that a pod has left."""

import asyncio
import contextlib
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from fairway.cluster import Event, Verb
from fairway.cycle.groups.group_decision import GroupDecision, GroupOutcome
from fairway.model import Pod
from fairway.model.group import GroupKey, Spelling
from fairway.stream.address import Address
from fairway.stream.followers import SnifferFollower
from fairway.stream.message import Message
from fairway.stream.sniffer_client import SnifferProducer
from fairway.stream.sniffer_service import SnifferService
from fairway.testing import node, pod
from tests.kube.processes import free_port, wait_until
from tests.record.runs import placed, profile

HOME: Any = SimpleNamespace(metrics=SimpleNamespace(sniffer=lambda result, number: None))
ADDED, MODIFIED, DELETED = Verb.ADDED, Verb.MODIFIED, Verb.DELETED


def seen(name: str, phase: str = "Running", on: str = "n1") -> Pod:
    return pod(name, uid=name, node=on, phase=phase)


def messages_of(*steps: Any) -> list[tuple[str, str, str, str]]:
    """What a sniffer hears of what a scheduler hears and does."""
    taken: list[Message] = []

    async def story() -> None:
        service = SnifferService(taken.append)
        port = await service.start("127.0.0.1:0")
        follower = SnifferFollower(Address("127.0.0.1", port), time.time_ns)
        follower.start(HOME)
        assert follower.listener is not None
        for step in steps:
            if isinstance(step, Event):
                follower.listener.saw(step)
            elif isinstance(step, tuple):
                follower.bound(*step)
            elif isinstance(step, GroupDecision):
                follower.listener.group_decided(step, 0.1)
            else:
                follower.listener.decided(step, 0.1)
        await asyncio.to_thread(follower.stop)
        await service.stop()

    asyncio.run(story())
    return sorted((one.name, one.endpoint, one.event, one.node) for one in taken)


def test_a_pods_life_is_three_steps() -> None:
    first = pod("a", uid="a")
    assert messages_of(
        Event(ADDED, first),
        placed(first, "n1"),
        (first, "n1"),
        Event(MODIFIED, seen("a")),
        Event(MODIFIED, seen("a", "Succeeded")),
        Event(MODIFIED, seen("a", "Succeeded")),
        Event(DELETED, seen("a", "Succeeded")),
    ) == [
        ("a", "bindingCycle", "BindingSuccess", "n1"),
        ("a", "podUpdate", "Succeeded", "n1"),
        ("a", "schedulePod", "ScheduleSuccess", "n1"),
    ]


def test_of_a_group_its_members_are_told() -> None:
    members = [placed(pod(name, uid=name), "n1") for name in ("a", "b")]
    members.append(profile([node("n1", cpu=1)]).decide(pod("big", uid="big", cpu=2)))
    group = GroupDecision(GroupKey(Spelling.KUBE, "default", "g"), GroupOutcome.SCHEDULED, members)
    assert messages_of(group) == [
        ("a", "schedulePod", "ScheduleSuccess", "n1"),
        ("b", "schedulePod", "ScheduleSuccess", "n1"),
    ]


def test_of_jobs_that_start_together_all_members_are_told() -> None:
    first, second = (
        GroupDecision(
            GroupKey(Spelling.KUBE, "default", name), GroupOutcome.SCHEDULED, [placed(pod(name, uid=name), "n1")]
        )
        for name in ("a", "b")
    )
    first.companions.append(second)
    assert [name for name, *_ in messages_of(first)] == ["a", "b"]


def test_how_a_pod_left_is_said_in_the_watchers_words() -> None:
    assert messages_of(
        Event(ADDED, seen("failed")),
        Event(MODIFIED, seen("failed", "Failed")),
        Event(ADDED, seen("deleted")),
        Event(DELETED, seen("deleted")),
    ) == [("deleted", "podDelete", "Deleted", "n1"), ("failed", "podUpdate", "Failed", "n1")]


def test_what_left_no_node_is_not_told() -> None:
    nothing = profile([node("n1", cpu=1)]).decide(pod("big", uid="big", cpu=2))
    assert not messages_of(
        Event(ADDED, node("n1")),
        Event(ADDED, seen("over before we came", "Succeeded")),
        Event(DELETED, seen("over before we came", "Succeeded")),
        Event(ADDED, pod("never bound", uid="never bound")),
        Event(DELETED, pod("never bound", uid="never bound")),
        nothing,
    )


class Producer:
    """One that tells the same again and again, and what became of it."""

    def __init__(self, port: int) -> None:
        self.counts: Counter[str] = Counter()
        self.num_reports = 0
        self.num_told = 0
        self.producer = SnifferProducer(Address("127.0.0.1", port), time.time_ns, self._count)

    def _count(self, result: str, number: int) -> None:
        self.counts[result] += number
        self.num_reports += result == "dropped"

    def tell_until(self, condition: Callable[[], bool], what: str) -> None:
        def look() -> bool:
            for _ in range(50):
                self.producer.tell("schedulePod", "ScheduleSuccess", "a", "n1")
            self.num_told += 50
            return condition()

        wait_until(look, what)


def test_a_service_that_comes_back_is_told_again() -> None:
    taken: list[Message] = []
    port = free_port()
    told = Producer(port)

    async def story() -> None:
        await asyncio.to_thread(told.tell_until, lambda: told.num_reports > 2, "it was given up twice")
        service = SnifferService(taken.append)
        await service.start(f"127.0.0.1:{port}")
        await asyncio.to_thread(told.tell_until, lambda: len(taken) > 1000, "it is told")
        await asyncio.to_thread(told.producer.stop)
        await service.stop()

    asyncio.run(story())
    assert told.counts["sent"] == len(taken)


def test_a_service_that_comes_late_is_told_what_happens_then() -> None:
    """Without a message that would have to be lost for finding out."""
    taken: list[Message] = []
    port = free_port()
    told = Producer(port)

    async def story() -> None:
        await asyncio.to_thread(told.tell_until, lambda: told.num_reports > 0, "nobody is there")
        service = SnifferService(taken.append)
        await service.start(f"127.0.0.1:{port}")
        await asyncio.to_thread(told.tell_until, lambda: bool(taken), "it is told")
        await asyncio.to_thread(told.producer.stop)
        await service.stop()

    asyncio.run(story())
    assert told.counts["failed"] == 0
    assert told.counts["sent"] == len(taken)
    assert told.counts.total() == told.num_told


def test_who_hangs_up_at_once_is_given_a_message_a_second() -> None:
    """Somebody listens who is no sniffer: messages fail one by one, with pauses, and nobody is held up."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]

        def hang_up() -> None:
            with contextlib.suppress(OSError):
                while True:
                    other.accept()[0].close()

        threading.Thread(target=hang_up, daemon=True).start()
        told = Producer(port)
        told.tell_until(lambda: told.counts["failed"] > 1, "it was tried again")
        told.producer.stop()
        other.shutdown(socket.SHUT_RDWR)
    assert told.counts.total() == told.num_told
    assert told.counts["sent"] == 0
    assert told.counts["failed"] <= told.num_reports + 1


def test_who_is_not_there_is_sent_nothing() -> None:
    """Calls that come to nothing would cost the scheduler's process as much as others."""
    told = Producer(1)
    told.tell_until(lambda: told.num_reports > 2, "several pauses are over")
    told.producer.stop()
    assert told.counts == {"dropped": told.num_told}
