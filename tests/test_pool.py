"""Work spread over processes: everything is done once, whoever does it, and a failure ends it all."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from pathlib import Path

import pytest

from fairway.pool import ProcessKilledError, Standings, num_cpus, report, run_all


def doubled(number: int) -> int:
    report(1.0, float(number), 0.0, 5.0)
    return 2 * number


def failing(number: int) -> int:
    if number == 3:
        raise ValueError("three")
    return number


def dying(number: int) -> int:
    if number == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def noting(path: str) -> int:
    """Writes down who it is, then works until it is ended."""
    if not path:
        raise ValueError("no path")
    Path(path).write_text(str(os.getpid()))
    signal.pause()
    return 0


@pytest.mark.parametrize("num_processes", [1, 2, 9])
def test_every_piece_is_done_once(num_processes: int) -> None:
    assert sorted(run_all(doubled, range(7), num_processes)) == [(number, 2 * number) for number in range(7)]


def test_nothing_to_do_is_done_at_once() -> None:
    assert list(run_all(doubled, [], 4)) == []


@pytest.mark.parametrize("num_processes", [1, 2])
def test_a_failure_is_raised_as_it_is(num_processes: int) -> None:
    with pytest.raises(ValueError, match="three"):
        list(run_all(failing, range(10), num_processes))


def test_a_process_that_is_killed_is_said() -> None:
    with pytest.raises(ProcessKilledError):
        list(run_all(dying, range(4), 2))


@pytest.mark.parametrize("num_processes", [1, 2])
def test_whoever_watches_sees_how_far_each_piece_is(num_processes: int) -> None:
    seen: list[Standings] = []
    list(run_all(doubled, range(4), num_processes, seen.append))
    assert [tuple(standing) for standing in seen[-1]] == [(1.0, float(number), 0.0, 5.0) for number in range(4)]


def test_nobody_need_watch() -> None:
    report(0.5, 1.0, 2.0)


def test_a_failure_ends_what_the_others_are_doing(tmp_path: Path) -> None:
    before = set(multiprocessing.active_children())
    note = tmp_path / "pid"
    with pytest.raises(ValueError, match="no path"):
        list(run_all(noting, [str(note), ""], 2))
    deadline = time.monotonic() + 60  # noqa: TID251 - a real process takes real time to end
    while set(multiprocessing.active_children()) - before and time.monotonic() < deadline:  # noqa: TID251
        pass
    assert set(multiprocessing.active_children()) <= before


def test_there_is_at_least_one_processor() -> None:
    assert num_cpus() >= 1
