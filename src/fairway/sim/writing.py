"""What plugins ask to be written, carried out on the simulated API server.

In: a `Write`. Out: the object, created or changed as a kube-apiserver would, and its version; `ApiError` if it refuses:
no such object, another one of that name, changed since, or not an object of its kind any more. Only kinds that Fairway
reads exist here. Called by the simulated scheduler.
"""

from __future__ import annotations

from typing import Any

import msgspec

from fairway.model import KINDS, kind_title
from fairway.model.codec import convert, to_builtins
from fairway.model.writes import Create, Patch, Write, merged, plural
from fairway.sim.api_server import ApiError, ApiServer, ConflictError, NotFoundError

__all__ = ["carry_out"]


def carry_out(api: ApiServer, write: Write) -> int:
    """Do it; returns the resource version of the object then."""
    kind = KINDS.get((write.api_version, write.kind))
    if kind is None:
        raise ApiError(f"the simulated cluster has no {write.kind or 'kind'} of {write.api_version}")
    if isinstance(write, Create):
        return _version(api.create(_object(write.manifest, kind, write)))
    current = api.find(kind_title(write.api_version, write.kind), write.namespace, write.name)
    if current is None:
        raise NotFoundError(f'{plural(write.kind)} "{write.name}" not found')
    _check(write, current)
    changed = _object(merged(to_builtins(current), write.changes), kind, write)
    return _version(current if changed == current else api.update(changed))


def _check(patch: Patch, current: Any) -> None:
    meta = current.metadata
    if patch.uid not in ("", meta.uid) or patch.version not in ("", meta.resource_version):
        raise ConflictError(
            f'Operation cannot be fulfilled on {plural(patch.kind)} "{patch.name}": the object has been modified; '
            "please apply your changes to the latest version and try again"
        )


def _object(document: Any, kind: Any, write: Write) -> Any:
    try:
        return convert(document, kind)
    except msgspec.ValidationError as error:
        raise ApiError(f'{write.kind} "{write.name}" is invalid: {error}') from error


def _version(thing: Any) -> int:
    return int(thing.metadata.resource_version)
