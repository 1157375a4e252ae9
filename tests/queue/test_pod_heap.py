from __future__ import annotations

from itertools import count

from hypothesis import given
from hypothesis import strategies as st

from fairway.queue.pod_heap import PodHeap
from fairway.queue.queued_pod import priority_order
from tests.queue.builders import names, waiting


def test_smallest_key_first_then_first_come() -> None:
    heap = PodHeap(priority_order, count(1))
    for sequence, (name, priority, timestamp) in enumerate(
        [("late", 0, 2.0), ("early", 0, 1.0), ("high", 5, 9.0), ("same time", 0, 1.0), ("negative", -5, 0.0)]
    ):
        heap.push(waiting(name, priority=priority, timestamp=timestamp, sequence=sequence))
    assert names(list(heap)) == ["high", "early", "same time", "late", "negative"]
    assert [heap.pop() is not None for _ in range(6)] == [True] * 5 + [False]


def test_an_entry_left_behind_is_not_mistaken_for_a_pod_that_came_back() -> None:
    tickets = count(1)
    one, other = PodHeap(priority_order, tickets), PodHeap(priority_order, tickets)
    queued = waiting()
    one.push(queued)
    one.remove(queued)
    other.push(queued)
    assert one.peek() is None
    assert one.pop() is None
    assert other.pop() is queued
    one.push(queued)
    assert len(one) == 1
    assert one.pop() is queued
    assert one.pop() is None


def test_many_removals_do_not_pile_up() -> None:
    heap = PodHeap(priority_order, count(1))
    keeper = waiting("keeper")
    heap.push(keeper)
    for number in range(5000):
        queued = waiting(str(number), sequence=number)
        heap.push(queued)
        heap.remove(queued)
    assert len(heap._entries) < 200  # noqa: SLF001 - memory is what this is about
    assert heap.pop() is keeper


@given(
    st.lists(st.tuples(st.sampled_from(["push", "pop", "remove", "reorder"]), st.integers(0, 9), st.integers(-3, 3)))
)
def test_behaves_like_a_sorted_list(steps: list[tuple[str, int, int]]) -> None:
    heap = PodHeap(priority_order, count(1))
    pods = [waiting(str(number), sequence=number) for number in range(10)]
    inside: list[int] = []

    def expected() -> list[int]:
        return sorted(inside, key=lambda number: (priority_order(pods[number]), number))

    for action, number, priority in steps:
        if action == "push" and number not in inside:
            pods[number].pod = waiting(str(number), priority=priority).pod
            heap.push(pods[number])
            inside.append(number)
        elif action == "remove" and number in inside:
            heap.remove(pods[number])
            inside.remove(number)
        elif action == "reorder" and number in inside:
            pods[number].pod = waiting(str(number), priority=priority).pod
            heap.reorder(pods[number])
        elif action == "pop":
            best = expected()[:1]
            queued = heap.pop()
            assert ([] if queued is None else [int(queued.uid)]) == best
            inside[:] = [number for number in inside if number not in best]
        assert len(heap) == len(inside)
        assert [int(queued.uid) for queued in heap] == expected()
