"""The kernel: order, time, cancellation."""

from __future__ import annotations

from fairway.sim.timeline import Timeline


def test_actions_happen_in_order_of_time_then_of_asking() -> None:
    timeline, done = Timeline(), list[tuple[str, float]]()
    for name, time in (("late", 5.0), ("first", 1.0), ("second", 1.0)):
        timeline.at(time, lambda name=name: done.append((name, timeline.now())))  # type: ignore[misc]
    timeline.run()
    assert done == [("first", 1.0), ("second", 1.0), ("late", 5.0)]


def test_actions_may_ask_for_more_and_for_the_past() -> None:
    timeline, done = Timeline(), list[float]()
    timeline.at(3, lambda: timeline.at(1, lambda: done.append(timeline.now())))
    timeline.run()
    assert done == [3]


def test_a_cancelled_action_does_not_happen() -> None:
    timeline, done = Timeline(), list[str]()
    handle = timeline.after(1, lambda: done.append("never"))
    handle.cancel()
    handle.cancel()
    timeline.run()
    assert done == []
    assert timeline.num_busy == 0
    assert timeline.next_time() is None


def test_until_leaves_the_rest_for_later() -> None:
    timeline, done = Timeline(), list[int]()
    timeline.at(1, lambda: done.append(1))
    timeline.at(9, lambda: done.append(9))
    timeline.run(until=5)
    assert (done, timeline.now()) == ([1], 5)
    timeline.run()
    assert (done, timeline.now()) == ([1, 9], 9)


def test_idle_actions_are_not_busy_ones() -> None:
    timeline = Timeline()
    timeline.at(1, lambda: None, is_idle=True)
    timeline.at(2, lambda: None)
    assert timeline.num_busy == 1
    timeline.step()
    assert timeline.num_busy == 1
    timeline.step()
    assert timeline.num_busy == 0
