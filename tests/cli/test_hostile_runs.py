"""Somebody else's run: whatever is in it, nothing is written, nothing else is read, and the user is told."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import fairway
from fairway.cli.main import main
from fairway.record import RecordError
from tests.explain.run_files import busy_run
from tests.record.hostile_runs import HOSTILE_FILES, HOSTILE_STATEMENTS, hostile_file, hostile_run

SECRET = "the-key-to-the-house"
COMMANDS = (
    ("status", "--run", "{run}"),
    ("status", "--run", "{run}", "--nodes"),
    ("why", "never-huge-0", "--run", "{run}"),
    ("export", "{run}", "{out}", "--format", "csv"),
    ("export", "{run}", "{out}.json"),
    ("compare", "{run}", "{good}"),
    ("sim", "--replay", "{run}"),
)


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Path(busy_run(tmp_path_factory.mktemp("good")))


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A home of its own, in which nothing may appear."""
    home = tmp_path / "home"
    home.mkdir()
    (home / "secret.txt").write_text(SECRET)
    monkeypatch.setenv("HOME", str(home))
    yield home
    assert [file.name for file in home.iterdir()] == ["secret.txt"]


def check(path: Path, good: Path, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = {file.name for file in path.parent.iterdir()}
    with pytest.raises(RecordError, match=r"evil\.duckdb"):
        fairway.open_run(path)
    for command in COMMANDS:
        words = [word.format(run=path, out=folder / "out", good=good) for word in command]
        code = main(words)
        said = capsys.readouterr()
        assert code not in (0, 3), words
        assert "evil.duckdb" in said.err
        assert "→" in said.err
        assert "unexpected" not in said.err
        assert SECRET not in said.out + said.err
        assert len(said.err) < 2000
        assert not (folder / "out").exists()
    assert {file.name for file in path.parent.iterdir()} == before


@pytest.mark.parametrize("name", HOSTILE_STATEMENTS)
def test_a_hostile_run_does_nothing_and_is_refused(
    name: str, good: Path, home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "there"
    folder.mkdir()
    path = hostile_run(folder, good, name, canary=home / "canary", secret=home / "secret.txt")
    check(path, good, tmp_path, capsys)


@pytest.mark.parametrize("name", HOSTILE_FILES)
def test_what_is_no_run_is_refused(
    name: str, good: Path, home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "there"
    folder.mkdir()
    check(hostile_file(folder, good, name), good, tmp_path, capsys)


def test_a_question_of_ones_own_reaches_nothing_but_the_run(good: Path, home: Path) -> None:
    with fairway.open_run(good) as run:
        assert len(run.sql("SELECT * FROM pods")) == len(run.pods)
        for query in (
            f"SELECT * FROM read_text('{home}/secret.txt')",
            f"SELECT 1); COPY (SELECT 1) TO '{home}/canary'; SELECT (1",
            f"COPY pods TO '{home}/canary'",
            f"ATTACH '{home}/canary'",
            "INSTALL httpfs",
            "LOAD httpfs",
            "SET enable_external_access = true",
            "SET lock_configuration = false",
        ):
            with pytest.raises(RecordError):
                list(run.sql(query).rows())


def test_a_run_with_a_name_that_is_an_address(good: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("md:run").write_bytes(good.read_bytes())
    Path("system.duckdb").symlink_to(good)
    for name in ("md:run", "system.duckdb"):
        with fairway.open_run(name) as run:
            assert run.is_complete
