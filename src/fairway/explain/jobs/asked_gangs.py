"""Pods that somebody asks about as a gang, whatever they say themselves: `try --gang NAME=MIN`.

In: a trial, and by name of what makes pods how many of them have to start together. Out: the same trial from the
beginning, with its pods as members of a gang of that name, under profiles that treat gangs in mode `fairway` unless
they say how. Called by `fairway try`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import msgspec

from fairway.config import Configuration
from fairway.config.gangs import Gangs, complete_gangs
from fairway.exit_codes import USAGE
from fairway.explain.trial import Trial
from fairway.kinds.controllers import Copy, Wanted
from fairway.model import UserError
from fairway.model.group import COSCHEDULING_LABEL, FAIRWAY
from fairway.record.writing.kept import GROUP_ANNOTATIONS

__all__ = ["with_gangs"]


def with_gangs(trial: Trial, gangs: Mapping[str, int]) -> Trial:
    """Pods of these names start together, so many at least; `UserError` if nothing is called so."""
    again = Trial(trial.manifests, _following(trial.configuration), trial.seed, trial.time)
    again.wanted = list(trial.wanted)
    for name, least in gangs.items():
        places = [
            place
            for place, one in enumerate(again.wanted)
            if name in (one.name, f"{one.namespace}/{one.name}", one.title)
        ]
        if not places:
            known = ", ".join(sorted({one.name for one in trial.wanted})[:10]) or "none"
            raise UserError(
                f"--gang {name}={least}: nothing that makes pods is called {name}", f"there are: {known}", USAGE
            )
        number = sum(again.wanted[place].num_pods for place in places)
        if least > number:
            words = f"--gang {name}={least}: {name} makes {number} pods, fewer than have to start together"
            raise UserError(words, f"ask for {number} or fewer", USAGE)
        for place in places:
            again.wanted[place] = _member(again.wanted[place], again.wanted[place].name, least)
    return again


def _following(configuration: Configuration) -> Configuration:
    profiles = (
        profile if profile.gangs is not None else replace(profile, gangs=complete_gangs(Gangs()))
        for profile in configuration.profiles
    )
    return replace(configuration, profiles=tuple(profiles))


def _member(wanted: Wanted, gang: str, least: int) -> Wanted:
    said = {f"{FAIRWAY}gang": gang, f"{FAIRWAY}gang-min": str(least)}

    def make(index: int) -> Copy:
        pod, claims = wanted.make(index)
        meta = pod.metadata
        others = {name: text for name, text in meta.annotations.items() if name not in GROUP_ANNOTATIONS}
        labels = {name: text for name, text in meta.labels.items() if name != COSCHEDULING_LABEL}
        metadata = msgspec.structs.replace(meta, annotations=others | said, labels=labels)
        spec = msgspec.structs.replace(pod.spec, scheduling_group=None)
        return msgspec.structs.replace(pod, metadata=metadata, spec=spec), claims

    return replace(wanted, make=make)
