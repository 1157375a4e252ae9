"""How a pod will live once it runs: read from its annotations under `fairway.dev/`.

In: a pod. Out: its `Lifetime`: for how long it runs, whether and when it fails, how long it takes to start. Schedulers
never see these annotations (pod classes leave them out): they are what the simulation knows and the scheduler does not.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from fairway.model import Pod
from fairway.model.scheduler_args import parse_duration

DURATION = "fairway.dev/duration"
FAIL_AFTER = "fairway.dev/fail-after"
FAIL_PROBABILITY = "fairway.dev/fail-probability"
START_LATENCY = "fairway.dev/start-latency"


class Lifetime(NamedTuple):
    """What will happen to a running pod, unless somebody interferes."""

    seconds: float  # how long it runs; infinity: until it is deleted
    fails: bool  # and then: failed rather than succeeded
    start_latency: float | None  # from binding to running; None: as for every pod


def lifetime_of(pod: Pod, generator: np.random.Generator) -> Lifetime:
    """The pod's life, with its chances drawn from `generator`."""
    notes = pod.metadata.annotations
    if not notes:
        return Lifetime(math.inf, False, None)
    seconds = _seconds(pod, DURATION, math.inf)
    fails = False
    if FAIL_AFTER in notes:
        after = _seconds(pod, FAIL_AFTER, math.inf)
        if after <= seconds:
            seconds, fails = after, True
    elif FAIL_PROBABILITY in notes:
        chance = _number(pod, FAIL_PROBABILITY)
        if generator.random() < chance:
            end = seconds if math.isfinite(seconds) else 3600.0
            seconds, fails = float(generator.random()) * end, True
    latency = _seconds(pod, START_LATENCY, math.inf) if START_LATENCY in notes else None
    return Lifetime(seconds, fails, latency)


def _seconds(pod: Pod, name: str, default: float) -> float:
    text = pod.metadata.annotations.get(name)
    if text is None:
        return default
    try:
        seconds = float(text)
    except ValueError:
        try:
            seconds = float(parse_duration(text))
        except ValueError as error:
            raise _wrong(pod, name, text, 'seconds, or a duration such as "90s" or "1h30m"') from error
    if not seconds >= 0:
        raise _wrong(pod, name, text, "0 or more seconds")
    return seconds


def _number(pod: Pod, name: str) -> float:
    text = pod.metadata.annotations[name]
    try:
        value = float(text)
    except ValueError as error:
        raise _wrong(pod, name, text, "a number from 0 to 1") from error
    if not 0 <= value <= 1:
        raise _wrong(pod, name, text, "a number from 0 to 1")
    return value


def _wrong(pod: Pod, name: str, text: str, allowed: str) -> ValueError:
    return ValueError(f"pod {pod.key}: metadata.annotations[{name!r}] is {text!r}; it has to be {allowed}")
