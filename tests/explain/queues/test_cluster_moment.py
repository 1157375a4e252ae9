"""A cluster whose API server says anything at all is read without a traceback: an answer, notes, or what is wrong."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any

import pytest

from fairway.explain.queues.cluster_moment import ClusterQueues, KindsWanted, NoQueues, read_queues
from fairway.explain.queues.job_list import JobChoice, job_list
from fairway.live.api.connection import Answer
from fairway.live.api.problems import Forbidden, LiveProblem, Unreachable
from tests.live.api_door import ApiDoor

ALL = KindsWanted(("jobrecords",), ("queues", "accounts", "maintenancewindows", "reservations"))
META = {"name": "a", "namespace": "ns", "uid": "u"}


class Door(ApiDoor):
    """Answers by plural and namespace; whatever is not said is an empty list."""

    def __init__(self, answers: Mapping[str, tuple[int, bytes]]) -> None:
        self._answers = answers
        self.asked: list[str] = []

    async def answered(self, method: str, path: str, query: Mapping[str, Any], body: bytes | None) -> Answer:
        parts = path.split("/")
        key = f"{parts[-2]}/{parts[-1]}" if "namespaces" in parts else parts[-1]
        self.asked.append(key)
        status, said = self._answers.get(key, (200, b'{"metadata": {}, "items": []}'))
        return Answer(status, {}, said)


def listed(*items: Any) -> tuple[int, bytes]:
    return 200, json.dumps({"metadata": {}, "items": items}).encode()


def refused(words: str = 'User "ada" cannot list resource') -> tuple[int, bytes]:
    return 403, json.dumps({"message": words}).encode()


def read(wanted: KindsWanted = ALL, home: str | None = None, **answers: tuple[int, bytes]) -> ClusterQueues:
    door = Door({key.replace("__", "/"): value for key, value in answers.items()})
    return asyncio.run(read_queues(door, "https://there", wanted, 1.7e9, home=home))


@pytest.mark.parametrize(
    ("answer", "problem", "words"),
    [
        pytest.param((404, b"404 page not found\n"), NoQueues, "has no queues of jobs", id="no kinds"),
        pytest.param(refused(), Forbidden, "ada may not list jobrecords", id="not allowed"),
        pytest.param((500, b"{}"), Unreachable, "500", id="out of order"),
        pytest.param((200, b"[]"), Unreachable, "no list of jobrecords", id="no list"),
        pytest.param((200, b"{"), Unreachable, "no list of jobrecords", id="no JSON"),
        pytest.param((200, b"[" * 200_000), Unreachable, "no list of jobrecords", id="nested"),
        pytest.param((200, b'{"metadata": {}, "items": [3]}'), Unreachable, "no list of jobrecords", id="numbers"),
        pytest.param((200, b"\xff\xfe"), Unreachable, "no list of jobrecords", id="not text"),
    ],
)
def test_what_is_no_list_is_a_problem_in_words(
    answer: tuple[int, bytes], problem: type[LiveProblem], words: str
) -> None:
    with pytest.raises(problem, match=words):
        read(jobrecords=answer)


def test_objects_that_make_no_sense_are_notes() -> None:
    found = read(
        jobrecords=listed(
            {"metadata": META, "status": {"state": "Queued", "ledger": {"key": 3}}},
            {"metadata": META, "status": {"state": "Queued", "members": "many"}},
            {"metadata": META},
        ),
        queues=listed({"metadata": {"name": "batch"}, "spec": {"depth": "deep"}}),
        accounts=listed({"metadata": {"name": "x"}, "spec": {}, "status": {"book": {"settled": "much"}}}),
        maintenancewindows=listed({"metadata": {"name": "w"}, "spec": {"start": "soon", "duration": "1h"}}),
    )
    assert [note.partition(" ")[0] for note in found.notes] == ["Queue", "MaintenanceWindow", "JobRecord", "JobRecord"]
    assert job_list(found.moment, JobChoice()).rows() == []


def test_who_may_not_see_all_sees_what_they_may() -> None:
    found = read(home="mine", jobrecords=refused(), queues=refused())
    assert [note.partition(":")[0] for note in found.notes] == [
        "only jobs of namespace mine are shown",
        "told without its queues",
    ]
    with pytest.raises(Forbidden, match="list jobrecords"):
        read(home="mine", jobrecords=refused(), mine__jobrecords=refused())
