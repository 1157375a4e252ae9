"""Pods that permit plugins hold, on an API server: allowed, rejected, expired, and what `why` says about them."""

from __future__ import annotations

from typing import Any

import pytest

from fairway.cli.scheduler_api import answer_sentence
from fairway.live.service import LiveScheduler
from tests.live.fake_api_server import FakeApiServer, Tree
from tests.live.live_cluster import bindings, condition, node, play, pod
from tests.live.test_api_routes import ask

PAIRS = "tests.user_plugins:Pairs"
CONFIGURATION: Tree = {
    "podInitialBackoffSeconds": 1,
    "podMaxBackoffSeconds": 1,
    "profiles": [{"schedulerName": "default-scheduler", "plugins": {"multiPoint": {"enabled": [{"name": PAIRS}]}}}],
}


def one_of(name: str, **labels: str) -> Tree:
    made = pod(name)
    made["metadata"]["labels"] = {"pair": "p", **labels}
    return made


async def why(live: LiveScheduler, name: str) -> dict[str, Any]:
    ((_, answer),) = await ask(live, f"/fairway/v1/why?pod=default/{name}")
    found: dict[str, Any] = answer
    return found


def test_a_held_pod_is_bound_when_a_plugin_allows_it() -> None:
    async def story(api: FakeApiServer, live: LiveScheduler) -> None:
        await api.until(lambda: api.pod("left")["status"].get("nominatedNodeName") == "n1")
        answer = await why(live, "left")
        assert answer["held"]["by"] == [PAIRS]
        assert answer["held"]["since"] < answer["held"]["until"]
        words = answer_sentence(answer)
        assert words.startswith("default/left is held on n1 by Pairs · since ")
        assert not api.sent("POST", "/binding")
        api.put("pods", one_of("right"))
        await api.until(lambda: bindings(api) == {"left": "n1", "right": "n1"})
        await api.until(lambda: live.world.backlog == 0)
        assert (await why(live, "left"))["held"] is None
        counted = live.metrics.render().decode()
        assert 'scheduler_permit_wait_duration_seconds_count{result="Success"} 1' in counted

    play(story, ("nodes", node("n1")), ("pods", one_of("left")), configuration=CONFIGURATION)


@pytest.mark.parametrize("how", ["rejected", "expired"])
def test_a_held_pod_that_is_not_allowed_is_told_why(how: str) -> None:
    async def story(api: FakeApiServer, live: LiveScheduler) -> None:
        await api.until(lambda: live.cluster.held)
        if how == "rejected":
            api.put("pods", one_of("no"))
            reason = "the partner says no"
        else:
            reason = f"rejected due to timeout after waiting 1s at plugin {PAIRS}"
        await api.until(lambda: condition(api, "left"))
        assert condition(api, "left")["message"] == f"0/1 nodes are available: 1 {reason}."
        assert condition(api, "left")["reason"] == "Unschedulable"
        if how == "expired":
            answer = await why(live, "left")
            if answer["held"] is None:  # it is tried again after a second
                assert answer["lastHold"]["reason"] == reason
                assert reason in answer_sentence(answer)

    seconds = "600" if how == "rejected" else "1"
    play(story, ("nodes", node("n1")), ("pods", one_of("left", seconds=seconds)), configuration=CONFIGURATION)
