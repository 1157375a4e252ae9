"""The scheduler's own HTTP API."""

from __future__ import annotations

from typing import Any

from aiohttp import ClientSession, web

from fairway.live.api_routes import api_routes
from fairway.live.service import LiveScheduler
from tests.live.fake_api_server import FakeApiServer
from tests.live.live_cluster import bindings, condition, node, play, pod


async def ask(live: LiveScheduler, *paths: str) -> list[tuple[int, Any]]:
    """Serve the routes and ask them."""
    app = web.Application()
    for (method, path), handler in api_routes(live).items():
        app.router.add_route(method, path, handler)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    port = runner.addresses[0][1]
    answers = []
    async with ClientSession() as session:
        for path in paths:
            async with session.get(f"http://127.0.0.1:{port}{path}") as answer:
                answers.append((answer.status, await answer.json()))
    await runner.cleanup()
    return answers


def test_who_waits_and_why_is_told() -> None:
    told: list[tuple[int, Any]] = []

    async def story(api: FakeApiServer, live: LiveScheduler) -> None:
        await api.until(lambda: condition(api, "big") and "small" in bindings(api) and not live.world.num_assumed)
        why = "/fairway/v1/why?pod=default/"
        paths = ("/fairway/v1/status", "/fairway/v1/queue", f"{why}big", f"{why}small", f"{why}nobody")
        told.extend(await ask(live, *paths))

    play(story, ("nodes", node("n1")), ("pods", pod("big", cpu="8")), ("pods", pod("small")))
    (_, status), (_, queue), (_, big), (_, small), (code, nobody) = told
    assert status["leading"]
    assert status["queue"]["unschedulable"] == 1
    assert status["podsOnNodes"] == 1
    assert [(one["pod"], one["place"], one["attempts"], one["refusedBy"]) for one in queue["pods"]] == [
        ("default/big", "unschedulable", 1, ["NodeResourcesFit"])
    ]
    assert big["refused"] == [
        {"plugin": "NodeResourcesFit", "reasons": ["Insufficient cpu"], "code": big["refused"][0]["code"], "nodes": 1}
    ]
    assert big["message"].startswith("0/1 nodes are available: 1 Insufficient cpu.")
    assert (small["node"], small["assumed"], small["queue"]) == ("n1", False, None)
    assert code == 404
    assert "there is no pod 'default/nobody'" in nobody["message"]
