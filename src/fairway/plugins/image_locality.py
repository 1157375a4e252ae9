"""ImageLocality: nodes that already have a pod's images are better, the larger and the more widespread the image.

An image's size counts in proportion to the share of nodes that have it, so that a rare image does not draw every pod to
one node.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairway.model.image import normalized_image_name
from fairway.plugin import MAX_SCORE, Aspect, Locality, Nodes, Plugin, PodClass

MEBIBYTE = 1024 * 1024
SMALLEST = 23 * MEBIBYTE
LARGEST_PER_CONTAINER = 1000 * MEBIBYTE


class ImageLocality(Plugin):
    """Looks at all nodes: how widespread an image is counts."""

    annotations = ()
    reads = Aspect.NODE
    locality = Locality.CLUSTER

    def score(self, pod: PodClass, nodes: Nodes, state: Any) -> NDArray[np.int64]:
        """0 to 100 between 23 MiB and 1000 MiB per container of images present."""
        table = nodes.table
        total = np.zeros(len(nodes), np.int64)
        present = False
        for name, times in _images(pod).items():
            image = table.images.find(name)
            if image is not None:
                present = True
                scaled = int(float(image.size) * (float(image.num_nodes) / float(table.num_alive)))
                total += times * scaled * image.rows[nodes.rows]
        if not present:
            return total
        containers = len(pod.spec.init_containers) + len(pod.spec.containers)
        largest = LARGEST_PER_CONTAINER * containers
        np.clip(total, SMALLEST, largest, out=total)
        return MAX_SCORE * (total - SMALLEST) // (largest - SMALLEST)


def _images(pod: PodClass) -> Counter[str]:
    """Every image the pod needs, normalised, with how often it is named."""
    containers = (*pod.spec.init_containers, *pod.spec.containers)
    names = [normalized_image_name(container.image) for container in containers]
    names += [normalized_image_name(volume.image.reference) for volume in pod.spec.volumes if volume.image is not None]
    return Counter(names)
