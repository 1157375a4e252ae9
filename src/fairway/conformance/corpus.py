"""The corpus of recorded decisions: files in, cases out.

In: paths of .jsonl and .jsonl.gz files (or directories of them), one case a line: a cluster (`objects`), the pods that
come (`pods`), perhaps a KubeSchedulerConfiguration (`config`) and what kube-scheduler made of each pod (`expect`); with
`featureGates`, pods belong to groups, and it is told of each group. Out: a `Case` with everything decoded. Whatever is
wrong is a `DecodeError` that names file and line. Called by the commands `conformance` and `bench`.
"""

from __future__ import annotations

import gzip
import os
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from fairway.model import ApiObject, DecodeError, Pod, decode_object
from fairway.model.nesting import check_nesting

__all__ = ["Case", "CaseLine", "RawCase", "case_name", "decode_case", "raw_case", "read_lines"]

SUFFIXES: Final = (".jsonl", ".jsonl.gz")


class CaseLine(NamedTuple):
    """A case as it stands in its file."""

    file: str
    line: int  # 1-based
    data: bytes

    @property
    def source(self) -> str:
        """How messages name it."""
        return f"{self.file}, line {self.line}"


class RawCase(NamedTuple):
    """A case whose objects are still JSON."""

    name: str
    focus: str
    config: Any
    objects: list[bytes]
    pods: list[bytes]
    expect: list[dict[str, Any]]
    feature_gates: dict[str, bool] | None


@dataclass(frozen=True, slots=True)
class Case:
    """A cluster, the pods that come, and what became of them."""

    source: str
    name: str
    focus: str
    config: Any  # a KubeSchedulerConfiguration as plain values; None: the default one
    objects: list[ApiObject]
    pods: list[Pod]
    expect: list[dict[str, Any]]  # one a pod (or a group of pods), or empty: nothing is expected
    feature_gates: dict[str, bool] | None = None  # None: pods come one by one; else in groups


class _Line(msgspec.Struct):
    name: str
    pods: list[msgspec.Raw]
    objects: list[msgspec.Raw]
    focus: str = ""
    config: dict[str, Any] | None = None
    expect: list[dict[str, Any]] = []
    feature_gates: dict[str, bool] | None = msgspec.field(default=None, name="featureGates")


class _Name(msgspec.Struct):
    name: str = ""


_LINE: Final = msgspec.json.Decoder(_Line)
_NAME: Final = msgspec.json.Decoder(_Name)


def read_lines(paths: Iterable[str | os.PathLike[str]]) -> Iterator[CaseLine]:
    """The lines of these files, in order; of a directory, the lines of every corpus file in it."""
    for path in paths:
        for file in _files(Path(path)):
            for number, data in enumerate(_read(file), 1):
                if data.strip():
                    yield CaseLine(str(file), number, data)


def raw_case(line: CaseLine) -> RawCase:
    """Take a line apart, leaving the objects as they are."""
    check_nesting(line.data, line.source)
    try:
        found = _LINE.decode(line.data)
    except msgspec.DecodeError as error:  # also of the wrong shape
        raise DecodeError(f"is not a case of a corpus: {error}", source=line.source) from error
    except UnicodeDecodeError as error:
        raise DecodeError("is not UTF-8 text", source=line.source) from error
    if found.feature_gates is None and found.expect and len(found.expect) != len(found.pods):
        problem = f"has {len(found.expect)} entries for {len(found.pods)} pods; one each is needed, or none at all"
        raise DecodeError(problem, source=line.source, subject=f"case {found.name}", field="expect")
    return RawCase(
        found.name,
        found.focus or "none",
        found.config,
        list(map(bytes, found.objects)),
        list(map(bytes, found.pods)),
        found.expect,
        found.feature_gates,
    )


def decode_case(line: CaseLine) -> Case:
    """Decode one line."""
    raw = raw_case(line)
    pods = []
    for index, item in enumerate(_decode(raw.pods, line.source, "pods")):
        if not isinstance(item, Pod):
            raise DecodeError(f"expected a Pod, found a {item.kind}", source=f"{line.source}, pods[{index}]")
        pods.append(item)
    objects = list(_decode(raw.objects, line.source, "objects"))
    return Case(line.source, raw.name, raw.focus, raw.config, objects, pods, raw.expect, raw.feature_gates)


def case_name(line: CaseLine) -> str:
    """The name of a case, without decoding the rest; "" if there is none."""
    try:
        check_nesting(line.data, line.source)
        return _NAME.decode(line.data).name
    except (DecodeError, msgspec.DecodeError, UnicodeDecodeError):
        return ""


def _decode(items: list[bytes], source: str, field: str) -> Iterator[ApiObject]:
    for index, item in enumerate(items):
        yield decode_object(item, f"{source}, {field}[{index}]")


def _files(path: Path) -> Iterator[Path]:
    if not path.is_dir():
        if not path.name.endswith(SUFFIXES):
            raise DecodeError(f"is not a corpus file; its name has to end in {' or '.join(SUFFIXES)}", source=str(path))
        yield path
        return
    files = sorted(file for file in path.iterdir() if file.name.endswith(SUFFIXES) and file.is_file())
    if not files:
        raise DecodeError(f"holds no {' or '.join(f'*{suffix}' for suffix in SUFFIXES)} file", source=str(path))
    yield from files


def _read(file: Path) -> Iterator[bytes]:
    try:
        with gzip.open(file) if file.suffix == ".gz" else file.open("rb") as stream:
            yield from stream
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise DecodeError(f"is not a complete gzip file: {error}", source=str(file)) from error
    except OSError as error:
        raise DecodeError(f"cannot be read: {error.strerror or error}", source=str(file)) from error
