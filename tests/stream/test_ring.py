"""The ring: nothing lost that fits, nothing twice, and exactly counted what is gone; while a thread writes, too."""

import threading

from hypothesis import given
from hypothesis import strategies as st

from fairway.stream.ring import Ring

writes = st.integers(1, 12).map(lambda size: ("write", size))
reads = st.integers(1, 6).map(lambda most: ("read", most))


@given(st.integers(1, 8), st.integers(1, 40), st.lists(st.one_of(writes, reads), max_size=60))
def test_a_reader_gets_all_that_is_kept_in_order(
    most_events: int, most_bytes: int, acts: list[tuple[str, int]]
) -> None:
    ring: Ring[str] = Ring(most_events, most_bytes)
    written: list[tuple[str, int]] = []
    cursor = 1
    for act, number in acts:
        if act == "write":
            assert ring.append(f"event {len(written) + 1}", number) == len(written) + 1
            written.append((f"event {len(written) + 1}", number))
        else:
            # Naively: the longest tail that fits, but the newest event always.
            kept = next(
                start
                for start in range(max(0, len(written) - most_events), len(written) + 1)
                if start >= len(written) - 1 or sum(size for _, size in written[start:]) <= most_bytes
            )
            stretch = ring.read(cursor, number)
            begin = max(cursor - 1, kept)
            assert stretch.first == begin + 1
            assert stretch.events == [event for event, _ in written[begin : begin + number]]
            cursor = stretch.next
    assert len(ring) <= most_events


def test_readers_in_threads_see_each_event_once_or_know_that_it_is_gone() -> None:
    ring: Ring[int] = Ring(most_events=64)
    total, is_over = 30_000, threading.Event()
    seen: list[list[tuple[int, int]]] = [[], [], []]
    lost = [0, 0, 0]

    def follow(number: int) -> None:
        cursor = 1
        while True:
            was_over = is_over.is_set()
            stretch = ring.read(cursor, 16)
            lost[number] += stretch.first - cursor
            seen[number].extend(enumerate(stretch.events, stretch.first))
            cursor = stretch.next
            if was_over and cursor == total + 1:
                return

    readers = [threading.Thread(target=follow, args=(number,)) for number in range(3)]
    for reader in readers:
        reader.start()
    for event in range(1, total + 1):
        ring.append(event, 1)
    is_over.set()
    for reader in readers:
        reader.join(60)
        assert not reader.is_alive()
    for number in range(3):
        assert all(sequence == event for sequence, event in seen[number])
        assert [event for _, event in seen[number]] == sorted({event for _, event in seen[number]})
        assert len(seen[number]) + lost[number] == total
