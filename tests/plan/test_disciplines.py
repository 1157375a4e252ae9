"""The four disciplines on machines that one can draw."""

import math

import pytest
from msgspec.structs import replace

from fairway.plan import BookingMode, Dependency, Discipline, QueueRule, Replan, dates, run_pass
from tests.plan.situations import RULES, job, machine, occupied

# Four CPUs, two of them taken until 10. The first job wants all four, so it waits until 10.
WIDE, SHORT, LONG, NARROW_LONG = job("wide", 4, 10), job("short", 2, 10), job("long", 2, 11), job("narrow", 1, 50)


@pytest.mark.parametrize(
    ("discipline", "started"),
    [
        ("fifo", []),  # nobody passes the wide one
        ("walk", ["long"]),  # the first one that fits takes all that is free
        ("easy", ["short"]),  # the long one would delay the wide one, the short one does not
        ("conservative", ["short"]),
    ],
)
def test_who_starts_beside_a_wide_job_that_waits(discipline: str, started: list[str]) -> None:
    calendar = machine()
    occupied(calendar, "there", 2, 10.0)
    outcome = run_pass(calendar, [WIDE, LONG, SHORT], 0.0, RULES[discipline])
    assert [promise.job.key for promise in outcome.started] == started


def test_easy_promises_to_the_first_and_conservative_to_all() -> None:
    promised = {}
    for discipline in ("easy", "conservative", "walk", "fifo"):
        calendar = machine()
        occupied(calendar, "there", 2, 10.0)
        run_pass(calendar, [WIDE, LONG, NARROW_LONG], 0.0, RULES[discipline])
        promised[discipline] = {key: promise.slot.start for key, promise in calendar.promises.items()}
    assert promised == {
        "easy": {"wide": 10.0},
        "conservative": {"wide": 10.0, "long": 20.0, "narrow": 20.0},
        "walk": {},
        "fifo": {},
    }


def test_depth_counts_the_promises_of_each_queue() -> None:
    calendar = machine()
    occupied(calendar, "there", 4, 10.0)
    rules = {"a": QueueRule(depth=2), "b": QueueRule(depth=1)}
    jobs = [job(f"{queue}{number}", 4, queue=queue) for queue in "ab" for number in range(3)]
    run_pass(calendar, jobs, 0.0, rules)
    assert list(calendar.promises) == ["a0", "a1", "b0"]


def test_one_queue_that_nobody_passes_in_does_not_stop_another() -> None:
    calendar = machine()
    occupied(calendar, "there", 2, 10.0)
    rules = {"fifo": QueueRule(Discipline.FIFO), "walk": QueueRule(Discipline.WALK)}
    jobs = [job("a", 4, queue="fifo"), job("b", 1, queue="fifo"), job("c", 1, queue="walk")]
    assert [promise.job.key for promise in run_pass(calendar, jobs, 0.0, rules).started] == ["c"]


def test_promises_move_earlier_in_order_when_a_job_ends_early() -> None:
    calendar = machine()
    occupied(calendar, "there", 4, 100.0)
    first, second = job("first", 4, 10), job("second", 4, 10)
    run_pass(calendar, [first, second], 0.0, RULES["conservative"])
    assert {key: promise.slot.start for key, promise in calendar.promises.items()} == {"first": 100, "second": 110}
    calendar.remove("there")
    outcome = run_pass(calendar, [first, second], 7.0, RULES["conservative"])
    assert [promise.job.key for promise in outcome.started] == ["first"]
    assert calendar.promises["second"].slot.start == 17


def test_a_promise_is_kept_when_somebody_more_important_comes() -> None:
    calendar = machine()
    occupied(calendar, "there", 4, 10.0)
    run_pass(calendar, [WIDE], 0.0, RULES["easy"])
    run_pass(calendar, [job("urgent", 4), WIDE], 1.0, RULES["easy"])
    assert {key: promise.slot.start for key, promise in calendar.promises.items()} == {"wide": 10}
    run_pass(calendar, [job("urgent", 4), WIDE], 2.0, RULES["easy"], replan=Replan.ANEW)
    assert {key: promise.slot.start for key, promise in calendar.promises.items()} == {"urgent": 10}


