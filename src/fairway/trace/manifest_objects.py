"""Objects from manifest files, big ones too, with progress; what is wrong is noted and the rest is kept.

In: paths of files and directories, of JSON or YAML, plain or gzip; "-" is standard input. Out: the objects with their
places, and how many objects of other kinds there were. The one way to read manifests: `manifests` and `snapshot` make
workloads of them, `explain.manifest_files` trials.
"""

from __future__ import annotations

import os
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final, TypeAlias

import msgspec

from fairway.model import DecodeError, Loaded, Skipped, Source, load_json, load_yaml
from fairway.model.text_file import Progress, read_bytes, utf8_text
from fairway.model.yaml_text import read_yaml
from fairway.trace.manifest_text import Piece, cut_json, cut_yaml
from fairway.trace.problems import Problems
from fairway.trace.written_objects import WrittenObjects

__all__ = ["HELM", "SUFFIXES", "manifest_files", "paths_of", "read_objects"]

Paths: TypeAlias = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]
STDIN: Final = "-"
SUFFIXES: Final = (".yaml", ".yml", ".json")
ALL_SUFFIXES: Final = (*SUFFIXES, *(f"{suffix}.gz" for suffix in SUFFIXES))
LINE: Final = re.compile(r"\bline \d+")
HELM: Final = re.compile(rb"\{\{-?\s*(/\*|\.|\$|(include|template|if|with|range|define|toYaml|end|not)\b)")
"""A place in a template; other texts may have braces too."""
JSON_START: Final = re.compile(rb"\s*\{\s*[\"}]")


def paths_of(paths: Paths) -> list[str]:
    """One path or several, as a list of texts."""
    return [os.fspath(paths)] if isinstance(paths, str | os.PathLike) else [os.fspath(path) for path in paths]


def manifest_files(paths: Iterable[str]) -> list[str]:
    """The files that paths stand for: of a directory every manifest below it, in the order of their names."""
    files = []
    for path in paths:
        if path == STDIN or not Path(path).is_dir():
            files.append(path)
            continue
        found = sorted(file for file in Path(path).rglob("*") if file.name.endswith(ALL_SUFFIXES) and file.is_file())
        if not found:
            raise DecodeError(f"holds no {', '.join('*' + suffix for suffix in SUFFIXES)} file", source=path)
        files += map(str, found)
    return files


def read_objects(
    paths: Paths,
    problems: Problems,
    progress: Progress | None = None,
    *,
    may_be_empty: bool = False,
    others_kept: list[Skipped] | None = None,
    written: WrittenObjects | None = None,
) -> tuple[list[Loaded], Counter[str]]:
    """Every object, and the number of objects of each kind that Fairway does not read.

    An empty file is a problem, unless it `may_be_empty`, as one of many in a folder of rendered templates is. Objects
    of other kinds are added to `others_kept`, for whoever wants to look at them; `written` keeps the texts of all.
    """
    loaded: list[Loaded] = []
    others: Counter[str] = Counter()
    files = manifest_files(paths_of(paths))
    part = None if progress is None else lambda amount: progress(amount / len(files))
    for file in files:
        data = utf8_text(sys.stdin.buffer.read() if file == STDIN else read_bytes(file))
        name = "<stdin>" if file == STDIN else file
        if not data.strip():
            if not may_be_empty:
                problems.add(DecodeError("is empty", source=name))
            continue
        skipped: list[Skipped] = []
        for one in _read_text(data, name, problems, skipped, part, written):
            loaded.append(one)
            others.update(other.title for other in skipped)
            _keep(skipped, others_kept)
        others.update(other.title for other in skipped)
        _keep(skipped, others_kept)
    return loaded, others


def _keep(skipped: list[Skipped], kept: list[Skipped] | None) -> None:
    if kept is not None:
        kept += skipped
    skipped.clear()


def _read_text(
    data: bytes,
    file: str,
    problems: Problems,
    skipped: list[Skipped],
    progress: Progress | None,
    written: WrittenObjects | None,
) -> Iterator[Loaded]:
    told = 0.0
    is_json = _is_json(file, data)
    for piece in (cut_json if is_json else cut_yaml)(data, file):
        others: list[Skipped] = []
        try:
            found = (load_json if is_json else load_yaml)(piece.text, piece.source.file, others)
        except DecodeError as error:
            problems.add(_helm_problem(file) if HELM.search(piece.text) else _placed(error, piece, file))
        else:
            if written is not None:
                written.note(piece.text, [one.object for one in found], is_json=is_json)
                written.note_others(others)
            skipped += (msgspec.structs.replace(one, source=_place(one.source, piece)) for one in others)
            yield from (Loaded(one.object, _place(one.source, piece)) for one in found)
        if progress is not None:
            told += piece.share
            progress(piece.share)
    if progress is not None:
        progress(max(1.0 - told, 0.0))


def _is_json(file: str, data: bytes) -> bool:
    """By its name; without one that tells, what begins as JSON does, unless it is YAML in flow style."""
    name = file.removesuffix(".gz")
    if name.endswith(SUFFIXES):
        return name.endswith(".json")
    if not JSON_START.match(data):
        return False
    try:
        msgspec.json.decode(data, type=msgspec.Raw)
    except msgspec.DecodeError:
        return not _is_yaml(data, file)
    return True


def _is_yaml(data: bytes, file: str) -> bool:
    try:
        return any(isinstance(tree, dict) for tree, _ in read_yaml(data.decode(), file))
    except (DecodeError, UnicodeDecodeError):
        return False


def _helm_problem(file: str) -> DecodeError:
    return DecodeError("looks like a Helm template; give what helm template CHART prints instead", source=file)


def _placed(error: DecodeError, piece: Piece, file: str) -> DecodeError:
    """The same problem, at its place in the whole file."""
    if piece.line > 1 and LINE.search(error.problem):
        try:
            load_yaml(b"\n" * (piece.line - 1) + piece.text, file)
        except DecodeError as again:
            return again
    source = error.source if isinstance(error.source, Source) else Source(error.source)
    return DecodeError(error.problem, source=_place(source, piece), subject=error.subject, field=error.field)


def _place(source: Source, piece: Piece) -> Source:
    """Where something of a piece is in the whole file; a piece may be a list, or a file that was not cut."""
    if source.line is not None:
        return source
    return piece.source if source.item is None else msgspec.structs.replace(piece.source, item=source.item)
