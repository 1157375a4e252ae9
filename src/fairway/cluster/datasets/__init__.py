"""Data that pods use: what objects tell of it, and on which of the nodes there are copies.

`known_datasets` has the objects, `data_ground` the nodes as far as data is concerned, `data_copies` both together.
"""

from fairway.cluster.datasets.known_datasets import DATASET_KINDS, Datasets, KnownDataset

__all__ = ["DATASET_KINDS", "Datasets", "KnownDataset"]
