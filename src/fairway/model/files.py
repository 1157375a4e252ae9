"""Objects from files: `load_files(["cluster/", "pods.yaml", "-"])`.

In: paths as a person gives them; a directory means every *.yaml, *.yml and *.json below it, in the order of their
names, and "-" means standard input. Out: the objects, each with its source. Called by `trace/` and `cli/`.
"""

from __future__ import annotations

import codecs
import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from fairway.model.decode import Loaded, Skipped, load_json, load_yaml
from fairway.model.errors import DecodeError

__all__ = ["load_files", "utf8_text"]

SUFFIXES = (".yaml", ".yml", ".json")


def load_files(paths: Iterable[str | os.PathLike[str]], skipped: list[Skipped] | None = None) -> list[Loaded]:
    """Load every object in these files and directories; objects of other kinds are added to `skipped`."""
    loaded: list[Loaded] = []
    for path in paths:
        if os.fspath(path) == "-":
            loaded += _load(sys.stdin.buffer.read(), "<stdin>", skipped)
            continue
        for file in _files(Path(path)):
            try:
                data = file.read_bytes()
            except OSError as error:
                raise DecodeError(f"cannot be read: {error.strerror}", source=str(file)) from error
            loaded += _load(data, str(file), skipped)
    return loaded


def _files(path: Path) -> Iterator[Path]:
    if not path.is_dir():
        yield path
        return
    files = sorted(file for file in path.rglob("*") if file.suffix in SUFFIXES and file.is_file())
    if not files:
        raise DecodeError(f"holds no {', '.join('*' + suffix for suffix in SUFFIXES)} file", source=str(path))
    yield from files


def utf8_text(data: bytes) -> bytes:
    """The text as UTF-8: some shells write what a command prints as UTF-16."""
    for mark, encoding in ((codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be")):
        if data.startswith(mark):
            return data[len(mark) :].decode(encoding, "replace").encode()
    return data.removeprefix(codecs.BOM_UTF8)


def _load(data: bytes, file: str, skipped: list[Skipped] | None) -> list[Loaded]:
    data = utf8_text(data)
    is_json = file.endswith(".json") or (file == "<stdin>" and data.lstrip()[:1] == b"{")
    return load_json(data, file, skipped) if is_json else load_yaml(data, file, skipped)
