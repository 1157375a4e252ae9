"""Upstream's end-to-end specs with Fairway and with kube-scheduler as the only scheduler: does Fairway pass the same?

    python -m tests.e2e                                   all suites, both schedulers side by side
    python -m tests.e2e --suite scheduling                one of them
    python -m tests.e2e --focus 'SchedulerPreemption'     specs whose names match

Prints progress, and in the end one table with both. Exit code 0 when Fairway passes every spec that kube-scheduler
passes, 3 when it does not, 1 when that could not be found out. Called by `make e2e`; README.md says more.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import monotonic

from tests.e2e.build import build_specs
from tests.e2e.cluster import SCHEDULERS
from tests.e2e.report import Comparison, ResultError
from tests.e2e.run import Choice, run_specs
from tests.e2e.specs import SUITES
from tests.kube.build import PACKAGES, BuildError, program


def main(arguments: Sequence[str] | None = None) -> int:
    """Build, run, compare."""
    options = _options(arguments)
    begun = monotonic()
    logs = options.logs or Path(tempfile.mkdtemp(prefix="fairway-e2e-"))
    say = _printer(begun)
    say(f"logs are kept in {logs}")
    try:
        for name in PACKAGES:
            program(name)
        choice = Choice(build_specs(), options.suite or SUITES, options.focus, options.hours, threading.Event())
        with ThreadPoolExecutor(1 if options.in_turn else len(SCHEDULERS)) as pool:
            runs = {
                name: pool.submit(run_specs, name, choice, logs / name, _prefixed(say, name)) for name in SCHEDULERS
            }
            comparison = Comparison({name: run.result() for name, run in runs.items()})
    except (BuildError, ResultError, RuntimeError, TimeoutError, OSError) as error:
        sys.stderr.write(f"the specs could not be run: {error}\n")
        return 1
    (logs / "table.txt").write_text(f"{comparison}\n")
    sys.stdout.write(f"\n{comparison}\n\n{(monotonic() - begun) / 60:.0f} minutes; logs are in {logs}\n")
    return comparison.exit_code()


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.e2e", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--suite", action="append", choices=SUITES, help="only this one; may be given again")
    parser.add_argument("--focus", default="", help="only specs whose names match this expression")
    parser.add_argument("--in-turn", action="store_true", help="one scheduler after the other: for a small machine")
    parser.add_argument("--hours", type=float, default=2.0, help="give up a suite after so long (2)")
    parser.add_argument("--logs", type=_empty_directory, help="keep logs here (a new directory, named at the start)")
    return parser.parse_args(arguments)


def _empty_directory(text: str) -> Path:
    path = Path(text)
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise argparse.ArgumentTypeError(f"{text} is there already; name a new or an empty directory")
    return path


def _printer(begun: float) -> Callable[[str], None]:
    lock = threading.Lock()

    def say(text: str) -> None:
        minutes, seconds = divmod(int(monotonic() - begun), 60)
        with lock:
            sys.stdout.write(f"{minutes:3}:{seconds:02}  {text}\n")
            sys.stdout.flush()

    return say


def _prefixed(say: Callable[[str], None], name: str) -> Callable[[str], None]:
    return lambda text: say(f"{name:15} {text}")


if __name__ == "__main__":
    sys.exit(main())
