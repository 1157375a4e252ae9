"""The tests on other Pythons than that of `.venv`, each in an environment of its own under `.nox`.

`make pythons` runs the sessions `tests-3.x`: the tests on every Python that the machine has. `make test` ends with the
session `edges`: those that another Python could fail, on the oldest and the newest of them, unless `.venv` is of that
version. These meet libraries with compiled parts (msgspec, NumPy, DuckDB, gRPC), asyncio, files and processes, and
import every module; what is built on these in plain Python says little of a Python, and takes long.
What follows `--` is handed to pytest.
"""

import platform
import sys

import nox

from tests.pythons import Interpreter, edges, find_pythons, python_folders

ROOMS = ("model", "config", "trace", "cluster", "cycle", "plugins", "queue", "live", "stream", "record", "testing")
SINGLE = ("test_project.py", "test_library.py", "test_scheduler.py", "test_pool.py", "cli/test_main.py")
QUICK = (*(f"tests/{name}" for name in (*ROOMS, *SINGLE)), "-m", "not slow", "--hypothesis-profile", "few")
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
    """What depends on the Python, on the oldest and the newest one, if that is not the one that runs this."""
    others = edges(PYTHONS, but=sys.version_info[:2])
    names = " and ".join(map(str, others)) or "no other: the machine has none that is older or newer"
    session.log(f"the tests ran on Python {platform.python_version()}; next on {names}")
    for python in others:
        session.notify(f"tests-{python.minor}", posargs=[*QUICK, *session.posargs])
