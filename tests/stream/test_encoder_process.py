"""Batches that another process encodes: the same messages, also when that process is no more."""

import asyncio
import os
import signal
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from fairway.stream.encoder_process import EncoderProcess, EncodingTask
from fairway.stream.told import Event, NodeSeen
from fairway.stream.watching import Batch, Gap
from fairway.stream.wire import decisions_pb2 as wire
from tests.stream.test_encoding import seconds, whats

GAPS = st.none() | st.builds(
    Gap, st.integers(0, 9), st.integers(1, 9), st.integers(0, 9), st.sampled_from(["too old", "slow reader"])
)
EVENTS = st.lists(st.builds(Event, seconds, whats), max_size=4).map(lambda events: tuple(enumerate(events, 7)))
TASKS = st.builds(
    EncodingTask,
    st.builds(Batch, EVENTS, st.sampled_from(["", "s:8"]), GAPS),
    st.just("s"),
    st.none() | st.integers(0, 2**62),
    st.integers(0, 3),
)
ONE = EncodingTask(Batch(((1, Event(1.0, NodeSeen("n1", "u", "Added", True, False, {}))),), "s:2"), "s", None, 0)


def read(messages: list[bytes]) -> list[wire.Batch]:
    return [wire.Batch.FromString(message) for message in messages]


@settings(max_examples=10, phases=(Phase.generate,), deadline=None)
@given(st.lists(TASKS, min_size=1, max_size=20))
def test_it_says_what_would_have_been_said_here(tasks: list[EncodingTask]) -> None:
    async def story() -> list[list[bytes]]:
        encoder = EncoderProcess()
        assert encoder.pid is None  # nobody reads yet
        try:
            return await asyncio.gather(*(encoder.encode(task) for task in tasks))
        finally:
            await encoder.close()

    # Not as bytes: the order of a map's entries is nobody's concern.
    assert list(map(read, asyncio.run(story()))) == [read(task.encoded()) for task in tasks]


def test_it_ends_with_who_asked() -> None:
    async def story() -> int:
        encoder = EncoderProcess()
        await encoder.encode(ONE)
        pid = encoder.pid
        assert pid is not None
        os.kill(pid, signal.SIGINT)  # as Ctrl-C does with all of a terminal's processes
        assert await encoder.encode(ONE) == ONE.encoded()
        assert encoder.pid == pid
        await encoder.close()
        return pid

    with pytest.raises(ProcessLookupError):
        os.kill(asyncio.run(story()), 0)


def test_without_it_batches_are_encoded_here(caplog: Any) -> None:
    async def story() -> None:
        encoder = EncoderProcess()
        await encoder.encode(ONE)
        assert encoder.pid is not None
        os.kill(encoder.pid, signal.SIGKILL)
        assert await encoder.encode(ONE) == ONE.encoded()
        assert await encoder.encode(ONE) == ONE.encoded()
        assert encoder.pid is None
        await encoder.close()

    asyncio.run(story())
    (record,) = caplog.records
    assert "encoded in the scheduler's own process" in record.getMessage()


def test_who_leaves_while_it_works_leaves_nothing_to_others() -> None:
    other = EncodingTask(Batch((), "s:9"), "s", None, 0)

    async def story() -> None:
        encoder = EncoderProcess()
        await encoder.encode(ONE)
        for _ in range(20):
            leaving = asyncio.ensure_future(encoder.encode(ONE))
            await asyncio.sleep(0)  # it has asked
            leaving.cancel()
            assert await encoder.encode(other) == other.encoded()
        await encoder.close()

    asyncio.run(story())
