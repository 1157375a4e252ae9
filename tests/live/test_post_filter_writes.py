"""A post-filter that asks the world to write something, on an API server."""

from __future__ import annotations

import logging

import pytest

from fairway.live.service import LiveScheduler
from tests.live.fake_api_server import FakeApiServer, Tree
from tests.live.live_cluster import bindings, condition, node, play, pod

CONFIGURATION: Tree = {
    "profiles": [
        {
            "schedulerName": "default-scheduler",
            "plugins": {"multiPoint": {"enabled": [{"name": "tests.user_plugins:Uncordon"}]}},
        }
    ]
}


def off() -> Tree:
    there = node("n1")
    there["spec"] = {"unschedulable": True}
    return there


def test_what_it_asks_for_is_written_and_helps() -> None:
    async def story(api: FakeApiServer, live: LiveScheduler) -> None:
        await api.until(lambda: bindings(api) == {"app": "n1"})

    api = play(story, ("nodes", off()), ("pods", pod("app")), configuration=CONFIGURATION)
    (patch,) = api.sent("PATCH", "/nodes/n1")
    assert patch["spec"] == {"unschedulable": None}
    assert patch["metadata"]["resourceVersion"]


def test_what_is_refused_is_logged_and_scheduling_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    async def story(api: FakeApiServer, live: LiveScheduler) -> None:
        wrong = pod("wrong")
        wrong["metadata"]["labels"] = {"mistake": "name"}
        api.put("pods", wrong)
        await api.until(lambda: condition(api, "wrong") and "not-there" in caplog.text)
        assert not api.sent("PATCH", "/nodes/n1")
        api.put("pods", pod("app"))
        await api.until(lambda: "app" in bindings(api))

    with caplog.at_level(logging.WARNING):
        play(story, ("nodes", off()), configuration=CONFIGURATION)
    assert "pod default/wrong: patch Node not-there: " in caplog.text
