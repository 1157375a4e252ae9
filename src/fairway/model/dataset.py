"""Datasets as Datashim's objects tell of them: is the data there, how much is it, and which nodes hold or serve it.

Decoded from API JSON or YAML by `fairway.model.decode`, from either of the two groups that hold these kinds; kept by
`fairway.cluster.datasets`, read by the plugin DataLocality. Whoever fills the same objects is understood, Datashim or
not: a status may be missing, sizes may make no sense. Of the free maps in a spec only the size is read, since access
keys stand in them as well.
"""

from __future__ import annotations

from typing import Any, Final, Literal

import msgspec

from fairway.model.meta import ObjectMeta, Value
from fairway.model.quantity import parse_quantity

__all__ = [
    "DATA_GROUPS",
    "GATEWAY",
    "NODE_DATA",
    "NODE_LOAD",
    "SIZE",
    "CachingPlacements",
    "DataPlacement",
    "DataState",
    "Dataset",
    "DatasetInternal",
    "DatasetInternalCaching",
    "DatasetInternalStatus",
    "DatasetLocal",
    "DatasetSpec",
    "DatasetStatus",
]

DATA_GROUPS: Final = ("datashim.io", "com.ie.ibm.hpsys")
"""The API groups that hold the kinds, the newer one first: where both tell of a dataset, it is believed."""

NODE_DATA: Final = "data.fairway.dev/"
"""Labels of nodes under this prefix name a dataset that the node holds (`copy`) or serves (`gateway`)."""

GATEWAY: Final = "gateway"
SIZE: Final = "data.fairway.dev/size"  # annotation of a Dataset: how much data it is
NODE_LOAD: Final = "data.fairway.dev/load"  # annotation of a node: how busy it is, 0 to 1

ApiVersion = Literal["datashim.io/v1alpha1", "com.ie.ibm.hpsys/v1alpha1"]


class DataState(Value, frozen=True, kw_only=True):
    """How far caching or provisioning is: Initializing, Pending, OK, Disabled or Failed; more in `info`."""

    status: str = ""
    info: str = ""


class DatasetLocal(Value, frozen=True, kw_only=True):
    """What is said about the data itself, as far as it concerns a scheduler."""

    size: Any = None  # as written: a quantity, or anything else


class DatasetSpec(Value, frozen=True, kw_only=True):
    """Where the data comes from."""

    type: str = ""
    local: DatasetLocal = DatasetLocal()


class DatasetStatus(Value, frozen=True, kw_only=True):
    """Is it there yet?"""

    caching: DataState = DataState()
    provision: DataState = DataState()


class Dataset(Value, frozen=True, kw_only=True):
    """Data that pods of its namespace can use by its name."""

    api_version: ApiVersion = msgspec.field(default_factory=lambda: "datashim.io/v1alpha1")
    kind: Literal["Dataset"] = msgspec.field(default_factory=lambda: "Dataset")
    metadata: ObjectMeta = ObjectMeta()
    spec: DatasetSpec = DatasetSpec()
    status: DatasetStatus = DatasetStatus()

    @property
    def size(self) -> int | None:
        """How many bytes it is; None if nobody says, or nothing that can be a size."""
        for written in (self.spec.local.size, self.metadata.annotations.get(SIZE)):
            if (size := _bytes(written)) is not None:
                return size
        return None

    @property
    def unready(self) -> str:
        """Why it can not be used yet: its status and what is said about it; "" if it can, or nobody says otherwise.

        Caching may be pending for ever: what is provisioned can be used.
        """
        state = self.status.provision
        if not state.status:
            state = self.status.caching
            if state.status in ("", "Disabled"):
                return ""
        return "" if state.status == "OK" else ", ".join(part for part in (state.status, state.info) if part)


class DataPlacement(Value, frozen=True, kw_only=True):
    """The nodes with a label of that key and value; in practice one node, by its host name."""

    key: str = ""
    value: str = ""


class CachingPlacements(Value, frozen=True, kw_only=True):
    """Which nodes serve the data, and which hold it."""

    gateways: tuple[DataPlacement, ...] = ()
    data_locations: tuple[DataPlacement, ...] = msgspec.field(name="datalocations", default=())


class DatasetInternalCaching(Value, frozen=True, kw_only=True):
    """What the caching plugin did."""

    placements: CachingPlacements = CachingPlacements()


class DatasetInternalStatus(Value, frozen=True, kw_only=True):
    """What became of it."""

    caching: DatasetInternalCaching = DatasetInternalCaching()


class DatasetInternal(Value, frozen=True, kw_only=True):
    """Where the dataset of the same name and namespace is."""

    api_version: ApiVersion = msgspec.field(default_factory=lambda: "datashim.io/v1alpha1")
    kind: Literal["DatasetInternal"] = msgspec.field(default_factory=lambda: "DatasetInternal")
    metadata: ObjectMeta = ObjectMeta()
    status: DatasetInternalStatus = DatasetInternalStatus()


def _bytes(written: object) -> int | None:
    """A quantity of at least one byte; None for anything else."""
    if isinstance(written, bool) or not isinstance(written, str | int | float):
        return None
    try:
        quantity = parse_quantity(written.strip() if isinstance(written, str) else written)
    except ValueError:
        return None
    return quantity.value if quantity.value > 0 else None
