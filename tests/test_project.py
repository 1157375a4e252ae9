"""The house rules that no linter knows: sizes, names, docstrings, pins, and what the wheel holds."""

import ast
import importlib.metadata
import os
import re
import subprocess
import sys
import sysconfig
import tomllib
import zipfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import fairway

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "fairway"
MODULES = sorted(path for path in PACKAGE.rglob("*.py") if not path.stem.endswith("_pb2"))  # nobody wrote those
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())

SOURCES = {path.relative_to(PACKAGE).as_posix(): path.read_text() for path in MODULES}


@cache
def trees() -> dict[str, ast.Module]:
    return {name: ast.parse(source) for name, source in SOURCES.items()}


def project_files() -> Iterator[Path]:
    """The files of the project, without what git, the virtual environment and the tools keep in the checkout."""
    kept = {".ci", ".gitignore"}
    for entry in ROOT.iterdir():
        if entry.name.startswith(".") and entry.name not in kept:
            continue
        files = entry.rglob("*") if entry.is_dir() else [entry]
        yield from (file for file in files if file.is_file() and "__pycache__" not in file.parts)


def pins() -> dict[str, str]:
    lines = (ROOT / "requirements" / "test.txt").read_text().splitlines()
    pinned = [line for line in lines if line and not line.startswith("#")]
    requirements = [Requirement(line) for line in pinned]
    here = [each for each in requirements if each.marker is None or each.marker.evaluate()]
    assert len({each.name for each in here}) == len(here), "a package is pinned twice"
    return {each.name: str(each.specifier).removeprefix("==") for each in here}


def test_no_file_names_a_path_of_one_machine() -> None:
    machine_path = re.compile(rb"(?<![\w.~$}-])/(?:home|root|work|Users)/\w")
    found = [file.relative_to(ROOT).as_posix() for file in project_files() if machine_path.search(file.read_bytes())]
    assert found == []


def test_modules_say_what_they_are_for() -> None:
    docstrings = {name: ast.get_docstring(tree) for name, tree in trees().items()}
    assert [name for name, docstring in docstrings.items() if not docstring] == []
    lengths = {name: len((docstring or "").splitlines()) for name, docstring in docstrings.items()}
    assert {n: lines for n, lines in lengths.items() if not n.endswith("__init__.py") and not 3 <= lines <= 12} == {}


def test_no_module_is_asking_to_be_two() -> None:
    lengths = {name: len(source.splitlines()) for name, source in SOURCES.items()}
    assert {name: lines for name, lines in lengths.items() if lines > 350} == {}


def test_no_room_is_a_hallway() -> None:
    sizes = {
        folder.relative_to(PACKAGE).as_posix(): len(list(folder.glob("*.py"))) - 1
        for folder in {module.parent for module in MODULES} - {PACKAGE}
    }
    assert {room: size for room, size in sizes.items() if size > 30 and room not in {"model", "plugins"}} == {}


def test_chance_and_the_clock_come_through_doors() -> None:
    exempt = [
        pattern
        for pattern, rules in PROJECT["tool"]["ruff"]["lint"]["per-file-ignores"].items()
        if "TID251" in rules and pattern.startswith("src/")
    ]
    assert [pattern for pattern in exempt if "*" in pattern] == [], "name the modules that read the clock"
    for pattern in exempt:
        assert "import random" not in (ROOT / pattern).read_text()


def test_names_say_something() -> None:
    empty_modules = {"utils", "util", "helpers", "common", "core", "base", "misc", "manager"}
    assert [name for name in SOURCES if not empty_modules.isdisjoint(Path(name).with_suffix("").parts)] == []
    empty_prefix = re.compile(r"_*(?:get|do|process|handle)_")
    not_ours = {"get_command", "process_exited"}  # methods of click and asyncio that are overridden
    empty_functions = [
        f"{name}: {node.name}"
        for name, tree in trees().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        if empty_prefix.match(node.name) and node.name not in not_ours
    ]
    assert empty_functions == []


def test_array_attributes_end_in_their_shape() -> None:
    bare = [
        f"{name}: {ast.unparse(statement)}"
        for name, tree in trees().items()
        for lines in [SOURCES[name].splitlines()]
        for declaration in ast.walk(tree)
        if isinstance(declaration, ast.ClassDef)
        for statement in declaration.body
        if isinstance(statement, ast.AnnAssign)
        and ast.unparse(statement.annotation).startswith(("NDArray", "npt.NDArray", "np.ndarray"))
        and "# (" not in lines[(statement.end_lineno or statement.lineno) - 1]
    ]
    assert bare == []


def test_every_folder_of_the_package_is_a_package() -> None:
    folders = {module.parent for module in MODULES}
    assert [folder.name for folder in folders if not (folder / "__init__.py").is_file()] == []


def test_importing_the_package_imports_nothing_else() -> None:
    script = "import sys; before = set(sys.modules); import fairway; print(*sorted(set(sys.modules) - before))"
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    assert loaded == ["fairway"]


def test_requirements_are_names_and_exact_versions_only() -> None:
    lines = (ROOT / "requirements" / "test.txt").read_text().splitlines()
    pin = re.compile(r'[a-z0-9]+(?:-[a-z0-9]+)*==[0-9][0-9a-z.]*(?:; python_version (?:<|>=) "3\.[0-9]+")?')
    assert [line for line in lines if line and not line.startswith("#") and not pin.fullmatch(line)] == []


