"""Readers learn which rows changed since they last looked, or that too much did."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairway.cluster import Journal
from fairway.cluster.journal import LatestJournal


def rows(journal: Journal, position: int) -> list[int] | None:
    found = journal.since(position)
    return None if found is None else sorted(found.tolist())


def test_each_reader_keeps_its_own_position() -> None:
    journal = Journal()
    start = journal.end
    journal.mark(3)
    journal.mark(1)
    middle = journal.end
    journal.mark(3)
    assert rows(journal, start) == [1, 3]
    assert rows(journal, middle) == [3]
    assert rows(journal, journal.end) == []


def test_rows_are_told_once_however_often_they_changed() -> None:
    journal = Journal()
    for _ in range(5):
        journal.mark(7)
    assert rows(journal, 0) == [7]


def test_a_reader_that_fell_behind_has_to_look_at_everything() -> None:
    journal = Journal(limit=2)
    for row in range(5):
        journal.mark(row)
    assert journal.since(0) is None
    assert rows(journal, journal.end - 2) == [3, 4]


def test_forgetting_sends_everybody_back_to_the_beginning() -> None:
    journal = Journal()
    journal.mark(1)
    position = journal.end
    journal.forget()
    assert journal.since(position) is None
    assert rows(journal, journal.end) == []
    journal.mark(2)
    assert rows(journal, journal.end - 1) == [2]


@pytest.mark.parametrize("limit", [1, 2, 5])
@given(marks=st.lists(st.integers(0, 5), max_size=30), data=st.data())
def test_an_answer_is_exact_or_none(limit: int, marks: list[int], data: st.DataObject) -> None:
    journal = Journal(limit)
    for row in marks:
        journal.mark(row)
    position = data.draw(st.integers(0, len(marks)))
    found = rows(journal, position)
    if len(marks) - position <= limit:
        assert found is not None  # so much memory every reader can count on
    assert found is None or found == sorted(set(marks[position:]))


def test_latest_tells_when_each_row_was_last_marked() -> None:
    journal = LatestJournal(4)
    for row in (2, 0, 2):
        journal.mark(row)
    assert journal.latest.tolist() == [2, 0, 3, 0]
    journal.grow(6)
    journal.mark(5)
    assert journal.latest.tolist() == [2, 0, 3, 0, 0, 4]
    journal.forget()
    assert set(journal.latest.tolist()) == {journal.end}


def test_what_was_read_stays_as_it_was() -> None:
    journal = Journal(limit=2)
    journal.mark(3)
    found = journal.since(0)
    for row in range(20):
        journal.mark(row)
    assert found is not None
    assert found.tolist() == [3]
