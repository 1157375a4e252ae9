"""The tests on other Pythons than that of `.venv`, each in an environment of its own under `.nox`.

`make pythons` runs the sessions `tests-3.x`: the tests on every Python that the machine has. `make test` ends with the
session `edges`: what is neither slow nor needs a real control plane, on the oldest and the newest of them, unless
`.venv` is of that version. Transcripts and properties are left out there: they take long, and say little of a Python.
What follows `--` is handed to pytest.
"""

import platform
import sys

import nox

from tests.pythons import Interpreter, edges, find_pythons, python_folders

LEFT_OUT = ("tests/kube", "tests/golden", "tests/properties")
QUICK = (*(f"--ignore={folder}" for folder in LEFT_OUT), "-m", "not slow", "--hypothesis-profile", "few")
PYTHONS = find_pythons(python_folders())

nox.options.tags = ["pythons"]


def add_session(python: Interpreter) -> None:
    """A session that installs the pins and the package as the Makefile does, and runs pytest on them."""

    @nox.session(name=f"tests-{python.minor}", python=str(python.path), reuse_venv=True, tags=["pythons"])
    def run_tests(session: nox.Session) -> None:
        session.log(f"on {python}")
        session.install("--quiet", "--requirement", "requirements/test.txt")
        session.install("--quiet", "--no-deps", "--no-build-isolation", "--editable", ".")
        session.run("python", "-m", "pytest", *session.posargs)


for found in PYTHONS:
    add_session(found)


@nox.session(name="edges", venv_backend="none")
def run_edges(session: nox.Session) -> None:
    """The quick tests on the oldest and the newest Python, if that is not the one that runs this."""
    others = edges(PYTHONS, but=sys.version_info[:2])
    names = " and ".join(map(str, others)) or "no other: the machine has none that is older or newer"
    session.log(f"the tests ran on Python {platform.python_version()}; next on {names}")
    for python in others:
        session.notify(f"tests-{python.minor}", posargs=[*QUICK, *session.posargs])
