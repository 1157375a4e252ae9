from typing import Any

import pytest

from fairway.config.config_file import Plugins
from fairway.config.fields import Problem, decode_fields
from fairway.config.plugin_sets import DEFAULT_PLUGINS, PluginSelection, select_plugins
from tests.cycle.plugin_registry import DEFAULT_POINTS, REGISTRY


def select(**sets: Any) -> tuple[PluginSelection, list[Problem]]:
    problems: list[Problem] = []
    plugins = decode_fields(sets, Plugins, "plugins", problems)
    assert plugins is not None
    return select_plugins(plugins, "plugins", REGISTRY, problems), problems


def named(*names: str, **weighted: int) -> list[dict[str, Any]]:
    return [{"name": name} for name in names] + [{"name": name, "weight": weight} for name, weight in weighted.items()]


ONLY = {"disabled": named("*")}
DEFAULT_SCORE = DEFAULT_POINTS["score"]

# Rows after framework/runtime/framework_test.go and apis/config/v1/default_plugins_test.go, kube-scheduler 1.36.
SCORE: dict[str, tuple[dict[str, Any], dict[str, int]]] = {
    "only-these": ({"multiPoint": {**ONLY, "enabled": named(Green=5)}}, {"Green": 5}),
    "zero-weight-is-one": ({"multiPoint": {**ONLY, "enabled": named("Blue", Green=0)}}, {"Blue": 1, "Green": 1}),
    "negative-weight": ({"multiPoint": {**ONLY, "enabled": named(Green=-1)}}, {"Green": -1}),
    "two": ({"multiPoint": {**ONLY, "enabled": named("Blue", "Green")}}, {"Blue": 1, "Green": 1}),
    "disabled-for-scoring": (
        {"multiPoint": {**ONLY, "enabled": named("Blue", "Green")}, "score": {"disabled": named("Green")}},
        {"Blue": 1},
    ),
    "all-disabled-for-scoring": (
        {"multiPoint": {**ONLY, "enabled": named("Blue", "Green")}, "score": ONLY},
        {},
    ),
    "all-disabled-but-one": (
        {"multiPoint": {**ONLY, "enabled": named("Blue", "Green")}, "score": {**ONLY, "enabled": named(Gold=2)}},
        {"Gold": 2},
    ),
    "listed-again-comes-first-in-its-own-order": (
        {
            "multiPoint": {**ONLY, "enabled": named("Blue", "Gold", "Green")},
            "score": {"enabled": named("Green", "Gold")},
        },
        {"Green": 1, "Gold": 1, "Blue": 1},
    ),
    "listed-only-here-comes-last": (
        {
            "multiPoint": {**ONLY, "enabled": named("Gold", "Green")},
            "score": {"enabled": named("Blue", "Green", "Gold")},
        },
        {"Green": 1, "Gold": 1, "Blue": 1},
    ),
    "own-weight-wins": (
        {
            "multiPoint": {**ONLY, "enabled": named(Blue=7, Gold=1)},
            "score": {"enabled": named(Gold=5, Green=6, Blue=3)},
        },
        {"Gold": 5, "Blue": 3, "Green": 6},
    ),
    "own-missing-weight-wins-too": (
        {"multiPoint": {**ONLY, "enabled": named(Blue=7)}, "score": {"enabled": named("Blue")}},
        {"Blue": 1},
    ),
    "listed-and-disabled-here-comes-last": (
        {
            "multiPoint": {**ONLY, "enabled": named("Blue", "Green")},
            "score": {"enabled": named("Blue"), "disabled": named("Blue")},
        },
        {"Green": 1, "Blue": 1},
    ),
    "enabling-wins-over-disabling": (
        {"multiPoint": {"enabled": named("Green"), "disabled": named("Green", *DEFAULT_PLUGINS)}},
        {"Green": 1},
    ),
    "a-default-keeps-its-place": (
        {"multiPoint": {"enabled": named("Blue", NodeResourcesFit=9)}},
        {name: DEFAULT_PLUGINS[name] or 1 for name in DEFAULT_SCORE} | {"NodeResourcesFit": 9, "Blue": 1},
    ),
    "a-default-disabled-and-enabled-moves-to-the-end": (
        {"multiPoint": {"enabled": named(TaintToleration=4), "disabled": named("TaintToleration")}},
        {name: DEFAULT_PLUGINS[name] or 1 for name in DEFAULT_SCORE if name != "TaintToleration"}
        | {"TaintToleration": 4},
    ),
    "a-default-disabled": (
        {"score": {"disabled": named("ImageLocality")}},
        {name: DEFAULT_PLUGINS[name] or 1 for name in DEFAULT_SCORE if name != "ImageLocality"},
    ),
    "a-default-listed-again": (
        {"score": {"enabled": named("Green", ImageLocality=8)}},
        {"ImageLocality": 8}
        | {name: DEFAULT_PLUGINS[name] or 1 for name in DEFAULT_SCORE if name != "ImageLocality"}
        | {"Green": 1},
    ),
    "what-is-gone-may-be-disabled": (
        {"multiPoint": {"disabled": named("*", "EBSLimits", "GangScheduling"), "enabled": named("Green")}},
        {"Green": 1},
    ),
}


