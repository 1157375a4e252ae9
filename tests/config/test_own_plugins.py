"""What the section `fairway` of a profile switches on, and what it refuses."""

from __future__ import annotations

from typing import Any

import pytest

from fairway.config import ConfigError, Configuration, decode_configuration
from fairway.config.document import configuration_document
from fairway.plugins.exclusive_node import ExclusiveNodeArgs
from fairway.plugins.registry import REGISTRY

HEADER = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}


def read(profile: dict[str, Any]) -> Configuration:
    return decode_configuration({**HEADER, "profiles": [profile]}, "test", REGISTRY)


def test_exclusive_nodes_are_off_unless_asked_for() -> None:
    (plain,) = read({}).profiles
    assert "ExclusiveNode" not in plain.entries
    assert read({"fairway": {"exclusive": False}}).profiles == (plain,)


def test_exclusive_nodes_are_a_plugin_behind_all_others() -> None:
    (plain,) = read({}).profiles
    (found,) = read({"fairway": {"exclusive": True}}).profiles
    for point in ("preFilter", "filter", "preBind"):
        assert found.points[point] == (*plain.points[point], "ExclusiveNode")
    assert found.points["score"] == plain.points["score"]
    assert found.args["ExclusiveNode"] == ExclusiveNodeArgs()


def test_the_guard_is_an_argument() -> None:
    own = {"exclusive": True, "exclusiveGuard": "taint"}
    for told in ([], [{"name": "ExclusiveNode"}], [{"name": "ExclusiveNode", "args": {"guard": "none"}}]):
        (found,) = read({"fairway": own, "pluginConfig": told}).profiles
        assert found.args["ExclusiveNode"] == ExclusiveNodeArgs(guard="taint")


def test_what_a_person_lists_stays_where_it_is() -> None:
    first = {"filter": {"enabled": [{"name": "ExclusiveNode"}]}}
    (found,) = read({"fairway": {"exclusive": True}, "plugins": first}).profiles
    assert found.points["filter"][-1] == "ExclusiveNode"
    assert "ExclusiveNode" not in found.points["preBind"]


def test_a_configuration_survives_being_written_down() -> None:
    read_once = read({"fairway": {"exclusive": True, "exclusiveGuard": "taint"}})
    assert decode_configuration(configuration_document(read_once), "again", REGISTRY) == read_once


@pytest.mark.parametrize(
    ("own", "expected"),
    [
        pytest.param({"exclusive": "yes"}, "exclusive: expected true or false, got 'yes'", id="no switch"),
        pytest.param(
            {"exclusive": True, "exclusiveGuard": "label"},
            "exclusiveGuard: 'label' is unknown; allowed: none, taint",
            id="no guard",
        ),
        pytest.param(
            {"exclusiveGuard": "taint"},
            "exclusiveGuard: there are no exclusive nodes to guard; set exclusive: true too",
            id="nothing to guard",
        ),
        pytest.param({"exclusve": True}, "exclusve: unknown field; did you mean exclusive?", id="no such field"),
    ],
)
def test_bad_values_are_told_with_their_field(own: dict[str, Any], expected: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read({"fairway": own})
    assert f"test: profiles[0].fairway.{expected}" in str(caught.value).replace('"', "'")
