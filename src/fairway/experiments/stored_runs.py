"""Runs of an experiment, kept as files, so that an interrupted one goes on where it was.

In: a folder, and `OrderRun`s. Out: `StoredRun`s. A file is written under another name and renamed when it is complete,
so a half-written one is never read. Each says by a fingerprint what it was made from: the policy's configuration, the
lists, the order, the rules and the version of Fairway. A file made from anything else is made anew. Called by
`order_experiment`.
"""

from __future__ import annotations

import hashlib
import json
import os
import zlib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from fairway import __version__
from fairway.experiments.load_columns import LoadColumns
from fairway.experiments.openb_data import OpenbData
from fairway.experiments.order_scenario import OrderScenario
from fairway.experiments.ordered_cluster import OrderRun, RunKey
from fairway.model.device_need import index_text
from fairway.own_file import check_own, first_bytes, replacing
from fairway.scenario.text import plain_values

__all__ = ["StoredRun", "check_run_place", "fingerprint", "read_run", "remove_leftovers", "run_path", "write_run"]

FORMAT: Final = 1
A_RUN: Final = "a run of an experiment"
ARCHIVE: Final = b"PK"  # how every zip archive begins, and so every .npz
FIRST_PART, NAME_AT = b"about.npy", 30  # what `write_run` puts there first; the name follows a header of this length


@dataclass(frozen=True)
class StoredRun:
    """What is kept of a run, as far as reports need it."""

    columns: LoadColumns
    causes: NDArray[np.float64]  # (num_causes,) milli of idle devices at the end
    capacity: int  # milli
    num_arrivals: int
    num_failed: int
    seconds: float  # that the run took
    defragmented: dict[str, Any] | None  # before and after, if it was asked for


def run_path(folder: Path, key: RunKey) -> Path:
    """Where a run is kept."""
    return folder / "runs" / f"{key.trace}-{key.policy}-seed{key.seed}.npz"


def fingerprint(scenario: OrderScenario, data: OpenbData, key: RunKey) -> str:
    """Says what the run follows from: the same text, the same run."""
    spec = scenario.spec
    parts: dict[str, Any] = {
        "format": FORMAT,
        "version": __version__,
        "key": list(key),
        "profile": scenario.plain_policy(key.policy),
        "files": [_digest(path) for path in data.files(key.trace)],
        "arrivals": spec.arrivals,
        "load": spec.load if spec.arrivals == "drawn" else None,
        "typical": plain_values(spec.typical_pods),
        "defragment": plain_values(spec.defragment),
    }
    if spec.arrivals == "recorded":
        parts["order"] = [_digest(path) for path in data.order_files(key.trace)]
    elif spec.arrivals != "drawn":
        parts["order"] = [_digest(scenario.path(spec.arrivals))]
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()


@cache
def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def write_run(path: Path, made_from: str, run: OrderRun, seconds: float, defragmented: dict[str, Any] | None) -> None:
    """Keep a run: metrics after each arrival, and where everybody went."""
    path.parent.mkdir(parents=True, exist_ok=True)
    about = {"fingerprint": made_from, "seconds": seconds, "capacity": run.capacity, "defragmented": defragmented}
    with replacing(path, A_RUN, _is_stored_run) as beside, beside.open("wb") as stream:
        np.savez_compressed(
            stream,
            about=np.array(json.dumps(about)),
            columns=np.stack(run.columns),
            causes=run.causes,
            pods=np.array(run.names),
            nodes=np.array(run.nodes),
            rows=run.rows,
            devices=np.array([index_text(devices) for devices in run.devices]),
            arrived=run.arrived,
            used=run.used,
            frag=run.frag,
        )


def check_run_place(path: Path) -> None:
    """Raise a `CannotWriteError` if somebody else's file has the place of a run; asked before any run is made."""
    if path.exists():
        check_own(path, A_RUN, _is_stored_run)


def _is_stored_run(path: Path) -> bool:
    """Whole or torn, a run of ours; an archive of anything else is not.

    A file under the name of a run that is no archive at all (a disk that was full, a machine that went down) is what is
    left of one, for nothing else goes by such a name. An archive says in its first part what it is.
    """
    beginning = first_bytes(path)
    first_part = beginning[NAME_AT : NAME_AT + len(FIRST_PART)]  # as far as the file goes
    return not beginning.startswith(ARCHIVE) or FIRST_PART.startswith(first_part)


def remove_leftovers(folder: Path) -> None:
    """Delete what processes that are no more had begun to write."""
    for path in (folder / "runs").glob("*.part"):
        try:
            os.kill(int(path.suffixes[-2][1:]), 0)  # asks only whether there is such a process
        except ProcessLookupError:
            path.unlink(missing_ok=True)
        except (ValueError, IndexError, OSError):  # somebody else's file, or process
            continue


def read_run(path: Path, made_from: str) -> StoredRun | None:
    """A run that was made from just this; None if there is none, or of something else."""
    try:
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as archive:
            about = json.loads(str(archive["about"]))
            if about["fingerprint"] != made_from:
                return None
            rows = archive["rows"]
            return StoredRun(
                LoadColumns(*archive["columns"]),
                archive["causes"],
                about["capacity"],
                len(rows),
                int((rows < 0).sum()),
                about["seconds"],
                about["defragmented"],
            )
    except (OSError, EOFError, KeyError, ValueError, BadZipFile, zlib.error):  # not there, or torn: to be made anew
        return None
