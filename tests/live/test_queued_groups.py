"""A PodGroup whose job waits in a queue says its place, when it will likely start, and what it waits for."""

from __future__ import annotations

import re

import pytest

from fairway.live.batch.group_words import ordinal
from fairway.live.service import LiveScheduler
from tests.live.fake_api_server import FakeApiServer, Tree
from tests.live.live_cluster import bindings, node, play
from tests.live.test_jobs import CONFIGURATION, GROUP_KIND, pod_group, said
from tests.live.test_queue_routes import QUEUES, job, record, with_kinds

PATH = "/podgroups/t/status"


def member(name: str, limit: str = "2h") -> Tree:
    tree = job(name, cpu="2", limit=limit)
    tree["spec"]["schedulingGroup"] = {"podGroupName": "t"}
    return tree


def prepare(api: FakeApiServer) -> None:
    with_kinds(api)
    api.serve(*GROUP_KIND)


def test_its_condition_says_what_its_record_says() -> None:
    async def story(api: FakeApiServer, live: LiveScheduler) -> None:
        await api.until(lambda: len(bindings(api)) == 1)
        first = api.objects["pods"]["default/first"]
        api.put("pods", first | {"status": first.get("status", {}) | {"phase": "Running"}})
        await api.until(lambda: record(api, "first").get("state") == "Running")
        api.put(GROUP_KIND[0], pod_group("t", 2))
        for number in range(2):
            api.put("pods", member(f"t-{number}"))
        await api.until(lambda: record(api, "t").get("reason") == "Resources" and record(api, "t").get("plan"))
        await api.until(lambda: "likely" in said(api, "t")[2])
        status, reason, message = said(api, "t")
        assert (status, reason) == ("False", "Unschedulable")
        told = record(api, "t")
        words = f"queue batch: 1st, likely {told['start']}, waits for Resources: {told['message']}"
        assert message == words
        api.put("pods", job("short", cpu="4", limit="10m"))  # one who comes later says nothing new of it
        await api.until(lambda: record(api, "short").get("reason") == "Priority")
        assert len(api.sent("PATCH", PATH)) <= 4
        held = api.objects["jobrecords.fairway.dev"]["default/t"]
        api.put("jobrecords.fairway.dev", held | {"spec": {"hold": True}})
        await api.until(lambda: "Held" in said(api, "t")[2])
        assert re.fullmatch(r"queue batch: (likely \S+, )?Held: .*operator.*", said(api, "t")[2])

    objects = (
        ("queues.fairway.dev", {"metadata": {"name": "batch"}, "spec": {"schedulerName": "default-scheduler"}}),
        ("nodes", node("n1")),
        ("pods", job("first")),
    )
    play(story, *objects, configuration=CONFIGURATION, settings=QUEUES, prepare=prepare)


@pytest.mark.parametrize(
    ("number", "word"),
    [(1, "1st"), (2, "2nd"), (3, "3rd"), (4, "4th"), (11, "11th"), (12, "12th"), (13, "13th"), (21, "21st"),
     (102, "102nd"), (111, "111th"), (1013, "1013th")],
)  # fmt: skip
def test_places_are_written_as_people_write_them(number: int, word: str) -> None:
    assert ordinal(number) == word
