"""Books balance after every event, whoever is killed at whatever write, and whoever leads besides.

Random jobs start, change their rate, are lost and given back, come again and end, while the process that keeps the
books is killed between any two calls of its store and starts anew from what is stored. A second bookkeeper, who is
never killed and knows nothing of steps, has a list of (start, end, rate) and multiplies.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairway.batch.accounts import (
    AccountTree,
    Books,
    FairShares,
    OpenJobs,
    Payer,
    RecordBook,
    RefundCause,
    book_differences,
    change_rate,
    close_interval,
    open_interval,
    refund_last_run,
)
from fairway.batch.job import RunInterval
from fairway.model.batch import AccountSpec
from tests.batch.accounts.memory_books import KilledError, MemoryBooks, StoreView, billed

HALF_LIFE = 5000.0
PARENTS = {"physics": "", "lab": "physics", "bio": ""}
TREE = AccountTree({name: AccountSpec(parent=parent) for name, parent in PARENTS.items()})
JOBS = {
    "u1": ("physics", "ada"),
    "u2": ("physics", "bob"),
    "u3": ("lab", "ada"),
    "u4": ("lab", "ada"),
    "u5": ("bio", "eve"),
}


@dataclass
class NaiveBookkeeper:
    """Knows when what ran, at which rate, and whether it was given back."""

    runs: dict[str, list[list[float]]] = field(default_factory=lambda: {uid: [] for uid in JOBS})
    lost: dict[str, list[bool]] = field(default_factory=lambda: {uid: [] for uid in JOBS})
    run_start: dict[str, int] = field(default_factory=dict)
    ended: set[str] = field(default_factory=set)

    def is_open(self, uid: str) -> bool:
        return bool(self.runs[uid]) and self.runs[uid][-1][1] == math.inf

    def note(self, what: str, uid: str, rate: float, now: float) -> None:
        runs = self.runs[uid]
        if uid in self.ended:
            return
        if what == "start" and not self.is_open(uid):
            if not runs or runs[-1][1] < now:  # what goes on in the same instant is the same run
                self.run_start[uid] = len(runs)
            runs.append([now, math.inf, rate])
            self.lost[uid].append(False)
        elif what == "rate" and self.is_open(uid) and runs[-1][2] != rate:
            if runs[-1][0] == now:
                runs[-1][2] = rate
                return
            runs[-1][1] = now
            runs.append([now, math.inf, rate])
            self.lost[uid].append(False)
        elif what in ("stop", "lose", "end"):
            if self.is_open(uid):
                runs[-1][1] = now
            if what == "lose":
                for index in range(self.run_start.get(uid, 0), len(runs)):
                    self.lost[uid][index] = True
            if what == "end":
                self.ended.add(uid)

    def kept(self, uid: str) -> list[list[float]]:
        return [run for run, is_lost in zip(self.runs[uid], self.lost[uid], strict=True) if not is_lost]

    def charge(self, uid: str, now: float) -> int:
        return sum(round((min(end, now) - start) * rate * 1000) for start, end, rate in self.kept(uid))

    def usage(self, uid: str, now: float) -> float:
        """By small steps."""
        total, steps = 0.0, 400
        for start, end, rate in self.kept(uid):
            step = (min(end, now) - start) / steps
            middles = (start + (number + 0.5) * step for number in range(steps))
            total += math.fsum(rate * step * 2 ** (-(now - middle) / HALF_LIFE) for middle in middles)
        return total


class Process:
    """One life of the program: all it knows comes from the store."""

    def __init__(self, store: MemoryBooks, fuses: Iterator[int]) -> None:
        self._left = next(fuses, math.inf)
        self.view = StoreView(store, self._burn)
        self.jobs = OpenJobs()
        self.shares = FairShares(TREE, self.jobs, HALF_LIFE, interval=0.0)
        self.books = Books(self.view, self.jobs, HALF_LIFE, epoch=1.79e9)
        for uid, (record, _) in store.records.items():
            if not record.is_settled:
                self.jobs.put(uid, Payer(record.job.account, record.job.user), record.intervals)
        for account in PARENTS:
            self.shares.load(account, store.book(account).usage())

    def _burn(self, call: str) -> None:
        if self._left <= 0:
            raise KilledError
        self._left -= 1

    def play(self, what: str, uid: str, rate: float, now: float) -> None:
        found = self.view.record(uid)
        assert found is not None
        record, version = found
        if what == "end":
            final = self.books.finish(uid, record.intervals, now)
            assert final is not None
            if not final.is_settled:
                self.jobs.put(uid, Payer(final.job.account, final.job.user), final.intervals)
        elif not record.is_final:
            intervals = changed(record.intervals, what, rate, now)
            self.view.write_record(RecordBook(record.job, intervals), version)
            self.jobs.put(uid, Payer(record.job.account, record.job.user), intervals)

    def settle(self, now: float) -> None:
        for account in PARENTS:
            settlement = self.books.settle(account, now)
            assert settlement.book is not None
            self.shares.load(account, settlement.book.usage())


def changed(intervals: tuple[RunInterval, ...], what: str, rate: float, now: float) -> tuple[RunInterval, ...]:
    if what == "start":
        return open_interval(intervals, now, rate)
    if what == "rate":
        return change_rate(intervals, now, rate)
    intervals = close_interval(intervals, now)
    return refund_last_run(intervals, RefundCause.NODE_LOST) if what == "lose" else intervals


def assert_balanced(store: MemoryBooks, naive: NaiveBookkeeper, now: float, *, is_settled: bool) -> None:
    """At any instant; and, if everything was just settled, in every number."""
    for account in PARENTS:
        book = store.book(account)
        records = [record for record, _ in store.records.values() if record.job.account == account]
        found = [each.words for each in book_differences(account, book, records, store.lines.values(), now)]
        if not is_settled:
            # What ran may be given back after it was written down as running, and what ended has to wait for somebody
            # who settles it; until then, and no longer.
            found = [words for words in found if "running is not what" not in words and "ended and is not" not in words]
        assert found == []
        if is_settled:
            mine = [uid for uid, (name, _) in JOBS.items() if name == account]
            assert book.settled + book.running == sum(naive.charge(uid, now) for uid in mine)


EVENTS = st.tuples(
    st.sampled_from(["start", "start", "rate", "stop", "lose", "end"]),
    st.sampled_from(sorted(JOBS)),
    st.floats(0.1, 50),
    st.floats(0, 3000),
    st.booleans(),
)


@settings(deadline=None)
@given(events=st.lists(EVENTS, max_size=14), fuses=st.lists(st.integers(0, 25), max_size=12))
def test_books_balance_after_every_event_whenever_the_process_is_killed(
    events: list[tuple[str, str, float, float, bool]], fuses: list[int]
) -> None:
    store, naive, now, left = MemoryBooks(PARENTS), NaiveBookkeeper(), 0.0, iter(fuses)
    for uid, (account, user) in JOBS.items():
        store.add(RecordBook(billed(uid, user, account)))
    process = Process(store, left)

    def until_done(what: str, uid: str = "", rate: float = 0.0) -> None:
        """The world says it again to the next process, until one lives to the end of it."""
        nonlocal process
        while True:
            try:
                process.settle(now) if what == "settle" else process.play(what, uid, rate, now)
            except KilledError:
                assert_balanced(store, naive, now, is_settled=False)
                process = Process(store, left)
            else:
                return

    for what, uid, rate, seconds, is_settled in events:
        now += seconds
        naive.note(what, uid, rate, now)
        until_done(what, uid, rate)
        if is_settled:
            until_done("settle")
        assert_balanced(store, naive, now, is_settled=is_settled)
    now += 1000.0
    for uid in JOBS:
        naive.note("end", uid, 0.0, now)
        until_done("end", uid)
    for _ in range(2):
        until_done("settle")
    assert_balanced(store, naive, now, is_settled=True)
    settled = {account: store.book(account).settled for account in PARENTS}
    assert settled == {
        account: sum(naive.charge(uid, now) for uid in JOBS if JOBS[uid][0] == account) for account in settled
    }
    assert TREE.sums(settled)["physics"] == settled["physics"] + settled["lab"]
    assert all(record.is_settled for record, _ in store.records.values())
    assert all(store.book(account).settling == () for account in PARENTS)
    assert all(sum(book.periods.get("year", {}).values()) == book.settled for book, _ in store.accounts.values())
    later = now + 3000.0
    used = Process(store, iter(())).shares.usage(later)
    for payer in set(JOBS.values()):
        mine = [uid for uid, each in JOBS.items() if each == payer]
        expected = math.fsum(naive.usage(uid, later) for uid in mine)
        assert used.get(Payer(*payer), 0.0) == pytest.approx(expected, rel=1e-4, abs=1e-6)


@settings(deadline=None)
@given(
    lengths=st.lists(st.floats(0, 1000), min_size=1, max_size=4),
    visits=st.dictionaries(st.integers(0, 60), st.tuples(st.integers(0, 30), st.integers(1, 3)), max_size=6),
    is_away=st.booleans(),
)
def test_two_leaders_charge_once(lengths: list[float], visits: dict[int, tuple[int, int]], is_away: bool) -> None:
    """Before some calls of the one, the other settles once or more, and is killed or lives."""
    store = MemoryBooks()
    for number, length in enumerate(lengths):
        intervals = (RunInterval(0.0, length, 1.0),)
        store.add(RecordBook(billed(f"u{number}")).ended_at(length, intervals))
    num_calls = 0

    def visit(call: str) -> None:
        nonlocal num_calls
        num_calls += 1
        fuse, rounds = visits.get(num_calls, (0, 0))

        def burn(call: str) -> None:
            nonlocal fuse
            fuse -= 1
            if fuse < 0:
                raise KilledError

        other = Books(StoreView(store, burn), OpenJobs(), HALF_LIFE)
        try:
            for _ in range(rounds):
                other.settle("physics", 2000.0)
        except KilledError:
            pass

    first = Books(StoreView(store, visit), OpenJobs(), HALF_LIFE)
    store.is_ledger_away = is_away
    first.settle("physics", 2000.0)
    store.is_ledger_away = False
    for _ in range(3):
        first.settle("physics", 2000.0)
    last = Books(StoreView(store), OpenJobs(), HALF_LIFE)
    for _ in range(2):
        last.settle("physics", 2000.0)
    charges = sum(record.charge for record, _ in store.records.values())
    assert store.book().settled == charges == sum(line.charge for line in store.lines.values())
    assert store.book().settling == ()
    assert all(record.is_settled for record, _ in store.records.values())
