"""What tests of the live room share: a PostgreSQL for each worker, started by the first test that asks for it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.postgres import Postgres, postgres_server


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    with postgres_server() as server:
        yield server


@pytest.fixture
def books(postgres: Postgres) -> str:
    """An empty database."""
    return postgres.new_database()
