"""A plugin from outside the package gets what built-in ones get: errors about its fields, funnel lines, and fixes.

The plugins lie in files of a user's own, and the real commands are run on them.
"""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest

from fairway.testing import node, pod
from tests.cli.trial_files import Folder, Printed
from tests.golden.transcript import ROOT

NUMBERS = itertools.count()
LICENCES = (ROOT / "examples" / "plugins" / "licences.py").read_text()
SEATS = "example.com/licences"
NODES = [node("n1", cpu=4, memory="8Gi"), node("n2", cpu=8, memory="8Gi")]

FIT = '''
from fairway.plugin import *
from fairway.plugins.node_resources_fit_args import NodeResourcesFitArgs
import numpy as np

class Fit(Plugin):
    """NodeResourcesFit once more, for CPU and memory, in a user's few lines."""

    Args = NodeResourcesFitArgs
    annotations = ()

    def filter(self, pod, nodes, state):
        return np.logical_and.reduce([nodes.free(name) >= pod.requests[name] for name in pod.requests])

    def explain(self, pod, nodes, state):
        free = {name: nodes.free(name).tolist() for name in pod.requests}
        return [self._refusal(pod, {name: free[name][index] for name in free}) for index in range(len(nodes))]

    def _refusal(self, pod, free):
        short = tuple(Shortage(name, needed) for name, needed in pod.requests.items() if needed > free[name])
        return Refusal(tuple(f"Insufficient {each.resource}" for each in short), shortages=short)
'''


class Own:
    """A user's folder with a plugin in it, under a module name that no other test uses."""

    def __init__(self, folder: Folder, text: str, kind: str) -> None:
        self.folder = folder
        self.module = f"own_plugin_{next(NUMBERS)}"
        self.name = f"{self.module}:{kind}"
        folder.write(f"{self.module}.py", text)

    def why(self, wanted: Any, *, args: Any = None, plugin: str = "", instead_of: str = "") -> Printed:
        name = plugin or self.name
        profile: dict[str, Any] = {"plugins": {"multiPoint": {"enabled": [{"name": name}]}}}
        if instead_of:
            profile["plugins"]["multiPoint"]["disabled"] = [{"name": instead_of}]
        if args is not None:
            profile["pluginConfig"] = [{"name": name, "args": args}]
        config = {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "profiles": [profile],
        }
        self.folder.write("config.json", json.dumps(config))
        return self.folder.attempt(NODES, [wanted], "--config", "config.json", command="why p")


@pytest.fixture
def licences(folder: Folder) -> Own:
    return Own(folder, LICENCES, "Licences")


@pytest.fixture
def fit(folder: Folder) -> Own:
    return Own(folder, FIT, "Fit")


# -- arguments ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("args", "words"),
    [
        pytest.param(
            {"seatPerNode": 3},
            "args.seatPerNode: unknown field; did you mean seatsPerNode? Allowed: seatsPerNode, keptSeats",
            id="unknown field",
        ),
        pytest.param(
            {"seatsPerNode": "many"},
            'args.seatsPerNode: expected an integer from 1 to 1000, got "many"',
            id="wrong type",
        ),
        pytest.param({"seatsPerNode": 0}, "args.seatsPerNode: expected an integer from 1 to 1000, got 0", id="bounds"),
        pytest.param(
            {"seatsPerNode": 2, "keptSeats": 2}, "args.keptSeats: 2 leaves none of 2 seats for pods", id="own check"
        ),
        pytest.param([1], "args: expected fields, got [1]", id="no fields"),
        pytest.param({"kind": "Other"}, 'args.kind: "Other" is unknown; here it is LicencesArgs', id="another kind"),
    ],
)
def test_wrong_arguments_are_told_with_file_and_field(licences: Own, args: Any, words: str) -> None:
    printed = licences.why(pod("p"), args=args)
    assert printed.code == 1
    assert printed.err.splitlines()[0] == f"error: config.json: profiles[0].pluginConfig[0].{words}"


@pytest.mark.parametrize(
    "args",
    [
        {"ignoredResource": []},
        {"ignoredResources": ["a b"]},
        {"scoringStrategy": {"type": "Least"}},
        {"scoringStrategy": {"type": "MostAllocated", "resources": [{"name": "cpu", "weight": 101}]}},
        {"apiVersion": "v2"},
    ],
    ids=json.dumps,
)
def test_the_same_mistakes_get_the_same_words_as_a_built_in_plugin_s(fit: Own, args: Any) -> None:
    own = fit.why(pod("p"), args=args, instead_of="NodeResourcesFit")
    built_in = fit.why(pod("p"), args=args, plugin="NodeResourcesFit")
    assert own.code == built_in.code == 1
    assert own.err == built_in.err


def test_arguments_that_have_to_be_given_are_missed(folder: Folder) -> None:
    text = LICENCES.replace("seats_per_node: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 4", "seats_per_node: int")
    own = Own(folder, text, "Licences")
    printed = own.why(pod("p"))
    assert printed.code == 1
    path = f"profiles[0].pluginConfig[{own.name}].args.seatsPerNode"
    assert printed.err.splitlines()[0] == f"error: config.json: {path}: missing; it is an integer"


