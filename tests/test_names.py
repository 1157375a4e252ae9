"""One name, one class: two classes of one name are one idea, or one of them has not found its own name yet."""

import ast
from collections import defaultdict
from pathlib import Path

PACKAGE = Path(__file__).parent.parent / "src" / "fairway"

SAME_IDEA = {
    "ApiServer": "the API server: simulated, and behind a connection",
    "Attempt": "a try to place a pod: as a post-filter sees it, and as the stream tells it",
    "CannotWriteError": "a file that can not be written; that of a run is one of them",
    "Clock": "what time it is: a queue asks for less of it than the live rooms",
    "Event": "something that happened: to a cluster, and as the stream tells it",
    "Extender": "an extender: as a configuration describes it, and as the cycle asks it",
    "Fault": "what happens to a node: as a scenario says it, and in the simulation",
    "Gap": "something is missing: of a run, and of the stream",
    "NodeAffinity": "Kubernetes calls the field of a pod and the plugin that obeys it alike",
    "Nominations": "who waits for which node: what the queue needs of it, and the table",
    "PodPreparations": "what comes before a binding, in the real world and in the simulated one",
    "Pause": "a scheduler stops for a while: as a scenario says it, and in the simulation",
    "Refused": "nodes that a plugin refused: in an attempt, and as the stream tells it",
    "Run": "a run: as recorded, and with what the library adds",
    "Scored": "one of the best nodes: as a recorder hears of it, and as the stream tells it",
    "World": "where decisions take effect: what the scheduler needs of it, and one made of plain objects for tests",
}


def test_no_two_classes_have_one_name() -> None:
    modules: dict[str, set[str]] = defaultdict(set)
    for module in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(module.read_text())):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                modules[node.name].add(module.relative_to(PACKAGE).as_posix())
    twice = {name: sorted(where) for name, where in modules.items() if len(where) > 1}
    assert {name: where for name, where in twice.items() if name not in SAME_IDEA} == {}
    assert SAME_IDEA.keys() <= twice.keys(), f"no longer there twice: {sorted(SAME_IDEA.keys() - twice.keys())}"
