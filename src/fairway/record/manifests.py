"""Objects as a run keeps them, read back.

In: texts from the tables of a run, which anybody may have written. Out: API objects of the kind that belongs there, or
a `RecordError` that names the run and not much of the text. Called by whatever makes a cluster of a run again.
"""

from __future__ import annotations

from typing import TypeVar

import msgspec

from fairway.model import ApiObject, DecodeError, Node, Pod, decode_object
from fairway.record.errors import RecordError, quoted
from fairway.record.run import Run

__all__ = ["annotations_of", "node_of", "object_of", "pod_of"]

ANNOTATIONS = msgspec.json.Decoder(dict[str, str])
Kind = TypeVar("Kind", Node, Pod)


def node_of(run: Run, manifest: str) -> Node:
    """A row of `nodes`."""
    return _of(run, manifest, Node)


def pod_of(run: Run, manifest: str) -> Pod:
    """A row of `templates`."""
    return _of(run, manifest, Pod)


def object_of(run: Run, manifest: str) -> ApiObject:
    """A row of `objects`."""
    try:
        return decode_object(manifest.encode(), str(run.path))
    except DecodeError as error:
        raise RecordError(f"{run.path} is no run that Fairway wrote: {quoted(error)}") from error


def annotations_of(run: Run, text: str | None) -> dict[str, str]:
    """A cell of the column `annotations` of `pods`."""
    try:
        return ANNOTATIONS.decode(text) if text else {}
    except msgspec.MsgspecError as error:
        raise RecordError(f"{run.path} is no run that Fairway wrote: annotations of a pod are {error}") from error


def _of(run: Run, manifest: str, kind: type[Kind]) -> Kind:
    item = object_of(run, manifest)
    if not isinstance(item, kind):
        raise RecordError(f"{run.path} is no run that Fairway wrote: a {item.kind} where a {kind.__name__} belongs")
    return item
