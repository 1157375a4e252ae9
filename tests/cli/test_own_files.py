"""Files that commands write: nothing of anybody else's is replaced, nothing is left half-written."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.scenario_files import small_scenario
from tests.cli.trial_files import Folder
from tests.explain.run_files import busy_run
from tests.record.full_disk import full_disk

NODES = "{apiVersion: v1, kind: List, items: [{apiVersion: v1, kind: Node, metadata: {name: n1}}]}\n"
ORDER = """\
apiVersion: fairway.dev/v1alpha1
kind: OrderScenario
metadata: {name: little}
spec:
  lookalike: {nodes: 4, pods: 20}
  policies: [BestFit]
  seeds: 1
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> str:
    return busy_run(tmp_path_factory.mktemp("run"))


Command = Callable[[Path, str], list[str]]
"""A command line that writes the file, by the folder it works in and the run it may read."""

WRITERS: dict[str, tuple[str, Command]] = {
    "a report": ("report.html", lambda folder, run: ["compare", run, "--html", str(folder / "report.html")]),
    "a trace": ("day.json", lambda folder, run: ["export", run, str(folder / "day.json")]),
    "a packed trace": ("day.json.gz", lambda folder, run: ["export", run, str(folder / "day.json.gz")]),
    "Parquet": ("tables/pods.parquet", lambda folder, run: ["export", run, str(folder / "tables")]),
    "CSV": ("tables/meta.csv", lambda folder, run: ["export", run, str(folder / "tables"), "--format", "csv"]),
    "one table": ("x.csv", lambda folder, run: ["export", run, str(folder / "x.csv"), "--table", "pods"]),
    "a run": ("nobody.duckdb", lambda folder, run: ["export", run, str(folder / "nobody.duckdb"), "--anonymise"]),
    "racks in YAML": (
        "nodes-hier.yaml",
        lambda folder, run: ["topology", str(folder / "nodes.yaml"), "--servers-per-rack", "2"],
    ),
    "racks in JSON": (
        "nodes-hier.json",
        lambda folder, run: ["topology", str(folder / "nodes.json"), "--servers-per-rack", "2"],
    ),
    "tables of an experiment": (
        "results/tables/summary.csv",
        lambda folder, run: ["compare", str(folder / "order.yaml"), "--save", str(folder / "results"), "--jobs", "1"],
    ),
    "a report of an experiment": (
        "results/report.html",
        lambda folder, run: ["compare", str(folder / "order.yaml"), "--save", str(folder / "results"), "--jobs", "1"],
    ),
    "made-up data": (
        "results/data/openb_pod_list_default.csv",
        lambda folder, run: ["compare", str(folder / "order.yaml"), "--save", str(folder / "results"), "--jobs", "1"],
    ),
}
WRITTEN = pytest.mark.parametrize(("name", "command"), WRITERS.values(), ids=WRITERS)


@pytest.fixture
def place(folder: Folder) -> Path:
    folder.write("nodes.yaml", NODES)
    folder.write("nodes.json", '{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}}')
    folder.write("order.yaml", ORDER)
    return folder.path


def files_below(folder: Path) -> set[str]:
    return {str(file.relative_to(folder)) for file in folder.rglob("*") if file.is_file()}


@WRITTEN
def test_what_somebody_else_wrote_is_left_alone(
    folder: Folder, place: Path, run: str, name: str, command: Command
) -> None:
    theirs = place / name
    theirs.parent.mkdir(parents=True, exist_ok=True)
    theirs.write_text("key,value\nmy notes,of a year\n")
    printed = folder.run(*command(place, run))
    assert (printed.code, printed.out) == (1, "")
    assert str(theirs) in printed.err
    assert "is there already, and no" in printed.err
    assert theirs.read_text() == "key,value\nmy notes,of a year\n"
    assert not [file for file in files_below(place) if "part" in file]


@WRITTEN
def test_what_an_earlier_one_wrote_is_replaced(
    folder: Folder, place: Path, run: str, name: str, command: Command
) -> None:
    assert folder.run(*command(place, run)).code == 0
    before = (place / name).read_bytes()
    (place / name).chmod(0o640)
    names = files_below(place)
    assert folder.run(*command(place, run)).code == 0
    assert files_below(place) == names
    if not name.endswith((".duckdb", ".parquet", ".html")):  # which tell the time, or the layout of a database
        assert (place / name).read_bytes() == before


