"""The example of a plugin that holds pods: a group starts together, or not at all."""

from __future__ import annotations

import contextlib
import runpy
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairway.cluster import Event, Verb
from fairway.config import Configuration, decode_configuration
from fairway.config.plugin_entry import PluginEntry, implemented_points
from fairway.model import Pod
from fairway.plugin import Plugin
from fairway.plugins.registry import REGISTRY
from fairway.scheduler import Scheduler
from fairway.sim.simulation import SchedulerPlan
from fairway.testing import check_plugin, node, pod
from tests.cli.trial_files import Folder
from tests.sim.diary import simulate
from tests.test_scheduler import SmallWorld

EXAMPLES = Path(__file__).parent.parent.parent / "examples" / "plugins"
EXAMPLE: type[Plugin] = runpy.run_path(str(EXAMPLES / "start_together.py"))["StartTogether"]
WAIT_SECONDS = 60


def configuration() -> Configuration:
    registry = {**REGISTRY, EXAMPLE.name: PluginEntry(EXAMPLE, implemented_points(EXAMPLE))}
    config = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"plugins": {"multiPoint": {"enabled": [{"name": EXAMPLE.name}]}}}],
    }
    return decode_configuration(config, "test", registry)


def member(name: str, group: str, size: int, **spec: Any) -> Pod:
    return pod(name, labels={"example.com/group": group, "example.com/group-size": str(size)}, **spec)


def plan() -> list[SchedulerPlan]:
    return [SchedulerPlan("default-scheduler", configuration())]


def test_it_keeps_its_word() -> None:
    check_plugin(EXAMPLE)


def test_a_group_is_bound_when_it_is_complete() -> None:
    arrivals = [(10.0 * number, member(f"p{number}", "g", 3, cpu=1)) for number in range(3)]
    _, diary = simulate([node("a", cpu=4)], [arrivals[0], (5, pod("alone", cpu=1)), *arrivals[1:]], plan())
    assert [diary.of(f"p{number}")[0] for number in range(3)] == [(20, "bound to a")] * 3
    assert diary.of("alone")[0] == (5, "bound to a")
    told = [(time, reason, message) for time, subject, reason, message in diary.events if subject == "default/p0"]
    assert told == [
        (0, "Held", "on a by StartTogether, until 00:01:00"),
        (20, "Allowed", "to go to a"),
    ]


def test_a_group_that_stays_incomplete_gives_its_room_to_others() -> None:
    arrivals = [(0.0, member("p0", "g", 3, cpu=2)), (30.0, member("p1", "g", 3, cpu=2)), (40.0, pod("big", cpu=4))]
    _, diary = simulate([node("a", cpu=4)], arrivals, plan(), end=70)
    assert diary.of("big")[0] == (60, "bound to a")
    told = {subject: message for _, subject, reason, message in diary.events if reason == "NotAllowed"}
    assert told == {
        "default/p0": "rejected due to timeout after waiting 1m0s at plugin StartTogether",
        "default/p1": "p0 of the same group is not placed",
    }


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("come"), st.integers(0, 2)),
        st.tuples(st.just("leave"), st.integers(0, 8)),
        st.tuples(st.just("pass"), st.sampled_from([1, 20, 45, 61])),
    ),
    max_size=25,
)


@settings(max_examples=60, deadline=None)
@given(STEPS)
def test_no_member_is_bound_before_all_have_a_node(steps: list[tuple[str, int]]) -> None:
    """A naive bookkeeper beside the scheduler: who is there, who is bound, who may be."""
    world = SmallWorld()
    made = Scheduler(configuration(), world, tie_break="first")
    world.scheduler = made
    made.observe(Event(Verb.ADDED, node("a", cpu=5)))
    pods: dict[str, Pod] = {}
    bound: set[str] = set()
    for number, (what, which) in enumerate(steps):
        if what == "come":
            size = which + 1
            pods[f"p{number}"] = member(f"p{number}", f"g{which}", size, cpu=1)
            made.observe(Event(Verb.ADDED, pods[f"p{number}"]))
        elif what == "leave" and which < len(pods):
            name = sorted(pods)[which]
            gone = pods.pop(name)
            placed = made.cluster.pods.by_uid.get(gone.metadata.uid)
            made.observe(Event(Verb.DELETED, gone if placed is None else placed.pod))
            bound.discard(name)
        elif what == "pass":
            world.advance(which)
        before = len(world.bindings)
        made.run_until_idle()
        fresh = {name for name, _ in world.bindings[before:]}
        bound |= fresh
        on_nodes = {placed.pod.metadata.name for placed in made.cluster.pods.by_uid.values()}
        held = {one.pod.metadata.name: one for one in made.cluster.held}
        assert on_nodes == bound | held.keys()
        assert len(on_nodes) <= 5
        assert not bound & held.keys()
        assert all(world.now() - one.since < WAIT_SECONDS for one in held.values())
        for group in range(3):
            mine = {name for name in on_nodes if pods[name].metadata.labels["example.com/group"] == f"g{group}"}
            if mine & fresh:
                assert len(mine) >= group + 1  # complete at the moment of binding
            if mine & held.keys():
                assert len(mine) < group + 1  # nobody waits in vain


@pytest.fixture
def folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Folder:
    return Folder(tmp_path, capsys)


def test_why_tells_of_pods_that_were_held(tmp_path: Path, folder: Folder) -> None:
    for name in ("start_together.py", "start-together.yaml"):
        shutil.copy(EXAMPLES / name, tmp_path / name)
    with contextlib.chdir(tmp_path):
        assert folder.run("sim", "start-together.yaml", "--allow-plugins", "--save", "run.duckdb").code == 0
        allowed = folder.run("why", "train-worker-0", "--run", "run.duckdb", "--allow-plugins").out
        rejected = folder.run("why", "half-worker-0", "--run", "run.duckdb", "--allow-plugins").out
    assert "00:00:00  Held: on n-0 by StartTogether, until 00:01:00" in allowed
    assert "00:00:30  Allowed: to go to n-0" in allowed
    words = "NotAllowed: rejected due to timeout after waiting 1m0s at plugin start_together:StartTogether"
    assert f"00:01:00  {words}" in rejected
    assert rejected.index(words) < rejected.index("00:01:00  attempt")
