"""Who may be in a queue, by which name, and whose pods are one job there."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from fairway.batch.reasons import JobState, Refused
from fairway.model import Namespace, ObjectMeta, Pod, VolcanoPodGroup
from fairway.model.batch.queue import NamespaceChoice, QueueAliases
from fairway.testing import pod
from fairway.testing.group_builders import volcano_group
from tests.batch.room import Room, job
from tests.batch.test_failing_jobs import controller

ML = NamespaceChoice(match_labels={"team": "ml"})


def namespace(name: str, **labels: str) -> Namespace:
    return Namespace(metadata=ObjectMeta(name=name, labels=labels))


def of(name: str, each: Pod) -> Pod:
    return msgspec.structs.replace(each, metadata=msgspec.structs.replace(each.metadata, namespace=name))


def test_a_queue_is_for_namespaces_with_its_labels() -> None:
    spaces = [namespace("ml", team="ml", stage="prod"), namespace("bio", team="bio")]
    arrivals = [(1.0, of("ml", job("in"))), (1.0, of("bio", job("out"))), (1.0, of("bio", job("any", queue="all")))]
    room = Room(arrivals, objects=spaces, queues={"q": {"namespaces": ML}, "all": {}})
    room.until(5.0)
    assert room.starts == {"in": 1.0, "any": 1.0}
    (out,) = [each for each in room.desk.book if each.key == "bio/out"]
    assert (out.state, out.standing.reason) == (JobState.REFUSED, Refused.QUEUE_UNKNOWN)
    assert out.standing.words == "queue q is for namespaces with team=ml, which bio does not have"
    known = room.simulation.api.find("Namespace", "", "bio")
    assert known is not None
    room.simulation.api.update(msgspec.structs.replace(known, metadata=namespace("bio", team="ml").metadata))
    room.until(6.0)
    assert room.starts["out"] == 5.0, "the way out"


def alias_pod(name: str, **labels: str) -> Pod:
    return pod(name, cpu=1, labels=labels, annotations={"fairway.dev/duration": "10"})


@pytest.mark.parametrize(
    ("labels", "waits"),
    [
        ({"kueue.x-k8s.io/queue-name": "batch-lq"}, True),
        ({"kueue.x-k8s.io/queue-name": "other"}, False),
        ({"fairway.dev/queue": "q", "kueue.x-k8s.io/queue-name": "other"}, True),
    ],
)
def test_names_of_kueue(labels: dict[str, str], waits: bool) -> None:
    aliases = QueueAliases(kueue=("batch-lq",))
    room = Room([(0.0, alias_pod("j", **labels))], queues={"q": {"aliases": aliases, "state": "Paused"}})
    room.until(1.0)
    assert (room.starts == {}) == waits


@pytest.mark.parametrize(("name", "waits"), [("default", True), ("other", False)])
def test_queues_of_volcano(name: str, waits: bool) -> None:
    group = volcano_group("train", 2)
    group = VolcanoPodGroup(metadata=group.metadata, spec=msgspec.structs.replace(group.spec, queue=name))
    said = {"scheduling.k8s.io/group-name": "train", "fairway.dev/duration": "10"}
    members = [(0.0, pod(f"m{number}", cpu=1, annotations=said)) for number in range(2)]
    queues = {"q": {"aliases": QueueAliases(volcano=("default",)), "state": "Paused"}}
    room = Room(members, objects=[group], queues=queues)
    room.until(1.0)
    assert (room.starts == {}) == waits
    assert [each.key for each in room.desk.book] == (["default/train"] if waits else [])


@pytest.mark.parametrize(("together", "jobs"), [((), 3), (("Job",), 1), (("JobSet",), 3)])
def test_pods_of_a_controller_are_one_job_where_the_queue_says_so(together: Any, jobs: int) -> None:
    made = controller(job("train", cpu=2), number=3)
    room = Room(
        [(0.0, job("first", cpu=1, limit=30.0, run=30.0)), (5.0, made)],
        cpus=(6,),
        queues={"q": {"start_together": together}},
    )
    room.until(25.0)
    train = [each for each in room.desk.book if each.key != "default/first"]
    assert len(train) + sum(key != "default/first" for key in room.desk.book.ended) == jobs
    if jobs == 1:
        assert {name for name in room.starts if name != "first"} == set(), "all of them or none"
        assert (train[0].key, train[0].min_count) == ("default/train", 3)
        room.until(31.0)
        assert {time for name, time in room.starts.items() if name != "first"} == {30.0}


def test_a_controller_may_say_otherwise_itself() -> None:
    made = controller(job("train", cpu=2, start_together="false"), number=3)
    room = Room(
        [(0.0, job("first", cpu=1, limit=30.0))], cpus=(6,), objects=[made], queues={"q": {"start_together": ("Job",)}}
    )
    room.until(1.0)
    assert len(room.starts) == 3
