"""What a run keeps.

In: a scenario's wishes. Out: read by `RunWriter`, which leaves out what is not wanted, and written into the run, so
that a reader can tell "did not happen" from "was not kept".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, get_args

__all__ = ["NOTHING", "Keep", "RecordOptions"]

Keep = Literal["all", "failed", "none"]


@dataclass(frozen=True, slots=True)
class RecordOptions:
    """What to keep. Pods, nodes and occupancy are always kept."""

    decisions: Keep | Literal["placed"] = "all"  # "failed": only attempts that placed nothing; "placed": only others
    scores: int = 0  # how many of the best nodes of a decision are kept with their scores
    queue: bool = True  # moves between the places of the queue
    events: bool = True
    objects: bool = True  # manifests of everything that is no pod and no node, as it came and went
    plugin_times: bool = False  # what each plugin used in each attempt: has to be measured, which takes time itself
    gangs: bool = False  # every 10 s, which jobs fit and are not tried: has to be found out by trying, which takes time
    estimates: bool | None = (
        None  # dates of waiting jobs: have to be worked out, which takes time; None: with decisions
    )
    chunk_rows: int = 50_000  # a table with so many rows in memory is written out, and all others with it

    @property
    def keeps_estimates(self) -> bool:
        """Are dates of waiting jobs to be worked out, and kept?"""
        return self.decisions != "none" if self.estimates is None else self.estimates

    def __post_init__(self) -> None:
        if self.decisions not in (*get_args(Keep), "placed"):
            raise ValueError(f"decisions: {self.decisions!r} is not one of {', '.join(get_args(Keep))}")
        if self.scores < 0:
            raise ValueError(f"scores: {self.scores} is less than 0")
        if self.chunk_rows < 1:
            raise ValueError(f"chunk_rows: {self.chunk_rows} is less than 1")


NOTHING: Final = RecordOptions(decisions="none", queue=False, events=False, objects=False)
"""Of a world that nobody records."""
