"""The HTTP server beside the scheduler's loop: it answers while that is busy, and asks it what only it knows."""

from __future__ import annotations

import asyncio
import socket
import threading
import urllib.request

import pytest
from aiohttp import web

from fairway.live.metrics.scheduler_metrics import SchedulerMetrics
from fairway.live.serving.authorization import LoopbackAccess
from fairway.live.serving.health import checks_of
from fairway.live.serving.http_server import AddressInUse, HttpServer
from fairway.live.serving.serving_thread import ServingThread, at_home
from fairway.testing import pod


def read(port: int, path: str) -> str:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=30) as answer:
        return str(answer.read().decode())


def serving(metrics: SchedulerMetrics, asked: list[str]) -> ServingThread:
    """A server whose routes note the thread they are called in."""

    async def where(_: web.Request) -> web.Response:
        asked.append(threading.current_thread().name)
        return web.Response(text="here")

    def pods() -> list[object]:
        asked.append(threading.current_thread().name)
        return [pod("a", cpu="1")]

    server = HttpServer(
        checks_of(None, lambda: True, lambda: False),
        metrics,
        LoopbackAccess(),
        pods=pods,  # type: ignore[arg-type]
        routes={("GET", "/fairway/v1/x"): where},
        at_home=at_home(asyncio.get_running_loop()),
    )
    return ServingThread(server)


def test_health_and_metrics_are_answered_while_the_scheduler_is_busy() -> None:
    async def story() -> tuple[str, str]:
        metrics = SchedulerMetrics()
        metrics.attempt("default-scheduler", "scheduled", 0.001)
        thread = serving(metrics, [])
        port = await thread.start("127.0.0.1", 0, None)
        found = read(port, "/metrics"), read(port, "/livez")  # this loop does nothing else until they are answered
        await thread.stop()
        return found

    text, health = asyncio.run(story())
    assert 'scheduler_schedule_attempts_total{profile="default-scheduler",result="scheduled"} 1.0' in text
    assert health == "ok"


def test_what_the_scheduler_knows_is_asked_in_its_own_loop() -> None:
    asked: list[str] = []

    async def story() -> list[str]:
        thread = serving(SchedulerMetrics(), asked)
        port = await thread.start("127.0.0.1", 0, None)
        answers = [await asyncio.to_thread(read, port, path) for path in ("/fairway/v1/x", "/metrics/resources")]
        await thread.stop()
        return answers

    answers = asyncio.run(story())
    assert answers[0] == "here"
    assert "kube_pod_resource_request" in answers[1]
    assert asked == [threading.main_thread().name] * 2


def test_after_the_end_nobody_answers_and_no_thread_is_left() -> None:
    async def story() -> None:
        before = threading.active_count()
        thread = serving(SchedulerMetrics(), [])
        port = await thread.start("127.0.0.1", 0, None)
        await thread.stop()
        with pytest.raises(OSError, match="refused"):
            read(port, "/livez")
        assert threading.active_count() == before

    asyncio.run(story())


def test_an_address_in_use_is_told_to_the_caller() -> None:
    async def story(port: int) -> None:
        with pytest.raises(AddressInUse, match=str(port)):
            await serving(SchedulerMetrics(), []).start("127.0.0.1", port, None)

    with socket.create_server(("127.0.0.1", 0)) as taken:
        asyncio.run(story(taken.getsockname()[1]))
