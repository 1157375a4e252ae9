"""Code beside a file runs only where somebody wants it to."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from fairway.config.plugin_folders import PluginFolders, PluginRefusedError


@pytest.fixture
def folders(tmp_path: Path) -> Iterator[PluginFolders]:
    """The process is in `here`; `there` is another folder, with a plugin of its own."""
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
        (tmp_path / name / f"only_{name}.py").write_text("")
        (tmp_path / name / "in_both.py").write_text("")
    before = Path.cwd()
    os.chdir(tmp_path / "here")
    yield PluginFolders()
    os.chdir(before)


def test_a_file_of_the_current_folder_may_name_what_lies_in_it(folders: PluginFolders) -> None:
    folders.offer("scenario.yaml")
    assert folders.place_of("only_here:Plugin") == Path.cwd()


@pytest.mark.parametrize("source", ["<scenario>", "the command line"])
def test_what_is_no_file_is_the_users_own(folders: PluginFolders, source: str) -> None:
    folders.offer(source)
    assert folders.place_of("only_here:Plugin") == Path.cwd()


@pytest.mark.parametrize("module", ["only_there", "only_here", "in_both"])
def test_a_file_of_another_folder_may_not_without_permission(
    folders: PluginFolders, tmp_path: Path, module: str
) -> None:
    folders.offer(str(tmp_path / "there" / "scenario.yaml"))
    with pytest.raises(PluginRefusedError, match=f"{module}.py, .*--allow-plugins"):
        folders.place_of(f"{module}:Plugin")


def test_permission_is_for_a_while(folders: PluginFolders, tmp_path: Path) -> None:
    folders.offer("../there/scenario.yaml")
    with folders.permission(allow_all=True):
        assert folders.place_of("only_there:Plugin") == tmp_path / "there"
    with pytest.raises(PluginRefusedError):
        folders.place_of("only_there:Plugin")


def test_a_person_is_asked_once_for_a_folder_and_told_what_it_is_about(folders: PluginFolders, tmp_path: Path) -> None:
    asked = []

    def yes(name: str, file: Path, source: str) -> bool:
        asked.append((name, file, source))
        return True

    folders.offer("../there/scenario.yaml")
    with folders.permission(ask=yes):
        assert folders.place_of("only_there:Plugin") == tmp_path / "there"
        assert folders.place_of("only_there:Plugin") == tmp_path / "there"
    assert asked == [("only_there:Plugin", tmp_path / "there" / "only_there.py", "../there/scenario.yaml")]


def test_a_person_may_say_no(folders: PluginFolders) -> None:
    folders.offer("../there/scenario.yaml")
    with folders.permission(ask=lambda *_: False), pytest.raises(PluginRefusedError):
        folders.place_of("only_there:Plugin")


def test_a_file_of_the_current_folder_does_not_vouch_for_another(folders: PluginFolders) -> None:
    folders.offer("scenario.yaml")
    folders.offer("../there/config.yaml")
    with pytest.raises(PluginRefusedError, match=r"in_both\.py"):
        folders.place_of("in_both:Plugin")
    with pytest.raises(PluginRefusedError, match=r"only_here\.py"):
        folders.place_of("only_here:Plugin")


def test_the_file_that_would_run_is_named(folders: PluginFolders, tmp_path: Path) -> None:
    (tmp_path / "there" / "only_there").mkdir()  # an import takes the file, not an empty folder
    (tmp_path / "there" / "package").mkdir()
    (tmp_path / "there" / "package" / "__init__.py").write_text("")
    folders.offer("../there/scenario.yaml")
    with pytest.raises(PluginRefusedError, match=r"only_there\.py"):
        folders.place_of("only_there:Plugin")
    with pytest.raises(PluginRefusedError, match=r"package/__init__\.py"):
        folders.place_of("package.module:Plugin")


def test_what_nobody_has_is_nowhere(folders: PluginFolders) -> None:
    folders.offer("../there/scenario.yaml")
    assert folders.place_of("nowhere:Plugin") is None


def test_nothing_is_imported_or_put_on_the_path_by_looking(folders: PluginFolders) -> None:
    before = list(sys.path)
    folders.offer("scenario.yaml")
    folders.place_of("only_here:Plugin")
    assert sys.path == before
    assert "only_here" not in sys.modules
