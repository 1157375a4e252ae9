"""Types and defaults that the arguments of several plugins share.

Seeds, counts and the largest node: what a device or a CPU of a node is measured against where a policy is told nothing.
"""

from __future__ import annotations

from typing import Annotated, Final

import msgspec

__all__ = ["LARGEST_GPU_MILLI", "LARGEST_MILLI_CPU", "NotNegative", "Positive", "Seed"]

Seed = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
Positive = Annotated[int, msgspec.Meta(ge=1)]
NotNegative = Annotated[int, msgspec.Meta(ge=0)]

LARGEST_MILLI_CPU: Final = 128_000
LARGEST_GPU_MILLI: Final = 8_000
"""The largest node of the published experiments."""
