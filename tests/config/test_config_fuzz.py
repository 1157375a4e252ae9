import json
from typing import Any

import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from fairway.config.config_file import (
    API_VERSION,
    KIND,
    Extender,
    KubeSchedulerConfiguration,
    KubeSchedulerProfile,
    LeaderElection,
    PluginChoice,
    PluginSet,
)
from fairway.config.configuration import ConfigError, decode_configuration
from tests.cycle.plugin_registry import REGISTRY

FIELD_NAMES = sorted(
    {
        name
        for kind in (
            KubeSchedulerConfiguration,
            KubeSchedulerProfile,
            Extender,
            LeaderElection,
            PluginSet,
            PluginChoice,
        )
        for name in kind.__struct_encode_fields__
    }
    | {"multiPoint", "score", "sampling", "seed", "scoringStrategy", "shape", "defaultConstraints", "addedAffinity"}
)
WORDS = sorted({*REGISTRY, API_VERSION, KIND, "*", "15s", "List", "MostAllocated", "os:path", "no_such:Thing"})
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.sampled_from(WORDS),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(FIELD_NAMES) | st.text(), inner),
)
CHOICES = st.lists(
    st.fixed_dictionaries({"name": st.sampled_from(sorted(REGISTRY))}, optional={"weight": st.integers(-1, 9)}),
    unique_by=lambda choice: choice["name"],
    max_size=3,
)
BAD_CHOICES = st.lists(st.fixed_dictionaries({"name": st.sampled_from(WORDS) | JSON_VALUES}), max_size=2) | JSON_VALUES
SETS = st.fixed_dictionaries({}, optional={"enabled": CHOICES, "disabled": CHOICES})
BAD_SETS = st.fixed_dictionaries({}, optional={"enabled": BAD_CHOICES, "disabled": BAD_CHOICES})
GOOD_FILES = st.fixed_dictionaries(
    {
        "apiVersion": st.just(API_VERSION),
        "kind": st.just(KIND),
        "profiles": st.lists(
            st.fixed_dictionaries(
                {},
                optional={"plugins": st.dictionaries(st.sampled_from(("multiPoint", "score", "filter")), SETS)},
            ),
            max_size=1,
        ),
    }
)
FILES = st.fixed_dictionaries(
    {"apiVersion": st.just(API_VERSION), "kind": st.just(KIND)},
    optional={
        "parallelism": JSON_VALUES,
        "leaderElection": JSON_VALUES,
        "extenders": st.lists(JSON_VALUES, max_size=2),
        "profiles": st.lists(
            st.fixed_dictionaries(
                {},
                optional={
                    "schedulerName": st.text() | JSON_VALUES,
                    "plugins": st.dictionaries(
                        st.sampled_from(("multiPoint", "score", "filter", "bind")), SETS | BAD_SETS
                    ),
                    "pluginConfig": st.lists(
                        st.fixed_dictionaries({"name": st.sampled_from(WORDS), "args": JSON_VALUES}), max_size=2
                    ),
                    "fairway": JSON_VALUES,
                },
            )
            | JSON_VALUES,
            max_size=2,
        ),
    },
)


@given(JSON_VALUES | FILES | GOOD_FILES)
def test_any_values_are_a_configuration_or_a_config_error(data: Any) -> None:
    try:
        configuration = decode_configuration(data, "fuzz.yaml", REGISTRY)
    except ConfigError as error:
        lines = str(error).splitlines()
        event("refused")
    else:
        lines = []
        event("accepted")
        for profile in configuration.profiles:
            assert set(profile.weights) == set(profile.points["score"])
            assert len(profile.points["queueSort"]) == 1
            for point, names in profile.points.items():
                assert len(set(names)) == len(names)
                assert all(point in profile.entries[name].points for name in names)
    assert all(line.startswith("fuzz.yaml: ") for line in lines)


@given(st.binary() | st.text().map(str.encode) | JSON_VALUES.map(lambda value: json.dumps(value).encode()))
def test_any_text_is_a_configuration_or_a_config_error(text: bytes) -> None:
    with pytest.raises(ConfigError, match=r"^fuzz\.yaml: "):
        decode_configuration(text, "fuzz.yaml", REGISTRY)
