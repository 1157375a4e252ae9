"""What VolumeBinding can be told, with kube-scheduler's defaults and checks.

Whoever binds volumes, in a live cluster or a simulation, reads how long that may take from here.
"""

from __future__ import annotations

from collections.abc import Iterator

from fairway.model.meta import Int64
from fairway.plugin import PluginArgs, Problem
from fairway.plugins.node_resources_fit_args import UtilizationShapePoint

__all__ = ["VolumeBindingArgs"]


class VolumeBindingArgs(PluginArgs, frozen=True, kw_only=True):
    """How long binding may wait for volumes. `shape` belongs to a feature that is off in kube-scheduler 1.36."""

    bind_timeout_seconds: Int64 = 600
    shape: tuple[UtilizationShapePoint, ...] | None = None

    def problems(self) -> Iterator[Problem]:
        """What kube-scheduler would refuse (apis/config/validation/validation_pluginargs.go 1.36)."""
        if self.bind_timeout_seconds < 0:
            yield Problem("bindTimeoutSeconds", f"{self.bind_timeout_seconds} is negative; allowed: 0 or more")
        if self.shape is not None:
            yield Problem(
                "shape", "not allowed; it belongs to StorageCapacityScoring, which is off in kube-scheduler 1.36"
            )
