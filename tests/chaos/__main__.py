"""Let chaos loose on a real control plane, and see whether everything that must hold still does.

    python -m tests.chaos                                  all kinds, at full size: `make chaos`
    python -m tests.chaos --kind late-watches --seed 7     one of them, with the chances of seed 7
    python -m tests.chaos --pods 500 --seconds 10          a smaller load

Prints a line when a kind is done and one table at the end, with the seed. What chance decides is decided by the seed;
how threads and processes meet is not, so a violation may need more than one try to come again. Exit code 1 if an
invariant is violated, 2 for wrong arguments. The programs are built first if need be (tests/kube).
"""

from __future__ import annotations

import argparse
import secrets
import sys
import tempfile
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from tests.chaos.history import audit_flags
from tests.chaos.kinds.table import KINDS
from tests.chaos.load import Size
from tests.chaos.report import table, words
from tests.chaos.trial import INVARIANTS, Kind, Verdict, try_kind
from tests.kube.control_plane import ControlPlane

__all__ = ["main"]

FULL_PODS: Final = 5000
PODS_PER_SECOND: Final = 80.0
"""How fast they come: slow enough for chaos to meet them on their way, fast enough for a burst."""


def main(arguments: Sequence[str]) -> int:
    """Try the kinds that were asked for."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos")
    parser.add_argument("--kind", action="append", choices=KINDS, metavar="NAME", help=f"of {', '.join(KINDS)}")
    parser.add_argument("--seed", type=int, help="of chance  [default: a new one, printed]")
    parser.add_argument("--pods", type=int, default=FULL_PODS, help="of the largest kind  [default: %(default)s]")
    parser.add_argument("--seconds", type=float, help="over which a round's pods come  [default: by their number]")
    parser.add_argument("--rounds", type=int, help="of each kind  [default: by kind]")
    parser.add_argument("--keep", type=Path, metavar="DIRECTORY", help="where logs stay  [default: nowhere]")
    given = parser.parse_args(arguments)
    if given.pods < 50:
        parser.error("--pods: give 50 or more, or there is nothing to disturb")
    if given.keep and given.keep.exists():
        parser.error(f"--keep: {given.keep} is there already; name a directory that is not")
    seed = secrets.randbelow(1_000_000) if given.seed is None else given.seed
    sys.stdout.write(f"seed {seed}\n")
    verdicts = []
    for name in given.kind or KINDS:
        kind = KINDS[name]
        with _control_plane(given.keep, name) as (control_plane, log):
            verdicts.append(_try(control_plane, kind, _size(kind, given), seed, log))
        sys.stdout.write(f"{table(verdicts[-1:]).splitlines()[1]}\n")
        sys.stdout.flush()
    sys.stdout.write(f"\n{table(verdicts)}\n{words(verdicts)}\n")
    return 0 if all(verdict.is_clean for verdict in verdicts) else 1


def _size(kind: Kind, given: argparse.Namespace) -> Size:
    num_rounds = given.rounds or kind.num_rounds
    num_pods = max(50, int(given.pods * kind.share / num_rounds))
    return Size(num_pods, given.seconds or max(10.0, num_pods / PODS_PER_SECOND), num_rounds)


def _try(control_plane: ControlPlane, kind: Kind, size: Size, seed: int, log: Path) -> Verdict:
    """A trial that breaks off is no reason to leave out the others; it counts as violated."""
    try:
        return try_kind(control_plane, kind, size, seed, log)
    except Exception as error:  # noqa: BLE001 - whatever a scheduler in trouble makes of the trial
        traceback.print_exc()
        verdict = Verdict(kind.name, seed, unjudged=set(INVARIANTS))
        verdict.violations["alive"].append(f"the trial broke off: {error}")
        return verdict


@contextmanager
def _control_plane(kept: Path | None, name: str) -> Iterator[tuple[ControlPlane, Path]]:
    """A control plane for one kind, in memory where there is a file system for that; and its log of bindings."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(prefix="fairway-chaos-", dir=memory if memory.is_dir() else None) as temporary:
        directory = kept / name if kept else Path(temporary)
        log, flags = audit_flags(directory)
        control_plane = ControlPlane(directory, api_server_flags=flags)
        try:
            control_plane.start()
            yield control_plane, log
        finally:
            control_plane.stop()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
