"""How bare pods were made, so that they can be made anew: what the server wrote of them, less what it put there itself.

In: lines of the watch of pods (`keep`), of those that no controller makes and that ask for it; and what records have of
pods that ended (`hold`). Out: manifests that a server takes (`text`), each with the uid of the pod in whose place the
new one comes; and why there is none (`why_not`). Kept while such a pod is there, and from then on as long as its job's
record has it. `fairway.live.batch.record_store` writes them down before anything is deleted, `pod_making` makes pods.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Protocol

import msgspec

from fairway.batch.actions import DEADLINE, MADE_FROM
from fairway.batch.wishes import PREFIX
from fairway.live.watches.watch_lines import WatchEvent
from fairway.model import ApiObject, DecodeError, Pod, decode_object
from fairway.model.device_need import GPU_INDEX

__all__ = ["MOST_BYTES", "PodManifests", "former_uid", "manifest_of", "read_manifest"]

MOST_BYTES: Final = 512 * 1024
"""Of all manifests in a record: a server takes objects of some 1.5 MB, and the record has other things in it."""
REQUEUE: Final = f"{PREFIX}requeue"
BY_SERVER: Final = (
    "uid",
    "resourceVersion",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "generateName",
    "generation",
    "managedFields",
    "selfLink",
)
BY_ADMISSION: Final = ("nodeName", "priority", "preemptionPolicy", "overhead", "ephemeralContainers", "serviceAccount")
"""Worked out again for the new pod; a server refuses one that says something else than what it would work out."""
BY_US: Final = (DEADLINE, GPU_INDEX)
TOKEN_VOLUME, TOKEN_PATH = "kube-api-access-", "/var/run/secrets/kubernetes.io/serviceaccount"


class Memberships(Protocol):
    """Who belongs to which group (`fairway.cluster`)."""

    @property
    def reading(self) -> object | None:
        """How groups are read; None: they are not."""

    def membership(self, pod: Pod) -> object | None:
        """The pod's group; None: it is in none."""


class PodManifests:
    """By uid of the pod that was."""

    def __init__(self) -> None:
        self.groups: Memberships | None = None  # what is known of groups: these may say it for their members
        self._lines: dict[str, bytes] = {}  # of pods that are there
        self._held: dict[str, str] = {}  # of pods that records have
        self.may_create = True  # may we make pods?

    def keep(self, verb: str, thing: ApiObject, line: bytes) -> None:
        """A line of the watch."""
        if isinstance(thing, Pod) and thing.metadata.controller is None:
            if verb == "DELETED":
                self._lines.pop(thing.metadata.uid, None)
            elif self._may_come_again(thing):
                self._lines[thing.metadata.uid] = line

    def _may_come_again(self, pod: Pod) -> bool:
        groups = self.groups
        is_member = groups is not None and groups.reading is not None and groups.membership(pod) is not None
        return is_member or self.asks(pod)

    @staticmethod
    def asks(pod: Pod) -> bool:
        """Does it say itself that it shall be made anew?"""
        meta = pod.metadata
        is_bare = meta.controller is None
        return is_bare and meta.annotations.get(REQUEUE, meta.labels.get(REQUEUE)) == "recreate"

    def hold(self, texts: Mapping[str, str]) -> None:
        """A record has these."""
        self._held |= texts

    def text(self, uid: str) -> str | None:
        """The manifest of the pod that comes in that one's place; None: nobody knows it."""
        held = self._held.get(uid)
        if held is None and (line := self._lines.get(uid)) is not None:
            held = manifest_of(bytes(msgspec.json.decode(line, type=WatchEvent[msgspec.Raw]).object), uid)
        return held

    def take(self, pods: Iterable[Pod]) -> dict[str, str]:
        """Those of pods as they come again, by the uid of who was there before; they are held from then on."""
        texts = {uid: text for uid in map(former_uid, pods) if (text := self.text(uid)) is not None}
        self.hold(texts)
        return texts

    def drop(self, uids: Iterable[str]) -> None:
        """No record has these any more."""
        for uid in uids:
            self._held.pop(uid, None)

    def why_not(self, pods: Sequence[Pod]) -> str:
        """Why these pods can not be made anew; "": they can."""
        if not self.may_create:
            return "its pods can not be made anew: the scheduler may not create pods (batch.recreate of its chart)"
        size = 0
        for pod in pods:
            text = self.text(former_uid(pod))
            if text is None:
                return f"its pods can not be made anew: {pod.key} had gone before it was written down how it was made"
            size += len(text.encode())
        if size > MOST_BYTES:
            most = MOST_BYTES // 1024
            return f"its pods can not be made anew: it takes {size // 1024} KiB to say how, and a record has {most} KiB"
        return ""


def former_uid(pod: Pod) -> str:
    """The pod in whose place it comes."""
    return pod.metadata.annotations.get(MADE_FROM, "")


def manifest_of(data: bytes, uid: str) -> str:
    """What to give a server so that it makes such a pod in the place of that one."""
    tree: dict[str, Any] = msgspec.json.decode(data)
    said, wanted = tree["metadata"], tree.get("spec", {})
    annotations = {key: value for key, value in (said.get("annotations") or {}).items() if key not in BY_US}
    metadata = {key: value for key, value in said.items() if key not in BY_SERVER}
    metadata["annotations"] = annotations | {MADE_FROM: uid}
    spec = {key: value for key, value in wanted.items() if key not in BY_ADMISSION}
    tokens = {each["name"] for each in spec.get("volumes") or () if each["name"].startswith(TOKEN_VOLUME)}
    if tokens:
        spec["volumes"] = [each for each in spec["volumes"] if each["name"] not in tokens]
        for kind in ("containers", "initContainers"):
            if spec.get(kind):
                spec[kind] = [_without_tokens(each, tokens) for each in spec[kind]]
    made = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
    return msgspec.json.encode(made, order="sorted").decode()


def _without_tokens(container: dict[str, Any], volumes: set[str]) -> dict[str, Any]:
    mounts = [
        each
        for each in container.get("volumeMounts") or ()
        if each["name"] not in volumes or each["mountPath"] != TOKEN_PATH
    ]
    return container | {"volumeMounts": mounts}


def read_manifest(text: str) -> Pod:
    """The pod as it comes again; `ValueError` for what nobody of ours wrote."""
    try:
        pod = decode_object(text.encode(), "a manifest")
    except DecodeError as error:
        raise ValueError(f"a pod to be made anew: {error}") from error
    if not isinstance(pod, Pod) or not former_uid(pod):
        raise ValueError("a pod to be made anew: it does not say in whose place")
    return pod
