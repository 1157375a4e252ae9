"""When a live desk passes: at once if something happened, no more than once a second, and at the times it asks for."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from fairway.live.batch.live_passes import LivePasses
from fairway.live.batch.objects import AccountObject
from fairway.model import ObjectMeta
from fairway.model.batch import AccountSpec
from fairway.plan import PassOutcome
from fairway.testing import pod
from tests.live.desk_room import DeskRoom


class CreepingRoom(DeskRoom):
    """Its clock goes on a little whenever it is read, as real ones do."""

    chance = np.random.default_rng(0)

    def now(self) -> float:
        self.advance(1e-5)
        return super().now()

    def monotonic(self) -> float:
        return self.now()

    async def sleep(self, seconds: float) -> None:
        self.advance(seconds)


def passes_of(room: CreepingRoom, slice_seconds: float = 0.004) -> tuple[LivePasses, list[float]]:
    passes, seen = LivePasses(room.live, room, slice_seconds), list[float]()

    def note(seconds: float, outcome: PassOutcome | None) -> None:
        seen.append(room.now())

    passes.on_pass = note
    return passes, seen


def play(room: CreepingRoom, passes: LivePasses, seconds: float) -> None:
    """As the service does it."""
    until = room.now() + seconds
    while room.now() < until:
        wait = passes.look()
        room.decide(100)
        room.pass_time(min(1.0 if wait is None else wait, max(until - room.now(), 0.0)))


def come(room: CreepingRoom, name: str, run: float, limit: float = 1000.0) -> None:
    said = {"fairway.dev/time-limit": f"{limit}s", "fairway.dev/duration": f"{run}"}
    room.come(pod(name, cpu=4, labels={"fairway.dev/queue": "q"}, annotations=said))


def test_charges_are_settled_though_nothing_happens_any_more() -> None:
    """The desk asks for its own now when it is time, which is a little more than the one that was read before."""
    room = CreepingRoom({"q": {}}, (4,), accounts={"physics": account()})
    room.live.learn(AccountObject(metadata=ObjectMeta(name="physics", uid="of-physics")))
    passes, _ = passes_of(room)
    come(room, "one", run=5.0)
    play(room, passes, 10.0)
    assert room.ran == {"one"}
    play(room, passes, 100.0)
    found = room.live.books.account("physics")
    assert found is not None
    assert 20.0 <= found[0].settled / 1000 < 20.1
    assert not found[0].settling


def test_a_pass_comes_at_most_once_a_second() -> None:
    room = CreepingRoom({"q": {}}, (4,))
    passes, seen = passes_of(room)
    for number in range(20):
        come(room, f"job-{number}", run=0.1)
        play(room, passes, 0.2)
    assert len(seen) >= 3
    assert all(later - sooner >= 0.99 for sooner, later in pairwise(seen))


def test_limits_are_carried_out_while_a_pass_takes_long() -> None:
    """A step a second: whoever has to leave is told in the middle of it."""
    room = CreepingRoom({"q": {"discipline": "conservative"}}, (4,))
    passes, seen = passes_of(room)
    come(room, "long", run=900.0, limit=8.0)
    play(room, passes, 3.0)
    assert room.ran == {"long"}
    for number in range(30):
        come(room, f"job-{number}", run=5.0)
    num_seen, slow = len(seen), LivePasses(room.live, room, 0.0)
    left_at = None
    while left_at is None:
        assert slow.look() == 0.0, "it is still under way"
        room.pass_time(1.0)
        room.decide(1)
        if not any(each.metadata.name == "long" for each in room.pods.values()):
            left_at = room.now()
    assert len(seen) == num_seen
    assert left_at <= 8.0 + 5.0


def account() -> AccountSpec:
    return AccountSpec(namespaces=("default",), weights={"cpu": 1.0})
