"""Few notes instead of all: whoever hears those that stand knows what one knows who heard everything."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from fairway.stream.noting import Note
from fairway.stream.serving.standing import StandingNotes
from fairway.stream.telling import Teller

UIDS = st.sampled_from(["a", "b", "c"])
NODES = st.sampled_from(["n1", "n2"])
AMOUNTS = st.integers(1, 3).map(lambda cpu: {"cpu": cpu})

notes: st.SearchStrategy[tuple[Any, ...]] = st.one_of(
    st.tuples(st.just("node_seen"), NODES, st.sampled_from(["u1", "u2"]), st.just("Added"), st.booleans(),
              st.booleans(), AMOUNTS, st.just({})),
    st.tuples(st.just("node_gone"), NODES, st.just("Deleted")),
    st.tuples(st.just("pod_created"), UIDS, st.just("default"), UIDS, st.just("s"), st.just(""), st.just(0), AMOUNTS,
              st.just({})),
    st.tuples(st.just("bound"), UIDS, NODES, st.just("")),
    st.tuples(st.just("pod_changed"), UIDS, st.just("Started"), st.none()),
    st.tuples(st.just("resized"), UIDS, AMOUNTS),
    st.tuples(st.just("lost"), UIDS),
    st.tuples(st.just("regained"), UIDS),
    st.tuples(st.just("ended"), UIDS, st.just("Succeeded")),
    st.tuples(st.just("queue_moved"), UIDS, st.just("s"), st.just("active"), st.sampled_from(["", "active", "backoff"]),
              st.just("Pop")),
)  # fmt: skip


def told(story: list[Note]) -> Teller:
    teller = Teller("s")
    for note in story:
        teller.take(note)
    return teller


def knowledge(teller: Teller, rest: list[Note]) -> Any:
    """How things stand, and what comes of all that may follow."""
    _, parts = teller.snapshot()
    (what,) = [part.what for part in parts]
    number = teller.ring.next
    for note in rest:
        teller.take(note)
    by_name = sorted(what.nodes, key=str), sorted(what.bound, key=str), sorted(what.queue, key=str)  # type: ignore[union-attr]
    return by_name, teller.ring.read(number, 10_000).events


def possible(story: list[tuple[Any, ...]]) -> list[Note]:
    """With times, and without what no world tells: a uid is created once, and bound once unless it was lost."""
    seen: set[str] = set()
    out: list[Note] = []
    for number, (name, *rest) in enumerate(story):
        if name == "pod_created":
            if rest[0] in seen:
                continue
            seen.add(rest[0])
        out.append((name, float(number), *rest))
    return out


@given(st.lists(notes, max_size=60), st.lists(notes, max_size=20))
def test_those_that_stand_are_enough(before: list[tuple[Any, ...]], after: list[tuple[Any, ...]]) -> None:
    story = possible([*before, *after])
    first, rest = story[: len(possible(before))], story[len(possible(before)) :]
    standing = StandingNotes()
    standing.take(first)
    assert knowledge(told(list(standing)), rest) == knowledge(told(first), rest)
