"""Policies that go by the clock: what they refuse is let in when its hour comes, cached or not, simulated or not."""

from __future__ import annotations

import datetime as dt
import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairway.cluster import Aspect, Cluster, Event, Verb
from fairway.config import Configuration, decode_configuration
from fairway.config.plugin_entry import PluginEntry, implemented_points
from fairway.cycle.guard import PluginError
from fairway.model.meta import EPOCH
from fairway.plugin import TIME_PASSED, Hint, Locality, Plugin, Refusal
from fairway.plugins.registry import REGISTRY
from fairway.queue import Place
from fairway.scheduler import Scheduler
from fairway.sim.simulation import SchedulerPlan
from fairway.testing import Situation, check_plugin, node, pod
from tests.cycle.profiles import profile
from tests.sim.diary import simulate
from tests.test_scheduler import SmallWorld

EXAMPLE: type[Plugin] = runpy.run_path(str(Path(__file__).parent.parent / "examples" / "plugins" / "cheap_hours.py"))[
    "CheapHours"
]
HOUR, DAY = 3600.0, 86_400.0
PATIENT = {"example.com/when": "cheap"}


def configuration(*kinds: type[Plugin]) -> Configuration:
    registry = {**REGISTRY, **{kind.name: PluginEntry(kind, implemented_points(kind)) for kind in kinds}}
    config = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"plugins": {"multiPoint": {"enabled": [{"name": kind.name} for kind in kinds]}}}],
    }
    return decode_configuration(config, "test", registry)


def plan(*kinds: type[Plugin]) -> list[SchedulerPlan]:
    return [SchedulerPlan("default-scheduler", configuration(*kinds))]


# -- the example ------------------------------------------------------------------------------------------------------


def test_the_example_keeps_its_word() -> None:
    check_plugin(EXAMPLE, examples=5)
    cheap = Situation([node("n1", cpu=4)], [pod("p", labels=PATIENT), pod("q")])
    check_plugin(EXAMPLE, examples=[cheap])
    check_plugin(EXAMPLE, args={"begin": 9, "end": 17}, examples=[cheap])


def test_a_simulated_pod_is_bound_when_its_hour_comes() -> None:
    arrivals = [
        (7 * HOUR, pod("late", labels=PATIENT)),
        (7 * HOUR, pod("now")),
        (23 * HOUR, pod("night", labels=PATIENT)),
    ]
    _, diary = simulate([node("a", cpu=4)], arrivals, plan(EXAMPLE))
    assert diary.of("now")[0] == (7 * HOUR, "bound to a")
    assert diary.of("late")[0] == (22 * HOUR, "bound to a")
    assert diary.of("night")[0] == (23 * HOUR, "bound to a")


def test_a_simulation_waits_a_day_for_an_hour_that_never_comes() -> None:
    class Never(Plugin):
        reads = Aspect.TIME
        time_step = 3600

        def pre_filter(self, pod: Any, nodes: Any) -> Any:
            return Refusal(("not yet",))

    simulation, _ = simulate([node("a", cpu=4)], [(0, pod("p"))], plan(Never))
    result = simulation.result
    assert result.waiting == 1
    assert DAY <= result.end < DAY + 2 * HOUR
    assert any("goes by the clock" in problem for problem in result.problems)


def test_a_real_clock_wakes_it_too() -> None:
    """Whoever drives the scheduler is told when to come back, by the clock of its world: seconds since 1970."""
    world = SmallWorld()
    midnight = dt.datetime(2026, 3, 1, tzinfo=dt.UTC).timestamp()
    world.advance(midnight + 20.5 * HOUR - world.now())
    world.scheduler = Scheduler(configuration(EXAMPLE), world, tie_break="first")
    world.scheduler.observe(Event(Verb.ADDED, node("a", cpu=4)))
    world.scheduler.observe(Event(Verb.ADDED, pod("p", labels=PATIENT)))
    for _ in range(20):
        world.scheduler.run_until_idle()
        if world.bindings:
            break
        coming = world.scheduler.next_wakeup()
        assert coming is not None
        assert coming > world.now()
        world.advance(coming - world.now())
    assert world.bindings == [("p", "a")]
    assert midnight + 22 * HOUR <= world.now() < midnight + 22 * HOUR + 10


def test_pods_that_others_refused_do_not_wake_with_the_clock() -> None:
    world = SmallWorld()
    world.scheduler = Scheduler(configuration(EXAMPLE), world, tie_break="first", start=EPOCH.timestamp())
    world.scheduler.observe(Event(Verb.ADDED, node("a", cpu=4)))
    world.scheduler.observe(Event(Verb.ADDED, pod("big", cpu=8)))
    world.scheduler.run_until_idle()
    assert world.scheduler.cluster.clock.is_read
    assert not world.scheduler.waits_for_time
    waiting = world.scheduler.queue.find(pod("big").metadata.uid)
    assert waiting is not None
    world.advance(2 * HOUR - 1)  # nothing but the clock, and less than a flush of what waits too long
    world.scheduler.queue.move(
        [change for change in (world.scheduler.cluster.clock.advance(EPOCH.timestamp() + world.now()),) if change]
    )
    assert waiting.place is Place.UNSCHEDULABLE


