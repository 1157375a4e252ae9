"""Image names are completed as ImageLocality completes them."""

from __future__ import annotations

import pytest

from fairway.model import normalized_image_name


@pytest.mark.parametrize(
    ("name", "normalized"),
    [
        ("web", "web:latest"),
        ("web:1.2", "web:1.2"),
        ("registry.example:5000/web", "registry.example:5000/web:latest"),
        ("registry.example:5000/web:1", "registry.example:5000/web:1"),
        ("web@sha256:0123", "web@sha256:0123"),
        ("", ":latest"),
    ],
)
def test_normalized_image_name(name: str, normalized: str) -> None:
    assert normalized_image_name(name) == normalized
