"""What a running `fairway run` says of itself: is it leading, what waits, what does it think is where?

In: a `Program` that serves on loopback. Out: its status, and a `SchedulerView` for the judge, put together from
`/fairway/v1/status` and `/metrics/resources`. Used by `stage` and `trial`.
"""

from __future__ import annotations

import json
import re
import ssl
import urllib.request
from typing import Final

from tests.chaos.judge import SchedulerView
from tests.kube.api import Json
from tests.kube.processes import Program

__all__ = ["NOT_ANSWERING", "num_busy", "read_status", "read_view"]

NOT_ANSWERING: Final = (OSError, ValueError)
RESTING: Final = ("unschedulable", "gated")
REQUEST: Final = re.compile(r"^kube_pod_resource_request\{(.*)\} ", re.MULTILINE)
LABEL: Final = re.compile(r'(\w+)="([^"]*)"')


def read_status(scheduler: Program) -> Json:
    """Its own words; one of `NOT_ANSWERING` if it has none."""
    status: Json = json.loads(_read(scheduler, "/fairway/v1/status"))
    return status


def num_busy(status: Json) -> int:
    """Pods that something is still to happen to, without anything else having to happen."""
    waiting = sum(number for place, number in status["queue"].items() if place not in RESTING)
    return int(waiting + status["podsAssumed"])


def read_view(scheduler: Program) -> SchedulerView:
    """All that can be compared with the API."""
    samples = REQUEST.findall(_read(scheduler, "/metrics/resources").decode())
    found = [dict(LABEL.findall(sample)) for sample in samples]
    status = read_status(scheduler)
    return SchedulerView(
        num_nodes=status["nodes"],
        num_placed=status["podsOnNodes"],
        num_assumed=status["podsAssumed"],
        num_waiting=sum(status["queue"].values()),
        pods={f"{labels['namespace']}/{labels['pod']}": labels["node"] for labels in found},
    )


def _read(scheduler: Program, path: str) -> bytes:
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE  # it signs its certificate itself
    with urllib.request.urlopen(scheduler.url + path, timeout=30, context=context) as response:
        return bytes(response.read())