@WRITTEN
def test_an_empty_file_is_nobodys(folder: Folder, place: Path, run: str, name: str, command: Command) -> None:
    (place / name).parent.mkdir(parents=True, exist_ok=True)
    (place / name).touch()
    assert folder.run(*command(place, run)).code == 0
    assert (place / name).stat().st_size


ON_A_FULL_DISK = {
    name: WRITERS[name] for name in ("a report", "a trace", "a packed trace", "Parquet", "CSV", "racks in YAML")
}


@pytest.mark.parametrize(("name", "command"), ON_A_FULL_DISK.values(), ids=ON_A_FULL_DISK)
def test_a_full_disk_leaves_what_was_there(folder: Folder, place: Path, run: str, name: str, command: Command) -> None:
    assert folder.run(*command(place, run)).code == 0
    before = {file: (place / file).read_bytes() for file in files_below(place)}
    with full_disk(20):
        printed = folder.run(*command(place, run))
    assert (printed.code, printed.out) == (1, "")
    error, hint = printed.err.splitlines()[-2:]
    assert "the disk is full" in error
    assert f"cannot write {(place / name).parent}" in error
    assert hint == "→ make room there, or name another place to write to"
    assert {file: (place / file).read_bytes() for file in files_below(place)} == before


def test_a_report_on_a_small_disk_of_its_own(folder: Folder, run: str) -> None:
    """The real thing, where a process may mount something."""
    disk = folder.path / "disk"
    disk.mkdir()
    namespace = ["unshare", "--mount", "--map-root-user", "sh", "-c"]
    mounting = f"mount -t tmpfs -o size=8k none {disk}"
    try:
        subprocess.run([*namespace, mounting], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"nothing may be mounted here: {error}")
    command = f"{sys.executable} -m fairway compare {run} --html {disk}/report.html; echo exit $?; ls -A {disk}"
    done = subprocess.run([*namespace, f"{mounting} && {command}"], capture_output=True, text=True, check=False)
    assert done.stdout == "exit 1\n"
    assert f"cannot write {disk}/report.html: the disk is full (No space left on device)" in done.stderr


@pytest.mark.parametrize("is_order", [False, True], ids=["a scenario", "an experiment"])
def test_a_report_does_not_replace_the_scenario_and_says_so_before_it_runs(
    folder: Folder, place: Path, is_order: bool
) -> None:
    scenario = place / "order.yaml" if is_order else small_scenario(place)
    before = scenario.read_bytes()
    printed = folder.run("compare", str(scenario), "--html", str(scenario), "--save", str(place / "kept"))
    assert (printed.code, printed.out) == (1, "")
    assert f"{scenario} is there already, and not a report that Fairway wrote" in printed.err
    assert scenario.read_bytes() == before
    assert not list(place.glob("kept/runs/*"))


def test_a_run_is_not_made_anonymous_in_its_own_place(folder: Folder) -> None:
    path = busy_run(folder.path)
    before = Path(path).read_bytes()
    printed = folder.run("export", path, path, "--anonymise")
    assert printed.code == 1
    assert "is the run that is read" in printed.err
    assert Path(path).read_bytes() == before


QUESTIONS = {
    "a file for all tables": (("x.csv",), "x.csv is a file for one table: which? --table pods"),
    "a Parquet file for all": (("x.parquet",), "x.parquet is a file for one table"),
    "a file for two": (("x.csv", "--table", "pods", "--table", "nodes"), "is a file for one table"),
    "two forms": (("x.csv", "--table", "pods", "--format", "parquet"), "contradict each other"),
}


@pytest.mark.parametrize(("words", "question"), QUESTIONS.values(), ids=QUESTIONS)
def test_a_file_is_for_one_table(
    folder: Folder, run: str, words: tuple[str, ...], question: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder.path)
    printed = folder.run("export", run, *words)
    assert (printed.code, printed.out) == (2, "")
    assert question in printed.err
    assert not list(folder.path.iterdir())


def test_a_device_is_no_file(folder: Folder, run: str) -> None:
    printed = folder.run("compare", run, "--html", "/dev/null")
    assert (printed.code, printed.out) == (1, "")
    assert "/dev/null: it is not a regular file" in printed.err


def test_tables_do_not_go_into_a_file(folder: Folder, run: str) -> None:
    place = folder.path / "web.yaml"
    place.write_text(NODES)
    printed = folder.run("export", run, str(place))
    assert printed.code == 1
    assert printed.err.startswith(f"error: cannot write to {place}: it is a file, and tables go into a directory\n")
    assert place.read_text() == NODES
