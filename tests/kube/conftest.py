"""A control plane for the tests in this directory and for others that import these fixtures.

One a worker, started by the first test that asks for it; each test finds it empty and has a namespace of its own.
"""

from __future__ import annotations

import secrets
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.kube.control_plane import ControlPlane
from tests.kube.group_kinds import SERVER_FLAGS


@contextmanager
def started(api_server_flags: Sequence[str] = ()) -> Iterator[ControlPlane]:
    """In memory where there is a file system for that."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(prefix="fairway-kube-", dir=memory if memory.is_dir() else None) as directory:
        control_plane = ControlPlane(Path(directory), audit=True, api_server_flags=api_server_flags)
        try:
            control_plane.start()
            yield control_plane
        finally:
            control_plane.stop()


@pytest.fixture(scope="session")
def shared_control_plane() -> Iterator[ControlPlane]:
    """As most clusters have it."""
    with started() as control_plane:
        yield control_plane


@pytest.fixture(scope="session")
def shared_grouping_plane() -> Iterator[ControlPlane]:
    """One that has pod groups: its gates are on."""
    with started(SERVER_FLAGS) as control_plane:
        yield control_plane


@pytest.fixture
def grouping_plane(shared_grouping_plane: ControlPlane) -> Iterator[ControlPlane]:
    """The worker's control plane that has pod groups, emptied afterwards."""
    yield shared_grouping_plane
    shared_grouping_plane.stop_others()
    shared_grouping_plane.clear()


@pytest.fixture
def control_plane(shared_control_plane: ControlPlane) -> Iterator[ControlPlane]:
    """The worker's control plane, emptied afterwards."""
    yield shared_control_plane
    shared_control_plane.stop_others()
    shared_control_plane.clear()


@pytest.fixture
def namespace(control_plane: ControlPlane) -> str:
    """A namespace that no other test has."""
    name = f"test-{secrets.token_hex(4)}"
    control_plane.api().create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    return name
