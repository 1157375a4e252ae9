"""Objects are found in files, directories and standard input."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from fairway.model import DecodeError, Loaded
from fairway.trace.manifest_objects import Paths, read_objects
from fairway.trace.problems import Problems

POD = "apiVersion: v1\nkind: Pod\nmetadata: {{name: {name}}}\n"


def load_files(paths: Paths) -> list[Loaded]:
    return read_objects(paths, Problems(strict=True))[0]


def write(path: Path, name: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(POD.format(name=name))
    return path


def test_directories_are_read_recursively_in_order(tmp_path: Path) -> None:
    write(tmp_path / "b.yaml", "b")
    write(tmp_path / "a" / "z.yml", "z")
    (tmp_path / "c.json").write_text('{"apiVersion":"v1","kind":"Pod","metadata":{"name":"c"}}')
    (tmp_path / "notes.txt").write_text("not a manifest")
    loaded = load_files([tmp_path])
    assert [one.object.metadata.name for one in loaded] == ["z", "b", "c"]
    assert [one.source.file for one in loaded] == [str(tmp_path / name) for name in ("a/z.yml", "b.yaml", "c.json")]


def test_files_are_read_in_the_order_given_whatever_they_are_called(tmp_path: Path) -> None:
    paths: list[Path | str] = [write(tmp_path / "b.yaml", "b"), str(write(tmp_path / "a.manifest", "a"))]
    assert [one.object.metadata.name for one in load_files(paths)] == ["b", "a"]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("name", ["p.json", "p.yaml"])
def test_text_as_other_shells_write_it(tmp_path: Path, name: str, encoding: str) -> None:
    (tmp_path / name).write_text('{"apiVersion":"v1","kind":"Pod","metadata":{"name":"c"}}', encoding=encoding)
    assert [one.object.metadata.name for one in load_files([tmp_path / name])] == ["c"]


def test_what_is_skipped_is_told(tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_text("apiVersion: v1\nkind: Secret\nmetadata: {name: s}\n")
    assert read_objects([tmp_path], Problems(strict=True)) == ([], {"Secret": 1})


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(DecodeError, match=r"gone\.yaml: cannot be read: No such file or directory"):
        load_files([tmp_path / "gone.yaml"])


def test_an_empty_directory(tmp_path: Path) -> None:
    with pytest.raises(DecodeError, match=r"holds no \*\.yaml, \*\.yml, \*\.json file"):
        load_files([tmp_path])


@pytest.mark.parametrize(
    "text",
    [POD.format(name="web"), '\n{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web"}}'],
    ids=["yaml", "json"],
)
def test_standard_input(text: str) -> None:
    code = (
        "from fairway.trace.manifest_objects import *; from fairway.trace.problems import Problems;"
        "print([(str(o.source), o.object.metadata.name) for o in read_objects('-', Problems(strict=True))[0]])"
    )
    run = subprocess.run([sys.executable, "-c", code], input=text, capture_output=True, text=True, check=True)
    assert run.stdout == "[('<stdin>', 'web')]\n"


@pytest.mark.parametrize(
    ("text", "places"),
    [
        (POD.format(name="a"), ["f.yaml"]),
        (f"# only words\n---\n{POD.format(name='a')}", ["f.yaml"]),
        (f"{POD.format(name='a')}---\n{POD.format(name='b')}", ["f.yaml, document 1 (line 1)", "document 2 (line 5)"]),
        (f"%YAML 1.1\n---\n{POD.format(name='a')}---\n{POD.format(name='b')}", ["document 1 (line ", "document 2 ("]),
        (
            "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Pod, metadata: {name: a}}\n"
            "- {apiVersion: v1, kind: Pod, metadata: {name: b}}\n",
            ["f.yaml:4, items[0]", "f.yaml:5, items[1]"],
        ),
        (
            "apiVersion: v1\nkind: List\nitems: [{apiVersion: v1, kind: Pod, metadata: {name: a}}]\n",
            ["f.yaml, items[0]"],
        ),
    ],
    ids=["alone", "behind a comment", "two documents", "a directive", "a list", "a list in one line"],
)
def test_each_object_has_its_place(tmp_path: Path, text: str, places: list[str]) -> None:
    (tmp_path / "f.yaml").write_text(text)
    sources = [str(one.source) for one in load_files(tmp_path / "f.yaml")]
    assert len(sources) == len(places)
    for source, place in zip(sources, places, strict=True):
        assert place in source
    assert ", document" not in sources[0] or len(sources) > 1
