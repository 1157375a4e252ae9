"""Somebody sets the machine's clock while jobs wait: their deadlines and back-offs are as long as they were."""

from __future__ import annotations

import pytest

from fairway.live.api.clock import SystemClock
from fairway.live.service import LiveScheduler
from tests.live.fake_api_server import FakeApiServer, Tree
from tests.live.live_cluster import bindings, condition, node, play, pod
from tests.live.test_jobs import events, gang, quickly

DAY = 86400.0


class SetClock(SystemClock):
    """The machine's own, which somebody sets, and on which time passes while nothing runs."""

    def __init__(self) -> None:
        super().__init__()
        self.shift = self.passed = 0.0

    def now(self) -> float:
        return super().now() + self.passed + self.shift

    def monotonic(self) -> float:
        return super().monotonic() + self.passed


async def until_all_wait(api: FakeApiServer) -> None:
    """One job is incomplete, one half-started, one does not fit; all were looked at."""
    words = {"late": "is incomplete", "half": "members fit", "wide": "members"}
    await api.until(lambda: all(text in condition(api, f"{name}-1").get("message", "") for name, text in words.items()))


async def look_again(api: FakeApiServer, live: LiveScheduler) -> None:
    """Things happen that help nobody, so that the scheduler looks at its deadlines."""
    for number in range(3):
        api.put("nodes", node(f"small-{number}", cpu="100m"))
        await api.until(lambda name=f"small-{number}": name in live.cluster.nodes.row_of)  # type: ignore[misc]


def objects() -> list[tuple[str, Tree]]:
    half = gang("half", 3)
    half[0]["spec"]["nodeName"] = "n1"
    pods = [pod("there", nodeName="n1"), *gang("late", 3)[:2], *half, *gang("wide", 4)]
    return [("nodes", node("n1", cpu="3")), *(("pods", each) for each in pods)]


HOURLY = quickly(incompleteAfter="1h", partialBind="1h")


@pytest.mark.parametrize("shift", [-DAY, 0.0, DAY], ids=["set back", "left alone", "set forward"])
def test_deadlines_are_as_far_as_they_were(shift: float) -> None:
    clock = SetClock()

    async def story(api: FakeApiServer, live: LiveScheduler) -> None:
        await until_all_wait(api)
        clock.shift = shift
        await look_again(api, live)
        assert not events(api, "GangIncomplete")
        assert not events(api, "GangBroken")
        clock.passed = 3601.0
        await look_again(api, live)
        await api.until(lambda: bool(events(api, "GangIncomplete")) and bool(events(api, "GangBroken")))
        api.put("nodes", node("n2", cpu="8"))
        await api.until(lambda: sum(name.startswith(("half", "wide")) for name in bindings(api)) == 7)

    play(story, *objects(), configuration=HOURLY, clock=clock)


@pytest.mark.parametrize("shift", [-DAY, DAY], ids=["set back", "set forward"])
def test_a_job_that_rests_comes_again(shift: float) -> None:
    clock = SetClock()

    async def story(api: FakeApiServer, live: LiveScheduler) -> None:
        await until_all_wait(api)
        clock.shift = shift
        api.put("nodes", node("n2", cpu="8"))
        await api.until(lambda: sum(name.startswith(("half", "wide")) for name in bindings(api)) == 7)
        assert not events(api, "GangBroken")

    play(story, *objects(), configuration=HOURLY, clock=clock)
