"""Independent pieces of work, spread over processes: the one pool for everything that runs many simulations.

In: a function that can be imported, what to call it with, and how many processes. Out: each piece's number and result,
as they come. While a piece is worked on, it may say how far it is (`report`), and whoever watches is shown how far all
are. The first failure, or an interrupt, ends the others without a word from them: each piece hears of it as an
interrupt, closes what it writes, and is waited for; the one that started them speaks. One process, or one piece, is
worked on here. A pool of another kind (other machines) would take the place of `_run_apart` and keep this contract.
Called by the commands `sim`, `compare` and `conformance`.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from typing import Any, Final, TypeVar

__all__ = ["NUM_NUMBERS", "ProcessKilledError", "Standings", "Watch", "num_cpus", "report", "run_all"]

T = TypeVar("T")
R = TypeVar("R")

AHEAD: Final = 2  # pieces that wait for each process, so that none is idle
LOOK_EVERY: Final = 0.2  # seconds between two looks at what the processes have done
CLOSING: Final = 60.0  # seconds that processes have to close what they write when all is to end
INTERRUPTED: Final = 130  # the exit code of a process that was
NUM_NUMBERS: Final = 4  # by which a piece says how far it is

Standings = Sequence[tuple[float, ...]]
Watch = Callable[[Standings], None]


class ProcessKilledError(RuntimeError):
    """A process of the pool was ended from outside; most often there was too little memory."""


def num_cpus() -> int:
    """How many processes may really run at once."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def report(*numbers: float) -> None:
    """How far the piece is that this process works on; nobody may be watching."""
    if _board is not None:
        _board[NUM_NUMBERS * _number : NUM_NUMBERS * _number + len(numbers)] = numbers
        if _watch is not None:
            _watch(_standings(_board))


def run_all(
    work: Callable[[T], R], pieces: Sequence[T], num_processes: int, watch: Watch | None = None
) -> Iterator[tuple[int, R]]:
    """Work on every piece; in the order given, as far as there are processes."""
    if num_processes == 1 or len(pieces) <= 1:
        return _run_here(work, pieces, watch)
    return _run_apart(work, pieces, min(num_processes, len(pieces)), watch)


def _run_here(work: Callable[[T], R], pieces: Sequence[T], watch: Watch | None) -> Iterator[tuple[int, R]]:
    board = [0.0] * (NUM_NUMBERS * len(pieces))
    for number, piece in enumerate(pieces):
        _begin_piece(board, number, watch)
        try:
            result = work(piece)
        finally:
            _begin_piece(None, 0, None)
        yield number, result


def _run_apart(
    work: Callable[[T], R], pieces: Sequence[T], num_processes: int, watch: Watch | None
) -> Iterator[tuple[int, R]]:
    # Spawned, not forked: threads of DuckDB and NumPy, and the one that draws a progress bar, do not survive a fork.
    context = multiprocessing.get_context("spawn")
    others_children = set(multiprocessing.active_children())
    board: Any = context.Array("d", NUM_NUMBERS * len(pieces), lock=False)
    pool = ProcessPoolExecutor(num_processes, context, initializer=_begin_process, initargs=(board,))
    todo = iter(enumerate(pieces))
    running: dict[Future[R], int] = {}
    is_finished = False
    try:
        while True:
            while len(running) < AHEAD * num_processes and (numbered := next(todo, None)) is not None:
                number, piece = numbered
                with _undisturbed():  # processes are started here; an interrupt waits until they can take it
                    running[pool.submit(_work_apart, work, number, piece)] = number
            if not running:
                break
            done = wait(running, LOOK_EVERY if watch is not None else None, FIRST_COMPLETED).done
            if watch is not None:
                watch(_standings(board))
            for future in done:
                yield running.pop(future), future.result()
        is_finished = True
    except BrokenProcessPool as error:
        raise ProcessKilledError("a process was killed") from error
    finally:
        pool.shutdown(wait=is_finished, cancel_futures=True)
        if not is_finished:  # a failure or an interrupt: nobody wants what the others are still doing
            _end(set(multiprocessing.active_children()) - others_children)


def _end(children: set[Any]) -> None:
    """Ask them to end, and wait until they have closed what they were writing; a second interrupt does not wait."""
    try:
        for child in children:
            child.terminate()
        for child in children:
            child.join(CLOSING)
    finally:
        for child in children:
            child.kill()


@contextlib.contextmanager
def _undisturbed() -> Iterator[None]:
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


# -- in the process that works -----------------------------------------------------------------------------------------

_board: Any = None
_number = 0
_watch: Watch | None = None
_is_working = False
_is_ending = False


def _begin_process(board: Any) -> None:
    """From now on an interrupt ends the process, without a word; the one that started it speaks."""
    _begin_piece(board, 0, None)
    signal.signal(signal.SIGTERM, _interrupted)
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:  # in the background of a script nobody interrupts
        signal.signal(signal.SIGINT, _interrupted)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


def _interrupted(number: int, frame: object) -> None:
    """The piece hears of it once, and has time to close what it writes; who has none goes at once."""
    global _is_ending  # noqa: PLW0603 - the process's own
    if _is_ending:
        return
    _is_ending = True
    if not _is_working:
        os._exit(INTERRUPTED)
    raise KeyboardInterrupt


def _work_apart(work: Callable[[T], R], number: int, piece: T) -> R:
    global _is_working  # noqa: PLW0603 - the process's own
    _begin_piece(_board, number, None)
    try:
        _is_working = True
        result = work(piece)
        _is_working = False
    except BaseException:
        if _is_ending:
            os._exit(INTERRUPTED)  # not back to the queue: the lock of it may belong to one that is gone
        _is_working = False
        raise
    return result


def _begin_piece(board: Any, number: int, watch: Watch | None) -> None:
    global _board, _number, _watch
    _board, _number, _watch = board, number, watch


def _standings(board: Any) -> Standings:
    return [tuple(board[at : at + NUM_NUMBERS]) for at in range(0, len(board), NUM_NUMBERS)]
