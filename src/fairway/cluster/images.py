"""Container images on nodes: which rows have an image, and how large it is.

In: each node's `status.images`. Out: per image name its size, the rows that have it and their number, for image
locality. As in kube-scheduler's cache, an image has one size: that of the node that first reported it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fairway.model import ContainerImage


class Image:
    """One image name and where it is."""

    __slots__ = ("num_nodes", "rows", "size")

    def __init__(self, size: int, capacity: int) -> None:
        self.size = size  # bytes
        self.rows = np.zeros(capacity, bool)  # (capacity,)
        self.num_nodes = 0


class ImageTable:
    """All images of all nodes."""

    __slots__ = ("_capacity", "_images", "by_name")

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._images: dict[int, tuple[ContainerImage, ...]] = {}  # row -> what its node reported
        self.by_name: dict[str, Image] = {}

    def find(self, name: str) -> Image | None:
        """The image of that (normalised) name, if any node has it."""
        return self.by_name.get(name)

    def set(self, row: int, images: tuple[ContainerImage, ...]) -> None:
        """These are the row's images now."""
        if self._images.get(row, ()) == images:
            return
        for name in _names(self._images.pop(row, ())):
            image = self.by_name[name]
            image.rows[row] = False
            image.num_nodes -= 1
            if image.num_nodes == 0:
                del self.by_name[name]
        if images:
            self._images[row] = images
        for name, size in _names(images).items():
            image = self.by_name.get(name) or self.by_name.setdefault(name, Image(size, self._capacity))
            image.rows[row] = True
            image.num_nodes += 1

    def grow(self, capacity: int) -> None:
        """Make room for more rows."""
        self._capacity = capacity
        for image in self.by_name.values():
            rows: NDArray[np.bool_] = np.zeros(capacity, bool)
            rows[: len(image.rows)] = image.rows
            image.rows = rows


def _names(images: tuple[ContainerImage, ...]) -> dict[str, int]:
    """Every name with the size it is first listed with."""
    return {name: image.size_bytes for image in reversed(images) for name in image.names}
