"""Jobs on an API server, in mode fairway: bindings in one go, one that fails, what people are told, restarts."""

from __future__ import annotations

import asyncio
import copy
import json
from typing import Any

import pytest
from aiohttp import web

from fairway.config.configuration import decode_configuration
from fairway.cycle import Decision, Outcome
from fairway.cycle.groups.group_decision import GroupDecision, GroupOutcome
from fairway.live.api.connection import Answer
from fairway.live.service import LiveScheduler
from fairway.live.world.conditions import StatusWriter
from fairway.live.world.events import EventWriter
from fairway.live.world.job_reports import JobReports
from fairway.live.world.live_world import LiveWorld
from fairway.model.group import GroupKey, Spelling
from fairway.model.tenant import EXCLUSIVE
from fairway.plugins.registry import REGISTRY
from fairway.scheduler import Scheduler
from fairway.testing import pod as made_pod
from tests.live.fake_api_server import FakeApiServer, Tree
from tests.live.live_cluster import HEADER, bindings, condition, node, play, pod
from tests.live.test_volumes import WAITING, claim, provision
from tests.live.virtual_loop import LoopClock, run_virtually
from tests.test_scheduler import SmallWorld

CONFIGURATION: Tree = {"profiles": [{"schedulerName": "default-scheduler", "fairway": {"gangs": {}}}]}
VOLUMES = (("storageclasses", WAITING), ("persistentvolumeclaims", claim()))


def gang(name: str, number: int, **spec: Any) -> list[Tree]:
    made = []
    for index in range(number):
        each = pod(f"{name}-{index}", **spec)
        each["metadata"]["annotations"] = {"fairway.dev/gang": name, "fairway.dev/gang-size": str(number)}
        made.append(each)
    return made


def events(api: FakeApiServer, reason: str) -> list[Tree]:
    return [each for each in api.sent("POST", "/events") if each["reason"] == reason]


def test_a_job_is_bound_in_one_go_and_people_hear_of_its_start() -> None:
    async def story(api: FakeApiServer, live: LiveScheduler) -> None:
        jobs = gang("t", 3)
        for each in jobs[:2]:
            api.put("pods", each)
        words = "job default/t is incomplete: 2 of 3 members exist"
        await api.until(lambda: all(condition(api, f"t-{index}").get("message") == words for index in range(2)))
        assert not bindings(api)
        api.put("pods", jobs[2])
        await api.until(lambda: len(bindings(api)) == 3)
        await api.until(lambda: events(api, "GangScheduled"))
        (told,) = events(api, "GangScheduled")
        assert told["note"] in {"3 of 3 members on 2 nodes", "3 of 3 members on 1 node"}
        counted = live.metrics.render().decode()
        assert 'scheduler_podgroup_schedule_attempts_total{profile="default-scheduler",result="scheduled"} 1' in counted
        assert "fairway_gang_members_count 1" in counted

    play(story, ("nodes", node("n1")), ("nodes", node("n2")), configuration=CONFIGURATION)


@pytest.mark.parametrize("position", range(8))
def test_one_binding_of_eight_that_is_refused_is_made_good(position: int) -> None:
    async def story(api: FakeApiServer, live: LiveScheduler) -> None:
        api.answer("POST", rf"/pods/t-{position}/binding$", 403, "quota", times=1)
        for each in gang("t", 8):
            api.put("pods", each)
        await api.until(lambda: len(bindings(api)) == 8)
        await api.until(lambda: live.world.backlog == 0)
        assert len(api.sent("POST", "/binding$")) == 9
        assert not events(api, "GangBroken")

    play(story, ("nodes", node("n1", cpu="8")), configuration=CONFIGURATION)


def test_members_are_told_why_their_job_waits_and_not_again_and_again() -> None:
    async def story(api: FakeApiServer, live: LiveScheduler) -> None:
        for each in gang("t", 3):
            api.put("pods", each)
        await api.until(lambda: all(condition(api, f"t-{index}") for index in range(3)))
        said = {condition(api, f"t-{index}")["message"] for index in range(3)}
        (words,) = said
        assert words.startswith("job default/t can never fit on these nodes: 2 of 3 members would fit")
        assert "is short of cpu: 0/1 nodes are available" in words
        await api.until(lambda: events(api, "FailedGang"))
        assert not events(api, "FailedScheduling")
        before = len(api.sent("PATCH", "/status$"))
        for number in range(2100, 2105):
            api.put("nodes", node("n1", cpu=f"{number}m"))
            await api.until(lambda cpu=number: live.cluster.nodes.allocatable[0, 0] == cpu)  # type: ignore[misc]
        assert len(api.sent("PATCH", "/status$")) == before

    play(story, ("nodes", node("n1", cpu="2")), configuration=CONFIGURATION)


