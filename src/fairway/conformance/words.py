"""What both kinds of cases of the corpus say in the same words, and do in the same way.

In: decisions and refusals of the engine. Out: their form in the corpus; the pod as it is on its node. Called by
`corpus_run` and `group_run`.
"""

from __future__ import annotations

import datetime as dt
from typing import Any

import msgspec

from fairway.cycle import Decision
from fairway.model import Pod
from fairway.plugin import Refusal

__all__ = ["refusal_words", "started"]


def refusal_words(plugin: str, refusal: Refusal, nodes: list[str] | None = None) -> dict[str, Any]:
    """A refusal, and perhaps the nodes it was for."""
    words = {"plugin": plugin, "code": refusal.code.value, "reasons": sorted(refusal.reasons)}
    return words if nodes is None else {**words, "nodes": nodes}


def started(decision: Decision, start: dt.datetime) -> Pod:
    """The pod as it is on its node."""
    pod = decision.pod
    return msgspec.structs.replace(
        pod,
        spec=msgspec.structs.replace(pod.spec, node_name=decision.node),
        status=msgspec.structs.replace(pod.status, start_time=start),
    )
