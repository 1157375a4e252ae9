"""Extensions at the desk: against promises, quotas, budgets and what is closed, in a small simulation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairway.batch.closings import Closing
from fairway.batch.duties.extending import Closed
from fairway.batch.extension import ExtensionAnswer
from fairway.batch.reasons import JobState
from fairway.model.batch import AccountSpec, ExtensionRules, QueueLimits, UserLimits
from fairway.model.batch.account import BudgetSpec
from fairway.model.duration import Duration
from fairway.model.quantity import parse_quantity
from tests.batch.room import Room, job

MINUTE = 60.0
LIMITS = QueueLimits(max=Duration(100_000), kill_grace=Duration(0))


def asked(room: Room, name: str, more: float, **by: Any) -> ExtensionAnswer:
    """What is said to so much more; nothing is changed."""
    long = room.find(name)
    assert long.ledger.granted_limit is not None
    answer = room.desk.ordering.extending.judge(long, long.ledger.granted_limit + more, **by)
    assert answer is not None
    return answer


def more_for(room: Room, name: str) -> float:
    """The longest that is offered, beyond what it has."""
    granted = room.find(name).ledger.granted_limit
    assert granted is not None
    return asked(room, name, 99_000.0).longest - granted


def test_windows_and_reservations_are_never_crossed() -> None:
    room = Room([(0.0, job("long", limit=600.0, run=600.0))], queues={"q": {"limits": LIMITS}})
    room.until(10.0)
    window = Closing("window/w", "maintenance", "w", np.array([0]), 1000.0, 2000.0)
    room.desk.ordering.extending.closed = lambda _: Closed([window])
    answer = asked(room, "long", 900.0)
    assert answer.words == (
        "refused: 15m would reach into maintenance w at 00:16:40; longest possible: +6m (until 00:16:00)"
    )
    assert asked(room, "long", 360.0).is_granted
    room.desk.ordering.extending.closed = lambda _: Closed([window], [window.key])
    assert asked(room, "long", 900.0).is_granted, "its own"


def test_it_has_to_be_paid_for() -> None:
    accounts = {"a": AccountSpec(budget=BudgetSpec(amount=1000, period="ever"))}
    jobs = [
        (0.0, job("long", limit=600.0, run=600.0, account="a")),
        (0.0, job("other", limit=300.0, run=300.0, account="a")),
    ]
    room = Room(jobs, queues={"q": {"limits": LIMITS}}, accounts=accounts)
    room.until(100.0)
    # 200 of 1000 are used; it needs 500 for what it has, and 300 are left.
    answer = asked(room, "long", 360.0)
    assert answer.stopped_by is not None
    assert (answer.stopped_by.kind, more_for(room, "long")) == ("budget", 300.0)
    assert asked(room, "long", 300.0).is_granted


@pytest.mark.parametrize(
    "rules",
    [
        {"quota": {"cpu": parse_quantity("2")}, "max": {"cpu": parse_quantity("2")}},
        {"per_user": UserLimits(resources={"cpu": parse_quantity("2")})},
        {"per_user": UserLimits(running=1)},
    ],
)
def test_what_a_queue_or_user_may_use_is_promised_too(rules: dict[str, Any]) -> None:
    jobs = [(0.0, job("long", cpu=2, limit=600.0, run=600.0)), (1.0, job("next", cpu=1, limit=600.0))]
    room = Room(jobs, cpus=(8,), queues={"q": {"limits": LIMITS, **rules}})
    room.until(10.0)
    assert room.desk.machine.calendar.promises["default/next"].slot.start == 600.0
    answer = asked(room, "long", MINUTE)
    assert answer.stopped_by is not None
    assert (answer.stopped_by.kind, answer.stopped_by.name, more_for(room, "long")) == ("promise", "default/next", 0.0)
    delays = {"limits": LIMITS, "extension": ExtensionRules(delays="any"), **rules}
    room = Room(jobs, cpus=(8,), queues={"q": delays})
    room.until(10.0)
    assert asked(room, "long", MINUTE).delayed == ("default/next",)


SHAPES = st.lists(
    st.tuples(st.integers(1, 4), st.integers(1, 20), st.integers(0, 60), st.sampled_from(["q", "r"])),
    min_size=2,
    max_size=10,
)


@settings(max_examples=60, deadline=None)
@given(
    shapes=SHAPES, delays=st.sampled_from(["none", "lower", "any"]), quota=st.sampled_from([None, 3, 5]), data=st.data()
)
def test_the_longest_is_granted_a_minute_more_is_not_and_no_binding_promise_moves(
    shapes: list[tuple[int, int, int, str]], delays: Any, quota: int | None, data: st.DataObject
) -> None:
    """Every job that runs is asked; one of them has its longest, and everybody's dates are looked at again."""
    arrivals = [
        (float(at), job(f"j{number}", cpu, 3000.0, minutes * MINUTE, queue, nice=str(number % 3)))
        for number, (cpu, minutes, at, queue) in enumerate(shapes)
    ]
    arrivals.sort(key=lambda item: item[0])
    rules = {
        "discipline": "conservative",
        "limits": LIMITS,
        "extension": ExtensionRules(max=Duration(3000), delays=delays),
    }
    limited = {} if quota is None else {"max": {"cpu": parse_quantity(str(quota + 1))}}
    room = Room(arrivals, cpus=(4, 4), queues={"q": {**rules, **limited}, "r": rules})
    room.until(70.0)
    calendar = room.desk.machine.calendar
    running = [each for each in room.desk.book if each.state is JobState.RUNNING]
    if not running:
        return
    for each in running:
        name = each.key.removeprefix("default/")
        more = more_for(room, name)
        assert more % MINUTE == 0
        assert asked(room, name, more).is_granted
        assert not asked(room, name, more + MINUTE).is_granted
    long = data.draw(st.sampled_from(running))
    name = long.key.removeprefix("default/")
    more, before = more_for(room, name), {key: promise.slot.start for key, promise in calendar.promises.items()}
    binding = {
        key
        for key in before
        if delays == "none" or (delays == "lower" and room.desk.book.jobs[key].priority >= long.priority)
    }
    assert long.ledger.granted_limit is not None
    room.desk.ordering.extending.change(long, long.ledger.granted_limit + more)
    room.desk.run_pass()
    after = {key: promise.slot.start for key, promise in room.desk.machine.calendar.promises.items()}
    assert {key for key in binding if key in after and after[key] > before[key]} == set()
    assert all(key in after or room.desk.book.jobs[key].is_released for key in binding)
