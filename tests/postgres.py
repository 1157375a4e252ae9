"""A PostgreSQL of one's own, from Debian's package: in a temporary folder, on a port that nobody has.

Its programs refuse to run as root: then they run as Debian's user `postgres`, or as `nobody`. Connections through the
socket are trusted; those over TCP need a password, and so tests see both. A server can be stopped at once, as if the
power went, and started again on the same port. Where there is none, tests that ask for it are skipped; CI has one.
"""

from __future__ import annotations

import os
import pwd
import secrets
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import psycopg
import pytest

from tests.kube.processes import Program, free_port, wait_until

__all__ = ["PASSWORD", "Postgres", "postgres_server"]

PASSWORD: Final = "tell-nobody"
SETTINGS: Final = {
    "fsync": "off",  # what is lost with the machine, tests make again
    "dynamic_shared_memory_type": "mmap",
    "max_connections": "40",
    "log_min_messages": "warning",
}


class Postgres:
    """One server, and databases in it."""

    def __init__(self, folder: Path, programs: Path) -> None:
        self.folder = folder
        self.port = free_port()
        self._programs = programs
        self._prefix = _as_somebody(folder)
        self._server: Program | None = None
        password = folder / "password"
        password.write_text(PASSWORD)
        password.chmod(0o644)
        made = [
            "--pgdata",
            str(self.data),
            "--username",
            "postgres",
            "--no-sync",
            "--encoding",
            "UTF8",
            "--locale",
            "C",
        ]
        made += ["--auth-local", "trust", "--auth-host", "scram-sha-256", "--pwfile", str(password)]
        subprocess.run([*self._prefix, str(programs / "initdb"), *made], check=True, capture_output=True, cwd="/")

    @property
    def data(self) -> Path:
        """Where its files are."""
        return self.folder / "data"

    def start(self) -> None:
        """Run, and answer."""
        settings = {**SETTINGS, "port": str(self.port), "listen_addresses": "127.0.0.1"}
        settings["unix_socket_directories"] = str(self.folder)
        command = [*self._prefix, str(self._programs / "postgres"), "-D", str(self.data)]
        command += [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        self._server = Program(command, self.folder / "log")
        self._server.wait_until(self._answers, "PostgreSQL answers")

    def stop(self) -> None:
        """At once, as if the power went: connections break."""
        if self._server is not None:
            subprocess.run(
                [*self._prefix, str(self._programs / "pg_ctl"), "-D", str(self.data), "-m", "immediate", "stop"],
                check=True,
                capture_output=True,
                cwd="/",
            )
            wait_until(lambda: self._server is not None and not self._server.is_running, "PostgreSQL has ended")
            self._server = None

    def new_database(self) -> str:
        """An empty one."""
        name = f"books_{secrets.token_hex(4)}"
        self.ask(f"CREATE DATABASE {name}", database="postgres")
        return name

    def url(self, database: str, user: str = "postgres") -> str:
        """Through the socket, where nobody asks for a password."""
        return f"postgresql://{user}@/{database}?host={self.folder}&port={self.port}"

    def tcp_url(self, database: str, user: str = "postgres") -> str:
        """Over TCP, where everybody is asked."""
        return f"postgresql://{user}@127.0.0.1:{self.port}/{database}"

    def connected(self, database: str, user: str = "postgres") -> psycopg.Connection[Any]:
        """A connection."""
        return psycopg.connect(self.url(database, user), autocommit=True)

    def ask(self, question: str, *values: Any, database: str, user: str = "postgres") -> list[tuple[Any, ...]]:
        """In a connection of its own; the rows, if it has any."""
        with self.connected(database, user) as connection:
            found = connection.execute(question.encode(), values or None)
            return found.fetchall() if found.description else []

    def cut_connections(self, database: str) -> None:
        """Everybody who is in a database is thrown out."""
        question = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s"
        self.ask(question, database, database="postgres")

    def _answers(self) -> bool:
        try:
            return bool(self.ask("SELECT 1", database="postgres"))
        except psycopg.OperationalError:
            return False


@contextmanager
def postgres_server() -> Iterator[Postgres]:
    """A running one; skips the test where there is none."""
    memory = Path("/dev/shm")
    folder = Path(tempfile.mkdtemp(prefix="fairway-postgres-", dir=memory if memory.is_dir() else None))
    try:
        server = Postgres(folder, _find_programs())
        server.start()
        try:
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _find_programs() -> Path:
    """Debian keeps them out of the PATH, by version."""
    found = shutil.which("initdb")
    if found is not None:
        return Path(found).resolve().parent
    versions = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: float(path.parts[-3]))
    if not versions:
        assert not os.environ.get("CI"), "CI keeps a real ledger: make database installs PostgreSQL"
        pytest.skip("no PostgreSQL on this machine, so nobody keeps a ledger; make database installs it (Debian)")
    return versions[-1].parent


def _as_somebody(folder: Path) -> list[str]:
    """A prefix for commands that root must not run; the folder becomes theirs."""
    if os.geteuid() != 0:
        return []
    names = {each.pw_name: each for each in pwd.getpwall()}
    user = names.get("postgres") or names["nobody"]
    os.chown(folder, user.pw_uid, user.pw_gid)
    setpriv = shutil.which("setpriv")
    if setpriv is None:
        pytest.skip("root may not run PostgreSQL, and there is no setpriv with which to be somebody else")
    somebody = ["--reuid", str(user.pw_uid), "--regid", str(user.pw_gid), "--clear-groups"]
    return [setpriv, *somebody, "--pdeathsig", "KILL", "--"]  # whoever becomes somebody else is no longer told
