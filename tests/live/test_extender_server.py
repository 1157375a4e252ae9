"""Fairway as an extender: what it answers to a stock kube-scheduler's requests, over HTTP."""

from __future__ import annotations

import asyncio
from typing import Any

import aiohttp
import pytest

from fairway.cluster import Cluster
from fairway.cycle import Victims
from fairway.live.extender_server import ExtenderServer
from fairway.live.extender_wire import filter_args, preemption_args
from fairway.model import Node, Pod
from fairway.plugin import Plugin
from fairway.testing import cluster, node, pod
from tests.cycle.profiles import profile, scoring


def nodes() -> list[Node]:
    return [node("a", cpu="4"), node("b", cpu="2"), node("c", cpu="4", taints="gpu")]


def busy() -> Cluster:
    return cluster(nodes(), [pod("old", cpu="1", node="b")])


def ask(path: str, body: Any, what: Cluster | None = None, *plugins: str | type[Plugin]) -> tuple[int, Any]:
    async def story() -> tuple[int, Any]:
        chosen = plugins or ("TaintToleration", "NodeResourcesFit")
        made = profile(what or busy(), *chosen)
        runner = await ExtenderServer({"default-scheduler": made}).start("127.0.0.1", 0)
        url = f"http://127.0.0.1:{runner.addresses[0][1]}{path}"
        try:
            async with aiohttp.ClientSession() as session, session.post(url, json=body) as answer:
                found = await answer.json() if answer.content_type == "application/json" else await answer.text()
                return answer.status, found
        finally:
            await runner.cleanup()

    return asyncio.run(story())


def wanting(cpu: str) -> Pod:
    return pod("p", cpu=cpu)


def test_filter_by_name() -> None:
    status, found = ask("/filter", filter_args(wanting("2"), nodes(), names_only=True))
    assert status == 200
    assert found == {
        "Nodes": None,
        "NodeNames": ["a"],
        "FailedNodes": {"b": "Insufficient cpu"},
        "FailedAndUnresolvableNodes": {"c": "node(s) had untolerated taint(s)"},
        "Error": "",
    }


def test_filter_of_whole_nodes_gives_whole_nodes_back() -> None:
    args = filter_args(wanting("2"), nodes(), names_only=False)
    args["Nodes"]["items"][0]["spec"] = {"unheardOf": 1}
    _, found = ask("/filter", args)
    assert found["NodeNames"] is None
    assert [item["metadata"]["name"] for item in found["Nodes"]["items"]] == ["a"]
    assert found["Nodes"]["items"][0]["spec"] == {"unheardOf": 1}


def test_only_the_nodes_asked_about_are_told() -> None:
    _, found = ask("/filter", {**filter_args(wanting("2"), nodes(), names_only=True), "NodeNames": ["b"]})
    assert (found["NodeNames"], set(found["FailedNodes"])) == ([], {"b"})


def test_unknown_node_is_refused() -> None:
    _, found = ask("/filter", {**filter_args(wanting("2"), nodes(), names_only=True), "NodeNames": ["a", "new"]})
    assert found["NodeNames"] == ["a"]
    assert "not known" in found["FailedNodes"]["new"]


def test_pods_already_running_count() -> None:
    what = cluster(nodes(), [pod("old", cpu="3", node="a")])
    _, found = ask("/filter", filter_args(wanting("2"), nodes(), names_only=True), what)
    assert found["FailedNodes"]["a"] == "Insufficient cpu"


def test_prioritize_gives_each_node_its_share_of_ten() -> None:
    green = scoring("PreferGreen", {"a": 100, "b": 55})
    _, found = ask("/prioritize", filter_args(pod("p"), nodes()[:2], names_only=True), None, green)
    assert found == [{"Host": "a", "Score": 10}, {"Host": "b", "Score": 6}]


def test_prioritize_of_several_plugins_is_their_weighted_mean() -> None:
    one, two = scoring("One", {"a": 100}), scoring("Two", {"a": 0, "b": 100})
    _, found = ask("/prioritize", filter_args(pod("p"), nodes()[:2], names_only=True), None, one, two)
    assert found == [{"Host": "a", "Score": 5}, {"Host": "b", "Score": 5}]


def test_node_that_does_not_fit_scores_nothing() -> None:
    score = scoring("S", {"a": 100, "b": 100})
    args = filter_args(wanting("2"), nodes()[:2], names_only=True)
    _, found = ask("/prioritize", args, None, score, "NodeResourcesFit")
    assert found[1] == {"Host": "b", "Score": 0}


@pytest.mark.parametrize("knows", [True, False], ids=["by uid", "in full"])
def test_preempt_strikes_out_nodes_that_no_eviction_helps(knows: bool) -> None:
    victim = pod("v", uid="u1", node="a", cpu="1")
    victims = {name: Victims((victim,), 1) for name in ("a", "b", "c", "new")}
    _, found = ask("/preempt", preemption_args(wanting("2"), victims, knows))
    kept = {"Pods": [{"UID": "u1"}], "NumPDBViolations": 1}
    assert found == {"NodeNameToMetaVictims": {"a": kept, "b": kept}}


def broken() -> type[Plugin]:
    def filter_nodes(*_: Any) -> Any:
        raise RuntimeError("oops")

    return type("Broken", (Plugin,), {"filter": filter_nodes})


def test_broken_plugin_is_an_error_kube_scheduler_understands() -> None:
    status, found = ask("/filter", filter_args(pod("p"), nodes(), names_only=True), None, broken())
    assert status == 200
    assert "Broken" in found["Error"]
    assert "oops" in found["Error"]


@pytest.mark.parametrize("body", [{}, {"Pod": 3}, {"Pod": {"spec": {"priority": "high"}}}, []])
def test_nonsense_is_refused_with_words(body: Any) -> None:
    status, found = ask("/filter", body)
    assert (status, found["Error"].startswith("fairway: ")) == (200, True)
    assert ask("/prioritize", body)[0] == 500
