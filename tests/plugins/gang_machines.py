"""Modes `coscheduling` and `pfnet` once more, as state machines: what a gang does, told in the words of their rules.

In: what is seen of a scheduler from outside: pods come and go, one is popped, held, bound or put back, time passes.
Out: an assertion that fails where the scheduler did something that the rules do not say: let a member go too early,
held it or its siblings too long, rejected somebody or not, called the siblings or not. Nodes take one pod each, so that
whether a pod fits is a matter of counting. Nothing here is taken from the plugins.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from fairway.queue import Place

READY, ACTIVE, WAITING, UNSCHEDULABLE = "ready", "active", "waiting", "unschedulable"


@dataclass
class Gang:
    """A job: its members and where they are."""

    size: int
    members: set[str] = field(default_factory=set)
    held: dict[str, float] = field(default_factory=dict)  # until when
    bound: set[str] = field(default_factory=set)
    positions: dict[str, str] = field(default_factory=dict)  # pfnet
    patience: float | None = None  # pfnet: of this attempt
    backs_off_until: float = 0.0  # coscheduling


@dataclass
class Machine:
    """What both have in common: room, and who has to be rejected, allowed or called by the end of a step."""

    num_nodes: int
    now: float = 0.0
    gangs: dict[str, Gang] = field(default_factory=dict)
    lone: set[str] = field(default_factory=set)  # pods of no gang that are bound
    popped: str | None = None
    rejected: set[str] = field(default_factory=set)  # who has to be, soon
    allowed: set[str] = field(default_factory=set)
    called: set[str] = field(default_factory=set)  # who may be activated

    def gang_of(self, name: str) -> Gang | None:
        return self.gangs.get(name.rpartition("-")[0])

    @property
    def num_free(self) -> int:
        return self.num_nodes - len(self.lone) - sum(len(gang.held) + len(gang.bound) for gang in self.gangs.values())

    # -- what is seen ------------------------------------------------------------------------------------------------

    def came(self, name: str) -> None:
        if (gang := self.gang_of(name)) is not None:
            gang.members.add(name)

    def went(self, name: str) -> None:
        gang = self.gang_of(name)
        self.lone.discard(name)
        if gang is None:
            return
        was_held = name in gang.held
        for place in (gang.members, gang.bound, gang.held, gang.positions):
            place.discard(name) if isinstance(place, set) else place.pop(name, None)
        for names in (self.rejected, self.allowed, self.called):
            names.discard(name)
        if was_held:
            self.gave_back(gang)

    def gave_back(self, gang: Gang) -> None:
        """A member that waited gives its node back: all who wait do so."""
        self.rejected |= gang.held.keys()

    def time_is(self, now: float) -> None:
        """Whose time is up is rejected, and all others of the gang with it, when the scheduler looks next."""
        self.now = now

    def looks(self) -> None:
        for gang in self.gangs.values():
            if any(until <= self.now for until in gang.held.values()):
                self.gave_back(gang)

    def was_bound(self, name: str) -> None:
        gang = self.gang_of(name)
        if name == self.popped:
            self.popped = None
            assert self.num_free > 0, f"{name} has no room"
            assert gang is None or self.permit(name, gang) == "go", f"{name} goes too early"
        elif gang is not None:
            assert name in self.allowed, f"{name} was not to be let go"
        self.allowed.discard(name)
        if gang is None:
            self.lone.add(name)
            self.placed()
        else:
            gang.held.pop(name, None)
            gang.bound.add(name)

    def was_held(self, name: str, until: float) -> None:
        gang = self.gang_of(name)
        assert gang is not None
        assert name == self.popped
        assert self.num_free > 0
        self.popped = None
        assert self.permit(name, gang) == "wait", f"{name} need not wait"
        gang.held[name] = until
        self.check_deadline(gang, until)

    def was_rejected(self, name: str) -> None:
        gang = self.gang_of(name)
        assert gang is not None
        assert name in self.rejected, f"{name} was rejected without a reason"
        self.rejected.discard(name)
        del gang.held[name]
        self.gave_back(gang)

    def moved(self, name: str, before: Place | None, place: Place | None, is_activation: bool) -> None:
        if place is Place.IN_FLIGHT:
            self.popped = name
            return
        if is_activation:
            assert name in self.called, f"{name} was called by nobody"
        if before is Place.IN_FLIGHT and name == self.popped and place is not None:
            self.popped = None
            if (gang := self.gang_of(name)) is not None:
                self.failed(name, gang)
            else:
                assert self.num_free <= 0, f"{name} fits"

    def settled(self) -> None:
        """The scheduler has finished what it was at."""
        assert not self.rejected, f"not rejected: {sorted(self.rejected)}"
        assert not self.allowed, f"not let go: {sorted(self.allowed)}"
        self.called.clear()

    # -- what the rules say ------------------------------------------------------------------------------------------

    def placed(self) -> None:
        """A pod of no gang got a node."""

    def pre_enqueue(self, name: str) -> bool:
        """May it be tried at all?"""
        return True

    def permit(self, name: str, gang: Gang) -> str:
        raise NotImplementedError

    def failed(self, name: str, gang: Gang) -> None:
        raise NotImplementedError

    def check_deadline(self, gang: Gang, until: float) -> None:
        raise NotImplementedError


@dataclass
class CoschedulingMachine(Machine):
    """Members one by one; the first with a node calls the others; who has one waits on it, 60 s."""

    reject_percentage: int = 10
    group_backoff: float = 0.0

    def may_try(self, gang: Gang) -> bool:
        return len(gang.members) >= gang.size and self.now >= gang.backs_off_until

    def permit(self, name: str, gang: Gang) -> str:
        assert self.may_try(gang), f"{name} was not to be tried"
        assigned = len(gang.held) + len(gang.bound) + 1
        if assigned >= gang.size:
            self.allowed |= gang.held.keys()
            return "go"
        if assigned == 1:
            self.called |= gang.members - {name}
        return "wait"

    def check_deadline(self, gang: Gang, until: float) -> None:
        assert until == self.now + 60

    def failed(self, name: str, gang: Gang) -> None:
        assert not self.may_try(gang) or self.num_free <= 0, f"{name} fits"
        missing = gang.size - len(gang.held) - len(gang.bound)
        if missing > 0 and missing / gang.size > self.reject_percentage / 100:
            self.rejected |= gang.held.keys()
            if len(gang.members) >= gang.size and self.now >= gang.backs_off_until:  # it begins, and then lasts
                gang.backs_off_until = self.now + self.group_backoff


@dataclass
class PfnetMachine(Machine):
    """Members are let in together, by the next pod that gets a node; who has one waits on it for all the others."""

    timeout: float = 30.0
    jitter: float = 30.0
    pool: dict[str, None] = field(default_factory=dict)

    def moved(self, name: str, before: Place | None, place: Place | None, is_activation: bool) -> None:
        if before is Place.IN_FLIGHT and name == self.popped and place not in (None, Place.IN_FLIGHT):
            super().moved(name, before, place, is_activation)
        if place in (Place.ACTIVE, Place.BACKOFF, Place.GATED) and before is not Place.BACKOFF:
            passes = self.pre_enqueue(name)
            assert passes == (place is not Place.GATED), f"{name} is {place}"
        if before is not Place.IN_FLIGHT:
            super().moved(name, before, place, is_activation)

    def pre_enqueue(self, name: str) -> bool:
        gang = self.gang_of(name)
        if gang is None or gang.size == 1:
            return True
        gang.members.add(name)
        others = (gang.positions.get(each) for each in gang.members - gang.bound)
        is_let_in = gang.positions.get(name) == ACTIVE and len(gang.members) >= gang.size
        if is_let_in and all(position in (ACTIVE, WAITING) for position in others):
            return True
        self.make_ready(name, gang)
        return False

    def make_ready(self, name: str, gang: Gang) -> None:
        gang.positions[name] = READY
        waiting = gang.members - gang.bound
        if len(gang.members) >= gang.size and all(gang.positions.get(each) == READY for each in waiting):
            self.pool[name.rpartition("-")[0]] = None

    def let_in(self) -> None:
        for key in self.pool:
            waiting = self.gangs[key].members - self.gangs[key].bound
            self.gangs[key].positions |= dict.fromkeys(waiting, ACTIVE)
            self.called |= waiting
        self.pool.clear()

    def placed(self) -> None:
        self.let_in()

    def permit(self, name: str, gang: Gang) -> str:
        assert UNSCHEDULABLE not in gang.positions.values(), f"{name} was not to be tried"
        if gang.size == 1:
            answer = "go"
        elif gang.bound or len(gang.held) + 1 == gang.size:
            self.allowed |= gang.held.keys()
            gang.patience = None
            for each in (*gang.held, name):
                gang.positions.pop(each, None)
            answer = "go"
        else:
            gang.positions[name] = WAITING
            answer = "wait"
        self.let_in()
        return answer

    def check_deadline(self, gang: Gang, until: float) -> None:
        patience = until - self.now
        assert gang.patience in (None, patience), "one draw an attempt of the gang"
        assert self.timeout <= patience < self.timeout + self.jitter
        assert patience == int(patience)
        gang.patience = patience

    def gave_back(self, gang: Gang) -> None:
        gang.patience = None
        super().gave_back(gang)
        for each in list(gang.held):
            if each in gang.members:
                self.make_ready(each, gang)

    def was_rejected(self, name: str) -> None:
        gang = self.gang_of(name)
        assert gang is not None
        assert name in self.rejected, f"{name} was rejected without a reason"
        self.rejected.discard(name)
        del gang.held[name]
        if gang.positions.get(name) == WAITING:
            self.make_ready(name, gang)

    def failed(self, name: str, gang: Gang) -> None:
        if any(gang.positions.get(each) == UNSCHEDULABLE for each in gang.members):
            self.gave_back(gang)
            self.make_ready(name, gang)
            return
        full = gang.size > 1 and len(gang.bound) >= gang.size
        assert full or self.num_free <= 0, f"{name} fits"
        if self.num_free <= 0 and gang.size > 1:
            gang.positions[name] = UNSCHEDULABLE
        self.gave_back(gang)
