"""Queues and windows by the names that people type: who names nothing is told so, and no other path is asked."""

from __future__ import annotations

import asyncio

import pytest

from fairway.live.api.connection import Connection
from fairway.live.batch.objects import QueueObject
from fairway.live.orders.caller import Caller
from fairway.live.orders.own_objects import read_own
from fairway.live.orders.queue_orders import set_state
from fairway.live.orders.window_orders import call_off
from fairway.model import UserError
from tests.live.fake_api_server import FakeApiServer
from tests.live.test_queue_routes import with_kinds

QUEUES = "/apis/fairway.dev/v1alpha1/queues"


async def read(api: FakeApiServer, name: str) -> str:
    connection = await Connection.open(master=api.url)
    try:
        tree = await read_own(Caller(connection), QueueObject, "queue", name, "fairway queue")
        return str(tree["metadata"]["name"])
    finally:
        await connection.close()


def asked(*names: str) -> tuple[list[str], list[str]]:
    """What became of each name; and which paths were asked for."""

    async def story() -> tuple[list[str], list[str]]:
        api = FakeApiServer()
        await api.start()
        with_kinds(api)
        api.put("queues.fairway.dev", {"metadata": {"name": "batch"}, "spec": {}})
        found = []
        for name in names:
            try:
                found.append(await read(api, name))
            except UserError as error:
                found.append(str(error))
        await api.stop()
        return found, [path for _, path, _ in api.requests]

    return asyncio.run(story())


def test_the_one_that_is_there_is_read() -> None:
    assert asked("batch") == (["batch"], [f"{QUEUES}/batch"])


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "batch/status", "../../nodes/n1", "batch?x=1", "größe", "a b"])
def test_what_no_queue_can_be_called_is_another_path_and_not_asked_for(name: str) -> None:
    (words,), paths = asked(name)
    assert words.startswith(f"no queue “{name}”; there are batch")
    assert set(paths) == {f"{QUEUES}?limit=500"}


@pytest.mark.parametrize("code", [410, 429])
def test_a_server_that_ends_each_watch_at_once_is_not_run_down(code: int) -> None:
    async def story() -> int:
        api = FakeApiServer()
        await api.start()
        with_kinds(api)
        api.put("queues.fairway.dev", {"metadata": {"name": "batch"}, "spec": {}})
        api.answer("GET", "watch=true", code, times=10_000)
        connection = await Connection.open(master=api.url)
        outcome = await set_state(Caller(connection, 1.0), "batch", "Paused", None, "fairway queue")
        assert not outcome.is_heard
        await connection.close()
        await api.stop()
        return len(api.requests)

    assert 4 <= asyncio.run(story()) <= 16


def test_orders_go_by_it() -> None:
    async def story() -> None:
        api = FakeApiServer()
        await api.start()
        with_kinds(api)
        connection = await Connection.open(master=api.url)
        caller = Caller(connection)
        try:
            paused, called_off = set_state(caller, "", "Paused", None, "fairway queue"), call_off(caller, "", "cancel")
            for order in (paused, called_off):
                with pytest.raises(UserError, match="there is none"):
                    await order
        finally:
            await connection.close()
            await api.stop()

    asyncio.run(story())
