"""The scheduler's own HTTP API."""

from __future__ import annotations

import json
from typing import Any

import pytest
from aiohttp import ClientSession, web

from fairway.cli.main import main
from fairway.cli.scheduler_api import print_answer, read_view
from fairway.explain.live_cluster import live_status, pod_trial
from fairway.explain.scheduler_answer import scheduler_answer
from fairway.explain.why_answer import why_pod
from fairway.live.api.clock import SystemClock
from fairway.live.api_routes import api_routes
from fairway.live.asked_answer import AskedAnswers
from fairway.live.service import LiveScheduler
from fairway.model import Loaded, Node, Pod, Source
from tests.live.fake_api_server import FakeApiServer
from tests.live.live_cluster import bindings, condition, node, play, pod


async def ask(live: LiveScheduler, *paths: str) -> list[tuple[int, Any]]:
    """Serve the routes and ask them."""
    app = web.Application()
    for (method, path), handler in api_routes(live, AskedAnswers(scheduler_answer, SystemClock())).items():
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
    shortage = {"resource": "cpu", "needed": 8000, "mostFree": 3000}
    assert big["funnel"] == [
        {"plugin": "NodeResourcesFit", "refused": 1, "left": 0, "reasons": [{"reason": "cpu", "nodes": 1} | shortage]}
    ]
    assert big["message"].startswith("0/1 nodes are available: 1 Insufficient cpu.")
    assert (small["node"], small["assumed"], small["queue"]) == ("n1", False, None)
    assert code == 404
    assert "perNode" not in big
    assert "there is no pod 'default/nobody'" in nobody["message"]


def test_a_scheduler_that_is_asked_says_what_the_cluster_says(capsys: pytest.CaptureFixture[str]) -> None:
    """The same numbers, and the same words about who waits, as where the API server is asked."""
    told: list[tuple[int, Any]] = []
    objects: list[Any] = []

    async def story(api: FakeApiServer, live: LiveScheduler) -> None:
        await api.until(lambda: condition(api, "big") and "small" in bindings(api) and not live.world.num_assumed)
        await api.until(lambda: any("PodScheduled" in str(one.status.conditions) for one in pods_of(live)))
        why = "/fairway/v1/why?pod=default/big&text=yes"
        words = (f"{why}&nodes=all", f"{why}&node=n1", f"{why}&node=n9")
        told.extend(await ask(live, "/fairway/v1/status", "/fairway/v1/queue", "/fairway/v1/view", *words))
        stored = [*live.watch.reflectors[Node].store, *live.watch.reflectors[Pod].store]
        objects.extend(Loaded(one, Source("a test")) for one in stored)

    nodes = [("nodes", node("n1")), ("nodes", node("n2", zone="z") | {"spec": {"unschedulable": True}})]
    play(story, *nodes, ("pods", pod("big", cpu="8")), ("pods", pod("small", cpu="3")))
    (_, status), (_, queue), (_, view), (_, why), (_, of_node), (no_node, unknown) = told
    found = read_view(status, queue, view, 1e9)
    asked = live_status(objects, 1e9)
    assert [(one.node.metadata.name, one.state, one.used, one.allocatable) for one in found.status.nodes] == [
        (one.node.metadata.name, one.state, one.used, one.allocatable) for one in asked.nodes
    ]
    assert found.status.resources == asked.resources
    assert found.status.waiting == asked.waiting
    assert found.words == "leading (1 unschedulable)"
    trial, _, _ = pod_trial(objects, "default/big", None, 0)
    answer = why_pod(trial, "default/big", all_nodes=True)
    assert print_answer(why, node=None, all_nodes=True, output="table", options="--scheduler URL") == 3
    said = capsys.readouterr()
    assert said.out == f"{answer}\n"
    assert "  fix  " in said.out
    assert "none found" not in said.out
    assert said.err == "default/big is waiting (unschedulable), attempt 1\n"
    assert print_answer(why, node=None, all_nodes=False, output="json", options="") == 3
    document = json.loads(capsys.readouterr().out)
    assert document["fixes"] == answer.document()["fixes"] != []
    assert document["queue"]["place"] == "unschedulable"
    assert print_answer(of_node, node="n1", all_nodes=False, output="table", options="") == 3
    trial, _, _ = pod_trial(objects, "default/big", None, 0)
    assert capsys.readouterr().out == f"{why_pod(trial, 'default/big', node='n1')}\n"
    assert (no_node, unknown) == (404, {"message": "the scheduler knows no node 'n9'"})


def pods_of(live: LiveScheduler) -> list[Pod]:
    return [one for one in live.watch.reflectors[Pod].store if isinstance(one, Pod)]


IGNORED = [
    ("why", "p", "--run", "x"),
    ("why", "p", "-f", "x"),
    ("why", "p", "--attempt", "1"),
    ("status", "--at", "1h"),
]


@pytest.mark.parametrize("words", [*IGNORED, ("status", "--plugins"), ("why", "p", "--config", "x")], ids=" ".join)
def test_no_option_is_passed_over_silently(words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*words, "--scheduler", "https://127.0.0.1:1"]) == 2
    assert "and --scheduler exclude each other" in capsys.readouterr().err
