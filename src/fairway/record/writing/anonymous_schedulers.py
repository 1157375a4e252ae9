"""The schedulers of a run in which nobody is named.

In: a scheduler as a run keeps it, and the run's pseudonyms. Out: the same, deciding the same on objects with other
names: wherever the arguments of a plugin speak of labels as Kubernetes does (`matchExpressions`, `matchLabels`,
`topologyKey`, ...), the labels get the pseudonyms that they have on nodes and pods. Resources and profiles keep their
names; addresses of extenders, the name of the lease and queues of jobs are left out. What else a user's plugin is told
stays as it is: nobody but the plugin knows what it means. Called by `anonymous_rows`.
"""

from __future__ import annotations

from typing import Any, Final

from fairway.record.writing.pseudonyms import Pseudonyms

__all__ = ["anonymous_scheduler"]

LEFT_OUT: Final = ("leaderElection", "clientConnection")


def anonymous_scheduler(scheduler: dict[str, Any], pseudonyms: Pseudonyms) -> dict[str, Any]:
    """One scheduler, in the form of `RecordedScheduler.document`."""
    config = {key: value for key, value in scheduler["config"].items() if key not in LEFT_OUT}
    config["profiles"] = [_profile(profile, pseudonyms) for profile in config.get("profiles") or ()]
    config["extenders"] = [extender | {"urlPrefix": ""} for extender in config.get("extenders") or ()]
    named = {key: value for key, value in scheduler.items() if key != "batch"}  # its queues name accounts and users
    return named | {"config": config}


def _profile(profile: dict[str, Any], pseudonyms: Pseudonyms) -> dict[str, Any]:
    told = profile.get("pluginConfig") or ()
    return profile | {"pluginConfig": [one | {"args": _renamed(one.get("args"), pseudonyms)} for one in told]}


def _renamed(value: Any, pseudonyms: Pseudonyms) -> Any:
    """Plain values with pseudonyms for labels."""
    if isinstance(value, list):
        return [_renamed(part, pseudonyms) for part in value]
    if not isinstance(value, dict):
        return value
    if isinstance(value.get("key"), str) and isinstance(value.get("operator"), str):
        return _requirement(value, pseudonyms)
    if isinstance(value.get("key"), str) and "points" in value:  # a rung of DataLocality's ladder
        return value | {"key": pseudonyms.label_key(value["key"])}
    renamed: dict[str, Any] = {}
    for name, part in value.items():
        if name in ("topologyKey", "requireWithin") and isinstance(part, str):
            renamed[name] = pseudonyms.label_key(part)
        elif name in ("matchLabelKeys", "mismatchLabelKeys") and isinstance(part, list):
            renamed[name] = [pseudonyms.label_key(str(key)) for key in part]
        elif name == "matchLabels" and isinstance(part, dict):
            renamed[name] = {
                pseudonyms.label_key(key): pseudonyms.label_value(key, str(text)) for key, text in part.items()
            }
        else:
            renamed[name] = _renamed(part, pseudonyms)
    return renamed


def _requirement(value: dict[str, Any], pseudonyms: Pseudonyms) -> dict[str, Any]:
    """One of `matchExpressions`, or of `matchFields`, which speak of nodes by name."""
    key = value["key"]
    values = [pseudonyms.label_value(key, str(text)) for text in value.get("values") or ()]
    renamed = {"key": key if key == "metadata.name" else pseudonyms.label_key(key)}
    return value | renamed | ({"values": values} if "values" in value else {})