def test_a_promise_that_can_not_be_kept_is_told() -> None:
    calendar = machine(num_nodes=2)
    occupied(calendar, "there", 4, 10.0, row=0)
    both = job("both", 4, members=2)
    run_pass(calendar, [both], 0.0, RULES["easy"])
    (promise,) = calendar.promises.values()
    occupied(calendar, "stranger", 1, 30.0, row=1)  # a pod outside of all queues
    outcome = run_pass(calendar, [both], 1.0, RULES["easy"])
    assert outcome.slipped == [promise]
    assert calendar.promises["both"].slot.start == 30


def test_who_is_looked_at_late_starts_then_and_the_others_give_way() -> None:
    calendar = machine()
    occupied(calendar, "there", 4, 10.0)
    first, second = job("first", 4, 10), job("second", 4, 10)
    run_pass(calendar, [first, second], 0.0, RULES["conservative"])
    outcome = run_pass(calendar, [first, second], 13.0, RULES["conservative"])
    assert [(promise.job.key, promise.slot.start) for promise in outcome.started] == [("first", 13)]
    assert calendar.promises["second"].slot.start == 23
    assert [promise.job.key for promise in outcome.slipped] == ["second"]


def test_who_may_not_start_yet_steps_aside() -> None:
    calendar = machine()
    later, behind = job("later", 4, begin=5.0), job("behind", 4)
    outcome = run_pass(calendar, [later, behind], 0.0, RULES["fifo"])
    assert [promise.job.key for promise in outcome.started] == ["behind"]
    assert dates(calendar, [later])["later"].start == 10


def test_a_job_waits_for_the_start_or_the_end_of_another() -> None:
    calendar = machine(num_nodes=2)
    first = job("first", 1, 20)
    with_it = replace(job("with", 1, 5), after=(Dependency("first", on_end=False),))
    behind = replace(job("behind", 1, 5), after=(Dependency("first", on_end=True),))
    for_ever = replace(job("never", 1, 5), after=(Dependency("nobody", on_end=True),))
    chain = replace(job("chain", 1, 5), after=(Dependency("behind", on_end=True),))
    jobs = [chain, behind, with_it, for_ever, first]
    assert [p.job.key for p in run_pass(calendar, jobs, 0.0, RULES["easy"]).started] == ["first"]
    times = {"first": (0.0, 20.0)}
    waiting = [one for one in jobs if one is not first]
    slots = dates(calendar, waiting, times)
    assert {key: slot.start for key, slot in slots.items()} == {"with": 0, "behind": 20, "chain": 25}
    started = run_pass(calendar, waiting, 0.0, RULES["easy"], times).started
    assert [promise.job.key for promise in started] == ["with"]


def test_what_has_no_slot_before_the_horizon_books_nothing_and_stops_nobody() -> None:
    calendar = machine()
    occupied(calendar, "for ever", 1, math.inf)
    outcome = run_pass(calendar, [job("all", 4), job("some", 3)], 0.0, RULES["conservative"])
    assert [one.key for one in outcome.beyond] == ["all"]
    assert [promise.job.key for promise in outcome.started] == ["some"]
    assert not calendar.promises


@pytest.mark.parametrize(("mode", "start"), [(BookingMode.AMOUNTS, 0.0), (BookingMode.NODES, 30.0)])
def test_a_booked_node_is_taken_whole_where_that_is_asked_for(mode: BookingMode, start: float) -> None:
    calendar = machine(mode=mode)
    occupied(calendar, "there", 2, 10.0)
    run_pass(calendar, [job("booked", 3, 20)], 0.0, RULES["easy"])
    assert calendar.promises["booked"].slot.start == 10
    slot = calendar.search(job("small", 1, 15))
    assert slot is not None
    assert slot.start == start
