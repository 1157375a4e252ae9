"""Somebody sets the machine's clock while there are queues: windows, reservations and queues that open by themselves
follow it, to and fro; what runs does not feel it.
"""

from __future__ import annotations

import datetime as dt
from typing import Any

from fairway.live.service import LiveScheduler
from tests.live.fake_api_server import FakeApiServer, Tree
from tests.live.live_cluster import bindings, node, play
from tests.live.test_job_clocks import SetClock
from tests.live.test_jobs import events
from tests.live.test_queue_routes import QUEUES, job, record, with_kinds

HOUR = 3600.0


def moment(clock: SetClock, seconds: float) -> str:
    """So much later than it is."""
    return dt.datetime.fromtimestamp(int(clock.now() + seconds), dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def queue(**spec: Any) -> tuple[str, Tree]:
    return "queues.fairway.dev", {"metadata": {"name": "batch"}, "spec": {"schedulerName": "default-scheduler", **spec}}


def status(api: FakeApiServer, kind: str, name: str) -> Tree:
    found: Tree = api.objects[f"{kind}.fairway.dev"][name].get("status", {})
    return found


async def until_phase(api: FakeApiServer, kind: str, phase: str) -> None:
    await api.until(lambda: status(api, kind, "it").get("phase") == phase)


async def runs(api: FakeApiServer, name: str) -> Tree:
    """From the moment it is bound; its record."""
    await api.until(lambda: bindings(api).get(name))
    api.put("pods", api.pod(name) | {"status": {"phase": "Running"}})
    await api.until(lambda: record(api, name).get("state") == "Running")
    return record(api, name)


def is_cordoned(api: FakeApiServer) -> bool:
    return bool(api.objects["nodes"]["n1"]["spec"].get("unschedulable"))


def test_windows_follow_the_clock_and_what_runs_does_not_feel_it() -> None:
    clock = SetClock()

    async def story(api: FakeApiServer, live: LiveScheduler) -> None:
        before = await runs(api, "first")
        await until_phase(api, "maintenancewindows", "Announced")
        told = status(api, "maintenancewindows", "it")
        clock.shift = HOUR
        await until_phase(api, "maintenancewindows", "Active")
        await api.until(lambda: is_cordoned(api))
        now = status(api, "maintenancewindows", "it")
        assert (now["start"], now["end"]) == (told["start"], told["end"])
        assert now["closing"]["start"] == told["closing"]["start"]
        api.put("pods", job("late", cpu="1", limit="30m"))
        await api.until(lambda: record(api, "late").get("reason") == "Maintenance")
        assert told["end"].replace("T", " ") in record(api, "late")["message"], "as a clock on the wall shows it"
        clock.shift = 0.0
        await until_phase(api, "maintenancewindows", "Announced")
        await api.until(lambda: not is_cordoned(api))
        await api.until(lambda: bindings(api).get("late"))
        after = record(api, "first")
        assert (after["state"], after["intervals"]) == ("Running", before["intervals"])
        assert not events(api, "TimeLimitNear")
        assert len(events(api, "ClockStepped")) == 2

    window = {"start": moment(clock, HOUR - 60.0), "duration": "10m", "nodes": {"selector": {}}}
    window |= {"mode": "avoid", "drainLead": "30s"}
    objects = (
        queue(),
        ("maintenancewindows.fairway.dev", {"metadata": {"name": "it"}, "spec": window}),
        ("nodes", node("n1")),
        ("pods", job("first", cpu="2", limit="50m")),
    )
    play(story, *objects, settings=QUEUES, prepare=with_kinds, clock=clock)


def test_reservations_follow_the_clock() -> None:
    """After the clock was set back it begins later: a job that was too long before it fits."""
    clock = SetClock()

    async def story(api: FakeApiServer, live: LiveScheduler) -> None:
        await until_phase(api, "reservations", "Planned")
        api.put("pods", job("it", limit="80m"))  # of nobody whom it is for
        await api.until(lambda: record(api, "it").get("reason") == "Reserved")
        clock.shift = HOUR
        await until_phase(api, "reservations", "Active")
        await api.until(lambda: "until" in record(api, "it")["message"])
        clock.shift = -HOUR
        await until_phase(api, "reservations", "Planned")
        await runs(api, "it")
        assert status(api, "reservations", "it")["nodes"] == ["n1"]

    kept = {"start": moment(clock, HOUR - 60.0), "duration": "4h", "nodes": {"selector": {}}, "for": {"users": ["ada"]}}
    objects = (
        queue(),
        ("reservations.fairway.dev", {"metadata": {"name": "it"}, "spec": kept}),
        ("nodes", node("n1")),
    )
    play(story, *objects, settings=QUEUES, prepare=with_kinds, clock=clock)


def test_a_queue_opens_when_the_clock_says_so_and_is_paused_again_if_it_is_set_back() -> None:
    clock = SetClock()

    async def story(api: FakeApiServer, live: LiveScheduler) -> None:
        await api.until(lambda: record(api, "first").get("reason") == "QueueStopped")
        clock.shift = HOUR
        await runs(api, "first")
        assert status(api, "queues", "batch")["state"] == "Open"
        clock.shift = 0.0
        await api.until(lambda: status(api, "queues", "batch")["state"] == "Paused")
        api.put("pods", job("second", cpu="1", limit="10m"))
        await api.until(lambda: record(api, "second").get("reason") == "QueueStopped")

    objects = (
        queue(state="Paused", stateUntil=moment(clock, HOUR - 60.0)),
        ("nodes", node("n1")),
        ("pods", job("first", cpu="1", limit="10m")),
    )
    play(story, *objects, settings=QUEUES, prepare=with_kinds, clock=clock)
