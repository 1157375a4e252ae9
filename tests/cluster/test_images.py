"""Images: one size a name, and the rows that have it."""

import numpy as np

from fairway.cluster.images import ImageTable
from fairway.model import ContainerImage


def image(size: int, *names: str) -> ContainerImage:
    return ContainerImage(names=names, size_bytes=size)


def seen(table: ImageTable, name: str) -> tuple[int, int, list[int]] | None:
    found = table.find(name)
    return None if found is None else (found.size, found.num_nodes, np.flatnonzero(found.rows).tolist())


def test_every_name_of_an_image_is_known() -> None:
    table = ImageTable(capacity=4)
    table.set(0, (image(10, "app:v1", "registry.example/app:v1"),))
    assert seen(table, "app:v1") == seen(table, "registry.example/app:v1") == (10, 1, [0])
    assert seen(table, "app:v2") is None


def test_the_first_reported_size_counts_until_nobody_has_the_image() -> None:
    table = ImageTable(capacity=4)
    table.set(0, (image(10, "a"),))
    table.set(2, (image(99, "a"),))
    assert seen(table, "a") == (10, 2, [0, 2])
    table.set(0, ())
    assert seen(table, "a") == (10, 1, [2])
    table.set(2, ())
    assert seen(table, "a") is None
    table.set(2, (image(99, "a"),))
    assert seen(table, "a") == (99, 1, [2])


def test_a_name_listed_twice_on_a_node_counts_once_with_its_first_size() -> None:
    table = ImageTable(capacity=4)
    table.set(1, (image(10, "a"), image(20, "a", "b")))
    assert (seen(table, "a"), seen(table, "b")) == ((10, 1, [1]), (20, 1, [1]))
    table.set(1, (image(20, "b"),))
    assert (seen(table, "a"), seen(table, "b")) == (None, (20, 1, [1]))


def test_the_same_images_again_change_nothing() -> None:
    table = ImageTable(capacity=4)
    table.set(1, (image(10, "a"),))
    before = table.find("a")
    table.set(1, (image(10, "a"),))
    assert table.find("a") is before


def test_growing_keeps_the_rows() -> None:
    table = ImageTable(capacity=2)
    table.set(1, (image(10, "a"),))
    table.grow(8)
    table.set(7, (image(10, "a"), image(5, "b")))
    assert (seen(table, "a"), seen(table, "b")) == ((10, 2, [1, 7]), (5, 1, [7]))
