"""Processes that a test starts: their logs, their cost, and the ways they can end.

In: a command line and the file its output goes to. Out: a `Program`, which can be stopped, killed and frozen, and says
how much processor time and memory it took. A program ends with the test process, whatever happens to that. Used by
`control_plane`, the tests of live scheduling and the benchmarks.
"""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

__all__ = ["Program", "free_port", "wait_until"]

PATIENCE_SECONDS: Final = 60.0
"""How long a test waits for what should happen at once; a busy machine is slow."""

FIRST_PORT: Final = 12_000
"""Above the ports that Kubernetes' own programs choose for themselves."""


class Program:
    """A running process."""

    def __init__(
        self, command: Sequence[str | Path], log: Path, environment: Mapping[str, str] | None = None, url: str = ""
    ) -> None:
        self.name = Path(command[0]).name
        self.log = log
        self.url = url  # where it serves, if it does
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("ab") as output:
            self._process = subprocess.Popen(
                [*_dying_with_its_parent(), *map(str, command)],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env={**os.environ, **(environment or {})},
            )

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    @property
    def is_running(self) -> bool:
        """It has not ended."""
        return self._process.poll() is None

    def stop(self, seconds: float = PATIENCE_SECONDS) -> int:
        """Ask it to end, wait for that, and return its exit code; killed when it takes too long."""
        if self.is_running:
            self._process.send_signal(signal.SIGCONT)  # a frozen process would not hear
            self._process.terminate()
        try:
            return self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return self.kill()

    def kill(self) -> int:
        """End it without a warning."""
        self._process.kill()
        return self._process.wait()

    def freeze(self) -> None:
        """Let it stand still, as a machine does that is starved or suspended."""
        self._process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Let it go on."""
        self._process.send_signal(signal.SIGCONT)

    def exit_code(self, seconds: float = PATIENCE_SECONDS) -> int:
        """Wait until it ends by itself."""
        return self._process.wait(seconds)

    def cpu_seconds(self) -> float:
        """Processor time so far, of all threads that it has, finer than the clock ticks of its `stat`."""
        threads = Path(f"/proc/{self.pid}/task").glob("*/schedstat")
        return sum(int(thread.read_text().split()[0]) for thread in threads) / 1e9

    def resident_bytes(self) -> int:
        """Memory in use."""
        return int(Path(f"/proc/{self.pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def peak_bytes(self) -> int:
        """The most memory that was in use at any time."""
        status = Path(f"/proc/{self.pid}/status").read_text()
        return 1024 * int(status.partition("VmHWM:")[2].split()[0])

    def output(self) -> str:
        """What it has written so far."""
        return self.log.read_text(errors="replace")

    def wait_until(self, condition: Callable[[], bool], what: str, seconds: float = PATIENCE_SECONDS) -> None:
        """Wait for something that this process brings about; its end, or the time running out, is an error."""

        def come_true() -> bool:
            if condition():
                return True
            if not self.is_running:
                raise RuntimeError(f"{self.name} ended before {what}:\n{self.output()[-3000:]}")
            return False

        try:
            wait_until(come_true, what, seconds)
        except TimeoutError as error:
            raise TimeoutError(f"{error}; {self.name} wrote:\n{self.output()[-3000:]}") from None


def wait_until(
    condition: Callable[[], bool], what: str, seconds: float = PATIENCE_SECONDS, every: float = 0.02
) -> None:
    """Look again and again until a condition holds; a TimeoutError that names it, if it does not in time."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError(f"waited {seconds:g} s in vain until {what}")
        time.sleep(every)


def free_port() -> int:
    """A loopback port that nobody listens on, and that the system gives to nobody who connects somewhere meanwhile."""
    while True:
        port = FIRST_PORT + secrets.randbelow(_first_given_port() - FIRST_PORT)
        with socket.socket() as listener:
            try:
                listener.bind(("127.0.0.1", port))
            except OSError:
                continue  # it is taken
        return port


def _first_given_port() -> int:
    """Where the ports begin that the system gives to connections."""
    try:
        first = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    except OSError:
        first = 0
    return first if first >= FIRST_PORT + 4096 else 32768  # as most systems have it


def _dying_with_its_parent() -> list[str]:
    """A prefix for commands (Linux): a test run that is killed leaves no servers behind. Start programs from a thread
    that lives as long as they do: the system takes that thread for the parent.
    """
    setpriv = shutil.which("setpriv")
    return [setpriv, "--pdeathsig", "KILL", "--"] if setpriv else []