@pytest.mark.parametrize("number", range(1, 4))
def test_what_another_scheduler_left_half_started_is_finished(number: int) -> None:
    async def story(api: FakeApiServer, live: LiveScheduler) -> None:
        await api.until(lambda: all(api.pod(f"t-{index}")["spec"].get("nodeName") for index in range(4)))
        assert len(api.sent("POST", "/binding$")) == 4 - number

    jobs = gang("t", 4)
    for each in jobs[:number]:
        each["spec"]["nodeName"] = "n1"
    play(story, ("nodes", node("n1")), *(("pods", each) for each in jobs), configuration=CONFIGURATION)


def test_a_node_that_goes_while_a_job_is_bound_is_made_good_elsewhere() -> None:
    async def story(api: FakeApiServer, live: LiveScheduler) -> None:
        api.answer("POST", r"/pods/t-0/binding$", 404, 'nodes "n1" not found', times=1)
        for each in gang("t", 4):
            api.put("pods", each)
        await api.until(lambda: len(bindings(api)) == 4)

    play(story, ("nodes", node("n1", cpu="2")), ("nodes", node("n2", cpu="4")), configuration=CONFIGURATION)


def quickly(**gangs: Any) -> Tree:
    return {"profiles": [{"schedulerName": "default-scheduler", "fairway": {"gangs": gangs}}]}


def test_nobody_is_bound_before_the_volumes_of_all_are_there() -> None:
    async def story(api: FakeApiServer, live: LiveScheduler) -> None:
        await api.until(lambda: api.sent("PATCH", "/persistentvolumeclaims/data"))
        await api.until(lambda: live.world.backlog == 3)
        assert not api.sent("POST", "/binding")
        provision(api)
        await api.until(lambda: len(bindings(api)) == 3)

    jobs = gang("t", 3)
    jobs[1]["spec"]["volumes"] = [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]
    play(
        story,
        ("nodes", node("n1")),
        *copy.deepcopy(VOLUMES),
        *(("pods", each) for each in jobs),
        configuration=CONFIGURATION,
    )


def test_a_volume_that_can_not_be_had_keeps_everybody_back() -> None:
    async def story(api: FakeApiServer, live: LiveScheduler) -> None:
        await api.until(lambda: api.sent("PATCH", "/persistentvolumeclaims/data"))
        await api.until(lambda: "quota" in condition(api, "t-1").get("message", ""))
        assert not api.sent("POST", "/binding")
        provision(api)
        await api.until(lambda: len(bindings(api)) == 3)

    jobs = gang("t", 3)
    jobs[1]["spec"]["volumes"] = [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]

    async def refused(api: FakeApiServer, live: LiveScheduler) -> None:
        api.answer("PATCH", "/persistentvolumeclaims/data", 403, "quota", times=2)
        for each in jobs:
            api.put("pods", each)
        await story(api, live)

    play(refused, ("nodes", node("n1")), *copy.deepcopy(VOLUMES), configuration=CONFIGURATION)


def test_a_member_that_somebody_else_bound_counts() -> None:
    async def story(api: FakeApiServer, live: LiveScheduler) -> None:
        async def first(request: web.Request, go_on: object) -> None:
            taken = copy.deepcopy(api.pod("t-1"))
            taken["spec"]["nodeName"] = "n2"
            api.put("pods", taken)

        api.fault("POST", r"/pods/t-1/binding$", first)
        for each in gang("t", 3, nodeSelector={"kubernetes.io/hostname": "n1"}):
            api.put("pods", each)
        await api.until(lambda: events(api, "GangScheduled"))
        assert bindings(api) == {"t-0": "n1", "t-1": "n2", "t-2": "n1"}
        assert len(api.sent("POST", "/binding$")) == 3
        assert not events(api, "GangBroken")

    play(story, ("nodes", node("n1")), ("nodes", node("n2")), configuration=CONFIGURATION)


@pytest.mark.parametrize("acts", ["tell", "evict"])
def test_a_job_that_stays_half_started_is_told_of_and_begins_anew_where_that_is_wanted(acts: str) -> None:
    async def story(api: FakeApiServer, live: LiveScheduler) -> None:
        await api.until(lambda: events(api, "GangBroken"))
        (told,) = events(api, "GangBroken")
        assert (told["regarding"]["kind"], told["regarding"]["name"]) == ("ReplicaSet", "r")
        assert told["note"] == "job default/t: 1 of the 3 members that it takes run"
        if acts == "tell":
            await api.until(lambda: live.metrics.render().decode().find("fairway_gang_half_started 1") > 0)
            assert not api.sent("DELETE", "/pods/")
            return
        await api.until(lambda: api.sent("DELETE", "/pods/"))
        assert [body["preconditions"] for body in api.sent("DELETE", "/pods/t-0$")] == [{"uid": "uid-of-t-0"}]
        assert list(bindings(api)) == ["begun"]

    jobs = gang("t", 3)
    for each in jobs:
        owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "uid": "u", "controller": True}
        each["metadata"] |= {"ownerReferences": [owner], "uid": f"uid-of-{each['metadata']['name']}"}
    jobs[0]["spec"]["nodeName"] = "n1"
    other = pod("begun", nodeName="n1")
    play(
        story,
        ("nodes", node("n1", cpu="3")),
        ("pods", other),
        *(("pods", each) for each in jobs),
        configuration=quickly(partialBind="50ms", onBroken=acts),
    )


