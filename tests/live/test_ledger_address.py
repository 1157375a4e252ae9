"""What may be said of a ledger on a command line: anything but its password."""

from __future__ import annotations

import pytest

from fairway.live.ledger.address import ledger_address
from fairway.live.ledger.ledger import LedgerProblem

SECRET = "tell-nobody"


@pytest.mark.parametrize(
    ("url", "title"),
    [
        ("postgresql://db.example.com/books", "db.example.com/books"),
        ("postgres://fairway@db:5433/books?sslmode=verify-full", "db:5433/books"),
        ("postgresql://fairway@/books?host=/run/postgresql", "/run/postgresql/books"),
        ("postgresql://fairway@one,two/books?target_session_attrs=read-write", "one,two/books"),
        ("postgresql:///books", "this machine/books"),
        ("postgresql://fairway@[::1]:5432/books", "::1:5432/books"),
        ("postgresql://db:5433/books?user=fairway@tenant", "db:5433/books"),
    ],
)
def test_a_url_says_which_ledger(url: str, title: str) -> None:
    assert ledger_address(url).title == title


@pytest.mark.parametrize(
    "url",
    [
        f"postgresql://fairway:{SECRET}@db/books",
        f"postgres://:{SECRET}@db/books",
        f"postgresql://fairway:{SECRET}@one,two:99999999/books",
        f"postgresql://fairway@db/books?password={SECRET}",
        f"postgresql://fairway@db/books?sslmode=require&p%61ssword={SECRET}",
        f"postgresql://fairway@db/books?sslpassword={SECRET}&nonsense=1",
        f"postgresql://fairway:a/{SECRET}@db/books",
        f"postgresql://fairway:a?{SECRET}@db/books",
        f"postgresql://fairway:a#{SECRET}@db/books",
        f"postgresql://fairway:a={SECRET}@db/books",
    ],
)
def test_a_password_in_it_is_refused_and_not_repeated(url: str) -> None:
    with pytest.raises(LedgerProblem) as raised:
        ledger_address(url)
    problem = raised.value
    assert problem.what == "--ledger: there is a password in the URL"
    assert problem.fix == "leave it out, and put it into a file: --ledger-password-file FILE; or set PGPASSWORD"
    assert problem.exit_code == 2
    assert SECRET not in str(problem)


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("mysql://db/books", "that is no URL of a PostgreSQL"),
        (f"host=db password={SECRET}", "that is no URL of a PostgreSQL"),
        ("postgresql://db/books?sslmod=require", 'invalid URI query parameter: "sslmod"'),
        ("postgresql://[::1/books", "the URL can not be read"),
    ],
)
def test_what_can_not_be_read_is_refused(url: str, words: str) -> None:
    with pytest.raises(LedgerProblem) as raised:
        ledger_address(url)
    assert words in str(raised.value)
    assert SECRET not in str(raised.value)
    assert raised.value.exit_code == 2
