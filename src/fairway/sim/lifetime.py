"""How a pod will live once it runs: read from its annotations under `fairway.dev/`.

In: a pod. Out: its `Lifetime`: for how long it runs, whether it fails, how long it takes to start. Schedulers never see
these annotations (pod classes leave them out): they are what the simulation knows and the scheduler does not.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from fairway.model import Pod
from fairway.sim.luck import Luck
from fairway.trace.annotations import DURATION, FAIL_AFTER, FAIL_PROBABILITY, START_LATENCY, seconds_annotation

UNTIL_IT_FAILS = 3600.0
"""Within how many seconds a pod without an end of its own fails, if it is to fail by chance."""


class Lifetime(NamedTuple):
    """What will happen to a running pod, unless somebody interferes."""

    seconds: float  # how long it runs; infinity: until it is deleted
    fails: bool  # and then: failed rather than succeeded
    start_latency: float | None  # from binding to running; None: as for every pod


FOREVER = Lifetime(math.inf, False, None)


def lifetime_of(pod: Pod, luck: Luck) -> Lifetime:
    """The pod's life, with its own luck; `DecodeError` if an annotation makes no sense."""
    notes = pod.metadata.annotations
    if not notes:
        return FOREVER
    latency = seconds_annotation(pod, START_LATENCY)
    lasts = seconds_annotation(pod, DURATION)
    seconds = math.inf if lasts is None else lasts
    after = seconds_annotation(pod, FAIL_AFTER)
    if after is not None and after <= seconds:
        return Lifetime(after, True, latency)
    if FAIL_PROBABILITY in notes:
        fate, moment = luck.of(pod)
        if fate < float(notes[FAIL_PROBABILITY]):
            return Lifetime(moment * (seconds if math.isfinite(seconds) else UNTIL_IT_FAILS), True, latency)
    return Lifetime(seconds, False, latency)
