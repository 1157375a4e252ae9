"""What travels between a scheduler and its extenders: JSON bodies with Go's field names.

Both ends are here, since Fairway is both: `extenders` writes requests and reads answers,
`fairway.live.extender_service` the other way round. Keys are capitalised, as Go writes structs without tags, and read
in any case, as Go reads them. Pods and nodes inside are ordinary API objects without apiVersion and kind.
kube-scheduler 1.36: k8s.io/kube-scheduler/extender/v1.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

import msgspec

from fairway.cycle import ExtenderError, Filtered, Victims
from fairway.model import DecodeError, Node, Pod
from fairway.model.codec import encode_json
from fairway.model.nesting import check_nesting

__all__ = [
    "RawObjects",
    "any_case",
    "binding_args",
    "filter_answer",
    "filter_args",
    "plain_object",
    "preemption_answer",
    "preemption_args",
    "priorities",
    "read_json",
]

MAX_PRIORITY = 10
"""Extenders score from 0 to this; totals are made of scores up to 100."""


class RawObjects(Protocol):
    """Objects as the API server gave them, with the fields that Fairway has no use for."""

    def raw_pod(self, uid: str) -> bytes | None:
        """The pod's JSON, if it was kept."""

    def raw_node(self, name: str) -> bytes | None:
        """The node's JSON, if it was kept."""


def plain_object(thing: Pod | Node, raw: bytes | None = None) -> dict[str, Any]:
    """An object as extenders get it: no apiVersion, no kind; pods without managedFields."""
    found: dict[str, Any] = msgspec.json.decode(raw if raw is not None else encode_json(thing))
    found.pop("apiVersion", None)
    found.pop("kind", None)
    if isinstance(thing, Pod):
        found.get("metadata", {}).pop("managedFields", None)
    return found


# -- requests ----------------------------------------------------------------------------------------------------------


def filter_args(pod: Pod, nodes: Sequence[Node], names_only: bool, raw: RawObjects | None = None) -> dict[str, Any]:
    """Of filter and prioritize: the nodes by name if the extender knows them, in full otherwise."""
    listed: dict[str, Any] | None = None
    if not names_only:
        kept = (None if raw is None else raw.raw_node(node.metadata.name) for node in nodes)
        items = [plain_object(node, data) for node, data in zip(nodes, kept, strict=True)]
        listed = {"metadata": {}, "items": items}
    return {
        "Pod": _pod(pod, raw),
        "Nodes": listed,
        "NodeNames": [node.metadata.name for node in nodes] if names_only else None,
    }


def preemption_args(
    pod: Pod, victims: Mapping[str, Victims], names_only: bool, raw: RawObjects | None = None
) -> dict[str, Any]:
    """The candidates: victims by uid if the extender knows them, in full otherwise."""

    def listed(pods: Iterable[Pod]) -> list[dict[str, Any]]:
        return [{"UID": each.metadata.uid} if names_only else _pod(each, raw) for each in pods]

    found = {
        node: {"Pods": listed(each.pods), "NumPDBViolations": each.pdb_violations} for node, each in victims.items()
    }
    return {
        "Pod": _pod(pod, raw),
        "NodeNameToVictims": None if names_only else found,
        "NodeNameToMetaVictims": found if names_only else None,
    }


def binding_args(pod: Pod, node: str) -> dict[str, Any]:
    """Who is to be bound where."""
    meta = pod.metadata
    return {"PodName": meta.name, "PodNamespace": meta.namespace, "PodUID": meta.uid, "Node": node}


def _pod(pod: Pod, raw: RawObjects | None) -> dict[str, Any]:
    return plain_object(pod, None if raw is None else raw.raw_pod(pod.metadata.uid))


# -- answers -----------------------------------------------------------------------------------------------------------


def read_json(body: bytes) -> Any:
    """Parse a body; raises `ExtenderError`."""
    try:
        check_nesting(body, "")
        return msgspec.json.decode(body)
    except (DecodeError, msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ExtenderError(f"something that is not JSON: {error}") from None


def any_case(found: Any) -> dict[str, Any]:
    """An object's fields by lower-case name."""
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise ExtenderError(f"something that is not an object but {type(found).__name__}")
    return {key.lower(): value for key, value in found.items()}


def filter_answer(body: bytes, names_only: bool, asked: Sequence[str], url: str) -> Filtered:
    """Read the answer to a filter request."""
    found = any_case(read_json(body))
    if found.get("error"):
        raise ExtenderError(str(found["error"]))
    failed = found.get("failednodes") or {}
    unresolvable = found.get("failedandunresolvablenodes") or {}
    names: tuple[str, ...] = ()
    if names_only and found.get("nodenames") is not None:
        names = tuple(found["nodenames"])
        for name in names:
            if name not in asked:
                words = f'extender "{url}" claims a filtered node "{name}" which is not found in the input node list'
                raise ExtenderError(words)
    elif found.get("nodes") is not None:
        items = any_case(found["nodes"]).get("items") or ()
        names = tuple(item.get("metadata", {}).get("name", "") for item in items)
    return Filtered(names, failed, unresolvable)


def priorities(body: bytes, weight: int) -> dict[str, int]:
    """Read the answer to a prioritize request, on the scale of totals."""
    scores: dict[str, int] = {}
    for entry in read_json(body) or ():
        fields = any_case(entry)
        host, score = fields.get("host", ""), fields.get("score", 0)
        if not isinstance(score, int):
            raise ExtenderError(f"a score that is not an integer: {score!r}")
        scores[host] = scores.get(host, 0) + score * weight * (100 // MAX_PRIORITY)
    return scores


def preemption_answer(body: bytes) -> dict[str, tuple[tuple[str, ...], int]]:
    """Read the answer to a preempt request: by node, victims' uids and violated budgets."""
    found = any_case(read_json(body)).get("nodenametometavictims") or {}
    answer = {}
    for node, victims in found.items():
        fields = any_case(victims)
        uids = tuple(str(any_case(each).get("uid", "")) for each in fields.get("pods") or ())
        answer[node] = (uids, int(fields.get("numpdbviolations") or 0))
    return answer
