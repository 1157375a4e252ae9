"""The rooms of the package and what they know of each other: whatever is imported, when it is and for whom."""

import ast
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path

PACKAGE = Path(__file__).parent.parent / "src" / "fairway"
EXCEPTED = ("fairway", "library")  # the package offers the library's functions; it imports them when they are asked for


def room_of(module: Path) -> str:
    """The first level below the package, a folder or a module; the package's own __init__ is `fairway`."""
    parts = module.relative_to(PACKAGE).with_suffix("").parts
    return "fairway" if parts == ("__init__",) else parts[0]


def imported(tree: ast.AST) -> Iterator[str]:
    """Every module that is imported anywhere: at the top, in a function, or for type checkers only."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module == "fairway":
            yield from (f"fairway.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module


def knowledge() -> dict[str, dict[str, str]]:
    """Which rooms each room imports from, and a module that does."""
    modules = sorted(PACKAGE.rglob("*.py"))
    rooms = {room_of(module) for module in modules}
    known: dict[str, dict[str, str]] = {room: {} for room in rooms}
    for module in modules:
        for name in imported(ast.parse(module.read_text())):
            package, _, rest = name.partition(".")
            other = rest.partition(".")[0]
            if package != "fairway":
                continue
            room, other = room_of(module), other if other in rooms else "fairway"
            if room != other and (room, other) != EXCEPTED:
                known[room].setdefault(other, module.relative_to(PACKAGE).as_posix())
    return known


def cycle_in(graph: Mapping[str, Mapping[str, str]]) -> list[str]:
    """A way from some room back to itself; empty if there is none."""
    done: set[str] = set()

    def walk(room: str, way: list[str]) -> list[str]:
        if room in way:
            return [*way[way.index(room) :], room]
        if room in done:
            return []
        for other in sorted(graph[room]):
            if found := walk(other, [*way, room]):
                return found
        done.add(room)
        return []

    return next((found for room in sorted(graph) if (found := walk(room, []))), [])


def test_a_cycle_is_found() -> None:
    graph = {"a": {"b": ""}, "b": {"c": ""}, "c": {"b": ""}, "d": {}}
    assert cycle_in(graph) == ["b", "c", "b"]
    assert cycle_in({"a": {"b": "", "c": ""}, "b": {"c": ""}, "c": {}}) == []


def test_lazy_imports_and_those_for_type_checkers_count() -> None:
    text = (
        "if TYPE_CHECKING:\n    import fairway.cli\ndef f():\n    from fairway import sim\nfrom fairway.web.x import y"
    )
    assert sorted(imported(ast.parse(text))) == ["fairway.cli", "fairway.sim", "fairway.web.x"]


def test_no_rooms_import_each_other_in_a_circle() -> None:
    graph = knowledge()
    assert len(graph) > 20
    cycle = cycle_in(graph)
    assert cycle == [], " -> ".join(f"{room} ({graph[room][other]})" for room, other in pairwise(cycle))
