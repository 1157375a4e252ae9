"""A configuration as plain values reads back as the same configuration, whatever was switched off."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from fairway.config import ConfigError, Configuration, decode_configuration, default_configuration
from fairway.config.config_file import API_VERSION, KIND
from fairway.config.document import configuration_document
from fairway.plugins.registry import REGISTRY
from tests.fuzz.configurations import make_configuration
from tests.fuzz.draw import Draw


def decode(plain: dict[str, Any]) -> Configuration:
    return decode_configuration({"apiVersion": API_VERSION, "kind": KIND, **plain}, "test", REGISTRY)


def meaning(configuration: Configuration) -> list[Any]:
    """All that decides: plugins that are enabled nowhere may have arguments, which nobody reads."""
    return [
        (
            profile.scheduler_name,
            profile.percentage_of_nodes_to_score,
            profile.sampling,
            profile.seed,
            profile.points,
            profile.weights,
            {
                name: args
                for name, args in profile.args.items()
                if any(name in names for names in profile.points.values())
            },
        )
        for profile in configuration.profiles
    ] + [configuration.pod_initial_backoff_seconds, configuration.leader_election, configuration.client_connection]


def test_the_default_configuration_reads_back() -> None:
    first = default_configuration(REGISTRY)
    document = configuration_document(first)
    assert {"name": "TaintToleration", "weight": 3} in document["profiles"][0]["plugins"]["score"]["enabled"]
    assert meaning(decode(document)) == meaning(first)
    told = {one["name"]: one["args"] for one in document["profiles"][0]["pluginConfig"]}
    assert told["NodeResourcesFit"]["scoringStrategy"]["type"] == "LeastAllocated"  # which nobody wrote


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2**32))
def test_any_configuration_reads_back(seed: int) -> None:
    try:
        first = decode(make_configuration(Draw(np.random.default_rng(seed), {}), ["n-0", "n-1"]))
    except ConfigError:
        reject()  # some are made to be refused
    document = configuration_document(first)
    assert meaning(decode(document)) == meaning(first)
    assert configuration_document(decode(document)) == document


@pytest.mark.parametrize(
    "plain",
    [
        {"leaderElection": {"leaseDuration": "1m30s"}, "clientConnection": {"qps": 7.5, "burst": 9}},
        {"profiles": [{"schedulerName": "a"}, {"schedulerName": "b", "fairway": {"sampling": "all", "seed": 7}}]},
        {"profiles": [{"pluginConfig": [{"name": "DynamicResources", "args": {"filterTimeout": "3s"}}]}]},
        {"extenders": [{"urlPrefix": "http://x", "filterVerb": "filter", "httpTimeout": "5s", "ignorable": True}]},
    ],
    ids=["settings", "two profiles", "a duration among arguments", "an extender"],
)
def test_every_part_reads_back(plain: dict[str, Any]) -> None:
    first = decode(plain)
    again = decode(configuration_document(first))
    assert meaning(again) == meaning(first)
    assert again.extenders == first.extenders


def test_no_secret_is_in_it() -> None:
    tls = {"certData": "c2VjcmV0", "keyData": "c2VjcmV0"}
    extender = {"urlPrefix": "https://x", "filterVerb": "f", "enableHTTPS": True, "tlsConfig": tls}
    (shown,) = configuration_document(decode({"extenders": [extender]}))["extenders"]
    assert shown["enableHTTPS"] is True
    assert "tlsConfig" not in shown
