"""`fairway usage --ledger`: the books of a cluster, from its ledger."""

from __future__ import annotations

import csv
import json
from contextlib import closing
from pathlib import Path

import duckdb
import pytest

from fairway.cli.main import main
from fairway.live.ledger.address import LedgerAddress
from fairway.live.ledger.database import LedgerDatabase
from tests.live.test_ledger_database import lines_of
from tests.postgres import Postgres

LINES = [*lines_of(1, refund="NodeLost"), *lines_of(2), *lines_of(3, "biology"), *lines_of(900_000)]
"""The last job ran three years later."""


@pytest.fixture
def url(postgres: Postgres, books: str) -> str:
    with closing(LedgerDatabase(LedgerAddress(postgres.url(books)))) as database:
        database.enter((), LINES)
    return postgres.url(books)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_lines_of_a_time_are_exported(
    url: str, tmp_path: Path, ending: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / f"books.{ending}"
    times = ("--from", "2026-01-01", "--to", "2026-02-01T00:00:00Z")
    assert main(["usage", "--ledger", url, *times, "--export", str(file)]) == 0
    wanted = LINES[:-2]
    assert f"{len(wanted)} lines of the books" in capsys.readouterr().err
    rows = duckdb.connect().execute(f"SELECT job, account, charge_milli, kind, reason FROM '{file}'").fetchall()
    assert rows == [(one.job.key, one.job.account, one.charge, str(one.kind), one.reason or None) for one in wanted]


@pytest.mark.parametrize("by", ["account", "user", "queue", "day"])
def test_sums_are_those_of_the_lines(url: str, by: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["usage", "--ledger", url, "--by", by, "-o", "csv"]) == 0
    rows = list(csv.DictReader(capsys.readouterr().out.splitlines()))
    assert sum(round(float(row["used"]) * 1000) for row in rows) == sum(line.charge for line in LINES)
    assert main(["usage", "--ledger", url, "--by", by, "--account", "biology", "--period", "2026"]) == 0
    assert capsys.readouterr().out


def test_without_times_the_document_says_none(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    def refuse(word: str) -> None:
        raise AssertionError(f"{word} is no JSON")

    assert main(["usage", "--ledger", url, "-o", "json"]) == 0
    document = json.loads(capsys.readouterr().out, parse_constant=refuse)
    assert (document["fromSeconds"], document["toSeconds"]) == (None, None)


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("--ledger", "postgresql://a:secret@db/books"), 2, "there is a password in the URL"),
        (("--ledger", "URL", "--from", "1h"), 2, "--ledger has dates"),
        (("--ledger", "URL", "--run", "day.duckdb"), 2, "asked alone"),
        (("--ledger", "URL", "--period", "soon"), 2, "is no period"),
        (("--ledger", "URL", "--account", "x"), 2, "there are biology, physics"),
        (("--to", "2026-01-01"), 2, "are for --ledger"),
        (("--ledger-password-file", "f"), 2, "is for --ledger"),
        (("--ledger", "postgresql://nobody@127.0.0.1:1/books"), 4, "does not answer as it should"),
    ],
)
def test_what_can_not_be_answered_is_said(
    url: str, arguments: tuple[str, ...], code: int, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["usage", *(url if each == "URL" else each for each in arguments)]) == code
    err = capsys.readouterr().err
    assert words in " ".join(err.split())
    assert "secret" not in err
