"""The tables of a ledger: what is in them, which version they are of, and how they come to be.

In: a connection. Out: the tables, made if they are missing and the role may make them; `LedgerProblem` if they are of a
version that this program does not know, or if it may not. Lines are only ever added: a role that may SELECT and INSERT
does for the scheduler, one that may SELECT for those who read. They are where `search_path` leads, so that the ledgers
of several clusters may be in one database, each in a schema of its own. Used by `database`.
"""

from __future__ import annotations

from typing import Any, Final

import psycopg

from fairway.live.ledger.ledger import LedgerProblem

__all__ = ["TABLES", "VERSION", "prepare"]

VERSION: Final = 1
TABLES: Final = """\
CREATE TABLE fairway_ledger (
    version     integer NOT NULL PRIMARY KEY,
    made_at     timestamptz NOT NULL DEFAULT now()
);
CREATE TABLE fairway_openings (
    account_uid text NOT NULL PRIMARY KEY,
    account     text NOT NULL,
    charge_milli bigint NOT NULL,
    made_at     timestamptz NOT NULL DEFAULT now()
);
CREATE TABLE fairway_lines (
    job_uid     text NOT NULL,
    line        integer NOT NULL,
    job         text NOT NULL,
    account     text NOT NULL,
    user_name   text NOT NULL,
    queue       text NOT NULL,
    from_time   timestamptz NOT NULL,
    to_time     timestamptz NOT NULL,
    rate        double precision NOT NULL,
    charge_milli bigint NOT NULL,
    kind        text NOT NULL,
    reason      text NOT NULL,
    uncertain   boolean NOT NULL,
    amounts     jsonb NOT NULL,
    entered_at  timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (job_uid, line)
);
CREATE INDEX fairway_lines_from_time ON fairway_lines (from_time);
CREATE INDEX fairway_lines_account ON fairway_lines (account, from_time);
INSERT INTO fairway_ledger (version) VALUES (1);
"""
"""All of it, for whoever makes the tables himself."""

LOCK: Final = 0x6661_6972_7761_79  # "fairway": two processes must not make them at once


def prepare(connection: psycopg.Connection[Any], *, may_make: bool) -> None:
    """Let the tables be there. Raises `LedgerProblem`, or what psycopg raises."""
    if not may_make and not _are_there(connection):
        raise LedgerProblem(
            "there is no ledger in that database",
            "it has no table fairway_ledger, or it is in a schema that search_path does not lead to",
            "name the database that `fairway run --ledger` writes to; of a schema: ?options=-csearch_path%3DNAME",
        )
    if not _are_there(connection):
        try:
            with connection.transaction():
                connection.execute("SELECT pg_advisory_xact_lock(%s)", [LOCK])
                if not _are_there(connection):
                    connection.execute(TABLES)
        except psycopg.errors.InsufficientPrivilege as error:
            raise LedgerProblem(
                "the ledger's tables are not there, and we may not make them",
                str(error).strip(),
                "let the role CREATE in its schema once, or make them as their owner: docs/batch.md has the statements",
            ) from None
    row = connection.execute("SELECT max(version) FROM fairway_ledger").fetchone()
    if row is None or row[0] != VERSION:
        has = "none" if row is None else row[0]
        raise LedgerProblem(
            f"the ledger's tables are of version {has}, and this program knows version {VERSION}",
            "",
            "use the release of Fairway that made them, or another schema: ?options=-csearch_path%3DNAME",
        )


def _are_there(connection: psycopg.Connection[Any]) -> bool:
    row = connection.execute("SELECT to_regclass('fairway_ledger') IS NOT NULL").fetchone()
    return row is not None and bool(row[0])
