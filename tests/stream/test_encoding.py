"""Events become bytes and the same events again, whatever is in them; newer kinds and words are no error."""

from typing import Any, get_args

import pytest
from google.protobuf.unknown_fields import UnknownFieldSet
from hypothesis import given
from hypothesis import strategies as st

from fairway.cycle import Outcome
from fairway.cycle.decision import Via
from fairway.plugin import Code
from fairway.queue import Place
from fairway.record.vocabulary import IntervalEnd, PodEnd
from fairway.stream import told
from fairway.stream.decoding import decode_event
from fairway.stream.encoding import CODES, FORMS, OUTCOMES, PLACES, REASONS, VIAS, encode_event
from fairway.stream.told import Event, Told
from fairway.stream.wire import decisions_pb2 as wire

text = st.text(st.characters(codec="utf-8"), max_size=8)
count = st.integers(0, 2**31)
number = st.integers(-(2**63), 2**63 - 1)
seconds = st.floats(0, 1e9)
amounts = st.dictionaries(text, number, max_size=3)
refs = st.builds(told.PodRef, text, text, text)


def some(one: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[Any, ...]]:
    return st.lists(one, max_size=3).map(tuple)


refused = st.builds(told.Refused, text, st.sampled_from(["", *CODES]), text, count)
scored = st.builds(told.Scored, count, text, number, amounts)
times = st.builds(told.PluginTime, text, text, count, seconds)
attempts = st.builds(
    told.Attempt, refs, text, count, st.sampled_from(["", *OUTCOMES]), text, st.sampled_from(["", *VIAS]), count, count,
    count, st.none() | number, some(refused), some(scored), text, some(refs), text, seconds, some(times),
)  # fmt: skip
places = st.sampled_from(["", *PLACES])
moves = st.builds(told.QueueMove, refs, text, places, places, text)
bounds = st.builds(told.Bound, refs, text, text, text, amounts)
unbounds = st.builds(told.Unbound, refs, text, st.sampled_from(["", *REASONS]), text, amounts, seconds)
texts = st.dictionaries(text, text, max_size=3)
pods = st.builds(
    told.PodSeen, refs, text, text, text, st.integers(-(2**31), 2**31 - 1), amounts, texts, st.none() | seconds
)
nodes = st.builds(told.NodeSeen, text, text, text, st.booleans(), st.booleans(), amounts, texts)
preempted = st.builds(told.Preempted, refs, text, refs)
snapshots = st.builds(told.Snapshot, some(nodes), some(bounds), some(moves), st.booleans())
whats = st.one_of(attempts, moves, bounds, unbounds, pods, nodes, preempted, snapshots)


@given(st.builds(Event, seconds, whats), st.integers(1, 2**63), st.none() | st.integers(0, 2**62))
def test_events_come_back_as_they_were(event: Event, sequence: int, origin: int | None) -> None:
    data = encode_event(event, sequence, origin, most_scores=3).SerializeToString()
    message = wire.Event.FromString(data)
    assert decode_event(message) == event
    assert message.sequence == sequence
    assert message.HasField("time") == (origin is not None)


def test_times_are_those_of_a_real_clock_to_the_nanosecond() -> None:
    event = Event(1.25, told.PodSeen(told.PodRef("", "", ""), ""))
    message = encode_event(event, 1, 1_700_000_000_900_000_001, 0)
    assert (message.time.seconds, message.time.nanos) == (1_700_000_002, 150_000_001)


@pytest.mark.parametrize(("most", "ranks"), [(0, []), (2, [1, 2]), (9, [1, 2, 3])])
def test_no_more_scores_than_were_asked_for(most: int, ranks: list[int]) -> None:
    best = tuple(told.Scored(rank, "n", 1, {}) for rank in (1, 2, 3))
    attempt = told.Attempt(told.PodRef("", "", ""), "", 1, "scheduled", best=best)
    assert [one.rank for one in encode_event(Event(0.0, attempt), 1, None, most).attempt.best] == ranks


def test_every_word_of_a_run_has_a_number() -> None:
    assert set(OUTCOMES) == {outcome.value for outcome in Outcome}
    assert set(VIAS) == set(get_args(Via))
    assert set(CODES) == {code.value for code in Code}
    assert set(PLACES) == {place.value for place in Place}
    assert set(REASONS) == {*PodEnd, *IntervalEnd}
    assert set(FORMS) == set(get_args(Told))


@pytest.mark.parametrize("enum", [wire.Kind, wire.Outcome, wire.Via, wire.Code, wire.Place, wire.UnboundReason])
def test_nothing_said_is_zero(enum: Any) -> None:
    assert enum.Name(0).endswith("_UNSPECIFIED")


def test_what_a_newer_version_adds_is_left_alone() -> None:
    newer = bytes([15 << 3 | 2, 3]) + b"new"  # field 15, three bytes
    assert decode_event(wire.Event.FromString(newer)) is None
    message = wire.Event(unbound=wire.Unbound())
    message.unbound.reason = 99  # type: ignore[assignment]
    event = decode_event(wire.Event.FromString(message.SerializeToString() + newer))
    assert event is not None
    assert isinstance(event.what, told.Unbound)
    assert event.what.reason == ""
    assert len(UnknownFieldSet(wire.Event.FromString(newer))) == 1
