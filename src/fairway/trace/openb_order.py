"""Arrival orders and tie-break ranks of runs that bring the pods of a list one by one.

In: CSV files, plain or gzip: orders with one column a seed (`seed42`), whose cells name pods of a list sorted by name,
either as numbers from 0 or by name; ranks with one column a trace and seed (`default:42`) beside `node`. Or, without
files, a seed of ours. Out: arrays of numbers into the sorted list, and of ranks. An order that names a pod which is not
in the list is a `DecodeError` that says which, and where. Called by `fairway.experiments.ordered_cluster`'s callers.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from fairway.model import DecodeError
from fairway.model.text_file import read_lines

__all__ = ["arrival_names", "draw_order", "draw_ranks", "read_order", "read_ranks", "recorded_seeds"]

COPY: Final = re.compile(r"(.+)-tuned-[0-9]{1,9}")
SEED: Final = re.compile(r"seed([0-9]{1,18})")
Order = NDArray[np.int32]  # (num_arrivals,) numbers into the pods sorted by name
PathLike = str | os.PathLike[str]


def read_order(path: PathLike, seed: int | None, names: Sequence[str]) -> Order:
    """The order in the column of a seed; a file with a single column needs none. `names`: the pods, sorted."""
    file = os.fspath(path)
    rows = _cells(path)
    _, header = next(rows, (0, []))
    if not header:
        raise DecodeError("is empty; its first line must name the columns, such as seed42", source=file)
    column = _column(file, header, seed)
    number_of: dict[str, int] = {}
    found: list[int] = []
    for line, cells in rows:
        text = cells[column] if column < len(cells) else ""
        if not text:  # columns are of different lengths
            continue
        if not text.isdigit() and not number_of:
            number_of = {name: number for number, name in enumerate(names)}
        found.append(_pod_number(text, names, number_of, f"{file}:{line}"))
    if not found:
        raise DecodeError(f"has no arrival in its column {header[column]}", source=file)
    return np.array(found, np.int32)


def recorded_seeds(path: PathLike) -> list[int]:
    """The seeds that an order file has columns for."""
    _, header = next(_cells(path), (0, []))
    return sorted(int(match[1]) for cell in header if (match := SEED.fullmatch(cell)))


def read_ranks(path: PathLike, column: str, names: Sequence[str]) -> NDArray[np.int32]:
    """The rank of each node in a column such as `default:42`; `KeyError` if the file does not have it."""
    file = os.fspath(path)
    rows = _cells(path)
    _, header = next(rows, (0, []))
    if not header or header[0] != "node":
        raise DecodeError("the first column must be node, the others trace:seed", source=file)
    if column not in header:
        raise KeyError(column)
    place = header.index(column)
    rank_of = {}
    for line, cells in rows:
        if place >= len(cells) or not cells[place].isdigit():
            raise DecodeError(f"column {column} must have a whole number here", source=f"{file}:{line}")
        rank_of[cells[0]] = int(cells[place])
    missing = [name for name in names if name not in rank_of]
    if missing:
        raise DecodeError(f"has no rank for {len(missing)} nodes, the first of them {missing[0]}", source=file)
    return np.array([rank_of[name] for name in names], np.int32)  # (num_nodes,)


def draw_order(per_device: NDArray[np.int64], totals: NDArray[np.int64], target: float, seed: int) -> Order:
    """An order of our own: the pods shuffled, then copies of pods drawn at random, until they ask for `target` milli.

    As the published experiments tune their workloads: a copy is not taken, and drawing ends, once its milli on one
    device would go beyond the target; of pods that ask for more from the start, random ones are left out.
    """
    generator = np.random.default_rng(seed)
    order = generator.permutation(len(totals)).astype(np.int32)
    asked = int(totals.sum())
    if asked > target:
        leaves = generator.permutation(len(order))
        left = asked - np.cumsum(totals[order[leaves]])  # (num_pods,) after each one more is left out
        enough = int(np.argmax(left <= target)) + 1
        kept = np.ones(len(order), bool)
        kept[leaves[:enough]] = False
        return order[kept]
    if not per_device.any():
        return order
    copies: list[int] = []
    while True:
        for pick in generator.integers(len(totals), size=4096).tolist():
            if asked + int(per_device[pick]) > target:
                return np.concatenate([order, np.array(copies, np.int32)])
            copies.append(pick)
            asked += int(totals[pick])


def draw_ranks(num_nodes: int, seed: int) -> NDArray[np.int32]:
    """A random order of nodes, for ties."""
    # Another stream than that of the arrivals, so that neither changes with the other.
    return np.random.default_rng((1, seed)).permutation(num_nodes).astype(np.int32)


def arrival_names(order: Order, names: Sequence[str]) -> Iterator[str]:
    """What each arrival is called: the pod's name, and for copies `<pod>-tuned-<i>`, counted over all copies."""
    seen = np.zeros(len(names), bool)
    copies = 0
    for number in order.tolist():
        if seen[number]:
            yield f"{names[number]}-tuned-{copies}"
            copies += 1
        else:
            seen[number] = True
            yield names[number]


def _cells(path: PathLike) -> Iterator[tuple[int, list[str]]]:
    for number, line in read_lines(path):
        if line.strip():
            yield number, [cell.strip() for cell in line.split(",")]


def _column(file: str, header: Sequence[str], seed: int | None) -> int:
    name = f"seed{seed}"
    if name in header:
        return header.index(name)
    seeded = [cell for cell in header if SEED.fullmatch(cell)]
    if not seeded and len(header) == 1:
        return 0
    if not seeded and "pod" in header:
        return header.index("pod")
    words = f"it has {', '.join(header)[:200]}"
    raise DecodeError(f"has no column {name}; {words}" if seed is not None else f"say which seed; {words}", source=file)


def _pod_number(text: str, names: Sequence[str], number_of: dict[str, int], source: str) -> int:
    if text.isascii() and text.isdigit():
        if int(text) >= len(names):
            last = f"{len(names) - 1} is the last of the {len(names)} in the list" if names else "the list is empty"
            raise DecodeError(f"names pod number {text}, which does not exist: {last}", source=source)
        return int(text)
    found = number_of.get(text)
    if found is None and (copy := COPY.fullmatch(text)):
        found = number_of.get(copy[1])
    if found is None:
        raise DecodeError(f"names pod {text[:80]!r}, which is not in the list of pods", source=source)
    return found


def find_file(folder: PathLike, name: str) -> Path | None:
    """The file of that name, plain or gzip, if there is one."""
    for path in (Path(folder) / name, Path(folder) / f"{name}.gz"):
        if path.is_file():
            return path
    return None
