"""A ledger as one connection sees it: lines are entered once, added up, and read.

In: an address. Out: what PostgreSQL says. Every call is one transaction; a call that fails closes the connection, and
the next one opens another: so whatever was cut off is simply done again, because a line that is there already is left
as it is. Not for the scheduler's own loop, which must not wait: `ledger_thread` calls this, and commands that read.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

import msgspec
import psycopg

from fairway.batch.accounts import ChargeLine, LineKind
from fairway.batch.job import BilledJob
from fairway.live.ledger.address import LedgerAddress
from fairway.live.ledger.ledger import LedgerProblem, Opening
from fairway.live.ledger.tables import prepare

__all__ = ["LedgerDatabase"]

PATIENCE: Final = "30s"
"""For a statement that enters or adds up; other than a connection, nothing here takes long."""
PAGE: Final = 5000
EPOCH: Final = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
EARLIEST: Final = dt.datetime(1, 1, 2, tzinfo=dt.UTC)  # whatever the server's time zone makes of it
LATEST: Final = dt.datetime(9999, 12, 30, tzinfo=dt.UTC)

ENTER: Final = """\
INSERT INTO fairway_lines (job_uid, line, job, account, user_name, queue, from_time, to_time, rate, charge_milli, kind,
    reason, uncertain, amounts)
SELECT * FROM unnest(%s::text[], %s::int[], %s::text[], %s::text[], %s::text[], %s::text[], %s::timestamptz[],
    %s::timestamptz[], %s::float8[], %s::bigint[], %s::text[], %s::text[], %s::bool[], %s::jsonb[])
ON CONFLICT (job_uid, line) DO NOTHING"""
OPEN: Final = """\
INSERT INTO fairway_openings (account_uid, account, charge_milli)
SELECT %(uid)s::text, %(account)s::text, %(charge)s::bigint
    - coalesce((SELECT sum(charge_milli) FROM fairway_lines WHERE account = %(account)s), 0)
    - coalesce((SELECT sum(charge_milli) FROM fairway_openings WHERE account = %(account)s), 0)
ON CONFLICT (account_uid) DO NOTHING"""
SUM: Final = """\
SELECT coalesce((SELECT sum(charge_milli) FROM fairway_lines
        WHERE account = %(account)s AND job_uid <> ALL(%(without)s)), 0)
    + coalesce((SELECT sum(charge_milli) FROM fairway_openings WHERE account = %(account)s), 0)"""
READ: Final = """\
SELECT job_uid, line, job, account, user_name, queue, from_time, to_time, rate, charge_milli, kind, reason, uncertain,
    amounts::text
FROM fairway_lines WHERE from_time >= %s AND from_time < %s ORDER BY from_time, job_uid, line"""


class LedgerDatabase:
    """One connection at a time."""

    def __init__(self, address: LedgerAddress, *, is_reader: bool = False) -> None:
        """`is_reader`: whoever makes no tables, because they are somebody else's."""
        self.address = address
        self._is_reader = is_reader
        self._connection: psycopg.Connection[Any] | None = None

    def close(self) -> None:
        """Let the server go."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def enter(self, openings: Sequence[Opening], lines: Sequence[ChargeLine]) -> None:
        """Add what is not there yet: openings before lines, all or nothing. Raises `LedgerProblem`."""
        with self._asked() as connection:
            if openings:
                connection.cursor().executemany(OPEN, [each._asdict() for each in openings])
            if lines:
                connection.execute(ENTER, [list(column) for column in zip(*map(_row, lines), strict=True)])

    def settled(self, account: str, without: Collection[str]) -> int:
        """The sum of an account's lines and opening, in thousandths of a unit; `without` those of these jobs."""
        with self._asked() as connection:
            row = connection.execute(SUM, {"account": account, "without": list(without)}).fetchone()
        assert row is not None, "a sum is a row"
        return int(row[0])

    def lines(self, since: float = -math.inf, until: float = math.inf) -> Iterator[ChargeLine]:
        """The lines that begin within [since, until), as time goes. Raises `LedgerProblem`."""
        with self._asked(patience="0") as connection, connection.cursor(name="lines") as cursor:
            cursor.itersize = PAGE
            cursor.execute(READ, [_moment(since), _moment(until)])
            for row in cursor:
                yield _line(row)

    @contextmanager
    def _asked(self, patience: str = PATIENCE) -> Iterator[psycopg.Connection[Any]]:
        """One transaction; whatever goes wrong in it, the next one begins with another connection."""
        is_done = False
        try:
            connection = self._connection or self._open()
            with connection.transaction():
                connection.execute(f"SET LOCAL statement_timeout = '{patience}'")
                yield connection
            is_done = True
        except psycopg.Error as error:
            raise self._problem(error) from error
        finally:
            if not is_done:
                self.close()

    def _open(self) -> psycopg.Connection[Any]:
        parameters = self.address.parameters()
        # Nothing is prepared: poolers between us and the server may give each transaction another session.
        connection = psycopg.connect(**parameters, autocommit=True, prepare_threshold=None)
        self._connection = connection
        prepare(connection, may_make=not self._is_reader)
        return connection

    def _problem(self, error: psycopg.Error) -> LedgerProblem:
        why = " ".join(str(error).split()) or type(error).__name__
        fix = "is it up, and may we in? check with: psql, and the same URL"
        if isinstance(error, psycopg.errors.InsufficientPrivilege):
            fix = "the scheduler's role has to SELECT and INSERT, a reader's to SELECT: see docs/batch.md"
        return LedgerProblem(f"the ledger at {self.address.title} does not answer as it should", why, fix)


# -- rows --------------------------------------------------------------------------------------------------------------


def _row(line: ChargeLine) -> tuple[Any, ...]:
    job = line.job
    names = map(_plain, (job.key, job.account, job.user, job.queue))
    times = _moment(line.start), _moment(line.end)
    amounts = msgspec.json.encode(dict(job.amounts)).decode()
    return (
        job.uid,
        line.number,
        *names,
        *times,
        line.rate,
        line.charge,
        line.kind,
        line.reason,
        line.is_uncertain,
        amounts,
    )


def _line(row: Sequence[Any]) -> ChargeLine:
    uid, number, key, account, user, queue, start, end, rate, charge, kind, reason, is_uncertain, amounts = row
    job = BilledJob(uid, key, account, user, queue, msgspec.json.decode(amounts))
    return ChargeLine(
        job, number, start.timestamp(), end.timestamp(), rate, charge, LineKind(kind), reason, is_uncertain
    )


def _plain(text: str) -> str:
    """As PostgreSQL takes it: without the one character that it knows no text with."""
    return text.replace("\0", "\ufffd")


def _moment(seconds: float) -> dt.datetime:
    """To the microsecond, as times of the books are; beyond the calendar its end."""
    try:
        moment = EPOCH + dt.timedelta(microseconds=round(seconds * 1e6))
    except OverflowError:
        return LATEST if seconds > 0 else EARLIEST
    return min(max(moment, EARLIEST), LATEST)
