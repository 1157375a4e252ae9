"""Interrupts wait until a transaction is over."""

from __future__ import annotations

import os
import signal
import threading

import pytest

from fairway.record.writing.uninterrupted import uninterrupted


def test_an_interrupt_is_heard_when_the_block_is_over() -> None:
    done: list[str] = []
    with pytest.raises(KeyboardInterrupt):  # noqa: PT012 - where it comes is the point
        with uninterrupted():
            os.kill(os.getpid(), signal.SIGINT)
            done.append("the transaction")
        done.append("what comes after it")
    assert done == ["the transaction"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_failure_within_is_told_as_it_is() -> None:
    with pytest.raises(OSError, match="full"), uninterrupted():
        raise OSError("full")
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_blocks_may_lie_within_each_other() -> None:
    done: list[str] = []
    with pytest.raises(KeyboardInterrupt), uninterrupted():  # noqa: PT012 - where it comes is the point
        with uninterrupted():
            os.kill(os.getpid(), signal.SIGINT)
        done.append("the outer one")
    assert done == ["the outer one"]


def test_other_threads_need_nothing() -> None:
    done: list[str] = []

    def work() -> None:
        with uninterrupted():
            done.append("there")

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert done == ["there"]