GROUP_KIND = ("podgroups.scheduling.k8s.io", "PodGroup", "v1alpha2")


def pod_group(name: str, number: int, **spec: Any) -> Tree:
    return {
        "metadata": {"name": name, "generation": 1},
        "spec": {"schedulingPolicy": {"gang": {"minCount": number}}, **spec},
    }


def grouped(name: str, number: int, **spec: Any) -> list[Tree]:
    return [pod(f"{name}-{index}", schedulingGroup={"podGroupName": name}, **spec) for index in range(number)]


def said(api: FakeApiServer, name: str, kind: str = "PodGroupScheduled") -> tuple[str, str, str]:
    group = api.objects["podgroups.scheduling.k8s.io"][f"default/{name}"]
    found = [each for each in group.get("status", {}).get("conditions", ()) if each["type"] == kind]
    return (found[0]["status"], found[0]["reason"], found[0].get("message", "")) if found else ("", "", "")


@pytest.mark.parametrize("code", [409, 500])
def test_what_a_pod_group_has_to_say_is_written_though_the_first_try_is_refused(code: int) -> None:
    """A job that has started is not tried again: nothing else would write it."""

    async def story(api: FakeApiServer, live: LiveScheduler) -> None:
        api.serve(*GROUP_KIND)
        api.answer("PATCH", "/podgroups/t/status", code, "not now", times=2)
        api.put(GROUP_KIND[0], pod_group("t", 2))
        for each in grouped("t", 2):
            api.put("pods", each)
        await api.until(lambda: said(api, "t") == ("True", "Scheduled", ""))
        assert len(bindings(api)) == 2
        reports = live.world.jobs if isinstance(live.world, LiveWorld) else None
        await api.until(lambda: reports is not None and reports.backlog == 0)
        assert len(api.sent("PATCH", "/podgroups/t/status")) == 3

    play(story, ("nodes", node("n1")), configuration=CONFIGURATION)


@pytest.mark.parametrize("streams_lists", [True, False])
def test_a_server_that_has_the_next_version_of_pod_groups_is_served(streams_lists: bool) -> None:
    async def story(api: FakeApiServer, live: LiveScheduler) -> None:
        api.streams_lists = streams_lists
        api.serve(*GROUP_KIND[:2], "v1beta1")
        made = api.put(GROUP_KIND[0], pod_group("t", 2))
        if not streams_lists:
            del made["apiVersion"], made["kind"]  # items of lists do not have them
        for each in grouped("t", 2):
            api.put("pods", each)
        await api.until(lambda: said(api, "t") == ("True", "Scheduled", ""))
        paths = {path for method, path, _ in api.requests if method == "PATCH" and "podgroups" in path}
        assert paths == {"/apis/scheduling.k8s.io/v1beta1/namespaces/default/podgroups/t/status"}

    play(story, ("nodes", node("n1")), configuration=CONFIGURATION)


def test_a_group_that_makes_room_for_a_job_is_told_and_so_is_everybody() -> None:
    async def story(api: FakeApiServer, live: LiveScheduler) -> None:
        api.serve(*GROUP_KIND)
        for name in ("low", "high"):
            api.put(GROUP_KIND[0], pod_group(name, 2))
        for each in grouped("low", 2, priority=1, cpu="2"):
            api.put("pods", each)
        await api.until(lambda: len(bindings(api)) == 2)
        for each in grouped("high", 2, priority=9, cpu="2"):
            api.put("pods", each)
        words = "default-scheduler: preempting to accommodate job default/high"
        await api.until(lambda: said(api, "low", "DisruptionTarget") == ("True", "PreemptionByScheduler", words))
        await api.until(lambda: events(api, "GangPreempting"))
        (told,) = events(api, "GangPreempting")
        assert (told["regarding"]["kind"], told["regarding"]["name"]) == ("PodGroup", "high")
        assert told["note"] == "2 less important pods have to make room for job default/high"
        await api.until(lambda: set(bindings(api)) == {"high-0", "high-1"})
        assert said(api, "low")[:2] == ("True", "Scheduled")
        assert said(api, "high", "DisruptionTarget") == ("", "", "")

    play(story, ("nodes", node("n1", cpu="4")), configuration=CONFIGURATION)


