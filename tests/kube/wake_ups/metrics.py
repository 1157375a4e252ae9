"""What a scheduler's metrics tell about one pod that waits.

In: where the scheduler serves. Out: a `Reading` at a time: which events were taken in, what brought a pod back into a
queue, which plugins refuse it, how often it was tried. Asked very often by `stage`, so on one connection: a handshake
costs a busy machine more than the page does.
"""

from __future__ import annotations

import http.client
import re
import ssl
from typing import Final
from urllib.parse import urlsplit

from tests.kube.wake_ups.case import SUBJECT

__all__ = ["MetricsPage", "Reading"]

HANDLED: Final = "scheduler_event_handling_duration_seconds_count"
INCOMING: Final = "scheduler_queue_incoming_pods_total"
ATTEMPTS: Final = "scheduler_schedule_attempts_total"
REFUSED: Final = "scheduler_unschedulable_pods"
SAMPLE: Final = re.compile(rf"^({HANDLED}|{INCOMING}|{ATTEMPTS}|{REFUSED})\{{(.*)\}} (\S+)$", re.MULTILINE)
LABEL: Final = re.compile(r'(\w+)="([^"]*)"')

NOT_WAKING: Final = frozenset(
    {"UnschedulablePodAdd", "ScheduleAttemptFailure", "BackoffComplete", "PopFromBackoffQ", "UnschedulableTimeout"}
)
"""Reasons to enter a queue that are no answer to an event."""


class Reading:
    """A scheduler's metrics at one moment."""

    def __init__(self, text: str) -> None:
        self._samples = [
            (name, dict(LABEL.findall(labels)), float(value)) for name, labels, value in SAMPLE.findall(text)
        ]

    def handled(self, label: str) -> float:
        """How many events whose name begins so were taken in."""
        return sum(n for name, labels, n in self._samples if name == HANDLED and labels["event"].startswith(label))

    def attempts(self) -> float:
        """How often the subject was tried."""
        return sum(n for name, labels, n in self._samples if name == ATTEMPTS and labels["profile"] == SUBJECT)

    def refused_by(self) -> frozenset[str]:
        """The plugins that keep the subject waiting."""
        return frozenset(
            labels["plugin"]
            for name, labels, n in self._samples
            if name == REFUSED and n and labels["profile"] == SUBJECT
        )

    def woken_since(self, earlier: Reading) -> frozenset[str]:
        """The events that have brought a pod back since an earlier reading."""
        before = earlier._moves()
        return frozenset(event for (queue, event), n in self._moves().items() if n > before.get((queue, event), 0))

    def _moves(self) -> dict[tuple[str, str], float]:
        """How often a pod entered the active queue or the backoff, by what brought it there."""
        return {
            (labels["queue"], labels["event"]): n
            for name, labels, n in self._samples
            if name == INCOMING and labels["queue"] in ("active", "backoff") and labels["event"] not in NOT_WAKING
        }


class MetricsPage:
    """A scheduler's page of metrics."""

    def __init__(self, url: str, token: str) -> None:
        parts = urlsplit(url)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE  # schedulers sign their certificates themselves
        self._connection = http.client.HTTPSConnection(parts.hostname or "", parts.port, context=context, timeout=30)
        self._headers = {"Authorization": f"Bearer {token}"}

    def read(self) -> Reading:
        """What it says now."""
        try:
            return self._read()
        except (http.client.HTTPException, OSError):
            self._connection.close()  # the scheduler has closed it, having heard nothing for a while
            return self._read()

    def close(self) -> None:
        """Read no more."""
        self._connection.close()

    def _read(self) -> Reading:
        self._connection.request("GET", "/metrics", headers=self._headers)
        answer = self._connection.getresponse()
        text = answer.read().decode()
        if answer.status != http.HTTPStatus.OK:
            raise RuntimeError(f"the page of metrics can not be read: {answer.status} {text[:200]}")
        return Reading(text)
