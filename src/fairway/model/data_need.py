"""Which datasets a pod uses, and how much it minds being far from them.

In: a pod's labels and annotations. Out: its `DataNeed`: names of datasets of its namespace, in the order of their
numbers (labels `dataset.<N>.id`, as Datashim has it) and then as written (annotation `fairway.dev/data`); the mode that
it asks for; and what makes no sense in all that, in words, to be told and otherwise ignored. Called by the plugin
DataLocality for each class of pods, and by whoever lists who uses which dataset.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Literal

from fairway.model.names import dns_subdomain_problem

__all__ = ["DATA", "DATA_MODE", "NO_DATA", "DataMode", "DataNeed", "data_need", "is_data_label"]

DATA: Final = "fairway.dev/data"
DATA_MODE: Final = "fairway.dev/data-mode"

DataMode = Literal["prefer", "require"]
MODES: Final[Mapping[str, DataMode]] = {"prefer": "prefer", "require": "require"}
PREFIX: Final = "dataset."
NUMBER: Final = re.compile(r"[0-9]{1,18}")


@dataclass(frozen=True, slots=True)
class DataNeed:
    """What a pod says about data."""

    names: tuple[str, ...] = ()  # distinct
    mode: DataMode | None = None  # None: it leaves that to the scheduler
    problems: tuple[str, ...] = ()


NO_DATA: Final = DataNeed()


def is_data_label(key: str) -> bool:
    """Is it a label that names a dataset, or tries to?"""
    return key.startswith(PREFIX) and key.endswith(".id")


def data_need(labels: Mapping[str, str], annotations: Mapping[str, str]) -> DataNeed:
    """What a pod with these labels and annotations uses."""
    mine = [key for key in labels if is_data_label(key)]
    if not mine and DATA not in annotations and DATA_MODE not in annotations:
        return NO_DATA
    problems: list[str] = []
    names = dict.fromkeys((*_labelled(labels, sorted(mine), problems), *_annotated(annotations, problems)))
    written = annotations.get(DATA_MODE, "")
    mode = MODES.get(written)
    if mode is None and DATA_MODE in annotations:
        problems.append(f"annotation {DATA_MODE}: {written[:40]!r} is no mode; allowed: {', '.join(MODES)}")
    return DataNeed(tuple(names), mode, tuple(problems))


def _labelled(labels: Mapping[str, str], keys: list[str], problems: list[str]) -> list[str]:
    numbered = []
    for key in keys:
        number = key.removeprefix(PREFIX).removesuffix(".id")
        if not NUMBER.fullmatch(number):
            problems.append(f"label {key}: {number[:40]!r} is no number; write dataset.0.id, dataset.1.id, ...")
        elif problem := dns_subdomain_problem(labels[key]):
            problems.append(f"label {key}: no dataset can have this name: {problem}")
        else:
            numbered.append((int(number), labels[key]))
    return [name for _, name in sorted(numbered)]


def _annotated(annotations: Mapping[str, str], problems: list[str]) -> Iterator[str]:
    if DATA not in annotations:
        return
    for part in annotations[DATA].split(","):
        name = part.strip()
        if problem := dns_subdomain_problem(name):
            problems.append(f"annotation {DATA}: no dataset can have this name: {problem}")
        else:
            yield name
