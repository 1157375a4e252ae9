"""The parts of a scenario file that are about data: datasets, what happens to their copies, what reading costs.

Structs with the file's fields, their defaults and what they mean, as `scenario_file` has them for the rest, which
includes these. `datasets` makes the objects, `data_changes` and `sim.data_reads` the rest.
"""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from fairway.model import Quantity
from fairway.model.duration import Duration
from fairway.sim.data_changes import DataAction
from fairway.sim.data_reads import LADDER

__all__ = ["CopyChange", "DatasetGroup", "ReadCosts", "ReadRung"]

Factor = Annotated[float, Meta(ge=1, le=1000)]


class DataPart(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A piece of a scenario."""


class DatasetGroup(DataPart, frozen=True, kw_only=True):
    """So many datasets, called NAME-0, NAME-1 and so on; which nodes have them is drawn from the seed."""

    name: Annotated[str, Meta(description="What they are called, before their number.")]
    count: Annotated[int, Meta(ge=1, le=1_000_000, description="How many.")] = 1
    namespace: Annotated[str, Meta(description="Where they are, and the pods that use them.")] = "default"
    size: Annotated[Quantity | None, Meta(description="How much data each is. Without: unknown.")] = None
    copies: Annotated[int, Meta(ge=0, le=1000, description="How many nodes have it.")] = 1
    gateways: Annotated[
        Annotated[int, Meta(ge=0)] | None,
        Meta(description="How many of these serve it to others. Without: all; 0: it is read where it lies."),
    ] = None
    labels: Annotated[dict[str, str], Meta(description="Only nodes with all of these labels have copies.")] = {}


class CopyChange(DataPart, frozen=True, kw_only=True):
    """Something happens to copies of datasets at a time. A copy is a node that holds or serves the data."""

    at: Annotated[Duration, Meta(description="When.")]
    action: Annotated[DataAction, Meta(description="What: there is another copy, copies move, copies are lost.")]
    dataset: Annotated[str, Meta(description="Of which: NAMESPACE/NAME, or a pattern with * and ?.")]
    node: Annotated[
        str, Meta(description="Where copies go (dataCopied, dataMoved) or are lost: a name, or a pattern. Any without.")
    ] = "*"
    labels: Annotated[dict[str, str], Meta(description="And only nodes with all of these labels.")] = {}
    origin: Annotated[str, Meta(description="dataMoved: only copies on this node (a pattern). Without: all.")] = (
        msgspec.field(name="from", default="*")
    )
    copies: Annotated[int, Meta(ge=1, le=1000, description="dataCopied: how many more, on nodes drawn.")] = 1


class ReadRung(DataPart, frozen=True, kw_only=True):
    """A rung of the ladder of distances."""

    key: Annotated[str, Meta(description="A label of nodes: near are those whose values of it are equal.")]
    factor: Annotated[Factor, Meta(description="How many times as long a pod runs that reads at this distance.")] = 1.0


class ReadCosts(DataPart, frozen=True, kw_only=True):
    """What it costs to read data from afar, counted from a pod's nearest copy at its start."""

    ladder: Annotated[
        tuple[ReadRung, ...],
        Meta(description="Distances from near to far; the first rung that both nodes share counts."),
    ] = tuple(ReadRung(key=distance.key, factor=distance.factor) for distance in LADDER[:-1])
    elsewhere: Annotated[
        Factor | None,
        Meta(description="The factor beyond the last rung, and where there is no copy. Without: as the last rung's."),
    ] = None
