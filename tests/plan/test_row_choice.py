"""Which rows are taken among those that are free."""

import numpy as np
import pytest

from fairway.plan import ConsecutiveRows, RowChoice, SmallestRest
from fairway.plan.row_choice import Candidates


def chosen(choice: RowChoice, free: list[int], members: int, rooms: list[int] | None = None) -> dict[int, int]:
    """Rows and members on them, with so much free on each row; 0: none of the candidates."""
    rows = np.flatnonzero(free)
    room = np.ones(len(rows), np.int64) if rooms is None else np.array(rooms)
    placement = choice.choose(Candidates(rows, room, np.array(free)[rows, None], np.array([1]), members))
    return dict(zip(placement.rows.tolist(), placement.counts.tolist(), strict=True))


@pytest.mark.parametrize(
    ("free", "members", "rows"),
    [
        ([4, 4, 4, 0, 4, 4, 0, 4], 2, [4, 5]),  # the shortest run that suffices
        ([4, 4, 4, 0, 4, 4, 0, 4], 3, [0, 1, 2]),
        ([4, 4, 4, 0, 4, 4, 0, 4], 4, [0, 1, 2, 7]),  # none suffices: the longest, then the shortest for the rest
        ([4, 4, 0, 1, 1], 2, [3, 4]),  # runs in use are shorter
        ([4, 0, 4, 0, 4], 1, [0]),
    ],
)
def test_neighbours_are_taken_together(free: list[int], members: int, rows: list[int]) -> None:
    choice = ConsecutiveRows(np.arange(len(free)), np.zeros(len(free), np.int64), column=0)
    assert sorted(chosen(choice, free, members)) == rows


def test_preferred_neighbours_come_first() -> None:
    choice = ConsecutiveRows(np.arange(4), np.array([5, 5, 1, 1]), column=0)
    assert sorted(chosen(choice, [4, 4, 4, 4], 3)) == [0, 2, 3]


def test_rows_on_which_least_is_left_come_first_then_names() -> None:
    choice = SmallestRest(np.array([1.0]), np.array([3, 2, 1, 0]))
    assert chosen(choice, [4, 2, 4, 9], 2) == {1: 1, 2: 1}
    assert chosen(choice, [4, 2, 4, 9], 5, [4, 2, 4, 9]) == {1: 2, 2: 3}
    preferring = SmallestRest(np.array([1.0]), np.arange(4), np.array([1, 1, 1, 0]))
    assert chosen(preferring, [4, 2, 4, 9], 1) == {3: 1}