def test_pins_lie_within_the_declared_ranges() -> None:
    declared = [
        *PROJECT["build-system"]["requires"],
        *PROJECT["project"]["dependencies"],
        *(line for extra in PROJECT["project"]["optional-dependencies"].values() for line in extra),
    ]
    pinned = pins()
    for requirement in map(Requirement, declared):
        assert requirement.specifier.contains(pinned[canonicalize_name(requirement.name)]), requirement


def test_everything_that_a_pin_needs_is_pinned() -> None:
    pinned = pins()
    missing = {
        f"{name} needs {line}"
        for name in pinned
        for line in importlib.metadata.requires(name) or []
        if (requirement := Requirement(line)).marker is None or requirement.marker.evaluate({"extra": ""})
        if canonicalize_name(requirement.name) not in pinned
    }
    assert missing == set()


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    subprocess.run(command, cwd=ROOT, capture_output=True, check=True)
    (built,) = folder.glob("*.whl")
    return zipfile.ZipFile(built)


def test_wheel_holds_every_file_of_the_package(wheel: zipfile.ZipFile) -> None:
    source = {
        file.relative_to(PACKAGE.parent).as_posix()
        for file in PACKAGE.rglob("*")
        if file.is_file() and "__pycache__" not in file.parts
    }
    examples = ROOT / "examples"
    source |= {
        f"fairway/examples/{file.relative_to(examples).as_posix()}"
        for file in examples.rglob("*")
        if file.is_file() and "__pycache__" not in file.parts
    }
    assert {name for name in wheel.namelist() if ".dist-info/" not in name} == source


def test_wheel_carries_its_version_licence_and_commands(wheel: zipfile.ZipFile) -> None:
    info = f"fairway-{fairway.__version__}.dist-info"
    assert f"\nVersion: {fairway.__version__}\n" in wheel.read(f"{info}/METADATA").decode()
    assert wheel.read(f"{info}/licenses/LICENSE") == (ROOT / "LICENSE").read_bytes()
    commands = wheel.read(f"{info}/entry_points.txt").decode()
    assert re.findall(r"^([\w-]+) = (\S+)$", commands, re.MULTILINE) == [
        ("fairway", "fairway.cli.main:main"),
        ("kubectl-fairway", "fairway.cli.main:main"),
        ("kubectl_complete-fairway", "fairway.cli.kubectl_completion:main"),
    ]


def test_every_module_of_the_wheel_imports(wheel: zipfile.ZipFile, tmp_path: Path) -> None:
    wheel.extractall(tmp_path)
    paths = [module.relative_to(PACKAGE.parent).with_suffix("") for module in MODULES]
    names = [".".join(path.parts).removesuffix(".__init__") for path in paths]
    script = (
        "import importlib, sys, fairway; print(fairway.__file__); [importlib.import_module(n) for n in sys.argv[1:]]"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script, *names],
        cwd=tmp_path,
        env={"PYTHONPATH": str(tmp_path), "PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert Path(done.stdout.strip()).is_relative_to(tmp_path)


def test_demo_runs_from_the_wheel_alone(wheel: zipfile.ZipFile, tmp_path: Path) -> None:
    environment, elsewhere = tmp_path / "environment", tmp_path / "elsewhere"
    elsewhere.mkdir()
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(environment)], check=True)
    python, script = environment / "bin" / "python", environment / "bin" / "fairway"
    pip = [sys.executable, "-m", "pip", "--python", str(python), "--disable-pip-version-check", "--quiet"]
    assert wheel.filename is not None
    subprocess.run([*pip, "install", "--no-deps", "--no-index", wheel.filename], check=True)
    (packages,) = environment.glob("lib/python*/site-packages")
    # What the wheel needs is there already, and no network: a path alone brings no editable package with it.
    (packages / "dependencies.pth").write_text(sysconfig.get_paths()["purelib"] + "\n")

    def run(*command: str) -> subprocess.CompletedProcess[str]:
        clean = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
        return subprocess.run(command, cwd=elsewhere, env=clean, capture_output=True, text=True, check=True)

    where = run(str(python), "-c", "import fairway; print(fairway.__file__)").stdout.strip()
    assert Path(where).is_relative_to(environment)
    done = run(str(script), "demo", "--until", "10m", "--nodes", "60")
    assert str(packages / "fairway" / "examples") in done.stderr
    assert re.search(r"^ +default +packed", done.stdout, re.MULTILINE)
    run(str(script), "examples", "copy", "mine")
    assert (elsewhere / "mine/scenarios/day.yaml").read_bytes() == (ROOT / "examples/scenarios/day.yaml").read_bytes()
    answer = run(str(script), "try", "-f", "mine/rollout/web.yaml", "--cluster", "mine/cluster.yaml")
    assert "pods get a node" in answer.stdout


def test_changelog_speaks_of_this_version_or_the_next() -> None:
    headings = re.findall(r"^## \[(.+?)\]", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert headings[0] in {"Unreleased", fairway.__version__}


def test_decision_records_are_numbered_and_say_what_follows() -> None:
    records = sorted((ROOT / "docs" / "adr").glob("*.md"))
    assert [int(record.name[:4]) for record in records] == list(range(1, len(records) + 1))
    for record in records:
        assert re.findall(r"^## (.+)$", record.read_text(), re.MULTILINE) == ["Context", "Decision", "Consequences"]


def test_make_help_lists_every_target() -> None:
    makefile = (ROOT / "Makefile").read_text()
    (phony,) = re.findall(r"^\.PHONY: (.+)$", makefile, re.MULTILINE)
    listed = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert re.findall(r"^  make ([\w-]+)", listed, re.MULTILINE) == phony.split()
