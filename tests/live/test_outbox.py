"""What is put is written: the latest of each object, nothing before what it rests on, and nobody stands in the way."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from fairway.live.api.connection import Answer
from fairway.live.batch.objects import AccountObject, JobRecordObject
from fairway.live.batch.outbox import ObjectKey, Outbox, Written
from tests.live.batch_server import ROOT, BatchServer, DyingDoor
from tests.live.virtual_loop import LoopClock, run_virtually

ACCOUNT = ObjectKey(AccountObject, "physics")
JOBS = [ObjectKey(JobRecordObject, f"job-{number}", "ns") for number in range(300)]


class SlowDoor(DyingDoor):
    """The server, who takes a while, notes when it was asked, and may refuse."""

    def __init__(self, server: BatchServer) -> None:
        super().__init__(server)
        self.log: list[tuple[float, str, str, Any]] = []
        self.refuses: Callable[[str], bool] = lambda path: False

    async def answered(self, method: str, path: str, query: Mapping[str, Any], body: bytes | None) -> Answer:
        await asyncio.sleep(0.01)
        status = json.loads(body or b"{}").get("status", {})
        self.log.append((asyncio.get_running_loop().time(), method, path.removeprefix(ROOT), status))
        if self.refuses(path):
            return Answer(422, {}, b'{"message": "not like that"}')
        return await super().answered(method, path, query, body)


def story(do: Callable[[Outbox, SlowDoor], Any], seconds: float = 60.0) -> list[tuple[float, str, str, Any]]:
    """What the server was asked while somebody did something, and for a while afterwards."""

    async def run() -> list[tuple[float, str, str, Any]]:
        server = BatchServer()
        door = SlowDoor(server)
        outbox = Outbox(door, LoopClock(), lambda: True)
        made = server.put(f"{ROOT}/accounts/physics")["metadata"]
        outbox.known[ACCOUNT] = Written(made["uid"], made["resourceVersion"])
        for job in JOBS:
            outbox.heads[job] = {}
        sending = asyncio.ensure_future(outbox.run())
        done = do(outbox, door)
        if done is not None:
            await done
        await asyncio.sleep(seconds)
        sending.cancel()
        await asyncio.gather(sending, return_exceptions=True)
        return door.log

    return run_virtually(run())


def test_what_is_replaced_in_time_is_never_made_nor_sent() -> None:
    made: list[int] = []

    def status(number: int) -> Callable[[], dict[str, Any]]:
        return lambda: made.append(number) or {"state": number}  # type: ignore[func-returns-value]

    async def do(outbox: Outbox, door: SlowDoor) -> None:
        for number in range(3):
            outbox.put(JOBS[0], status(number), delay=2.0)
            await asyncio.sleep(0.5)
        outbox.put(JOBS[0], status(3))

    log = story(do)
    assert [(method, sent) for _, method, _, sent in log] == [("POST", {}), ("PUT", {"state": 3})]
    assert log[0][0] < 1.6, "and then at once"
    assert made == [3]


def test_whoever_waits_for_his_time_is_written_then() -> None:
    def do(outbox: Outbox, door: SlowDoor) -> None:
        outbox.put(JOBS[0], {"state": "first"}, delay=2.0)

    ((at, *_), _) = story(do)
    assert 2.0 <= at < 2.1


def test_what_is_not_urgent_goes_fifty_a_second_and_holds_up_nothing() -> None:
    async def do(outbox: Outbox, door: SlowDoor) -> None:
        for job in JOBS:
            outbox.put(job, {"dates": 1}, is_urgent=False)
        await asyncio.sleep(1.0)
        outbox.put(ACCOUNT, {"used": 1})

    log = story(do)
    (asked,) = [at for at, _, path, _ in log if path == "/accounts/physics/status"]
    assert asked < 1.1
    dates = [at for at, _, _, status in log if "dates" in status]
    assert len(dates) == len(JOBS)
    assert 4.5 < max(dates) < 6.5, "a burst of fifty, and then fifty a second"


def test_what_rests_on_a_write_that_is_refused_waits_for_one_that_is_not() -> None:
    async def do(outbox: Outbox, door: SlowDoor) -> None:
        door.refuses = lambda path: "accounts" in path
        outbox.put(ACCOUNT, {"book": 1})
        outbox.put(JOBS[0], {"settled": True}, after=(ACCOUNT,))
        await asyncio.sleep(10.0)
        assert [path for *_, path, _ in door.log] == ["/accounts/physics/status"]
        door.refuses = lambda path: False
        outbox.put(ACCOUNT, {"book": 2})

    assert [status for *_, status in story(do)] == [{"book": 1}, {"book": 2}, {}, {"settled": True}]


def test_what_rests_on_an_object_that_goes_goes_on() -> None:
    def do(outbox: Outbox, door: SlowDoor) -> None:
        outbox.put(ACCOUNT, {"book": 1}, delay=30.0)
        outbox.put(JOBS[0], {"settled": True}, after=(ACCOUNT,))
        outbox.forget(ACCOUNT)

    assert [status for *_, status in story(do)] == [{}, {"settled": True}]


def test_after_somebody_else_has_written_nothing_more_is_sent() -> None:
    told: list[str] = []

    async def do(outbox: Outbox, door: SlowDoor) -> None:
        outbox.on_conflict = told.append
        door.server.put(f"{ROOT}/accounts/physics", status={"book": "another's"})
        outbox.put(ACCOUNT, {"book": 1})
        outbox.put(JOBS[0], {"settled": True}, after=(ACCOUNT,))
        await asyncio.sleep(1.0)
        outbox.put(JOBS[1], {"state": "late"})

    assert [path for *_, path, _ in story(do)] == ["/accounts/physics/status", "/accounts/physics"]
    assert told == ["somebody else has written to Account physics"]


PUTS = st.lists(
    st.tuples(
        st.integers(0, 4),  # which job; 0: the account
        st.booleans(),  # after the account
        st.sampled_from([0.0, 0.5, 2.0]),  # delay
        st.booleans(),  # urgent
        st.sampled_from([0.0, 0.0, 0.005, 0.3]),  # and then so long nothing
    ),
    max_size=25,
)


@given(puts=PUTS)
def test_whatever_is_put_the_last_of_it_is_there_in_the_end_and_in_order(
    puts: list[tuple[int, bool, float, bool, float]],
) -> None:
    rests: dict[int, int] = {}  # by number of a put: the put of the account before it that has to be there
    last: dict[str, int] = {}

    async def do(outbox: Outbox, door: SlowDoor) -> None:
        for number, (job, is_after, delay, is_urgent, pause) in enumerate(puts):
            key = ACCOUNT if job == 0 else JOBS[job]
            after = (ACCOUNT,) if is_after and job else ()
            if after and "physics" in last:
                rests[number] = last["physics"]
            outbox.put(key, {"number": number}, after=after, delay=delay, is_urgent=is_urgent)
            last[key.name] = number
            await asyncio.sleep(pause)

    there: dict[str, int] = {}
    for _, method, path, status in story(do):
        if method == "PUT":
            number, name = status["number"], path.split("/")[-2]
            assert there.get(name, -1) < number
            assert there.get("physics", -1) >= rests.get(number, -1)
            there[name] = number
    assert there == last
