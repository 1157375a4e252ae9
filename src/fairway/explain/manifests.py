"""What a trial is about: the objects of the cluster, and everything that wants pods.

In: decoded objects and `Wanted`s (from `manifest_files`). Out: `Manifests`: the objects as an API server would hand
them out, checked as it would check them, and the pods on demand. Wrong input is a `DecodeError` that names file,
object and field, in terms of what the user wrote: of the template, not of the pod made from it. Called by `trial`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import msgspec

from fairway.explain.workloads.inputs import BinderFactory, ClaimBinder
from fairway.kinds.controllers import Wanted
from fairway.kinds.not_counted import NotCounted
from fairway.model import (
    ApiObject,
    DecodeError,
    Loaded,
    Node,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    PriorityClass,
    Source,
    StorageClass,
    UserError,
    default_objects,
    object_name,
)
from fairway.model.owned import ephemeral_claims
from fairway.model.validate import validate_objects

if TYPE_CHECKING:
    from fairway.explain.workloads.rollout import Rollout
    from fairway.explain.workloads.staged_rollout import StagedRollout

__all__ = ["Manifests"]

SHOWN_PROBLEMS = 20


class Manifests:
    """The cluster and the pods to place on it."""

    def __init__(
        self,
        objects: Sequence[Loaded],
        wanted: Sequence[Wanted],
        notes: Sequence[str],
        *,
        not_counted: Sequence[NotCounted] = (),
        rollouts: Sequence[Rollout | StagedRollout] = (),
        claim_binder: BinderFactory | None = None,
    ) -> None:
        self.wanted = list(wanted)
        self.notes = list(notes)  # what the user should know about the files
        self.not_counted = tuple(not_counted)  # what may make pods that are not among these
        self.rollouts = tuple(rollouts)  # what replaces the pods that it has
        self._classes = [one for one in objects if isinstance(one.object, PriorityClass | StorageClass)]
        extra = [Loaded(thing, one.source) for one in wanted for thing in one.objects]
        complete = default_objects([*objects, *extra])
        self._check(complete)
        self.names: dict[str, Source] = {}  # of the objects, and the uids of pods: where each was found
        self.objects = [_registered(one, self.names) for one in complete]
        self._make_binder = claim_binder
        has_storage = any(isinstance(thing, PersistentVolume | PersistentVolumeClaim) for thing in self.objects)
        if has_storage and self._binder is not None:
            self.objects = self._binder.settle(self.objects)

    @cached_property
    def _binder(self) -> ClaimBinder | None:
        return None if self._make_binder is None else self._make_binder(self.objects)

    @property
    def num_nodes(self) -> int:
        """How many nodes there are."""
        return sum(isinstance(thing, Node) for thing in self.objects)

    def pods_of(
        self, wanted: Wanted, indices: Iterable[int], names: dict[str, Source]
    ) -> Iterator[tuple[Pod, list[ApiObject]]]:
        """Pods as the API server would store them, each with the claims made along with it.

        `names` are those in use, to which these are added.
        """
        for index in indices:
            *claims, last = self._made(wanted, index)
            try:
                pod = _registered(last, names)
            except DecodeError as error:
                raise _translated(error, wanted) from error
            assert isinstance(pod, Pod)
            claims += self._completed([Loaded(claim, wanted.source) for claim in ephemeral_claims(pod)])
            made = [one.object for one in claims if object_name(one.object) not in names]
            yield pod, self._binder.settle_claims(made) if made and self._binder is not None else made

    def _check(self, complete: Sequence[Loaded]) -> None:
        """Refuse what an API server would refuse; of equal pods, one is looked at."""
        titles = {object_name(thing): one.title for one in self.wanted for thing in one.objects}
        found = [_entitled(error, titles) for error in validate_objects(complete)]
        for wanted in self.wanted:
            if wanted.num_pods:
                found += [_translated(error, wanted) for error in validate_objects(self._made(wanted, 0))]
        problems = list({str(error): error for error in found}.values())
        if len(problems) == 1:
            raise problems[0]
        if problems:
            lines = [f"{len(problems)} problems", *map(str, problems[:SHOWN_PROBLEMS])]
            if len(problems) > SHOWN_PROBLEMS:
                lines.append(f"... and {len(problems) - SHOWN_PROBLEMS} more")
            raise UserError("\n".join(lines), "correct the fields named above and run the command again")

    def _made(self, wanted: Wanted, index: int) -> list[Loaded]:
        """The claims made for a pod, then the pod, all completed."""
        pod, claims = wanted.make(index)
        things: tuple[ApiObject, ...] = (*claims, pod)
        try:
            return self._completed([Loaded(thing, wanted.source) for thing in things])
        except DecodeError as error:
            raise _translated(error, wanted) from error

    def _completed(self, loaded: Sequence[Loaded]) -> list[Loaded]:
        return default_objects([*self._classes, *loaded])[len(self._classes) :] if loaded else []


def _registered(one: Loaded, names: dict[str, Source]) -> ApiObject:
    """The object; a pod gets a uid, which files seldom give and the cluster needs."""
    thing, subject = one.object, object_name(one.object)
    if not isinstance(thing, Pod):
        names[subject] = one.source
        return thing
    uid = thing.metadata.uid or thing.key
    for name, field in ((subject, "metadata.name"), (uid, "metadata.uid")):
        if name in names:
            problem = f"is there twice; first in {names[name]}"
            raise DecodeError(problem, source=one.source, subject=subject, field=field)
        names[name] = one.source
    return msgspec.structs.replace(thing, metadata=msgspec.structs.replace(thing.metadata, uid=uid))


def _entitled(error: DecodeError, titles: Mapping[str, str]) -> DecodeError:
    """Of what a controller would make, such as a Deployment's ReplicaSet: the same problem, as the controller's."""
    title = titles.get(error.subject, error.subject)
    return DecodeError(error.problem, source=error.source, subject=title, field=error.field)


def _translated(error: DecodeError, wanted: Wanted) -> DecodeError:
    """The same problem, as one of the object that the user wrote."""
    if wanted.kind == "Pod":
        return error
    problem, field = error.problem, error.field
    if field.startswith("metadata.name"):
        problem = f"its pod {error.subject.removeprefix('Pod ')} {problem}"
    elif error.subject.startswith("Pod "):
        field = f"{wanted.path}{field}"
    else:
        field = f"spec.volumeClaimTemplates.{field}"
    return DecodeError(problem, source=error.source, subject=wanted.title, field=field)
