"""The rules of roll-outs, re-stated: one controller, equal pods, a node or nodes with so much CPU. Slow and plain.

Each function is a small state machine that goes from moment to moment: first what was leaving is gone and what was
starting is ready, then the controller acts until it has nothing more to do, then pods that wait get a node if there is
room. It ends when a moment changes nothing. Nothing here is shared with Fairway; it says what
`pkg/controller/{deployment,statefulset,daemon}` of Kubernetes do, for pods that never fail.
"""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass
class End:
    """How a roll-out ends, and what was seen on the way."""

    old: int
    new: int  # on nodes
    waiting: int
    most: int  # pods on nodes at a time
    least: int  # pods available


def share(value: int | str, whole: int, *, up: bool) -> int:
    """`25%` of so many, rounded up or down; a number is itself."""
    if isinstance(value, int):
        return value
    exact = int(value.rstrip("%")) * whole / 100
    return math.ceil(exact) if up else math.floor(exact)


def deployment(
    *, replicas: int, surge: int | str, unavailable: int | str, capacity: int, old_size: int, new_size: int
) -> End:
    """All on one node of that capacity, on which `replicas` old pods run."""
    most_more = share(surge, replicas, up=True)
    most_fewer = share(unavailable, replicas, up=False)
    if most_more == 0 and most_fewer == 0:
        most_fewer = 1
    old, leaving = replicas, 0
    ready = starting = waiting = 0
    most, least = replicas, replicas
    while True:
        before = (old, leaving, ready, starting, waiting)
        leaving = 0
        ready, starting = ready + starting, 0
        while True:  # the controller, until it is content
            new = ready + starting + waiting
            room = min(replicas + most_more - old - new, replicas - new)
            if room > 0:
                waiting += room
                continue
            spare = old + ready - (replicas - most_fewer)
            total_spare = old + new - (replicas - most_fewer) - (new - ready)
            go = min(old, spare) if total_spare > 0 else 0
            if go > 0:
                old, leaving = old - go, leaving + go
                continue
            break
        free = capacity - (old + leaving) * old_size - (ready + starting) * new_size
        bound = min(waiting, free // new_size)
        waiting, starting = waiting - bound, starting + bound
        most = max(most, old + leaving + ready + starting)
        least = min(least, old + ready)
        if (old, leaving, ready, starting, waiting) == before:
            return End(old, ready, waiting, most, least)


def recreate(*, replicas: int, capacity: int, new_size: int) -> End:
    """All old pods go, then as many new ones come as fit."""
    fitting = min(replicas, capacity // new_size)
    return End(0, fitting, replicas - fitting, max(replicas, fitting), 0)


def stateful_set(*, replicas: int, partition: int, capacity: int, old_size: int, new_size: int) -> End:
    """One after the other, from the last to the first; the next one only when this one is ready."""
    old, new = replicas, 0
    least = replicas
    for _ in range(max(0, replicas - partition)):
        old -= 1
        least = min(least, old + new)
        if old * old_size + (new + 1) * new_size > capacity:
            return End(old, new, 1, replicas, least)
        new += 1
    return End(old, new, 0, replicas, least)


def daemon_set(*, capacities: list[int], unavailable: int | str, surge: int | str, old_size: int, new_size: int) -> End:
    """A pod on each node, replaced in place, or with surge beside the old one, in the order of the nodes."""
    whole = len(capacities)
    more = share(surge, whole, up=True)
    allowed = more or max(1, share(unavailable, whole, up=True))
    old = set(range(whole))
    new: set[int] = set()
    stuck: set[int] = set()
    most = least = whole
    while True:
        batch = [node for node in sorted(old) if node not in stuck][: max(0, allowed - len(stuck))]
        if not batch:
            return End(len(old), len(new), len(stuck), most, least)
        fits = {node: capacities[node] - (old_size if more else 0) >= new_size for node in batch}
        if more:
            most = max(most, whole + sum(fits.values()))
        else:
            least = min(least, len(old) + len(new) - len(batch))
            old -= set(batch)
        for node in batch:
            if fits[node]:
                new.add(node)
                old.discard(node)
            else:
                stuck.add(node)


def staged(
    *,
    replicas: int,
    stages: list[tuple[int, int]],
    surge: int | None,
    unavailable: int,
    capacity: int,
    old_size: int,
    new_size: int,
) -> End:
    """Stages of new and old pods, one after the other; the next one only when all pods of this one are there.

    Without `surge` the new pods of a stage come whatever there is, and old ones go when all of them are ready.
    """
    old, leaving = replicas, 0
    ready = starting = waiting = 0
    most, least = replicas, replicas
    left = list(stages)
    while left:
        before = (old, leaving, ready, starting, waiting, len(left))
        leaving = 0
        ready, starting = ready + starting, 0
        while left:  # the controller, until it is content
            want_new, want_old = left[0]
            new = ready + starting + waiting
            room = want_new - new if surge is None else replicas + surge - old - new
            if old < want_old and room > 0:
                raise AssertionError("no case here lets the old version grow")
            if new < want_new and room > 0:
                waiting += min(room, want_new - new)
                continue
            spare = old + ready - (replicas - unavailable)
            if surge is None:
                spare = old if ready >= want_new else 0
            if old > want_old and spare > 0:
                go = min(spare, old - want_old)
                old, leaving = old - go, leaving + go
                continue
            if ready >= want_new and old <= want_old:
                left.pop(0)
                continue
            break
        free = capacity - (old + leaving) * old_size - (ready + starting) * new_size
        bound = min(waiting, free // new_size)
        waiting, starting = waiting - bound, starting + bound
        most = max(most, old + leaving + ready + starting)
        least = min(least, old + ready)
        if (old, leaving, ready, starting, waiting, len(left)) == before:
            break
    return End(old, ready, waiting, most, least)