def test_a_plugin_that_declares_no_arguments_gets_the_mapping(folder: Folder) -> None:
    text = "from fairway.plugin import *\nimport numpy as np\nclass Any(Plugin):\n"
    text += "    def filter(self, pod, nodes, state):\n        return np.full(len(nodes), self.args['let'])\n"
    own = Own(folder, text, "Any")
    assert own.why(pod("p"), args={"let": True}).code == 0
    assert own.why(pod("p"), args={"let": False}).code == 3


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param(
            LICENCES.replace("Args = LicencesArgs", "Args = dict"),
            "Args is \"<class 'dict'>\"; it has to be a struct, as a PluginArgs is",
            id="no struct",
        ),
        pytest.param(
            LICENCES.replace("if self.kept_seats >= self.seats_per_node", "if self.kept_seats > None"),
            "arguments raised TypeError",
            id="a check that breaks",
        ),
    ],
)
def test_arguments_that_are_declared_wrongly_are_no_traceback(folder: Folder, text: str, words: str) -> None:
    printed = Own(folder, text, "Licences").why(pod("p"), args={})
    assert printed.code == 1
    assert words in printed.err
    assert "Traceback" not in printed.err


# -- shortages, words and fixes ----------------------------------------------------------------------------------------


def funnel(printed: Printed) -> list[str]:
    return [line.split(maxsplit=2)[-1] for line in printed.out.splitlines() if " short: " in line]


def fixes(printed: Printed) -> list[str]:
    lines = printed.out.splitlines()
    start = next(index for index, line in enumerate(lines) if line.startswith("  fix  "))
    return [line[7:] for line in lines[start:]]


@pytest.mark.parametrize(
    "wanted",
    [
        pytest.param(pod("p", cpu=9), id="cpu"),
        pytest.param(pod("p", cpu=9, memory="9Gi"), id="cpu and memory"),
        pytest.param(pod("p", cpu=5, memory="9Gi"), id="memory, and cpu on one node"),
    ],
)
def test_a_shortage_reads_and_is_fixed_as_a_built_in_plugin_s(fit: Own, wanted: Any) -> None:
    own = fit.why(wanted, instead_of="NodeResourcesFit")
    built_in = fit.why(wanted, plugin="NodeResourcesFit")
    assert own.code == built_in.code == 3
    assert funnel(own) == funnel(built_in)
    assert len(funnel(own)) == 1
    assert fixes(own) == fixes(built_in)
    assert fixes(own)[0].startswith("ask for ")


def test_what_only_the_plugin_knows_of_is_counted_and_fixed(licences: Own) -> None:
    printed = licences.why(pod("p", annotations={SEATS: "5"}), args={"seatsPerNode": 3, "keptSeats": 1})
    assert printed.code == 3
    assert "     0  Licences   2 short: licences 2 (needs 5, most free 2)" in printed.out
    assert fixes(printed) == ["take 2 licences instead of 5 → 2 nodes fit now"]


def test_a_fix_may_need_what_two_plugins_say(licences: Own) -> None:
    printed = licences.why(pod("p", cpu=9, annotations={SEATS: "5"}))
    assert fixes(printed) == ["ask for 8 cpu instead of 9 and take 4 licences instead of 5 → 1 node fits now"]


def test_words_for_the_funnel_are_the_plugin_s_own(folder: Folder) -> None:
    text = (
        FIT.replace("shortages=short", "shortages=()")
        + """
    refused_word = "full"

    def funnel_words(self, pod, nodes, state):
        return [f"{name} is taken" for name in nodes.names]
"""
    )
    printed = Own(folder, text, "Fit").why(pod("p", cpu=9), instead_of="NodeResourcesFit")
    assert "2 full (n1 is taken 1, n2 is taken 1)" in printed.out


@pytest.mark.parametrize(
    ("method", "words"),
    [
        pytest.param("relax = lambda self, *_: [1]", "relax() must give Relaxations", id="no relaxation"),
        pytest.param("relax = lambda self, *_: (1 / 0 for _ in (1,))", "relax() raised ZeroDivisionError", id="breaks"),
        pytest.param("supply = lambda self, *_: 3", "supply() must return a Supply", id="no supply"),
        pytest.param("funnel_words = lambda self, *_: [1]", "funnel_words() must return a string for each", id="words"),
        pytest.param("class_key = lambda self, pod: []", "class_key() must return None, numbers, text", id="key"),
        pytest.param(
            "explain = lambda self, *_: Refusal(('x',), shortages=('cpu',))", "whose shortages are ('cpu',)", id="short"
        ),
    ],
)
def test_what_it_says_wrongly_is_told_and_is_no_traceback(folder: Folder, method: str, words: str) -> None:
    text = f"{FIT}\n    {method}\n"
    if "funnel" in method:
        text = text.replace("shortages=short", "shortages=()")
    printed = Own(folder, text, "Fit").why(pod("p", cpu=9), instead_of="NodeResourcesFit")
    assert printed.code != 0
    assert words in printed.err + printed.out
    assert "Traceback" not in printed.err
