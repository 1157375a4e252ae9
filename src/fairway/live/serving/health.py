"""Health checks and how they are told: `/healthz`, `/livez`, `/readyz`, with kube-scheduler's names and words.

In: what can be wrong, as functions that say what is. Out: a status and a text. `http_server` serves them; probes and
people read them. Reasons stay in the log: whoever may see that a check fails need not be told why.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping
from typing import NamedTuple

from fairway.live.election import Election

__all__ = ["Check", "Checks", "HealthReport", "checks_of", "report"]

logger = logging.getLogger(__name__)

Check = Callable[[], str | None]
"""What is wrong; None if nothing is."""

Checks = Mapping[str, Mapping[str, Check]]
"""By endpoint (healthz, livez, readyz), the checks by name, in order."""


class HealthReport(NamedTuple):
    """What an endpoint answers."""

    status: int
    text: str


def checks_of(election: Election | None, is_synced: Callable[[], bool], is_stopping: Callable[[], bool]) -> Checks:
    """kube-scheduler's: liveness is being there; readiness is warm caches, on a standby as well."""
    leader: dict[str, Check] = {} if election is None else {"leaderElection": election.fault}
    return {
        "healthz": leader or {"ping": _ping},
        "livez": {"ping": _ping},
        "readyz": {
            **leader,
            "shutdown": lambda: "process is shutting down" if is_stopping() else None,
            "sched-handler-sync": lambda: None if is_synced() else "handlers are not fully synchronized",
        },
    }


def _ping() -> str | None:
    return None


def report(endpoint: str, checks: Mapping[str, Check], verbose: bool, excluded: Collection[str] = ()) -> HealthReport:
    """Ask all checks; a failure is told in full, success in full only if asked for."""
    lines = []
    failed = []
    for name, check in checks.items():
        if name in excluded:
            lines.append(f"[+]{name} excluded: ok")
        elif (fault := check()) is None:
            lines.append(f"[+]{name} ok")
        else:
            lines.append(f"[-]{name} failed: reason withheld")
            failed.append(f"{name}: {fault}")
    unknown = sorted(set(excluded) - set(checks))
    if unknown:
        names = ", ".join(f'"{name}"' for name in unknown)
        lines.append(f"warn: some health checks cannot be excluded: no matches for {names}")
    if failed:
        logger.warning("%s check failed: %s", endpoint, "; ".join(failed))
        return HealthReport(500, "\n".join([*lines, f"{endpoint} check failed", ""]))
    return HealthReport(200, "\n".join([*lines, f"{endpoint} check passed", ""]) if verbose else "ok")