@pytest.mark.parametrize(("sets", "expected"), SCORE.values(), ids=SCORE)
def test_order_and_weights_of_scoring(sets: dict[str, Any], expected: dict[str, int]) -> None:
    selection, problems = select(**sets)
    assert not problems
    assert selection.points["score"] == tuple(expected)
    assert list(selection.weights.items()) == list(expected.items())


def test_nothing_written_is_the_default() -> None:
    selection, problems = select()
    assert not problems
    assert selection.points == DEFAULT_POINTS


def test_multi_point_reaches_every_point_that_a_plugin_implements() -> None:
    selection, problems = select(multiPoint={**ONLY, "enabled": named("VolumeBinding", "Green")})
    assert not problems
    assert {point: names for point, names in selection.points.items() if names} == {
        "preFilter": ("VolumeBinding",),
        "filter": ("VolumeBinding",),
        "preScore": ("VolumeBinding", "Green"),
        "score": ("VolumeBinding", "Green"),
        "reserve": ("VolumeBinding",),
        "preBind": ("VolumeBinding",),
    }
    assert set(selection.entries) == {"VolumeBinding", "Green"}


ERRORS: dict[str, tuple[dict[str, Any], str, str]] = {
    "unknown": (
        {"score": {"enabled": named("Green", "Grean")}},
        "plugins.score.enabled[1].name",
        'no plugin is called "Grean"; did you mean Green? Allowed: DefaultBinder, DefaultPreemption,',
    ),
    "unknown-disabled": (
        {"filter": {"disabled": named("nodename")}},
        "plugins.filter.disabled[0].name",
        'no plugin is called "nodename"; did you mean NodeName? Allowed: *, DefaultBinder,',
    ),
    "nothing-alike": (
        {"multiPoint": {"enabled": named("Zzz")}},
        "plugins.multiPoint.enabled[0].name",
        'no plugin is called "Zzz"; allowed: DefaultBinder, DefaultPreemption,',
    ),
    "star-enabled": ({"score": {"enabled": named("*")}}, "plugins.score.enabled[0].name", 'no plugin is called "*"'),
    "removed": (
        {"filter": {"enabled": named("EBSLimits")}},
        "plugins.filter.enabled[0].name",
        "EBSLimits was removed from kube-scheduler",
    ),
    "gated": (
        {"permit": {"enabled": named("GangScheduling")}},
        "plugins.permit.enabled[0].name",
        "GangScheduling is behind a feature gate that is off in kube-scheduler 1.36",
    ),
    "not-at-this-point": (
        {"filter": {"enabled": named("Green")}},
        "plugins.filter.enabled[0].name",
        "Green takes no part in filter; it has preScore, score",
    ),
    "not-for-placements": (
        {"placementScore": {"enabled": named("Green")}},
        "plugins.placementScore.enabled[0].name",
        "Green takes no part in placementScore; it has preScore, score",
    ),
    "twice-at-a-point": (
        {"score": {"enabled": named("Green", "Green")}},
        "plugins.score.enabled[1].name",
        "Green is enabled twice, first by plugins.score.enabled[0]",
    ),
    "twice-in-multi-point": (
        {"multiPoint": {"enabled": named("Green", "Blue", "Green")}},
        "plugins.multiPoint.enabled[2].name",
        "Green is enabled twice, first by plugins.multiPoint.enabled[0]",
    ),
    "a-default-twice": (
        {"multiPoint": {"enabled": named("NodeName", "NodeName")}},
        "plugins.multiPoint.enabled[1].name",
        "NodeName is enabled twice, first by plugins.multiPoint.enabled[0]",
    ),
}


@pytest.mark.parametrize(("sets", "path", "text"), ERRORS.values(), ids=ERRORS)
def test_sets_that_make_no_sense_are_refused(sets: dict[str, Any], path: str, text: str) -> None:
    _, problems = select(**sets)
    assert [problem.path for problem in problems] == [path]
    assert problems[0].text.startswith(text)


def test_a_registry_without_a_default_plugin_is_refused() -> None:
    problems: list[Problem] = []
    registry = {name: entry for name, entry in REGISTRY.items() if name != "NodeName"}
    select_plugins(Plugins(), "plugins", registry, problems)
    assert [problem.path for problem in problems] == ["plugins"]
    assert problems[0].text.startswith('no plugin is called "NodeName"')
