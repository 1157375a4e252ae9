"""What a plugin asks to be written: an object changed, or a new one.

In: made by plugins, which know no API client. Out: carried out by the world the scheduler works in, the simulated API
server or the real one, in the order in which they were asked for. `merged` is the arithmetic of a merge patch (RFC
7386), for who has no server to do it; `collection_path` is where an API server serves a kind.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fairway.model.codec import ApiObject

__all__ = ["Create", "Patch", "Write", "collection_path", "merged", "patch_of", "plural"]


@dataclass(frozen=True, slots=True)
class Patch:
    """Change an object by a merge patch, as `kubectl patch --type merge` does."""

    kind: str
    name: str
    changes: Mapping[str, Any]  # with the API's own field names; None takes a field away
    namespace: str = ""  # "" for kinds of the whole cluster
    api_version: str = "v1"
    uid: str = ""  # with a uid or a version, it is refused if the object is another by now, or has changed
    version: str = ""
    subresource: str = ""  # such as `status`; "": the object itself

    @property
    def title(self) -> str:
        """What it is, for people."""
        return f"patch {_title(self.kind, self.namespace, self.name)}"

    def document(self) -> dict[str, Any]:
        """The patch as it is sent."""
        conditions = {"uid": self.uid, "resourceVersion": self.version}
        guards = {field: value for field, value in conditions.items() if value}
        return {**self.changes, **({"metadata": {**self.changes.get("metadata", {}), **guards}} if guards else {})}


@dataclass(frozen=True, slots=True)
class Create:
    """Make an object; a manifest, with the API's own field names."""

    manifest: Mapping[str, Any]

    @property
    def title(self) -> str:
        """What it is, for people."""
        return f"create {_title(self.kind, self.namespace, self.name)}"

    @property
    def api_version(self) -> str:
        """Its group and version."""
        return str(self.manifest.get("apiVersion", "v1"))

    @property
    def kind(self) -> str:
        """What it is."""
        return str(self.manifest.get("kind", ""))

    @property
    def namespace(self) -> str:
        """Where it is to be; "" for kinds of the whole cluster."""
        return str(self.manifest.get("metadata", {}).get("namespace", ""))

    @property
    def name(self) -> str:
        """How it is to be called."""
        return str(self.manifest.get("metadata", {}).get("name", ""))


Write = Patch | Create


def _title(kind: str, namespace: str, name: str) -> str:
    return f"{kind} {namespace}/{name}" if namespace else f"{kind} {name}"


def patch_of(thing: ApiObject, changes: Mapping[str, Any], subresource: str = "") -> Patch:
    """A patch of this very version of an object: if it has changed since, that is a failure, not a loss."""
    meta = thing.metadata
    return Patch(
        thing.kind,
        meta.name,
        changes,
        meta.namespace,
        thing.api_version,
        uid=meta.uid,
        version=meta.resource_version,
        subresource=subresource,
    )


def merged(document: Any, patch: Any) -> Any:
    """The document with a merge patch applied; neither is changed."""
    if not isinstance(patch, Mapping):
        return patch
    result = dict(document) if isinstance(document, Mapping) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merged(result.get(key), value)
    return result


def plural(kind: str) -> str:
    """The resource of a kind by Kubernetes' rule of thumb (apimachinery's `UnsafeGuessKindToResource`)."""
    name = kind.lower()
    if name.endswith("s"):
        return f"{name}es"
    return f"{name[:-1]}ies" if name.endswith("y") else f"{name}s"


def collection_path(api_version: str, kind: str, namespace: str = "") -> str:
    """Where an API server serves the objects of a kind."""
    root = f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"
    return f"{root}/namespaces/{namespace}/{plural(kind)}" if namespace else f"{root}/{plural(kind)}"
