"""Tens of thousands of pods, each unlike all others, come, are bound and go: memory is what it was.

The world answers at once, so that a minute here is a day of Jobs elsewhere. Caches with a limit of their own grow until
they are full and are no leak: they are emptied whenever memory is looked at, and what is left has to stay as it was.
`FAIRWAY_UNLIKE_PODS` says how many pods there are, 16,000 unless told; `make soak` does the same on a real API server,
by the clock.
"""

from __future__ import annotations

import gc
import os
import sys
from collections import Counter, deque
from statistics import fmean
from typing import Any

from fairway.cluster import Event, Verb
from fairway.model import Pod
from fairway.scheduler import Scheduler
from fairway.testing import node, pod
from fairway.testing.notation import near
from tests.containers import BoundedCaches, sizes
from tests.properties.test_bounds import BOUNDED
from tests.test_scheduler import scheduler

NUM_PODS = int(os.environ.get("FAIRWAY_UNLIKE_PODS", "16000"))
NUM_NODES = 100
ALIVE = 50
"""Older pods are deleted."""
WARM_UP_PODS = 10_000
"""By then the scheduler has forgotten as many classes as it remembers to have forgotten."""
PODS_PER_LOOK = 200
PARTS = 6
NOISE_BLOCKS = 3000
"""So many allocated blocks more or less are no growth: indices are swept now and then, not just before somebody looks.
Half of 6,000 pods may then leave one block each, and half of 90,000 one in fifteen."""
GROWTH = 1.05
ENTRIES = 500
"""How much more than before, and how many entries, of all containers of one name, are no growth either."""


def unlike(number: int) -> Pod:
    """A pod that differs from all others in its labels, owner and requests; some have terms, some fit nowhere."""
    said: dict[str, Any] = {
        "labels": {f"key-{number}": "x", "job": f"job-{number}", "app": "web"},
        "owner": f"ReplicaSet/owner-{number}",
        "cpu": f"{1 + number % 997}m",
        "requests": {"memory": 1 + number},
    }
    match number % 10:
        case 0:
            said["requests"] = {f"example.com/r{number}": 1}
        case 1 | 4 | 7:
            said["anti_affinity"] = [near(f"job=job-{number}", "node")]
            said["affinity"] = near(f"key-{number}", "zone", weight=3)
        case 2 | 5:
            said["node_affinity"] = f"!absent-{number},disk!=disk-{number}"
        case 3:
            said["spread"] = "zone"
        case 6:
            said["node_selector"] = {"zone-of": "all"}
    return pod(f"p{number}", uid=f"p{number}", **said)


def come_and_go(made: Scheduler, number: int, alive: deque[Pod]) -> int:
    """One pod comes and is bound if it can be, and one goes; returns how many were bound."""
    alive.append(unlike(number))
    made.observe(Event(Verb.ADDED, alive[-1]))
    made.run_until_idle()
    world: Any = made.world
    num_bound = len(world.bindings)
    world.bindings.clear()
    world.reports.clear()
    if number % 10 == 0 or len(alive) > ALIVE:  # who fits nowhere would be tried again with everybody who goes
        gone = alive.pop() if number % 10 == 0 else alive.popleft()
        placed = made.cluster.pods.by_uid.get(gone.metadata.uid)
        made.observe(Event(Verb.DELETED, gone if placed is None else placed.pod))
    return num_bound


def test_memory_stays_what_it_was() -> None:
    made = scheduler(*(node(f"n{i}", zone=f"z{i % 3}", labels={"zone-of": "all"}, cpu=100) for i in range(NUM_NODES)))
    caches = BoundedCaches()
    alive: deque[Pod] = deque()
    num_bound = sum(come_and_go(made, number, alive) for number in range(WARM_UP_PODS))
    looks: list[int] = []
    entries: list[Counter[str]] = []
    for number in range(WARM_UP_PODS, NUM_PODS):
        num_bound += come_and_go(made, number, alive)
        if number % PODS_PER_LOOK == 0:
            caches.clear()
            gc.collect()
            looks.append(sys.getallocatedblocks() - sum(map(len, entries)))
        if (number + 1 - WARM_UP_PODS) % ((NUM_PODS - WARM_UP_PODS) // PARTS) == 0:
            entries.append(sizes(made))
    assert num_bound == NUM_PODS - NUM_PODS // 10, num_bound
    middle = len(looks) // 2
    earlier, later = fmean(looks[:middle]), fmean(looks[middle:])
    assert later - earlier < NOISE_BLOCKS, looks
    *before, after = entries
    grown = {
        name: [each[name] for each in entries]
        for name in after
        if after[name] > GROWTH * max(each[name] for each in before) + ENTRIES and after[name] > BOUNDED.get(name, 0)
    }
    assert not grown, grown
