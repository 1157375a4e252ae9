"""A scheduler that keeps a ledger in a real PostgreSQL, on a real API server: each job's lines are there once.

It is killed between any two steps of settling, and the ledger's connection is cut as well; and the ledger is away for a
while, which nobody waits for but records.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.kube.api import Api
from tests.kube.batch import batch_kinds, events_of, job, node, ours, queue, start, status_of, until
from tests.kube.control_plane import ControlPlane
from tests.kube.cuts import Cut, killed_at
from tests.kube.jobs import PATIENCE
from tests.kube.processes import wait_until
from tests.kube.test_batch_settling import CUTS, book, charge, is_done_with
from tests.postgres import Postgres, postgres_server


@pytest.fixture(scope="module")
def postgres() -> Iterator[Postgres]:
    with postgres_server() as server:
        yield server


@pytest.fixture
def api(control_plane: ControlPlane) -> Iterator[Api]:
    with batch_kinds(control_plane) as api:
        api.create(node("a", "2"))
        api.create(ours("Account", "physics", namespaces=["test-*"], weights={"cpu": 1}))
        api.create(queue())
        control_plane.start_kubelet()
        yield api


def flags_of(postgres: Postgres, books: str) -> tuple[str, ...]:
    return f"--ledger={postgres.tcp_url(books)}", f"--ledger-password-file={postgres.folder / 'password'}"


def entered(postgres: Postgres, books: str) -> list[tuple[str, int]]:
    """Jobs and charges of all lines."""
    return postgres.ask("SELECT job, charge_milli FROM fairway_lines ORDER BY from_time", database=books)


@pytest.mark.slow
@pytest.mark.parametrize("cut", CUTS[1:5], ids=lambda cut: cut.title)
def test_a_job_is_entered_once_whenever_its_scheduler_is_killed(
    control_plane: ControlPlane, api: Api, namespace: str, postgres: Postgres, cut: Cut
) -> None:
    books = postgres.new_database()
    flags = flags_of(postgres, books)
    with killed_at(control_plane, cut, *flags):
        api.create(job("it", namespace, cpu="2", runs="2s"))
    postgres.stop()
    start(control_plane, *flags)
    until(api, "it", namespace, "Finished", "Succeeded")
    postgres.start()
    wait_until(lambda: is_done_with(api, ("it", namespace)), "its record is done with", PATIENCE)
    due = charge(status_of(api, "it", namespace))
    assert entered(postgres, books) == [(f"{namespace}/it", due)]
    assert book(api)["settled"] == due > 0


def test_while_the_ledger_is_away_records_wait_and_jobs_run_on(
    control_plane: ControlPlane, api: Api, namespace: str, postgres: Postgres
) -> None:
    books = postgres.new_database()
    postgres.stop()
    scheduler = start(control_plane, *flags_of(postgres, books))

    def behind() -> float:
        return control_plane.metrics(scheduler)["fairway_books_behind"]

    api.create(job("one", namespace, cpu="2", runs="1s"))
    until(api, "one", namespace, "Finished", "Succeeded")
    wait_until(lambda: bool(book(api).get("settling")), "the account has the charge", PATIENCE)
    api.create(job("two", namespace, cpu="2", runs="1s"))
    until(api, "two", namespace, "Finished", "Succeeded")
    wait_until(lambda: behind() == 2, "both wait", PATIENCE)
    assert not any(status_of(api, name, namespace).get("settled") for name in ("one", "two"))
    assert "books are behind" in scheduler.output()

    postgres.start()
    wait_until(lambda: is_done_with(api, ("one", namespace), ("two", namespace)), "all is settled", PATIENCE)
    due = [charge(status_of(api, name, namespace)) for name in ("one", "two")]
    assert entered(postgres, books) == list(zip([f"{namespace}/one", f"{namespace}/two"], due, strict=True))
    assert book(api)["settled"] == sum(due)
    wait_until(lambda: behind() == 0, "nobody waits any more", PATIENCE)
    assert events_of(api, "default", "BooksDiffer") == []
