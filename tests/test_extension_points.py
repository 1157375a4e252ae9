"""One table of extension points: whatever else lists them follows from it."""

import re

import msgspec
import pytest

from fairway.config.config_file import Plugins
from fairway.config.plugin_sets import POINTS
from fairway.cycle.guard import METHODS
from fairway.cycle.timing import POINTS as TIMED
from fairway.plugin import Plugin
from fairway.plugin.extension_points import EXTENSION_POINTS, POINT_METHODS, ExtensionPoint
from tests.golden.transcript import ROOT

NAMES = [point.name for point in EXTENSION_POINTS]


def test_a_configuration_may_name_just_these_and_all_at_once() -> None:
    fields = {field.encode_name: field.name for field in msgspec.structs.fields(Plugins)}
    assert fields.pop("multiPoint") == "multi_point"
    assert fields == POINTS == {point.name: point.field for point in EXTENSION_POINTS}


@pytest.mark.parametrize("point", EXTENSION_POINTS, ids=NAMES)
def test_the_methods_of_a_point_are_the_contract_s(point: ExtensionPoint) -> None:
    for method in (*point.methods, *point.timed):
        assert callable(getattr(Plugin, method))
        assert method in METHODS
    assert not point.methods or point.methods[0] == point.field


def test_every_method_belongs_to_one_point() -> None:
    assert len(set(POINT_METHODS)) == len(POINT_METHODS)
    assert set(TIMED) == {method for point in EXTENSION_POINTS for method in point.timed}


def test_the_page_about_plugins_lists_them_in_order() -> None:
    page = (ROOT / "docs" / "plugins.md").read_text()
    listed = re.findall(r"^\| `(\w+)` \| (.*?) \|", page, re.MULTILINE)
    assert [name for name, _ in listed] == NAMES
    for point, (_, methods) in zip(EXTENSION_POINTS, listed, strict=True):
        assert re.findall(r"`(\w+)`", methods) == list(point.methods)
