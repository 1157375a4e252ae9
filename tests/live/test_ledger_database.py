"""A ledger in a real PostgreSQL: lines are there once, sums are exact, and what goes wrong is said."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Protocol

import pytest
from msgspec.structs import replace

from fairway.batch.accounts import ChargeLine, LineKind, charge_lines
from fairway.batch.job import BilledJob, RunInterval
from fairway.live.ledger.address import LedgerAddress
from fairway.live.ledger.database import LedgerDatabase
from fairway.live.ledger.ledger import LedgerProblem, Opening
from fairway.live.ledger.tables import TABLES
from tests.postgres import PASSWORD, Postgres

START = 1_767_225_600.0


def lines_of(number: int, account: str = "physics", refund: str = "") -> list[ChargeLine]:
    """A job that ran twice; `refund`: its first run was lost."""
    first = START + 100 * number + 0.123456
    intervals = (
        RunInterval(first, first + 10.5, 1.5, ("a",), refund=refund),
        RunInterval(first + 50, first + 61.333333, 0.7, ("b",)),
    )
    job = BilledJob(f"uid-{number}", f"ns/job-{number}", account, "ada", "batch", {"cpu": 1500, "memory": 2**33})
    return list(charge_lines(job, intervals, math.inf))


class Opener(Protocol):
    def __call__(self, url: str = "", password_file: str = "", *, is_reader: bool = False) -> LedgerDatabase: ...


@pytest.fixture
def opened(postgres: Postgres, books: str) -> Iterator[Opener]:
    """Opens ledgers, in the empty database if nothing else is said, and closes them."""
    with ExitStack() as stack:

        def opening(url: str = "", password_file: str = "", *, is_reader: bool = False) -> LedgerDatabase:
            address = LedgerAddress(url or postgres.url(books), password_file)
            return stack.enter_context(closing(LedgerDatabase(address, is_reader=is_reader)))

        yield opening


def test_what_is_entered_is_read_again_to_the_last_bit(opened: Opener) -> None:
    written = [*lines_of(2), *lines_of(1, refund="NodeLost")]
    writer = opened()
    writer.enter((), written)
    found = list(opened(is_reader=True).lines())
    assert found == sorted(written, key=lambda line: (line.start, line.job.uid, line.number))
    assert [line.charge for line in found if line.kind is LineKind.REFUND] == [-15750]


def test_a_line_that_is_there_stays_as_it_is(opened: Opener) -> None:
    writer = opened()
    writer.enter((), lines_of(1))
    other = [replace(line, charge=7) for line in lines_of(1)]
    writer.enter((), [*other, *lines_of(2)])
    assert list(writer.lines()) == [*lines_of(1), *lines_of(2)]


def test_sums_are_by_account_and_leave_jobs_out(opened: Opener) -> None:
    writer = opened()
    writer.enter((), [*lines_of(1), *lines_of(2), *lines_of(3, "biology", refund="Preempted")])
    due = sum(line.charge for line in lines_of(1))
    assert writer.settled("physics", ()) == 2 * due
    assert writer.settled("physics", ("uid-2", "uid-9")) == due
    assert writer.settled("biology", ()) == sum(line.charge for line in lines_of(3, refund="Preempted"))
    assert writer.settled("nobody", ()) == 0


def test_lines_of_a_time_are_those_that_begin_in_it(opened: Opener) -> None:
    writer = opened()
    lines = [line for number in range(5) for line in lines_of(number)]
    writer.enter((), lines)
    since, until = lines[2].start, lines[7].start
    assert list(writer.lines(since, until)) == lines[2:7]


def test_an_account_begins_with_what_it_had_and_one_made_anew_with_nothing(opened: Opener) -> None:
    writer = opened()
    writer.enter([Opening("physics", "first", 1000)], ())
    writer.enter([Opening("physics", "first", 2000)], lines_of(1))  # who comes later knows it already
    due = sum(line.charge for line in lines_of(1))
    assert writer.settled("physics", ()) == 1000 + due
    writer.enter([Opening("physics", "second", 0), Opening("biology", "third", 5)], ())
    assert (writer.settled("physics", ()), writer.settled("biology", ())) == (0, 5)
    writer.enter((), lines_of(2))
    assert writer.settled("physics", ()) == sum(line.charge for line in lines_of(2))


def test_half_of_what_is_entered_at_once_is_never_there(opened: Opener) -> None:
    writer = opened()
    broken = replace(lines_of(2)[1], charge=2**70)
    with pytest.raises(LedgerProblem):
        writer.enter([Opening("physics", "first", 1)], [*lines_of(1), broken])
    assert list(writer.lines()) == []
    writer.enter((), lines_of(1))
    assert writer.settled("physics", ()) == sum(line.charge for line in lines_of(1))


def test_a_name_that_no_database_takes_is_entered_all_the_same(opened: Opener) -> None:
    line = lines_of(1)[0]
    odd = replace(line, job=replace(line.job, user="a\0da '); DROP TABLE fairway_lines; --"))
    writer = opened()
    writer.enter((), [odd])
    (found,) = writer.lines()
    assert found.job.user == "a\ufffdda '); DROP TABLE fairway_lines; --"


def test_times_beyond_the_calendar_are_its_ends(opened: Opener) -> None:
    line = lines_of(1)[0]
    writer = opened()
    writer.enter((), [replace(line, start=-1e30, end=1e30)])
    (found,) = writer.lines(-1e30, 1e30)
    assert (found.start, found.end) == (-62_135_510_400.0, 253_402_128_000.0)


def test_a_connection_that_is_cut_is_made_anew(opened: Opener, postgres: Postgres, books: str) -> None:
    writer = opened()
    writer.enter((), lines_of(1))
    postgres.cut_connections(books)
    with pytest.raises(LedgerProblem, match="does not answer as it should"):
        writer.enter((), lines_of(2))
    writer.enter((), lines_of(2))
    assert list(writer.lines()) == [*lines_of(1), *lines_of(2)]


# -- who may what ------------------------------------------------------------------------------------------------------


def test_two_who_come_at_once_make_the_tables_once(opened: Opener, postgres: Postgres, books: str) -> None:
    writers = [opened() for _ in range(3)]
    for number, writer in enumerate(writers):
        writer.enter((), lines_of(number))
    assert len(list(writers[0].lines())) == 6
    assert postgres.ask("SELECT version FROM fairway_ledger", database=books) == [(1,)]


def test_a_reader_makes_no_tables(opened: Opener, postgres: Postgres, books: str) -> None:
    with pytest.raises(LedgerProblem, match="there is no ledger in that database"):
        list(opened(is_reader=True).lines())
    assert postgres.ask("SELECT to_regclass('fairway_lines')", database=books) == [(None,)]


def test_the_least_rights_do(opened: Opener, postgres: Postgres, books: str) -> None:
    """As docs/batch.md gives them: one who makes the tables, one who enters, one who reads."""
    opened().enter((), ())
    for role, rights in (("writer", "SELECT, INSERT"), ("reader", "SELECT")):
        postgres.ask(f"CREATE ROLE {books}_{role} LOGIN", database=books)
        tables = "fairway_ledger, fairway_lines, fairway_openings"
        postgres.ask(f"GRANT {rights} ON {tables} TO {books}_{role}", database=books)
    writer = opened(postgres.url(books, f"{books}_writer"))
    reader = opened(postgres.url(books, f"{books}_reader"), is_reader=True)
    writer.enter([Opening("physics", "first", 1)], lines_of(1))
    writer.enter([Opening("physics", "first", 1)], lines_of(1))
    assert list(reader.lines()) == lines_of(1)
    with pytest.raises(LedgerProblem, match="SELECT and INSERT"):
        reader.enter((), lines_of(2))


def test_who_may_not_make_the_tables_is_told_so(opened: Opener, postgres: Postgres, books: str) -> None:
    postgres.ask(f"CREATE ROLE {books}_stranger LOGIN", database=books)
    stranger = opened(postgres.url(books, f"{books}_stranger"))
    with pytest.raises(LedgerProblem, match="let the role CREATE in its schema once"):
        stranger.enter((), ())


def test_tables_of_a_later_version_are_left_alone(opened: Opener, postgres: Postgres, books: str) -> None:
    opened().enter((), lines_of(1))
    postgres.ask("INSERT INTO fairway_ledger (version) VALUES (2)", database=books)
    with pytest.raises(LedgerProblem, match="of version 2, and this program knows version 1"):
        opened().enter((), lines_of(2))


def test_clusters_may_have_a_schema_each(opened: Opener, postgres: Postgres, books: str) -> None:
    urls = []
    for name in ("north", "south"):
        postgres.ask(f"CREATE SCHEMA {name}", database=books)
        urls.append(f"{postgres.url(books)}&options=-csearch_path%3D{name}")
    for number, url in enumerate(urls):
        opened(url).enter((), lines_of(number))
    for number, url in enumerate(urls):
        assert list(opened(url, is_reader=True).lines()) == lines_of(number)


def test_the_page_has_the_statements_that_make_the_tables() -> None:
    page = (Path(__file__).parents[2] / "docs" / "batch.md").read_text()
    assert f"```sql\n{TABLES}```" in page


# -- passwords ---------------------------------------------------------------------------------------------------------


def test_the_password_is_in_a_file_and_may_be_another_the_next_time(
    opened: Opener, postgres: Postgres, books: str, tmp_path: Path
) -> None:
    file = tmp_path / "password"
    writer = opened(postgres.tcp_url(books), str(file))
    with pytest.raises(LedgerProblem, match=r"password can not be read from .*password"):
        writer.enter((), lines_of(1))
    file.write_text("wrong\n")
    with pytest.raises(LedgerProblem, match="password authentication failed") as raised:
        writer.enter((), lines_of(1))
    assert "wrong" not in str(raised.value)
    file.write_text(f"{PASSWORD}\n")
    writer.enter((), lines_of(1))
    assert list(writer.lines()) == lines_of(1)


def test_a_server_that_is_away_is_named_without_a_secret(opened: Opener, books: str, tmp_path: Path) -> None:
    file = tmp_path / "password"
    file.write_text(PASSWORD)
    away = opened("postgresql://fairway@127.0.0.1:1/books", str(file))
    with pytest.raises(LedgerProblem, match=r"127\.0\.0\.1:1/books") as raised:
        away.enter((), ())
    assert PASSWORD not in str(raised.value)
