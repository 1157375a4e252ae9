"""What a job asks of its queue, read from what its objects say.

In: the annotations and labels of a job's group object, its controller, its pod, the first of which counts that says
something; and what its pod's spec says of time. Out: `JobWishes`, or None if it names no queue. What can not be meant
is a `problem` that names the field; such a job waits as Misconfigured. Called by the desk when a job comes or changes.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Final, get_args

from fairway.batch.job import JobWishes
from fairway.model import Pod
from fairway.model.group import MOST_NAMED, After, AfterMode
from fairway.model.seconds import parse_seconds
from fairway.model.tenant import EXCLUSIVE

__all__ = ["KUEUE_QUEUE", "QUEUE", "TIME_LIMIT", "read_wishes"]

PREFIX: Final = "fairway.dev/"
QUEUE: Final = f"{PREFIX}queue"
TIME_LIMIT: Final = f"{PREFIX}time-limit"
KUEUE_QUEUE: Final = "kueue.x-k8s.io/queue-name"
KUEUE_LIMIT: Final = "kueue.x-k8s.io/max-exec-time-seconds"
MOST_SECONDS: Final = 10 * 366 * 86400.0
MOST_NICE: Final = 10_000

Said = Mapping[str, str]


class _Reader:
    """Looks keys up, and notes the first thing that makes no sense."""

    def __init__(self, sources: Sequence[Said], start: float) -> None:
        self._said: dict[str, str] = {}
        for said in reversed(sources):
            self._said.update(said)
        self._start = start  # what the time of day was when the world's clock showed 0, in seconds since 1970
        self.problem = ""

    def text(self, key: str) -> str | None:
        return self._said.get(key)

    def number(self, key: str, parse: Callable[[str], float], default: float) -> float:
        text = self.text(key)
        if text is None:
            return default
        try:
            return parse(text)
        except ValueError as error:
            self.problem = self.problem or f"{key}: {error}"
            return default

    def seconds(self, key: str) -> float | None:
        """A span of time of some length."""
        found = self.number(key, _span, math.nan)
        return None if math.isnan(found) else found

    def moment(self, key: str, submitted: float, default: float) -> float:
        """A time of day, or so long after the job came."""

        def parse(text: str) -> float:
            if text.startswith("+"):
                return submitted + parse_seconds(text[1:])
            try:
                time = dt.datetime.fromisoformat(text)
            except ValueError:
                raise ValueError(f"{text!r} is neither a time such as 2026-12-01T06:00:00Z nor +2h") from None
            if time.tzinfo is None:
                raise ValueError(f"{text!r} does not say in which time zone; add Z")
            return time.timestamp() - self._start

        return self.number(key, parse, default)

    def choice(self, key: str, allowed: Sequence[str]) -> str:
        text = self.text(key) or ""
        if text and text not in allowed:
            self.problem = self.problem or f"{key}: must be one of {', '.join(allowed)}, not {text!r}"
            return ""
        return text

    def after(self, namespace: str) -> tuple[After, ...]:
        """The jobs that come first. Those that start together with it are its gang's affair."""
        key = f"{PREFIX}connect-mode"
        mode, named = self.text(key), self.text(f"{PREFIX}connect-to") or ""
        jobs = [name.strip() for name in named.split(",") if name.strip()]
        if not jobs or mode is None or mode in ("together", "near"):
            return ()
        if len(jobs) > MOST_NAMED:
            words = f"names {len(jobs)} jobs; at most {MOST_NAMED} may be named"
            self.problem = self.problem or f"{PREFIX}connect-to: {words}"
            return ()
        for known in get_args(AfterMode):
            if mode == known:
                return tuple(After(known, name if "/" in name else f"{namespace}/{name}") for name in jobs)
        words = ", ".join(("together", "near", *get_args(AfterMode)))
        self.problem = self.problem or f"{key}: must be one of {words}, not {mode!r}"
        return ()


def _span(text: str) -> float:
    seconds = parse_seconds(text)
    if not 0 < seconds <= MOST_SECONDS:
        raise ValueError(f"must be more than 0 and at most ten years, such as 1h30m, not {text!r}")
    return seconds


def _nice(text: str) -> float:
    if not text.isascii() or not text.isdigit() or int(text) > MOST_NICE:
        raise ValueError(f"must be a whole number from 0 to {MOST_NICE}, not {text!r}")
    return int(text)


def read_wishes(sources: Sequence[Said], pod: Pod, queue: str, submitted: float, start: float = 0.0) -> JobWishes:
    """The wishes of a job of that queue; `sources` are the annotations and labels of its objects, in their order."""
    reader = _Reader(sources, start)
    limits = [reader.seconds(TIME_LIMIT), reader.seconds(KUEUE_LIMIT)]
    limit = next((each for each in limits if each is not None), None)
    deadline = pod.spec.active_deadline_seconds
    if limit is None and deadline is not None:
        limit = float(deadline)
    requeue = reader.choice(f"{PREFIX}requeue", ("true", "false", "recreate"))
    return JobWishes(
        queue=queue,
        user=reader.text(f"{PREFIX}user") or pod.metadata.namespace,
        account=reader.text(f"{PREFIX}account") or "",
        limit=limit,
        said_limit=reader.text(TIME_LIMIT),
        expected=reader.seconds(f"{PREFIX}expected"),
        begin=reader.moment(f"{PREFIX}begin", submitted, -math.inf),
        start_by=reader.moment(f"{PREFIX}start-by", submitted, math.inf),
        is_held=reader.choice(f"{PREFIX}hold", ("true", "false")) == "true",
        nice=int(reader.number(f"{PREFIX}nice", _nice, 0)),
        requeues=requeue != "false",
        recreates=requeue == "recreate",
        on_failure=reader.choice(f"{PREFIX}on-failure", ("fail", "restart", "ignore")),
        on_node_loss=reader.choice(f"{PREFIX}on-node-loss", ("requeue", "fail", "wait", "shrink", "force")),
        is_exclusive=bool(reader.text(EXCLUSIVE)),
        after=reader.after(pod.metadata.namespace),
        problem=reader.problem,
    )
