"""Longer limits: all or nothing, in order, and the longest that would be granted."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairway.batch.closings import Closing, keep_closed
from fairway.batch.extension import ExtensionTerms, carry_out, judge_extension
from fairway.plan import Calendar, run_pass
from tests.batch.extension_cases import HOUR, closed, is_possible, request, running, taken_of, terms
from tests.plan.situations import RULES, job, machine, occupied

MINUTE = 60.0


def busy() -> Calendar:
    """One node of four CPUs: the job has one until 1 h, a wide one was promised all of it at 3 h."""
    calendar = machine()
    occupied(calendar, "there", 2, 3 * HOUR)
    return calendar


@pytest.mark.parametrize(
    ("changes", "more", "kind", "longest"),
    [
        pytest.param({}, 2 * HOUR, None, math.inf, id="nothing is in the way"),
        pytest.param({"most": 90 * MINUTE}, HOUR, "limits.max", 90 * MINUTE, id="the queue's longest limit"),
        pytest.param({"extension": 20 * MINUTE}, HOUR, "extension.max", 80 * MINUTE, id="the queue's extensions"),
        pytest.param({"affordable": lambda: 630.0}, HOUR, "budget", 70 * MINUTE, id="the account, by whole minutes"),
        pytest.param(
            {"most": 2 * HOUR, "affordable": lambda: 600.0}, 2 * HOUR, "limits.max", 70 * MINUTE, id="in order"
        ),
        pytest.param({"most": 0.5 * HOUR}, HOUR, "limits.max", HOUR, id="a limit over what the queue allows by now"),
    ],
)
def test_what_the_rules_say(changes: dict[str, object], more: float, kind: str | None, longest: float) -> None:
    calendar = machine()
    use = running(calendar)
    answer = judge_extension(calendar, request(use, more), terms(**changes))  # type: ignore[arg-type]
    assert (answer.stopped_by and answer.stopped_by.kind, answer.longest) == (kind, longest)
    assert answer.is_granted == (kind is None)
    assert answer.limit == (HOUR + more if answer.is_granted else HOUR)


def test_an_owner_asks_only_where_owners_may() -> None:
    calendar = machine()
    use = running(calendar)
    strict = terms(by_owner=False)
    answer = judge_extension(calendar, request(use, HOUR, by_owner=True), strict)
    assert answer.stopped_by is not None
    assert answer.stopped_by.kind == "not allowed"
    assert answer.words == "refused: its queue lets operators alone extend jobs; no minute more is possible"
    assert judge_extension(calendar, request(use, HOUR), strict).is_granted


def test_it_never_reaches_into_a_window_and_is_told_how_far_it_may_go() -> None:
    calendar = machine()
    use = running(calendar)
    window = closed(calendar, "rack-r7", 3.3 * HOUR + 30, 5 * HOUR)
    answer = judge_extension(calendar, request(use, 4 * HOUR), terms(closings=[window]))
    assert answer.words == (
        "refused: 4h would reach into maintenance rack-r7 at 03:18:30; longest possible: +2h 18m (until 03:18:00)"
    )
    assert judge_extension(calendar, request(use, answer.longest - HOUR), terms(closings=[window])).is_granted
    assert not judge_extension(calendar, request(use, answer.longest - HOUR + 60), terms(closings=[window])).is_granted


@pytest.mark.parametrize(
    ("start", "end", "rows", "longest"),
    [
        pytest.param(2 * HOUR, 3 * HOUR, (0,), 2 * HOUR, id="until it begins"),
        pytest.param(2 * HOUR, 3 * HOUR, (1,), math.inf, id="on another node"),
        pytest.param(0.5 * HOUR, 3 * HOUR, (0,), HOUR, id="it runs into it already"),
        pytest.param(0.5 * HOUR, 0.75 * HOUR, (0,), math.inf, id="it is over before"),
        pytest.param(HOUR, 3 * HOUR, (0,), HOUR, id="it begins when the job ends"),
    ],
)
def test_windows(start: float, end: float, rows: tuple[int, ...], longest: float) -> None:
    calendar = machine(2)
    use = running(calendar)
    window = closed(calendar, "w", start, end, rows)
    assert judge_extension(calendar, request(use, 9 * HOUR), terms(closings=[window])).longest == longest


def test_its_own_reservation_is_no_hindrance() -> None:
    calendar = machine()
    use = running(calendar)
    kept = Closing("reservation/r", "reservation", "r", np.array([0]), 0.0, 9 * HOUR)
    keep_closed(calendar, [], [kept])
    outside = judge_extension(calendar, request(use, HOUR), terms(closings=[kept]))
    assert outside.stopped_by is not None
    assert outside.stopped_by.kind == "reservation"
    assert judge_extension(calendar, request(use, HOUR, may_enter=[kept.key]), terms(closings=[kept])).is_granted


@pytest.mark.parametrize(
    ("delays", "own_priority", "longest", "delayed"),
    [
        pytest.param("none", 9, 3 * HOUR, (), id="no promise moves"),
        pytest.param("lower", 5, 3 * HOUR, (), id="one of equal priority does not move"),
        pytest.param("lower", 6, math.inf, ("wide",), id="one of lower priority does"),
        pytest.param("any", 0, math.inf, ("wide",), id="all do"),
    ],
)
def test_promises(delays: str, own_priority: int, longest: float, delayed: tuple[str, ...]) -> None:
    calendar = busy()
    use = running(calendar)
    wide = job("wide", 4, HOUR)
    run_pass(calendar, [wide], 0.0, RULES["easy"])
    asked = request(use, 4 * HOUR, priority=own_priority)
    answer = judge_extension(calendar, asked, terms(delays=delays, priorities={"wide": 5}))
    assert (answer.longest, answer.delayed) == (longest, delayed)
    assert calendar.promises["wide"].slot.start == 3 * HOUR, "nothing is changed by asking"
    if answer.is_granted:
        carry_out(calendar, asked, answer)
        run_pass(calendar, [wide], 0.0, RULES["easy"])
        assert calendar.promises["wide"].slot.start == 5 * HOUR
    else:
        assert answer.stopped_by is not None
        assert answer.stopped_by.name == "wide"
        assert "4h would delay wide, which was promised room at 03:00:00" in answer.words


def test_a_promise_that_there_is_room_beside_is_no_hindrance() -> None:
    calendar = busy()
    use = running(calendar)
    run_pass(calendar, [job("narrow", 3, HOUR)], 0.0, RULES["easy"])
    assert judge_extension(calendar, request(use, 9 * HOUR), terms()).is_granted


@pytest.mark.parametrize(
    ("asked", "consumed", "limit", "says"),
    [
        pytest.param(1800.0, 600.0, 1800.0, "granted: its limit is 30m from now on", id="less"),
        pytest.param(3600.0, 600.0, 3600.0, "granted: its limit is 1h from now on", id="the same"),
        pytest.param(
            300.0, 600.0, 660.0, "granted: its limit is 11m from now on, not less: it has run for 10m", id="past"
        ),
        pytest.param(
            300.0, 3590.0, 3600.0, "its limit is 1h from now on, not less", id="the last minute stays as it is"
        ),
    ],
)
def test_less_is_always_granted(asked: float, consumed: float, limit: float, says: str) -> None:
    calendar = machine()
    use = running(calendar)
    answer = judge_extension(calendar, request(use, asked - HOUR, consumed=consumed), terms(most=60))
    assert (answer.is_granted, answer.limit) == (True, limit)
    assert says in answer.words


def test_who_never_ended_may_get_an_end() -> None:
    calendar = machine(cpus=1)
    use = running(calendar, limit=math.inf)
    lowered = replace(request(use, 0.0, limit=math.inf, consumed=600.0), asked=7200.0)
    carry_out(calendar, lowered, judge_extension(calendar, lowered, terms()))
    slot = calendar.search(job("next", 1, 10))
    assert slot is not None
    assert slot.start == 6600.0


TIMES = st.integers(0, 40).map(lambda number: number * 30.0)  # half minutes: bounds fall between two minutes
LENGTHS = st.integers(1, 40).map(lambda number: number * 30.0)
ROWS = st.lists(st.integers(0, 2), min_size=1, max_size=3, unique=True)


@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_the_longest_offered_is_granted_and_a_minute_more_is_not(data: st.DataObject) -> None:
    draw = data.draw
    calendar = machine(3, 4)
    others = [(row, draw(st.integers(1, 2)), draw(LENGTHS)) for row in draw(ROWS)]
    for row, cpus, until in others:
        occupied(calendar, f"other{row}", cpus, until, row)
    limit, own = draw(LENGTHS), draw(st.integers(0, 3))
    use = running(calendar, draw(ROWS), draw(st.integers(1, 2)), limit)
    spans = draw(st.lists(st.tuples(TIMES, LENGTHS, ROWS), max_size=2))
    closings = [closed(calendar, f"w{number}", at, at + span, rows) for number, (at, span, rows) in enumerate(spans)]
    wants = draw(st.lists(st.tuples(st.integers(1, 4), LENGTHS, st.integers(1, 3)), max_size=5))
    waiting = [job(f"j{number}", *want) for number, want in enumerate(wants)]
    priorities = {each.key: draw(st.integers(0, 3)) for each in waiting}
    delays = draw(st.sampled_from(["none", "lower", "any"]))
    rules = terms(most=3000.0, delays=delays, closings=closings, priorities=priorities)
    for start in run_pass(calendar, waiting, 0.0, RULES["conservative"]).started:
        others += [(row, cpus, start.slot.end) for row in range(3) if (cpus := taken_of(start, row))]
    before = dict(calendar.promises)
    binding = {key for key in before if delays == "none" or (delays == "lower" and priorities[key] >= own)}

    answer = judge_extension(calendar, request(use, 1e6, limit, priority=own), rules)
    offered = answer.longest - limit
    assert not answer.is_granted
    asked = request(use, offered, limit, priority=own)
    granted = judge_extension(calendar, asked, rules)
    assert granted.is_granted
    assert not judge_extension(calendar, request(use, offered + 60, limit, priority=own), rules).is_granted

    kept, minutes = [before[key] for key in binding], 0  # the same, a minute at a time
    while limit + minutes * 60 + 60 <= 3000 and is_possible(4, others, kept, closings, use, minutes * 60.0 + 60):
        minutes += 1
    assert offered == minutes * 60

    carry_out(calendar, asked, granted)
    outcome = run_pass(calendar, [each for each in waiting if each.key in before], 0.0, RULES["conservative"])
    after = {promise.job.key: promise for promise in outcome.started} | calendar.promises
    assert {key for key in binding if after[key].slot.start > before[key].slot.start} == set()
    later = {key for key in before if key not in after or after[key].slot.start > before[key].slot.start}
    assert later <= set(granted.delayed)


def test_terms_have_defaults_that_allow_what_the_queue_allows() -> None:
    calendar = machine()
    use = running(calendar)
    rules = terms()
    assert judge_extension(calendar, request(use, HOUR), ExtensionTerms(rules.limits, rules.rules)).is_granted
