"""What is done before a pod is bound: a plugin's `Preparation`, for the world that carries it out.

In: what `Profile.pre_bind` collected. Out: for the worlds, which write and wait each in its own way, the questions that
both have: is it done, in which words has it failed, and whom does an event concern. As in kube-scheduler, plugins have
their turns in order, each to its end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from fairway.model import ApiObject, PersistentVolume
from fairway.model.codec import object_name
from fairway.plugin import Preparation, Refusal

__all__ = ["PreBind", "names_of"]


class PreBind(NamedTuple):
    """One plugin's part."""

    plugin: str
    preparation: Preparation  # as it was when the pod was let go
    ask: Callable[[], Preparation | Refusal | None]

    def at_its_turn(self) -> PreBind | str:
        """The same after others before it, which may have taken their time: as the plugin wants it now, or why not."""
        answer = self.ask()
        if isinstance(answer, Refusal):
            return self.error(", ".join(answer.reasons))
        return self if answer is None else self._replace(preparation=answer)

    def error(self, words: str) -> str:
        """The words about an attempt that failed here."""
        return f'running PreBind plugin "{self.plugin}": {words}'

    @property
    def too_late(self) -> str:
        """The words when time is up."""
        doing = self.preparation.doing
        return self.error(f"{doing}: context deadline exceeded" if doing else "context deadline exceeded")

    def progress(self, versions: Sequence[int]) -> bool | str:
        """Is it done, now that its writes led to these versions? Otherwise, if it never will be, why."""
        until = self.preparation.until
        if until is None:
            return True
        try:
            answer = until(versions)
        except Exception as error:  # noqa: BLE001 - a user's code may fail in any way
            return self.error(f"plugin {self.plugin}: until() raised {type(error).__name__}: {error}")
        return answer if isinstance(answer, bool) else self.error(", ".join(answer.reasons))


def names_of(thing: ApiObject) -> tuple[str, ...]:
    """What an event about an object is news of: the object, and for a volume also the claim it is for."""
    if isinstance(thing, PersistentVolume) and (claim := thing.spec.claim_ref) is not None:
        return object_name(thing), f"PersistentVolumeClaim {claim.namespace}/{claim.name}"
    return (object_name(thing),)