def test_a_gate_opens_by_the_clock() -> None:
    class Gate(Plugin):
        reads = Aspect.TIME
        time_step = 600

        def pre_enqueue(self, pod: Any) -> Refusal | None:
            return None if self.now().hour >= 1 else Refusal(("too early",))

    _, diary = simulate([node("a", cpu=4)], [(60, pod("p"))], plan(Gate))
    assert diary.of("p")[0] == (HOUR, "bound to a")


# -- declarations -----------------------------------------------------------------------------------------------------


def test_who_asks_for_the_time_has_to_declare_it() -> None:
    class Undeclared(Plugin):
        def filter(self, pod: Any, nodes: Any, state: Any) -> Any:
            return np.full(len(nodes), self.now().hour > 3)

    with pytest.raises(AssertionError, match=r"add Aspect\.TIME to its `reads`"):
        check_plugin(Undeclared, examples=5)


def test_a_step_is_whole_seconds() -> None:
    class Odd(EXAMPLE):  # type: ignore[valid-type,misc]
        time_step = 0.5

    with pytest.raises(AssertionError, match=r"time_step is 0\.5; it has to be whole seconds"):
        check_plugin(Odd, examples=1)
    with pytest.raises(PluginError, match=r"time_step is 0\.5; it has to be whole seconds"):
        profile(Cluster(), Odd)


def test_a_plugin_that_does_not_wake_its_pods_is_found_out() -> None:
    class Deaf(EXAMPLE):  # type: ignore[valid-type,misc]
        def events(self) -> Any:
            return ()

    there = Situation([node("n1", cpu=4)], [pod("p", labels=PATIENT)])
    with pytest.raises(AssertionError, match="would leave the pod waiting although the clock came to Tuesday 06:00:00"):
        check_plugin(Deaf, args={"begin": 6, "end": 8}, examples=[there])


def test_a_plugin_that_keeps_an_old_hour_is_found_out() -> None:
    class Stale(Plugin):
        reads = Aspect.TIME | Aspect.NODE
        time_step = 3600
        hour: int | None = None

        def filter(self, pod: Any, nodes: Any, state: Any) -> Any:
            self.hour = self.now().hour if self.hour is None else self.hour
            return np.full(len(nodes), self.hour < 5)

    with pytest.raises(AssertionError, match="as remembered, after the clock came to"):
        check_plugin(Stale, examples=[Situation([node("n1", cpu=4)], [pod("p")])])


# -- caches -----------------------------------------------------------------------------------------------------------


class OddHours(Plugin):
    """Every second hour, nodes of one zone only; reads nodes and time."""

    reads = Aspect.NODE | Aspect.TIME
    time_step = 3600

    def filter(self, pod: Any, nodes: Any, state: Any) -> Any:
        zone = nodes.label("zone")
        return (zone == "a") | (self.now().hour % 2 == 0)


class Tide(Plugin):
    """Prefers full nodes in one quarter of an hour and empty ones in the next; reads pods and time."""

    reads = Aspect.PODS | Aspect.NODE | Aspect.TIME
    time_step = 900

    def score(self, pod: Any, nodes: Any, state: Any) -> Any:
        used = np.minimum(nodes.requested("cpu") // 100, 100)
        return used if self.now().minute // 15 % 2 else 100 - used


class WideTide(Tide):
    """The same, said to look further."""

    locality = Locality.CLUSTER


class Shift(Plugin):
    """Refuses everybody for ten minutes of an hour, before any node is looked at."""

    reads = Aspect.TIME
    time_step = 600

    def pre_filter(self, pod: Any, nodes: Any) -> Any:
        return Refusal(("a break",)) if self.now().minute // 10 == 3 else None

    def events(self) -> Any:
        return (Hint(TIME_PASSED),)


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("time"), st.floats(0, 5000)),
        st.tuples(st.just("pod"), st.sampled_from([1, 2])),
        st.tuples(st.just("zone"), st.sampled_from(["a", "b"])),
    ),
    max_size=25,
)


@settings(max_examples=40, deadline=None)
@given(STEPS, st.sampled_from([(OddHours,), (Tide,), (WideTide,), (Shift,), (OddHours, Tide, Shift)]))
def test_remembered_answers_are_those_that_one_would_get(steps: list[Any], kinds: tuple[type[Plugin], ...]) -> None:
    sides = []
    for caching in (True, False):
        cluster = Cluster()
        cluster.load(
            [node(name, cpu=8, labels={"zone": zone}) for name, zone in (("n1", "a"), ("n2", "b"), ("n3", "b"))]
        )
        sides.append((cluster, profile(cluster, "NodeResourcesFit", *kinds, caching=caching)))
    now = EPOCH.timestamp()
    for number, (what, value) in enumerate(steps):
        if what == "time":
            now += value
            for cluster, _ in sides:
                cluster.clock.advance(now)
        elif what == "zone":
            for cluster, _ in sides:
                cluster.apply(Event(Verb.MODIFIED, node("n3", cpu=8, labels={"zone": value})))
        else:
            decisions = [one.decide(pod(f"p{number}", cpu=value)) for _, one in sides]
            assert len({(one.node, one.score, one.message) for one in decisions}) == 1
            for (_, one), decision in zip(sides, decisions, strict=True):
                if decision.node:
                    one.assume(decision)
