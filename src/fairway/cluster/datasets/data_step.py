"""How near a pod is to one of its datasets on a node: the values behind a score, for records and programs.

Made by plugins that know of data (`Plugin.data_steps`), kept with a decision, written by `RunWriter`.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["DataStep"]


class DataStep(NamedTuple):
    """One dataset of a pod on one node."""

    dataset: str
    node: str = ""  # the node whose copy counts; "": none is on the ladder
    is_gateway: bool = False
    rung: str = ""  # the label that is equal
    load: float = 0.0  # of the copy's node, 0 to 1
    points: float = 0.0
    missing: str = ""  # why there is nothing to be near to, or not yet
