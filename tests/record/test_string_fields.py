"""Every text in every object: is it kept in a run as it is, left out, or replaced where nobody shall be named?

`string_fields.txt` says so for each field that holds text, and is what people review: a field that is new in the model
fails here until somebody has decided about it. After a change: `python -m tests.record.test_string_fields`.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import msgspec

from fairway.model import Node, NodeStatus, ObjectMeta, Service
from fairway.model.codec import KINDS
from fairway.model.node import NodeAddress, NodeSystemInfo
from fairway.model.workload import ServiceSpec
from fairway.record.writing.kept import kept
from fairway.record.writing.pseudonyms import Pseudonyms
from fairway.testing import pod

LIST = Path(__file__).with_name("string_fields.txt")
SENTINEL = "acme"

NEVER_KEPT = ("NodeAddress", "NodeSystemInfo")
"""Parts of nodes that no run holds, whatever is in them."""

Fate = Literal["kept", "replaced", "left out"]


def structs() -> list[type[msgspec.Struct]]:
    """Every struct that an API object may hold, by name."""
    found: dict[type[msgspec.Struct], None] = {}
    waiting: list[Any] = list(KINDS.values())
    while waiting:
        kind = waiting.pop()
        if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
            if kind not in found:
                found[kind] = None
                waiting.extend(typing.get_type_hints(kind).values())
        else:
            waiting.extend(typing.get_args(kind))
    return sorted(found, key=lambda kind: kind.__name__)


def texts(kind: Any) -> Iterator[Any]:
    """Values of this type that hold the sentinel: as text, in a list, as a key or under one; none if it has no text."""
    origin, parts = typing.get_origin(kind), typing.get_args(kind)
    if kind is str:
        yield SENTINEL
    elif origin in (typing.Union, types.UnionType):
        yield from next((made for part in parts if (made := list(texts(part)))), ())
    elif origin is tuple and parts and parts[0] is str:
        yield (SENTINEL,)
    elif origin is dict and parts == (str, str):
        yield {SENTINEL: "1"}
        yield {"example.com/key": SENTINEL}
    elif origin is typing.Annotated:
        yield from texts(parts[0])


def made(struct: type[msgspec.Struct], fields: dict[str, Any]) -> msgspec.Struct:
    """A struct with these fields; others are at their default, or nothing in particular."""
    for field in msgspec.structs.fields(struct):
        if field.required and field.name not in fields:
            fields[field.name] = "" if field.type is str else 0
    return struct(**fields)


def fate(kind: type[msgspec.Struct], field: str, value: Any) -> Fate:
    """What becomes of a text in this field on its way into an anonymous run."""
    if kind.__name__ in NEVER_KEPT:
        return "left out"
    left = getattr(Pseudonyms(b"key").thing(kept(made(kind, {field: value}))), field)  # type: ignore[type-var]
    if SENTINEL in str(left):
        return "kept"
    return "replaced" if left else "left out"


def fates() -> list[str]:
    lines = []
    for kind in structs():
        for field, hint in typing.get_type_hints(kind, include_extras=True).items():
            if field not in kind.__struct_fields__:
                continue
            found = dict.fromkeys(fate(kind, field, value) for value in texts(hint))
            if found:
                lines.append(f"{kind.__name__}.{field}: {', '.join(found)}")
    return lines


def test_somebody_has_decided_about_every_text() -> None:
    assert fates() == LIST.read_text().splitlines()


def test_what_names_somebody_is_replaced() -> None:
    listed = dict(line.split(": ") for line in LIST.read_text().splitlines())
    for field in ("ObjectMeta.name", "ObjectMeta.namespace", "ObjectMeta.uid", "PodSpec.node_name", "Container.image"):
        assert listed[field] == "replaced"
    assert listed["ObjectMeta.labels"] == listed["LabelSelector.match_labels"] == "replaced"
    assert listed["ObjectMeta.annotations"] == listed["NodeSpec.provider_id"] == "left out"


def test_some_parts_of_nodes_are_in_no_run() -> None:
    status = NodeStatus(addresses=(NodeAddress(address=SENTINEL),), node_info=NodeSystemInfo(os_image=SENTINEL))
    assert SENTINEL in str(status)
    assert SENTINEL not in str(kept(Node(metadata=ObjectMeta(name="n"), status=status)))


def test_a_service_selects_the_same_pods_under_other_names() -> None:
    names = Pseudonyms()
    service = names.thing(Service(metadata=ObjectMeta(name="web"), spec=ServiceSpec(selector={"app": "shop"})))
    assert service.spec.selector == names.thing(pod("a", labels={"app": "shop"})).metadata.labels


if __name__ == "__main__":
    LIST.write_text("".join(f"{line}\n" for line in fates()))
