"""How much memory a Spark container asks for.

In: what the table says with `jvmMemory`: the heap as Java writes it (`512m`, `2g`), and what comes on top: an
`overhead`, or a `factor` of the heap, or what Spark takes by itself: a tenth of the heap, four tenths for `language`
Python and R, at least 384 MiB. Out: a quantity as Kubernetes writes it. Matches `BasicDriverFeatureStep` and
`ResourceProfile` of Spark 4.0. Called by `tree_text`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

__all__ = ["jvm_memory"]

SIZE = re.compile(r"(\d+)\s*([bkmgtp]?)i?b?", re.IGNORECASE)
MEBIBYTES: Final = {"": 1.0, "b": 2.0**-20, "k": 2.0**-10, "m": 1.0, "g": 2.0**10, "t": 2.0**20, "p": 2.0**30}
LEAST_OVERHEAD: Final = 384  # MiB
FACTORS: Final = {"python": 0.4, "r": 0.4}


def jvm_memory(words: Mapping[str, Any]) -> str:
    """The quantity; what is no size comes back as it is, for the API's own check to refuse."""
    heap = _mebibytes(words["jvmMemory"])
    if heap is None:
        return str(words["jvmMemory"])
    overhead = _mebibytes(words["overhead"]) if "overhead" in words else None
    if overhead is None:
        overhead = max(LEAST_OVERHEAD, int(heap * _factor(words)))
    return f"{heap + overhead}Mi"


def _factor(words: Mapping[str, Any]) -> float:
    try:
        return float(words["factor"])
    except (KeyError, ValueError):
        return FACTORS.get(str(words.get("language", "")).lower(), 0.1)


def _mebibytes(text: Any) -> int | None:
    match = SIZE.fullmatch(str(text).strip())
    return int(int(match[1]) * MEBIBYTES[match[2].lower()]) if match else None
