"""Tens of thousands of pods, each unlike all others, come, are bound and go: memory is what it was.

The world answers at once, so that a minute here is a day of Jobs elsewhere. `FAIRWAY_UNLIKE_PODS` says how many there
are, 8,000 unless told; `make soak` does the same on a real API server, by the clock.
"""

from __future__ import annotations

import gc
import os
import sys
from collections import deque
from typing import Any

from fairway.cluster import Event, Verb
from fairway.model import Pod
from fairway.testing import node, pod
from fairway.testing.notation import near
from tests.containers import sizes
from tests.properties.test_bounds import BOUNDED
from tests.test_scheduler import scheduler

NUM_PODS = int(os.environ.get("FAIRWAY_UNLIKE_PODS", "8000"))
NUM_NODES = 100
ALIVE = 50
"""Older pods are deleted."""
PARTS = 4
ENOUGH_PODS = 100_000
"""With so many, compiled selectors and checked names fill the room that is theirs: from then on blocks are compared."""
GROWTH = 1.05
"""How much more than before is still flat: caches are swept now and then, and not just before somebody looks."""
ENTRIES = 500
"""So many entries more, of all containers of one name, are no growth either."""


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


def test_memory_stays_what_it_was() -> None:
    made = scheduler(*(node(f"n{i}", zone=f"z{i % 3}", labels={"zone-of": "all"}, cpu=100) for i in range(NUM_NODES)))
    world: Any = made.world
    alive: deque[Pod] = deque()
    blocks, entries, num_bound = [], [], 0
    for number in range(NUM_PODS):
        alive.append(unlike(number))
        made.observe(Event(Verb.ADDED, alive[-1]))
        made.run_until_idle()
        num_bound += len(world.bindings)
        world.bindings.clear()
        world.reports.clear()
        if number % 10 == 0 or len(alive) > ALIVE:  # who fits nowhere would be tried again with everybody who goes
            gone = alive.pop() if number % 10 == 0 else alive.popleft()
            placed = made.cluster.pods.by_uid.get(gone.metadata.uid)
            made.observe(Event(Verb.DELETED, gone if placed is None else placed.pod))
        if (number + 1) % (NUM_PODS // PARTS) == 0:
            entries.append(sizes(made))  # collects garbage, too
            gc.collect()
            blocks.append(sys.getallocatedblocks() - sum(map(len, entries)))
    assert num_bound == NUM_PODS - NUM_PODS // 10, num_bound
    assert NUM_PODS < ENOUGH_PODS or blocks[-1] < GROWTH * blocks[-2], blocks
    *earlier, after = entries
    grown = {
        name: [each[name] for each in entries]
        for name in after
        if after[name] > GROWTH * max(each[name] for each in earlier) + ENTRIES and after[name] > BOUNDED.get(name, 0)
    }
    assert not grown, grown
