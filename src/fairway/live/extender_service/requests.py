"""What kube-scheduler asks an extender, read with suspicion: anybody may have sent it.

In: the body of a request. Out: the pod, and the nodes or victims it is about; `BadRequest` for whatever makes no sense.
Keys are read in any case, as Go reads them. A field is read as what it should be or not at all: sixteen megabytes of
`[]` are five million lists once they are read as whatever they are. Called by `server`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sized
from contextlib import contextmanager
from typing import Any, TypeVar

import msgspec

from fairway.model import DecodeError, Pod, json_decoder
from fairway.model.nesting import check_nesting

__all__ = ["BadRequest", "read_nodes_request", "read_victims_request"]

T = TypeVar("T")
S = TypeVar("S", bound=Sized)

MAX_POD_BYTES = 3 << 20
"""Of a request to the API server, at most; a pod that came through it is no larger."""

MAX_NODES = 100_000
"""That a request may be about. Kubernetes is made for some thousands; each is looked up while others wait."""


class BadRequest(Exception):  # noqa: N818 - the caller's error
    """A request that makes no sense."""


def read_nodes_request(body: bytes) -> tuple[Pod, list[str], dict[str, msgspec.Raw] | None]:
    """The pod, the nodes' names and, where they were sent, the nodes themselves."""
    with _sense():
        check_nesting(body, "")
        found = _fields(body)
        pod = _pod(found.get("pod"))
        names = _read(found.get("nodenames"), list[str])
        if names is not None:
            return pod, _bounded(names), None
        listed = _read(_fields(found.get("nodes")).get("items"), list[msgspec.Raw]) or []
        items = {_name(item): item for item in _bounded(listed)}
        return pod, list(items), items


def read_victims_request(body: bytes) -> tuple[Pod, dict[str, dict[str, Any]]]:
    """The pod and, by node, the victims by uid, from either form of the request."""
    with _sense():
        check_nesting(body, "")
        asked = _fields(body)
        victims = _read(asked.get("nodenametometavictims"), dict[str, msgspec.Raw])
        victims = victims or _read(asked.get("nodenametovictims"), dict[str, msgspec.Raw]) or {}
        return _pod(asked.get("pod")), {node: _victims(_fields(sent)) for node, sent in _bounded(victims).items()}


@contextmanager
def _sense() -> Iterator[None]:
    """What can not be read in this block is the caller's fault."""
    try:
        yield
    except (DecodeError, msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise BadRequest(str(error) or type(error).__name__) from None


def _read(data: bytes | msgspec.Raw | None, kind: type[T]) -> T | None:
    """What a field says, null if it is not there; what it should not hold is refused before it takes any memory."""
    return None if data is None else msgspec.json.decode(data, type=kind | None)


def _fields(data: bytes | msgspec.Raw | None) -> dict[str, msgspec.Raw]:
    """An object's fields by lower-case name, unread."""
    return {name.lower(): value for name, value in (_read(data, dict[str, msgspec.Raw]) or {}).items()}


def _bounded(nodes: S) -> S:
    if len(nodes) > MAX_NODES:
        raise BadRequest(f"a request about {len(nodes)} nodes; {MAX_NODES} are the most")
    return nodes


def _pod(data: msgspec.Raw | None) -> Pod:
    if data is None or bytes(data) == b"null":
        raise BadRequest("a request without a pod")
    size = memoryview(data).nbytes
    if size > MAX_POD_BYTES:
        raise BadRequest(f"a pod of {size} bytes; the API server has none over {MAX_POD_BYTES}")
    pod: Pod = json_decoder(Pod).decode(data)
    return pod


def _name(node: msgspec.Raw) -> str:
    name = _read(_fields(_fields(node).get("metadata")).get("name"), str)
    if name is None:
        raise BadRequest("a node without a name")
    return name


def _victims(sent: Mapping[str, msgspec.Raw]) -> dict[str, Any]:
    """What kube-scheduler would evict on one node; it sends uids or whole pods."""
    pods = [_fields(pod) for pod in _read(sent.get("pods"), list[msgspec.Raw]) or ()]
    return {
        "Pods": [{"UID": _read(pod.get("uid"), str) or _uid(pod)} for pod in pods],
        "NumPDBViolations": _read(sent.get("numpdbviolations"), int) or 0,
    }


def _uid(pod: Mapping[str, msgspec.Raw]) -> str:
    return _read(_fields(pod.get("metadata")).get("uid"), str) or ""
