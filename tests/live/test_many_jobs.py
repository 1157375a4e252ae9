"""Ten thousand jobs come within a second: all are judged by the next pass, the first by order start, and the server is
asked by so many at a time, for each job as often as it takes.
"""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from time import process_time
from typing import Any

from fairway.batch.reasons import JobState, Reason
from fairway.live.batch.outbox import NUM_WORKERS, RATE, Outbox
from fairway.testing import pod
from tests.live.batch_server import BatchServer
from tests.live.desk_room import DeskRoom
from tests.live.test_outbox import SlowDoor
from tests.live.virtual_loop import LoopClock, run_virtually

NUM_JOBS = 10_000
WITHIN = 60.0


def come(room: DeskRoom, number: int) -> None:
    """The later they come, the more they let others pass."""
    for index in range(number):
        nice = str((number - index) % 10_000)
        said = {"fairway.dev/time-limit": "1000s", "fairway.dev/nice": nice}
        room.come(pod(f"job-{index}", cpu=1, labels={"fairway.dev/queue": "q"}, annotations=said))


def test_all_are_judged_and_a_pass_takes_the_first_by_order() -> None:
    """There is room for 1,500; a pass looks at 1,000. By processor time: others may keep the machine busy."""
    room = DeskRoom({"q": {}}, [50] * 30)
    begun = process_time()
    come(room, NUM_JOBS)
    room.step_pass(10**9)
    assert process_time() - begun < WITHIN
    standings = Counter((job.state, job.standing.reason) for job in room.desk.book)
    assert sum(standings.values()) == NUM_JOBS
    assert (JobState.QUEUED, Reason.PLANNING) not in standings
    assert standings[JobState.STARTING, None] == room.desk.settings.max_jobs == 1000
    started = {job.key for job in room.desk.book if job.is_released}
    first = sorted(room.desk.book, key=lambda job: job.wishes.nice)[:1000]
    assert started == {job.key for job in first}
    room.settle()
    assert len(room.ran) == 1500
    assert sum(job.started is not None for job in room.desk.book) == 1500


def test_records_are_written_so_many_at_a_time_and_each_as_it_is_by_then() -> None:
    """A server that takes 10 ms for an answer; what it is asked and when, by its own clock."""
    number = 2000

    async def story() -> tuple[DeskRoom, list[tuple[float, str, str, Any]]]:
        door = SlowDoor(BatchServer())
        outbox = Outbox(door, LoopClock(), lambda: True)
        room = DeskRoom({"q": {}}, [50] * 2, outbox=outbox)
        come(room, number)
        room.step_pass(10**9)
        room.settle()
        sending = asyncio.ensure_future(outbox.run())
        await asyncio.sleep(WITHIN)
        assert outbox.backlog == 0
        room.desk.forecasts.run()  # dates for those who wait
        await asyncio.sleep(WITHIN)
        sending.cancel()
        await asyncio.gather(sending, return_exceptions=True)
        return room, door.log

    room, log = run_virtually(story())
    states = [each for each in log if each[0] < WITHIN]
    made = [path for _, method, path, _ in states if method == "POST"]
    assert len(made) == number
    writes = Counter(path for _, method, path, _ in states if method == "PUT" and "jobrecords" in path)
    assert len(writes) == number
    assert max(writes.values()) == 1
    num_there = Counter(round(at, 4) for at, *_ in log)
    assert max(num_there.values()) <= NUM_WORKERS
    dates = [at for at, _, path, _ in log if at >= WITHIN and re.search("jobrecords", path)]
    assert len(dates) > 500
    assert len(dates) / (max(dates) - min(dates)) < 1.2 * RATE
    assert sum(job.ledger.dates is not None for job in room.desk.book) >= len(dates)
