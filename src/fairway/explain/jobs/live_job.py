"""A job of a live cluster: its members as the API server has them, judged by a configuration or by mode `fairway`.

In: the objects of a cluster, and a name. Out: a `JobAnswer`, and a note where the members' scheduler is not known;
None if a pod is called so. Called by `fairway why --live`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from fairway.config import Configuration, default_configuration
from fairway.config.gangs import Gangs
from fairway.explain.jobs.job_answer import JobAnswer, job_of_trial
from fairway.explain.jobs.job_explanation import JobPast
from fairway.explain.jobs.job_trial import find_job, know_members
from fairway.explain.manifests import Manifests
from fairway.explain.trial import Trial, read_configuration
from fairway.model import Loaded, Pod
from fairway.plugins.registry import REGISTRY
from fairway.queue import profile_name

__all__ = ["live_job"]


def live_job(
    loaded: Sequence[Loaded], name: str, config: str | None, seed: int, now: float, *, must_be_job: bool = False
) -> tuple[JobAnswer, str] | None:
    """The job called so, as it is now; None if a pod is called so, or nothing at all, unless it must be a job."""
    pods = [one.object for one in loaded if isinstance(one.object, Pod)]
    wanted = name.removeprefix("pod/")
    if not must_be_job and any(wanted in (pod.key, pod.metadata.name) for pod in pods):
        return None
    note = ""
    if config is not None:
        configuration = read_configuration(config)
    else:
        names = dict.fromkeys(profile_name(pod) for pod in pods)
        configuration = _fairway(tuple(names))
        note = "judged by the default plugins in mode fairway; give --config if its scheduler has others"
    trial = Trial(Manifests(loaded, [], []), configuration, seed, now)
    know_members(trial, (pod for pod in pods if not pod.spec.node_name))
    if not must_be_job and find_job(trial, wanted) is None:
        return None
    times = [pod.metadata.creation_timestamp for pod in pods if not pod.spec.node_name and _is_of(pod, wanted, trial)]
    begun = [time.timestamp() for time in times if time is not None]
    return job_of_trial(trial, name, JobPast(now - max(begun) if begun else None)), note


def _is_of(pod: Pod, name: str, trial: Trial) -> bool:
    found = trial.cluster.groups.membership(pod)
    return found is not None and name.removeprefix("job/") in (str(found.key), found.key.name)


def _fairway(names: Sequence[str]) -> Configuration:
    """The defaults under the names of the schedulers that pods ask for: how they are set up is not known."""
    configuration = default_configuration(REGISTRY, Gangs(mode="fairway"))
    (profile,) = configuration.profiles
    return replace(configuration, profiles=tuple(replace(profile, scheduler_name=name) for name in names) or (profile,))
