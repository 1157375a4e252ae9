"""Where a ledger is and how one gets in: a URL of a PostgreSQL, and a password that no command line shows.

In: what a user gave. Out: a `LedgerAddress`, or a `LedgerProblem` that says what to do instead: a URL with a password
in it is refused, and never repeated. The password is in a file, which is read at each connection, so that it can be
replaced; or wherever libpq looks by itself: PGPASSWORD, PGPASSFILE, a service file, a certificate. Made by the
commands.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from psycopg import Error, conninfo

from fairway.exit_codes import USAGE
from fairway.live.ledger.ledger import LedgerProblem

__all__ = ["DEFAULTS", "LedgerAddress", "ledger_address"]

SCHEMES: Final = ("postgresql://", "postgres://")
SECRETS: Final = ("password", "sslpassword")
PASSWORD_IN_URL: Final = re.compile(r"^[a-z]+://([^/?#@]*:[^/?#]*|[^@=]*:[^@=]*)@|[?&](ssl)?password=")
"""Also one whose signs are not escaped, so that libpq would take its end for a path: u:a/b@host."""
DEFAULTS: Final[dict[str, Any]] = {
    "connect_timeout": 10,
    "application_name": "fairway",
    "keepalives_idle": 15,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,  # milliseconds
}
"""What a URL that does not say otherwise means: a server that is gone is noticed within half a minute."""


@dataclass(frozen=True, slots=True)
class LedgerAddress:
    """A ledger."""

    url: str
    password_file: str = ""  # "": libpq knows, or none is asked for

    @property
    def title(self) -> str:
        """For people: which server, and which database there."""
        parts = conninfo.conninfo_to_dict(self.url)
        host, port = str(parts.get("host", "") or parts.get("hostaddr", "")), str(parts.get("port", "")).strip(",")
        return f"{host or 'this machine'}{f':{port}' if port else ''}/{parts.get('dbname', '')}"

    def parameters(self) -> dict[str, Any]:
        """What a connection is opened with; raises `LedgerProblem` if the password can not be read."""
        given = conninfo.conninfo_to_dict(self.url)
        found = DEFAULTS | {name: value for name, value in given.items() if value is not None}
        if self.password_file:
            try:
                found["password"] = Path(self.password_file).read_text().rstrip("\r\n")
            except (OSError, UnicodeDecodeError) as error:
                why = getattr(error, "strerror", None) or "it is no text"
                raise LedgerProblem(
                    f"the ledger's password can not be read from {self.password_file}",
                    why,
                    "the file has to hold the password and nothing else, readable by this process",
                ) from None
        return found


def ledger_address(url: str, password_file: str = "", flag: str = "--ledger") -> LedgerAddress:
    """What a user gave; raises `LedgerProblem`."""
    if not url.startswith(SCHEMES):
        raise LedgerProblem(
            f"{flag}: that is no URL of a PostgreSQL", "", f"give postgresql://USER@HOST/DATABASE: {flag}", USAGE
        )
    if PASSWORD_IN_URL.search(url):
        raise _told_password(flag)
    try:
        given = conninfo.conninfo_to_dict(url)
    except Error as error:
        why = str(error).replace(url, "it").strip()
        raise LedgerProblem(
            f"{flag}: the URL can not be read",
            why,
            "give postgresql://USER@HOST:PORT/DATABASE?sslmode=verify-full",
            USAGE,
        ) from None
    if any(given.get(name) for name in SECRETS):
        raise _told_password(flag)
    return LedgerAddress(url, password_file)


def _told_password(flag: str) -> LedgerProblem:
    return LedgerProblem(
        f"{flag}: there is a password in the URL",
        "everybody on the machine can read a command line, and logs keep it",
        f"leave it out, and put it into a file: {flag}-password-file FILE; or set PGPASSWORD",
        USAGE,
    )
