"""Jobs of which each has a name of its own come, start or never do, and go: nothing is left of any of them.

Whoever may create pods may name jobs, as many as they like, and have each speak of others that there need not be.
"""

from __future__ import annotations

import sys
from collections import Counter
from typing import Any

import pytest

from fairway.cluster import Event, Verb
from fairway.model import Pod
from fairway.scheduler import Scheduler
from fairway.testing import node, pod
from fairway.testing.group_builders import member, pod_group
from tests.containers import sizes
from tests.test_group_scheduling import scheduler

NUM_JOBS = 100
"""In each of the two halves that are compared."""
ENTRIES = 8
"""So many more of a name are no growth: one of every job that fits nowhere would be more."""
ROOMS = ("fairway.gangs", "fairway.queue", "fairway.cluster.group", "fairway.cluster.intents", "fairway.model.group")
REMEMBERED = {"Connections._histories"}
"""What became of the latest ten thousand jobs is kept for others that come after them."""


def unlike(number: int, spelling: str) -> tuple[list[Pod], list[Any]]:
    """The members of a job, and what comes before them. Some lack a member, some fit nowhere, some wait for others."""
    name, there, cpu = f"job-{number}", 1 if number % 3 == 0 else 2, 1000 if number % 5 == 0 else 1
    if spelling == "kube":
        members = [member(f"{name}-{place}", name, uid=f"{name}-{place}", cpu=cpu) for place in range(there)]
        return members, [pod_group(name, 2)]
    said = {"fairway.dev/gang": name, "fairway.dev/gang-size": "2"}
    if number % 4 == 1:
        said["fairway.dev/connect-to"] = f"other-{number},another-{number}"
        said["fairway.dev/connect-mode"] = ("together", "after-started", "after-ok", "near")[number // 4 % 4]
    return [pod(f"{name}-{place}", uid=f"{name}-{place}", cpu=cpu, annotations=said) for place in range(there)], []


def come_and_go(made: Scheduler, number: int, spelling: str) -> int:
    """One job, which some time later is gone; returns how many members were bound."""
    members, objects = unlike(number, spelling)
    for thing in (*objects, *members):
        made.observe(Event(Verb.ADDED, thing))
    made.run_until_idle()
    world: Any = made.world
    world.advance(400.0)  # those that are incomplete are told of by now
    made.run_until_idle()
    num_bound = len(world.bindings)
    for told in (world.bindings, world.reports, world.notices, world.starts, world.waits, world.writes):
        told.clear()
    for one in members:
        placed = made.cluster.pods.by_uid.get(one.metadata.uid)
        made.observe(Event(Verb.DELETED, one if placed is None else placed.pod))
    for thing in objects:
        made.observe(Event(Verb.DELETED, thing))
    made.run_until_idle()
    return num_bound


@pytest.mark.parametrize(
    ("mode", "spelling"), [("fairway", "fairway"), ("fairway", "kube"), ("kube", "kube"), ("coscheduling", "fairway")]
)
def test_jobs_leave_nothing_behind(mode: str, spelling: str) -> None:
    made = scheduler(*(node(f"n{number}", cpu=100) for number in range(5)), mode=mode)
    num_bound, looks = 0, list[Counter[str]]()
    for number in range(2 * NUM_JOBS):
        num_bound += come_and_go(made, number, spelling)
        if (number + 1) % NUM_JOBS == 0:
            looks.append(sizes(made))
    assert num_bound > NUM_JOBS / 2  # those that can do start
    before, after = looks
    assert not {
        name: (before[name], after[name])
        for name in after
        if name.partition(".")[0] in _classes() and name not in REMEMBERED and after[name] > before[name] + ENTRIES
    }


def _classes() -> set[str]:
    """Names of what the rooms of jobs are made of; what others keep of classes of pods has tests of its own."""
    return {
        name
        for module, loaded in list(sys.modules.items())
        if module.startswith(ROOMS)
        for name, thing in vars(loaded).items()
        if isinstance(thing, type) and thing.__module__ == module
    }
