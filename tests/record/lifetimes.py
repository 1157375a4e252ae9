"""Small histories of nodes and pods, drawn at random, told to a writer, and counted by hand.

In: hypothesis. Out: a `History`, which knows by plain loops over its own lines who held what at any instant, and which
`tell` writes down as a run. Tests of metrics, loads, traces and placements compare what they read from the run with
what the history itself says. All times are quarters of a second, so that sums come out the same in any order.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from hypothesis import strategies as st

from fairway.cycle import Decision, Outcome
from fairway.model import Node, Pod
from fairway.model.node import NodeCondition
from fairway.record import RecordOptions, Run, RunWriter
from fairway.record.vocabulary import NodeChange, NodeEnd, PodEnd
from fairway.testing import node, pod
from tests.record.runs import CLUSTER, SCHEDULER, placed, writer

__all__ = ["GIB", "HISTORIES", "History", "Life", "Machine", "tell"]

GIB = 2**30
END = 24.0
CYCLE_SECONDS = 0.125
AMOUNTS = {"cpu": 1000, "memory": GIB}  # in which one of each is counted

Stretch = tuple[float, float]


@dataclass(frozen=True)
class Machine:
    """A node: when it came, went, and was not ready in between."""

    name: str
    cpu: int
    memory: int  # GiB
    joined: float
    broken: Stretch | None
    gone: float | None

    def ready(self, end: float) -> list[Stretch]:
        """When it was there and ready."""
        last = end if self.gone is None else self.gone
        if self.broken is None:
            return [(self.joined, last)]
        return [(self.joined, self.broken[0]), (self.broken[1], last)]

    def is_ready(self, at: float, end: float) -> bool:
        """Was it there and ready at that instant?"""
        return any(begin <= at < until for begin, until in self.ready(end))

    def amount(self, resource: str) -> int:
        """What it has, in the units of a run."""
        return {"cpu": self.cpu, "memory": self.memory}[resource] * AMOUNTS[resource]

    def as_node(self, is_ready: bool = True) -> Node:
        """The API object."""
        condition = NodeCondition(type="Ready", status="True" if is_ready else "False")
        return node(self.name, cpu=self.cpu, memory=f"{self.memory}Gi", conditions=(condition,))


@dataclass(frozen=True)
class Life:
    """A pod: what it asked for, when it came, where it went, how it ended."""

    name: str
    user: str
    cpu: int
    memory: int  # GiB
    attempts: int  # those that failed come first, all of them when it is created
    created: float
    node: str | None  # None: it was never bound
    bound: float | None
    started: float | None
    ended: float | None
    reason: PodEnd | None

    @property
    def is_of_a_scheduler(self) -> bool:
        """Did one try to place it, or was it to?"""
        return self.attempts > 0 or self.bound is None

    def held(self, end: float) -> Stretch | None:
        """From when to when it held what it asked for."""
        return None if self.bound is None else (self.bound, end if self.ended is None else self.ended)

    def holds(self, at: float, end: float) -> bool:
        """Did it hold that at this instant?"""
        held = self.held(end)
        return held is not None and held[0] <= at < held[1]

    def amount(self, resource: str) -> int:
        """What it asks for, in the units of a run."""
        return {"cpu": self.cpu, "memory": self.memory}[resource] * AMOUNTS[resource]

    def as_pod(self) -> Pod:
        """The API object."""
        asked = {"cpu": self.cpu or None, "memory": f"{self.memory}Gi" if self.memory else None}
        return pod(self.name, annotations={"fairway.dev/user": self.user}, **asked)  # type: ignore[arg-type]


@dataclass(frozen=True)
class History:
    """Everything that happened, until `end`."""

    machines: tuple[Machine, ...]
    lives: tuple[Life, ...]
    end: float = END

    @property
    def begin(self) -> float:
        """When the first node came."""
        return min(machine.joined for machine in self.machines)

    @property
    def resources(self) -> list[str]:
        """Those that a run has columns for: all that any node has."""
        return list(AMOUNTS)

    def changes(self) -> list[float]:
        """Every time at which anything changed, in order, from `begin` on and before the end."""
        times = {self.begin}
        for machine in self.machines:
            times |= {time for stretch in machine.ready(self.end) for time in stretch}
        for life in self.lives:
            times |= set(life.held(self.end) or ())
        return sorted(time for time in times if self.begin <= time < self.end)

    def held(self, machine: Machine, resource: str, at: float) -> int:
        """What pods held on a node at an instant."""
        return sum(
            life.amount(resource) for life in self.lives if life.node == machine.name and life.holds(at, self.end)
        )

    def there(self, machine: Machine, resource: str, at: float) -> int:
        """What there was of it."""
        return machine.amount(resource) if machine.is_ready(at, self.end) else 0

    def mean(self, value: Callable[[float], float]) -> float:
        """The mean over time of what is constant between changes."""
        times = self.changes()
        spans = zip(times, [*times[1:], self.end], strict=True)
        return sum(value(time) * (until - time) for time, until in spans) / (self.end - self.begin)


QUARTERS = st.integers(0, 40).map(lambda number: number / 4)
"""Times from 0 to 10 seconds; three of them after each other end before the run does."""


@st.composite
def machines(draw: st.DrawFn, number: int) -> Machine:
    """The first is there from the beginning to the end; the others come and go."""
    joined = draw(QUARTERS) if number else 0.0
    broken_at = joined + draw(QUARTERS)
    broken = (broken_at, broken_at + draw(QUARTERS)) if draw(st.booleans()) else None
    gone = None
    if number and draw(st.booleans()):
        gone = min((joined if broken is None else broken[1]) + draw(QUARTERS), END)
    if broken is not None and broken[1] > (END if gone is None else gone):
        broken = None
    return Machine(f"n{number}", draw(st.integers(1, 8)), draw(st.integers(1, 8)), joined, broken, gone)


@st.composite
def lives(draw: st.DrawFn, number: int, there: tuple[Machine, ...]) -> Life:
    """A pod that waits for ever, or goes to a node that is there when it comes to it, and ends with that at latest."""
    name, user = f"p{number}", draw(st.sampled_from(["ada", "bob"]))
    cpu, memory = draw(st.integers(0, 4)), draw(st.integers(0, 4))
    attempts, created = draw(st.integers(0, 3)), draw(QUARTERS)
    machine = draw(st.sampled_from([None, *there, *there]))
    bound = None if machine is None else max(created + draw(QUARTERS), machine.joined)
    if machine is None or bound is None or bound >= (END if machine.gone is None else machine.gone):
        ended = draw(st.sampled_from([None, created + 1.0]))
        return Life(
            name,
            user,
            cpu,
            memory,
            attempts,
            created,
            None,
            None,
            None,
            ended,
            None if ended is None else PodEnd.DELETED,
        )
    started = draw(st.sampled_from([None, bound, bound + 0.25]))
    ended = draw(st.one_of(st.none(), QUARTERS.map(lambda seconds: (started or bound) + seconds)))
    reason = None if ended is None else draw(st.sampled_from(list(PodEnd)))
    latest = END if machine.gone is None else machine.gone
    if (ended is None and machine.gone is not None) or (ended is not None and ended > latest):
        ended, reason = latest, PodEnd.NODE_LOST
    if started is not None and started > (END if ended is None else ended):
        started = None
    return Life(name, user, cpu, memory, attempts, created, machine.name, bound, started, ended, reason)


@st.composite
def histories(draw: st.DrawFn) -> History:
    """Up to three nodes and up to twelve pods."""
    there = tuple(draw(machines(number)) for number in range(draw(st.integers(1, 3))))
    return History(there, tuple(draw(lives(number, there)) for number in range(draw(st.integers(0, 12)))))


HISTORIES = histories()


def tell(history: History, path: Path, options: RecordOptions | None = None) -> Run:
    """Write it down, in order, and open the run."""
    steps: list[tuple[float, int, Callable[[RunWriter, float], object]]] = []
    for machine in history.machines:
        steps += _machine_steps(machine)
    for life in history.lives:
        steps += _life_steps(life)
    with writer(path, options) as made:
        for time, _, step in sorted(steps, key=lambda step: step[:2]):
            step(made, time)
        made.close(history.end)
    return Run.open(path)


def _machine_steps(machine: Machine) -> list[tuple[float, int, Callable[[RunWriter, float], object]]]:
    steps: list[tuple[float, int, Callable[[RunWriter, float], object]]] = [
        (machine.joined, 0, lambda made, t: made.node_added(t, machine.as_node()))
    ]
    if machine.broken is not None:
        states = zip(machine.broken, ((NodeChange.NOT_READY, False), (NodeChange.READY, True)), strict=True)
        for place, (time, (word, is_ready)) in enumerate(states):
            steps.append((time, 1 + place, _changed(machine.as_node(is_ready), word)))
    if machine.gone is not None:
        steps.append((machine.gone, 9, lambda made, t: made.node_gone(t, machine.name, NodeEnd.DELETED)))
    return steps


def _changed(thing: Node, word: NodeChange) -> Callable[[RunWriter, float], object]:
    return lambda made, t: made.node_changed(t, thing, word)


def _life_steps(life: Life) -> list[tuple[float, int, Callable[[RunWriter, float], object]]]:
    thing, uid = life.as_pod(), life.as_pod().metadata.uid
    scheduler = SCHEDULER if life.is_of_a_scheduler else ""
    steps: list[tuple[float, int, Callable[[RunWriter, float], object]]] = [
        (life.created, 3, lambda made, t: made.pod_created(t, thing, scheduler))
    ]
    for number in range(1, life.attempts + 1):
        is_last = number == life.attempts and life.node is not None
        result = (
            placed(thing, life.node or "")
            if is_last
            else Decision(thing, CLUSTER.classify(thing), Outcome.UNSCHEDULABLE, is_diagnosed=False)
        )
        steps.append((life.created if not is_last else life.bound or 0.0, 4, _decided(number, result)))
    if life.bound is not None:
        steps.append((life.bound, 5, lambda made, t: made.bound(t, uid, life.node or "")))
    if life.started is not None:
        steps.append((life.started, 6, lambda made, t: made.started(t, uid)))
    if life.ended is not None and life.reason is not None:
        reason = life.reason
        steps.append((life.ended, 7, lambda made, t: made.ended(t, uid, reason)))
    return steps


def _decided(number: int, result: Decision) -> Callable[[RunWriter, float], object]:
    return lambda made, t: made.decided(t, SCHEDULER, number, result, CYCLE_SECONDS)
