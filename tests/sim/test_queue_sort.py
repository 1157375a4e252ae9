"""A user's plugin orders the queue: in simulations, in `try`, and with mistakes."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairway.config import ConfigError, Configuration, decode_configuration
from fairway.config.plugin_entry import NamesOnly
from fairway.explain.manifest_files import load_manifests
from fairway.explain.trial import Trial
from fairway.explain.workloads.inputs import Inputs
from fairway.model import Pod
from fairway.model.codec import encode_json
from fairway.plugins.registry import REGISTRY
from fairway.sim.scheduler_settings import SchedulerSettings
from fairway.sim.simulation import SchedulerPlan
from fairway.testing import node, pod
from tests.sim.diary import simulate

HEADER = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
BY_RANK, UNEVEN = "tests.user_plugins:ByRank", "tests.user_plugins:Uneven"


def sorting(plugin: str) -> dict[str, Any]:
    return {"queueSort": {"enabled": [{"name": plugin}], "disabled": [{"name": "PrioritySort"}]}}


def configuration(*plugins: dict[str, Any], registry: Any = REGISTRY) -> Configuration:
    """A profile for each of these choices of plugins."""
    profiles = [
        {"schedulerName": f"s{number}" if number else "default-scheduler", "plugins": chosen}
        for number, chosen in enumerate(plugins)
    ]
    return decode_configuration({**HEADER, "profiles": profiles}, "test", registry)


def order(pods: list[Pod], config: Configuration) -> list[str]:
    """In which order pods that come all at once are tried, by a scheduler that takes a second for each."""
    plan = SchedulerPlan("default-scheduler", config, SchedulerSettings(decision_latency=1))
    _, diary = simulate(
        [node("a", cpu=100)], [(0, pod("first", labels={"rank": "0"})), *((0.5, p) for p in pods)], [plan]
    )
    return [name for _, name, _ in diary.attempts][1:]


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(0, 4), max_size=12))
def test_pods_are_tried_in_the_plugins_order(ranks: list[int]) -> None:
    pods = [pod(f"p{number}", labels={"rank": str(rank)}, priority=number) for number, rank in enumerate(ranks)]
    naive = [f"p{number}" for number in sorted(range(len(ranks)), key=lambda number: ranks[number])]
    assert order(pods, configuration(sorting(BY_RANK))) == naive


@pytest.mark.parametrize(
    ("rank", "words"),
    [
        pytest.param("x", "must return a tuple of numbers and texts; it returned 'x'", id="no key"),
        pytest.param(None, "queue_sort() raised KeyError: 'rank'", id="raises"),
    ],
)
def test_a_pod_about_which_the_plugin_breaks_comes_last(
    rank: str | None, words: str, caplog: pytest.LogCaptureFixture
) -> None:
    wrong = pod("wrong", labels={} if rank is None else {"rank": rank}, priority=9)
    right = [pod(f"p{number}", labels={"rank": str(9 - number)}) for number in range(3)]
    with caplog.at_level(logging.ERROR):
        found = order([wrong, *right], configuration(sorting(BY_RANK if rank is None else UNEVEN)))
    assert found == ["p2", "p1", "p0", "wrong"]
    assert words in caplog.text


def test_try_places_pods_in_the_plugins_order(tmp_path: Path) -> None:
    file = tmp_path / "pods.json"
    pods = [pod(name, labels={"rank": rank}) for name, rank in (("a", "2"), ("b", "1"))]
    file.write_bytes(encode_json({"apiVersion": "v1", "kind": "List", "items": [node("n"), *pods]}))
    trial = Trial(load_manifests(Inputs([str(file)]), [], ()), configuration(sorting(BY_RANK)), 0)
    assert [waiting.metadata.name for waiting, _ in trial.queue()] == ["b", "a"]


def test_one_plugin_sorts_the_queue_of_all_profiles() -> None:
    with pytest.raises(ConfigError, match="exactly one plugin has to sort the queue; enabled: PrioritySort, tests"):
        configuration({"multiPoint": {"enabled": [{"name": BY_RANK}]}})
    with pytest.raises(ConfigError, match=r"all profiles share one queue; profiles\[0\] sorts it by PrioritySort"):
        configuration({}, sorting(BY_RANK))
    assert len(configuration(sorting(BY_RANK), sorting(BY_RANK)).profiles) == 2


@pytest.mark.parametrize(
    "plugins",
    [
        pytest.param(sorting("not.there:Sorts"), id="named as the one that sorts"),
        pytest.param(
            {"multiPoint": {"enabled": [{"name": "not.there:Sorts"}]}, "queueSort": {"disabled": [{"name": "*"}]}},
            id="it may be the one",
        ),
        pytest.param({"multiPoint": {"enabled": [{"name": "not.there:Scores"}]}}, id="as a rule it is not"),
    ],
)
def test_a_file_is_read_without_its_plugins(plugins: dict[str, Any]) -> None:
    assert configuration(plugins, registry=NamesOnly(REGISTRY)).profiles
