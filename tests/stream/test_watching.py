"""Readers that stop, resume and are slow: what they got and what they were told to have lost is all that was sent."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairway.stream.ring import Ring
from fairway.stream.told import Attempt, Bound, Event, NodeSeen, PodRef, Preempted, QueueMove, Snapshot, Told
from fairway.stream.watching import BATCH, Batch, Gap, Reader, WantedEvents, read_token


class EventSource:
    """Numbers as events; a snapshot says which was the last."""

    def __init__(self, most_events: int = 8, stream_id: str = "one") -> None:
        self.ring: Ring[Event] = Ring(most_events)
        self.stream_id = stream_id

    def send(self, *whats: Told) -> None:
        for what in whats:
            self.ring.append(Event(float(self.ring.next), what), 1)

    def send_number(self) -> None:
        self.send(NodeSeen(f"n{self.ring.next}", "", "Added", True, False, {}))

    def snapshot(self) -> tuple[int, list[Event]]:
        return self.ring.next, [Event(float(self.ring.next - 1), Snapshot((), (), (), True))]


writes = st.integers(1, 20).map(lambda number: ("write", number))
acts = st.lists(st.one_of(writes, st.just(("read", 1)), st.just(("resume", 1))), max_size=60)


@given(st.integers(1, 12), st.booleans(), acts)
def test_received_and_lost_are_all_that_was_sent(most: int, snapshot: bool, story: list[tuple[str, int]]) -> None:
    source = EventSource(most)
    reader = Reader(source, WantedEvents(snapshot=snapshot))
    token, before = "", reader.token
    received: list[int] = []
    lost: list[int] = []

    def take(batch: Batch) -> None:
        nonlocal token
        token = batch.resume
        if batch.gap is not None:
            gap = batch.gap
            assert gap.lost == gap.to_sequence - gap.from_sequence + 1
            lost.extend(range(gap.from_sequence, gap.to_sequence + 1))
        for number, event in batch.events:
            if not isinstance(event.what, Snapshot):
                assert event.what == NodeSeen(f"n{number}", "", "Added", True, False, {})
                received.append(number)

    for act, number in story:
        match act:
            case "write":
                for _ in range(number):
                    source.send_number()
            case "read":
                if (batch := reader.read()) is not None:
                    take(batch)
            case "resume":
                reader = Reader(source, WantedEvents(snapshot=snapshot), token or before)
    while (batch := reader.read()) is not None:
        take(batch)
    if not token:
        return  # nothing was read, and nothing was to be
    sent = list(range(1, source.ring.next))
    assert received == sorted(set(received))
    begins = 1 if not snapshot else min([*received, *lost], default=source.ring.next)
    assert sorted(received + lost) == sent[begins - 1 :]


def test_a_resume_inside_the_ring_is_exact() -> None:
    source = EventSource(most_events=100)
    reader = Reader(source, WantedEvents())
    for _ in range(30):
        source.send_number()
    first = reader.read()
    for _ in range(30):
        source.send_number()
    assert first is not None
    again = Reader(source, WantedEvents(snapshot=True), first.resume).read()
    assert again is not None
    assert again.gap is None
    assert [number for number, _ in first.events + again.events] == list(range(1, 61))


def test_a_token_too_old_is_a_gap_and_then_what_is_kept() -> None:
    source = EventSource(most_events=10)
    for _ in range(50):
        source.send_number()
    batch = Reader(source, WantedEvents(), "one:21").read()
    assert batch is not None
    assert batch.gap == Gap(20, 21, 40, "too old")
    assert [number for number, _ in batch.events] == list(range(41, 51))


def test_after_a_gap_comes_how_things_stand_if_it_was_asked_for() -> None:
    source = EventSource(most_events=10)
    for _ in range(50):
        source.send_number()
    reader = Reader(source, WantedEvents(snapshot=True), "one:21")
    batch = reader.read()
    assert batch is not None
    assert batch.gap == Gap(30, 21, 50, "too old")
    assert [event.what for _, event in batch.events] == [Snapshot((), (), (), True)]
    assert reader.read() is None
    source.send_number()
    batch = reader.read()
    assert batch is not None
    assert [number for number, _ in batch.events] == [51]


@pytest.mark.parametrize(("snapshot", "lost", "kept"), [(False, 3, list(range(4, 12))), (True, 11, [11])])
def test_another_stream_begins_anew(snapshot: bool, lost: int, kept: list[int]) -> None:
    source = EventSource(stream_id="two")
    for _ in range(11):
        source.send_number()
    batch = Reader(source, WantedEvents(snapshot=snapshot), "one:7").read()
    assert batch is not None
    assert batch.gap == Gap(lost, 1, lost, "other leader")
    assert [number for number, _ in batch.events] == kept
    assert batch.resume == "two:12"


def test_a_slow_reader_is_told_exactly_what_it_missed() -> None:
    source = EventSource(most_events=10)
    reader = Reader(source, WantedEvents())
    for _ in range(50):
        source.send_number()
    assert reader.num_behind == 50
    batch = reader.read()
    assert batch is not None
    assert batch.gap == Gap(40, 1, 40, "slow reader")


def test_batches_are_bounded() -> None:
    source = EventSource(most_events=1000)
    reader = Reader(source, WantedEvents())
    for _ in range(600):
        source.send_number()
    sizes = []
    while (batch := reader.read()) is not None:
        sizes.append(len(batch.events))
    assert sizes == [BATCH, BATCH, 600 - 2 * BATCH]


@pytest.mark.parametrize(
    "token", ["", "one", "one:", ":5", "one:-1", "one:0", "one:x", "one:" + "9" * 5000, "ONE:1", "a b:1", "one:٣"]
)
def test_what_is_no_token(token: str) -> None:
    assert read_token(token) is None
    if token:
        with pytest.raises(ValueError, match="is no token of a stream"):
            Reader(EventSource(), WantedEvents(), token)


def test_the_future_is_no_place_to_resume_from() -> None:
    with pytest.raises(ValueError, match="is ahead of the stream"):
        Reader(EventSource(), WantedEvents(), "one:2")


# -- filters -----------------------------------------------------------------------------------------------------------

WEB, DB = PodRef("shop", "web-1", "1"), PodRef("lab", "db-1", "2")
EVERYTHING: Sequence[Told] = (
    Bound(WEB, "n1", "", "", {}),
    Bound(DB, "n2", "", "", {}),
    Attempt(WEB, "s", 1, "scheduled", "n1"),
    Attempt(DB, "s", 1, "unschedulable", nominated_node="n1"),
    QueueMove(WEB, "s", "", "active", ""),
    NodeSeen("n1", "", "Added", True, False, {}),
    Preempted(DB, "n2", WEB),
)
FILTERS = {
    "nothing": (WantedEvents(), [1, 2, 3, 4, 5, 6, 7]),
    "a kind": (WantedEvents(kinds=[Bound]), [1, 2]),
    "two kinds": (WantedEvents(kinds=[Bound, NodeSeen]), [1, 2, 6]),
    "pods by name": (WantedEvents(pod_glob="web-*"), [1, 3, 5, 7]),
    "pods by namespace": (WantedEvents(pod_glob="lab/*"), [2, 4, 7]),
    "no such pods": (WantedEvents(pod_glob="shop/db-*"), []),
    "nodes": (WantedEvents(node_glob="n1"), [1, 3, 4, 6]),
    "all of it": (WantedEvents(kinds=[Bound], pod_glob="*-1", node_glob="n?"), [1, 2]),
}


@pytest.mark.parametrize(("wanted", "numbers"), FILTERS.values(), ids=FILTERS)
def test_filters(wanted: WantedEvents, numbers: list[int]) -> None:
    source = EventSource()
    reader = Reader(source, wanted)
    source.send(*EVERYTHING)
    batch = reader.read()
    assert batch is not None
    assert [number for number, _ in batch.events] == numbers
    assert batch.resume == "one:8"
    assert reader.read() is None


def test_gaps_count_all_events_whatever_was_asked_for() -> None:
    source = EventSource(most_events=2)
    reader = Reader(source, WantedEvents(kinds=[Snapshot]))
    source.send(*EVERYTHING)
    batch = reader.read()
    assert batch is not None
    assert (batch.events, batch.gap) == ((), Gap(5, 1, 5, "slow reader"))


def test_a_snapshot_has_what_was_asked_for() -> None:
    n1, n2 = (NodeSeen(name, "", "Added", True, False, {}) for name in ("n1", "n2"))
    bound = (Bound(WEB, "n1", "", "", {}), Bound(DB, "n2", "", "", {}))
    queue = (QueueMove(DB, "s", "", "active", ""),)

    class Standing(EventSource):
        def snapshot(self) -> tuple[int, list[Event]]:
            return 1, [Event(0.0, Snapshot((n1, n2), bound, queue, True))]

    def told(wanted: WantedEvents) -> Told:
        batch = Reader(Standing(), wanted).read()
        assert batch is not None
        return batch.events[0][1].what

    assert told(WantedEvents(snapshot=True, kinds=[Bound])) == Snapshot((n1, n2), bound, queue, True)
    assert told(WantedEvents(snapshot=True, pod_glob="web*")) == Snapshot((n1, n2), bound[:1], (), True)
    assert told(WantedEvents(snapshot=True, node_glob="n2")) == Snapshot((n2,), bound[1:], queue, True)
