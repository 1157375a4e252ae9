import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from fairway.config.plugin_entry import PluginNotFoundError, implemented_points, resolve
from fairway.plugin import Plugin, per_node
from tests.cycle.plugin_registry import REGISTRY

MODULE = """
from fairway.plugin import Plugin, per_node

class PreferGreen(Plugin):
    def pre_score(self, pod, nodes): return None
    def score(self, pod, nodes, state): return []

class Idle(Plugin):
    pass

@per_node
def only_even(pod, node):
    return len(node.metadata.name) % 2 == 0

number = 3
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder on the path with a module of plugins, a broken one, and an installed package's entry points."""
    path = tmp_path_factory.mktemp("site")
    (path / "green_plugins.py").write_text(MODULE)
    (path / "broken_plugins.py").write_text("1 / 0\n")
    package = path / "green-1.0.dist-info"
    package.mkdir()
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: green\nVersion: 1.0\n")
    (package / "entry_points.txt").write_text(
        "[fairway.plugins]\nGreenest = green_plugins:PreferGreen\nBroken = broken_plugins:Any\n"
    )
    sys.path.insert(0, str(path))
    yield path
    sys.path.remove(str(path))
    sys.modules.pop("green_plugins", None)


def test_a_name_of_the_registry_is_its_entry() -> None:
    assert resolve("NodeName", REGISTRY) is REGISTRY["NodeName"]


@pytest.mark.usefixtures("site")
@pytest.mark.parametrize(
    ("name", "points"),
    [
        ("green_plugins:PreferGreen", {"preScore", "score"}),
        ("green_plugins:only_even", {"filter"}),
        ("Greenest", {"preScore", "score"}),
    ],
    ids=["class", "function", "entry-point"],
)
def test_a_users_plugin_is_found(name: str, points: set[str]) -> None:
    entry = resolve(name, REGISTRY)
    assert entry.points == points
    assert isinstance(entry.factory, type)
    assert issubclass(entry.factory, Plugin)


@pytest.mark.usefixtures("site")
@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("Greenst", 'no plugin is called "Greenst"; did you mean Greenest? Allowed: DefaultBinder'),
        ("", 'no plugin is called ""; allowed: DefaultBinder'),
        ("..:x", 'no plugin is called "..:x"; allowed: DefaultBinder'),
        ("no_such_module:X", "the plugin no_such_module:X cannot be imported: ModuleNotFoundError: No module named"),
        ("broken_plugins:X", "the plugin broken_plugins:X cannot be imported: ZeroDivisionError: division by zero"),
        ("Broken", "the plugin broken_plugins:Any cannot be imported: ZeroDivisionError: division by zero"),
        (
            "green_plugins:Green",
            "the module green_plugins has no Green; did you mean PreferGreen? Allowed: PreferGreen, Idle, only_even",
        ),
        ("green_plugins:number", "green_plugins:number is not a plugin; it has to be a subclass of fairway.plugin.Plu"),
        ("fairway.plugin:Plugin", "fairway.plugin:Plugin is not a plugin; it has to be a subclass"),
        ("green_plugins:Idle", "green_plugins:Idle overrides no method of fairway.plugin.Plugin, so it would do not"),
    ],
    ids=["typo", "empty", "relative", "no-module", "broken", "broken-entry", "no-class", "number", "base", "idle"],
)
def test_what_is_no_plugin_is_refused(name: str, message: str) -> None:
    with pytest.raises(PluginNotFoundError) as error:
        resolve(name, REGISTRY)
    assert str(error.value).startswith(message)


def test_a_plugin_takes_part_where_it_overrides() -> None:
    class Careful(Plugin):
        def unreserve(self, *_: object) -> None:
            """Gives something back."""

        def pre_enqueue(self, *_: object) -> None:
            """Lets every pod in."""

    class MoreCareful(Careful):
        def permit(self, *_: object) -> None:
            """Lets every pod go."""

    @per_node
    def count(pod: object, node: object) -> int:
        return 1

    assert implemented_points(Careful) == {"reserve", "preEnqueue"}
    assert implemented_points(MoreCareful) == {"reserve", "preEnqueue", "permit"}
    assert implemented_points(count) == {"score"}
