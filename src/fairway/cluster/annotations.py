"""Which annotations of pods anybody reads: the others do not tell pods apart.

In: the names that plugins declare (`Plugin.annotations`), as they join the cluster. Out: `of(pod)`, what of a pod's
annotations belongs to its class. The cluster itself reads those that say which devices a pod needs. Kept by `Cluster`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from fairway.model import Pod
from fairway.model.device_need import GPU_COUNT, GPU_INDEX, GPU_MILLI, GPU_MODEL

__all__ = ["OWN_PREFIX", "ReadAnnotations"]

OWN_PREFIX: Final = "fairway.dev/"
"""Annotations under this prefix tell a simulation how the pod will live; who wants to read one has to name it."""


class ReadAnnotations:
    """Names, and prefixes of names; or all there are."""

    __slots__ = ("_names", "_prefixes", "_reads_all")

    def __init__(self) -> None:
        self._names = frozenset({GPU_MILLI, GPU_COUNT, GPU_MODEL, GPU_INDEX})
        self._prefixes: tuple[str, ...] = ()
        self._reads_all = False

    def widen(self, names: Sequence[str] | None) -> bool:
        """Somebody reads these too (None: any); names that end in "/" are prefixes. True if that is news."""
        before = self._names, self._prefixes, self._reads_all
        if names is None:
            self._reads_all = True
        else:
            self._names |= {name for name in names if not name.endswith("/")}
            self._prefixes = tuple(sorted({*self._prefixes, *(name for name in names if name.endswith("/"))}))
        return before != (self._names, self._prefixes, self._reads_all)

    def of(self, pod: Pod, bound: bool = False) -> Mapping[str, str]:
        """Those of the pod. Which devices a `bound` pod got is its own affair; of others it is a wish."""
        annotations = pod.metadata.annotations
        if not annotations:
            return annotations
        return {
            key: value
            for key, value in annotations.items()
            if (
                key in self._names
                or (self._prefixes and key.startswith(self._prefixes))
                or (self._reads_all and not key.startswith(OWN_PREFIX))
            )
            and not (bound and key == GPU_INDEX)
        }
