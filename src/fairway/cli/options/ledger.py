"""`--ledger`: where the lines of the books are, for those who write them and those who read them.

In: a URL of a PostgreSQL, and a file with its password. Out: a `LedgerAddress`; errors say what is wrong with the URL,
or that the extra is not installed. Shared by `fairway run` and `fairway usage`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from fairway.exit_codes import USAGE

if TYPE_CHECKING:
    from fairway.live.ledger.address import LedgerAddress

__all__ = ["ledger_of", "ledger_options"]

F = TypeVar("F", bound=Callable[..., Any])


def ledger_options(help_text: str) -> Callable[[F], F]:
    """Add --ledger and --ledger-password-file; they arrive as `ledger_url` and `ledger_password_file`."""

    def add(command: F) -> F:
        options = (
            click.option("--ledger", "ledger_url", metavar="URL", help=help_text),
            click.option(
                "--ledger-password-file",
                metavar="FILE",
                help="Its password, read at each connection.  [default: PGPASSWORD, or as libpq finds it]",
            ),
        )
        for option in reversed(options):
            command = option(command)
        return command

    return add


def ledger_of(url: str | None, password_file: str | None) -> LedgerAddress | None:
    """What was given; None: no ledger."""
    from fairway.cli.main import CommandError
    from fairway.live.ledger.ledger import LedgerProblem

    if url is None:
        if password_file is not None:
            raise CommandError("--ledger-password-file is for --ledger", "name the ledger, or leave it out", USAGE)
        return None
    try:
        from fairway.live.ledger.address import ledger_address
    except ImportError as error:
        hint = "pip install 'fairway[ledger]'"
        if error.name != "psycopg":  # it is there, and finds no libpq
            hint = "pip install 'psycopg[binary]', or install libpq in your system's way"
        raise CommandError("--ledger needs psycopg, which can not be used here", hint) from error
    try:
        return ledger_address(url, password_file or "")
    except LedgerProblem as problem:
        why = f"{problem.what}\n{problem.why}" if problem.why else problem.what
        raise CommandError(why, problem.fix, problem.exit_code) from None
