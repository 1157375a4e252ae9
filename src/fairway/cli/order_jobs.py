"""Independent pieces of work, spread over processes.

In: a function that can be imported, and what to call it with. Out: the results as they come, each with its number. An
interrupt ends the processes at once and without a word from them; the one that started them speaks. Called by
`conformance --openb` and by experiments of `compare`.
"""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from typing import Final, TypeVar

from fairway.cli.main import CommandError

__all__ = ["run_all"]

AHEAD: Final = 2  # pieces that wait for each process, so that none is idle

T = TypeVar("T")
R = TypeVar("R")


def run_all(work: Callable[[T], R], pieces: Sequence[T], num_processes: int) -> Iterator[tuple[int, R]]:
    """Every piece's number and result, as they come in; the first failure is raised and stops the others."""
    if num_processes == 1 or len(pieces) == 1:
        yield from ((number, work(piece)) for number, piece in enumerate(pieces))
        return
    # Spawned, not forked: a fork would inherit the thread that draws the progress bar.
    context = multiprocessing.get_context("spawn")
    others_children = set(multiprocessing.active_children())
    pool = ProcessPoolExecutor(min(num_processes, len(pieces)), context, initializer=_begin)
    todo = iter(enumerate(pieces))
    running: dict[Future[R], int] = {}
    finished = False
    try:
        while True:
            while len(running) < AHEAD * num_processes and (piece := next(todo, None)) is not None:
                running[pool.submit(work, piece[1])] = piece[0]
            if not running:
                break
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                yield running.pop(future), future.result()
        finished = True
    except BrokenProcessPool as error:
        raise CommandError("a process was killed", "there may be too little memory; try --jobs 1") from error
    finally:
        pool.shutdown(wait=finished, cancel_futures=True)
        if not finished:  # a failure or an interrupt: nobody wants what the others are still doing
            for child in set(multiprocessing.active_children()) - others_children:
                child.terminate()


def _begin() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)
