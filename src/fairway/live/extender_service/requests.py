"""What kube-scheduler asks an extender, read with suspicion: anybody may have sent it.

In: the body of a request. Out: the pod, and the nodes or victims it is about; `BadRequest` for whatever makes no sense.
Keys are read in any case, as Go reads them. Called by `server`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import msgspec

from fairway.cycle import ExtenderError
from fairway.live.extenders.wire import any_case, read_json
from fairway.model import Pod
from fairway.model.codec import convert

__all__ = ["BadRequest", "read_nodes_request", "read_victims_request"]

MAX_POD_BYTES = 3 << 20
"""Of a request to the API server, at most; a pod that came through it is no larger."""


class BadRequest(Exception):  # noqa: N818 - the caller's error
    """A request that makes no sense."""


class ProposedVictims(msgspec.Struct):
    """What kube-scheduler would evict on one node: uids or whole pods."""

    pods: list[dict[str, Any]] = []
    num_pdb_violations: int = msgspec.field(default=0, name="numpdbviolations")


def read_nodes_request(body: bytes) -> tuple[Pod, list[str], dict[str, Any] | None]:
    """The pod, the nodes' names and, where they were sent, the nodes themselves."""
    with _sense():
        found = any_case(read_json(body))
        pod = _pod(found.get("pod"))
        if found.get("nodenames") is not None:
            return pod, msgspec.convert(found["nodenames"], list[str]), None
        listed = msgspec.convert(any_case(found.get("nodes")).get("items") or [], list[dict[str, Any]])
        items = {msgspec.convert(any_case(any_case(item).get("metadata")).get("name"), str): item for item in listed}
        return pod, list(items), items


def read_victims_request(body: bytes) -> tuple[Pod, dict[str, dict[str, Any]]]:
    """The pod and, by node, the victims by uid, from either form of the request."""
    with _sense():
        asked = any_case(read_json(body))
        found = asked.get("nodenametometavictims") or asked.get("nodenametovictims") or {}
        victims = {
            node: msgspec.convert(
                {name: value for name, value in any_case(fields).items() if value is not None}, ProposedVictims
            )
            for node, fields in msgspec.convert(found, dict[str, dict[str, Any]]).items()
        }
        candidates = {
            node: {
                "Pods": [{"UID": _uid(any_case(pod))} for pod in each.pods],
                "NumPDBViolations": each.num_pdb_violations,
            }
            for node, each in victims.items()
        }
        return _pod(asked.get("pod")), candidates


@contextmanager
def _sense() -> Iterator[None]:
    """What can not be read in this block is the caller's fault."""
    try:
        yield
    except (ExtenderError, msgspec.ValidationError, ValueError, RecursionError) as error:
        raise BadRequest(str(error) or type(error).__name__) from None


def _pod(found: Any) -> Pod:
    if not isinstance(found, dict):
        raise BadRequest("a request without a pod")
    size = len(msgspec.json.encode(found))
    if size > MAX_POD_BYTES:
        raise BadRequest(f"a pod of {size} bytes; the API server has none over {MAX_POD_BYTES}")
    return convert(found, Pod)


def _uid(victim: Mapping[str, Any]) -> str:
    return str(victim.get("uid") or any_case(victim.get("metadata")).get("uid", ""))
