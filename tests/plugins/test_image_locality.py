"""ImageLocality: images that are there already, by size and by how many nodes have them."""

from __future__ import annotations

import pytest

from fairway.cluster import Event, Verb
from fairway.model import Container, ImageVolumeSource, Node, Pod, Volume
from fairway.plugins.image_locality import ImageLocality
from fairway.testing import cluster, node, pod
from fairway.testing.interview import Interview

MIB = 2**20


def holding(name: str, **sizes: int) -> Node:
    """A node with these images, sizes in MiB."""
    return node(name, images={f"{image}:latest": size * MIB for image, size in sizes.items()})


# "half" is on one node of two, so its 500 MiB count 250; "both" is on both.
NODES = (holding("a", half=500, both=300, huge=3000), holding("b", both=300, huge=3000, tiny=46))


@pytest.mark.parametrize(
    ("incoming", "expected"),
    [
        pytest.param(pod(images="half"), {"a": 23, "b": 0}, id="one node of two: 227 of 977"),
        pytest.param(pod(images="both"), {"a": 28, "b": 28}, id="all nodes: 277 of 977"),
        pytest.param(pod(images="huge"), {"a": 100, "b": 100}, id="no more than 1000 MiB counts"),
        pytest.param(pod(images="tiny"), {"a": 0, "b": 0}, id="no less than 23 MiB counts"),
        pytest.param(pod(images="unknown"), {"a": 0, "b": 0}, id="nowhere"),
        pytest.param(pod(images=("half", "both")), {"a": 26, "b": 14}, id="two containers: 527 and 277 of 1977"),
        pytest.param(pod(images=("both", "both")), {"a": 29, "b": 29}, id="the same twice: 577 of 1977"),
        pytest.param(pod(images=("both", "unknown")), {"a": 14, "b": 14}, id="one of two: 277 of 1977"),
        pytest.param(pod(images="both", init_containers="half"), {"a": 26, "b": 14}, id="init containers count"),
        pytest.param(
            pod(images="both", volumes=Volume(name="v", image=ImageVolumeSource(reference="half"))),
            {"a": 53, "b": 28},
            id="an image volume adds its size, not its share: 527 of 977",
        ),
        pytest.param(pod(images="half:latest"), {"a": 23, "b": 0}, id="with its tag"),
        pytest.param(pod(images="half:v2"), {"a": 0, "b": 0}, id="another tag"),
    ],
)
def test_scores(incoming: Pod, expected: dict[str, int]) -> None:
    assert Interview(ImageLocality(cluster(NODES)), incoming).answers().scores == expected


def test_a_registry_with_a_port_is_no_tag() -> None:
    here = node("a", images={"host:5000/app:latest": 512 * MIB})
    assert Interview(ImageLocality(cluster(here)), pod(images="host:5000/app")).answers().scores == {"a": 50}


def test_the_share_follows_the_nodes_there_are() -> None:
    what = cluster(NODES)
    plugin, incoming = ImageLocality(what), pod(images=Container(name="c", image="half"))
    assert Interview(plugin, incoming).answers().scores == {"a": 23, "b": 0}
    what.apply(Event(Verb.DELETED, NODES[1]))
    assert Interview(plugin, incoming).answers().scores == {"a": 48}  # on all nodes now: 477 of 977
    what.apply(Event(Verb.MODIFIED, holding("a")))
    assert Interview(plugin, incoming).answers().scores == {"a": 0}