def test_a_kind_that_pods_name_is_looked_for_at_once() -> None:
    async def story(api: FakeApiServer, live: LiveScheduler) -> None:
        words = "job default/t is incomplete: no PodGroup default/t"
        for each in grouped("t", 2):
            api.put("pods", each)
        await api.until(lambda: condition(api, "t-0").get("message") == words)
        api.serve(*GROUP_KIND)
        api.put(GROUP_KIND[0], pod_group("t", 2))
        await api.until(lambda: len(bindings(api)) == 2)

    play(story, ("nodes", node("n1")), configuration=CONFIGURATION)


def test_a_shadow_tells_nobody_of_jobs() -> None:
    async def story(api: FakeApiServer, live: LiveScheduler) -> None:
        await api.until(lambda: len(live.scheduler.queue) == 5)
        await api.until(lambda: live.metrics.render().decode().find('fairway_gangs{state="gated"} 1') > 0)
        assert {method for method, _, _ in api.requests} == {"GET"}

    api_objects = [("pods", each) for each in (*gang("t", 3), *gang("late", 3)[:2])]
    play(story, ("nodes", node("n1", cpu="2")), *api_objects, configuration=CONFIGURATION, is_shadow=True)


def test_members_hear_of_new_words_ten_seconds_later() -> None:
    """Attempts have other words each time; what is written is the latest, once in ten seconds a job."""

    class Written:
        """An API server that keeps what it is asked to write."""

        def __init__(self) -> None:
            self.words: list[tuple[float, str]] = []

        async def request(self, method: str, path: str, *, body: bytes | None = None, **_: Any) -> Answer:
            conditions = json.loads(body or b"{}").get("status", {}).get("conditions", [])
            self.words += [(asyncio.get_running_loop().time(), each["message"]) for each in conditions]
            return Answer(200, {}, b'{"metadata": {"resourceVersion": "8"}}')

    async def story() -> None:
        api, clock, member = Written(), LoopClock(), made_pod("t-0")
        statuses = StatusWriter(api, clock, newest=lambda each: each, may_write=lambda: True)
        writer = EventWriter(api, clock, may_write=lambda: True, is_busy=lambda: False)
        reports = JobReports(api, clock, statuses, writer, lambda: True)
        scheduler = Scheduler(decode_configuration(HEADER | CONFIGURATION, "test", REGISTRY), SmallWorld(True))
        reports.attach(scheduler)
        key = GroupKey(Spelling.FAIRWAY, "default", "t")
        working = [asyncio.ensure_future(each.run()) for each in (reports, statuses)]
        for index in range(25):
            outcome = Decision(member, scheduler.cluster.classify(member), Outcome.UNSCHEDULABLE, words=f"try {index}")
            decision = GroupDecision(key, GroupOutcome.UNSCHEDULABLE, [outcome], f"try {index}")
            reports.report_job(decision, "job", clock.now())
            await clock.sleep(1)
        await clock.sleep(20)
        for task in working:
            task.cancel()
        assert [words for _, words in api.words] == ["try 0", "try 9", "try 19", "try 24"]
        assert [round(time) for time, _ in api.words] == [0, 10, 20, 30]

    run_virtually(story())


def test_what_a_job_says_of_its_nodes_counts_for_its_pods() -> None:
    """Its pod says nothing, and comes before anybody knows of the Job."""
    meta = {"name": "train", "uid": "uid-of-train", "annotations": {EXCLUSIVE: "node"}}
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "train", "uid": "uid-of-train", "controller": True}
    member = pod("train-0", nodeName="n1")
    member["metadata"]["ownerReferences"] = [owner]

    async def story(api: FakeApiServer, live: LiveScheduler) -> None:
        placed = live.scheduler.cluster.pods.by_uid
        await api.until(lambda: len(placed) == 1)
        api.serve("jobs.batch", "Job", "v1")
        api.put("jobs.batch", {"metadata": meta, "spec": {"template": {"spec": {"containers": []}}}})
        live.watch.look_again()
        await api.until(lambda: any(EXCLUSIVE in each.pod.metadata.annotations for each in placed.values()))
        api.put("pods", pod("other"))
        await api.until(lambda: "were taken exclusively" in condition(api, "other").get("message", ""))
        api.delete("pods", "default/train-0")
        await api.until(lambda: "other" in bindings(api))

    exclusive = {"profiles": [{"schedulerName": "default-scheduler", "fairway": {"exclusive": True}}]}
    play(story, ("nodes", node("n1")), ("pods", member), configuration=exclusive)
