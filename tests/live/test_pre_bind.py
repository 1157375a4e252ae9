"""What users' plugins want done before a pod is bound, on an API server."""

from __future__ import annotations

import copy

import pytest

from fairway.live.service import LiveScheduler
from tests.live.fake_api_server import FakeApiServer, Tree
from tests.live.live_cluster import bindings, condition, node, play, pod
from tests.user_plugins import LICENSED

LICENCE = "tests.user_plugins:Licence"
PREFIX = f'running PreBind plugin "{LICENCE}": '
CONFIGURATION: Tree = {
    "podInitialBackoffSeconds": 1,
    "podMaxBackoffSeconds": 1,
    "profiles": [
        {"schedulerName": "default-scheduler", "plugins": {"multiPoint": {"enabled": [{"name": LICENCE}]}}},
    ],
}


def user(licence: str) -> Tree:
    wanted = pod("app")
    wanted["metadata"]["labels"] = {"licence": licence}
    return wanted


def give(api: FakeApiServer, label: str) -> None:
    there = copy.deepcopy(api.objects["nodes"]["a"])
    there["metadata"].setdefault("labels", {})["licence"] = label
    api.put("nodes", there)


def test_a_pod_is_bound_when_what_it_waits_for_has_happened() -> None:
    async def story(api: FakeApiServer, live: LiveScheduler) -> None:
        await api.until(lambda: api.sent("PATCH", "/pods/app"))
        await api.until(lambda: api.pod("app")["metadata"].get("annotations", {}).get(LICENSED) == "gold")
        assert not api.sent("POST", "/binding")
        give(api, "gold")
        await api.until(lambda: bindings(api) == {"app": "a"})

    play(story, ("nodes", node("a")), ("pods", user("gold")), configuration=CONFIGURATION)


@pytest.mark.parametrize(
    ("licence", "words"),
    [
        pytest.param("silver", "silver is denied", id="denied"),
        pytest.param("broken", f"plugin {LICENCE}: until() raised OSError: the licence server is away", id="broken"),
    ],
)
def test_a_preparation_that_fails_is_told_and_tried_again(licence: str, words: str) -> None:
    async def story(api: FakeApiServer, live: LiveScheduler) -> None:
        await api.until(lambda: condition(api, "app"))
        assert condition(api, "app")["message"] == PREFIX + words
        await api.until(lambda: len(api.sent("PATCH", "/pods/app")) > 1)
        assert not api.sent("POST", "/binding")

    there = node("a")
    there["metadata"].setdefault("labels", {})["licence"] = "no-silver"
    play(story, ("nodes", there), ("pods", user(licence)), configuration=CONFIGURATION)


def test_a_pod_that_is_deleted_meanwhile_is_not_bound() -> None:
    async def story(api: FakeApiServer, live: LiveScheduler) -> None:
        await api.until(lambda: api.sent("PATCH", "/pods/app"))
        api.delete("pods", "default/app")
        await api.until(lambda: live.world.backlog == 0)
        assert len(live.cluster.pods) == 0
        assert not api.sent("POST", "/binding")

    play(story, ("nodes", node("a")), ("pods", user("gold")), configuration=CONFIGURATION)
