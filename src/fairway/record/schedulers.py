"""The schedulers of a run, as the run keeps them: whose decisions these are, and what they were told.

In: configurations, as they were decoded and completed, with how fast each scheduler was. Out: `RecordedScheduler`s,
plain values that `RunWriter` writes into `meta` and `Run.schedulers` gives back; `explain` decodes the configuration
again, so that a question about a run needs neither its scenario nor the simulator. Runs of version 1 have no such list:
it is made from the schedulers of their scenario. Used by `scenario.simulate`, `live.recording_file` and `Run`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from fairway.batch.settings import BatchSettings
from fairway.config import Configuration
from fairway.config.config_file import API_VERSION, KIND
from fairway.config.document import configuration_document
from fairway.config.plugin_source import plugin_source
from fairway.model.duration import parse_duration

__all__ = ["RecordedScheduler", "recorded_scheduler", "schedulers_of_meta"]


@dataclass(frozen=True, slots=True)
class RecordedScheduler:
    """One scheduler. Times are in seconds of the run's clock; a live scheduler takes what it takes."""

    name: str
    config: dict[str, Any]  # a whole KubeSchedulerConfiguration, nothing left to default
    decision_latency: float = 0.0  # what one attempt takes
    view_delay: float = 0.0  # how late it hears of anything
    bind_latency: float = 0.0  # from decision to the API server
    plugins: dict[str, dict[str, str]] = field(default_factory=dict)  # those of users, with their `PluginSource`
    batch: dict[str, Any] | None = None  # its queues, as `BatchSettings.document`; None: it has none

    def document(self) -> dict[str, Any]:
        """Plain values."""
        plain = asdict(self)
        if self.batch is None:
            del plain["batch"]
        return plain


def recorded_scheduler(
    name: str,
    configuration: Configuration,
    builtin: Collection[str],
    *,
    decision_latency: float = 0.0,
    view_delay: float = 0.0,
    bind_latency: float = 0.0,
    batch: BatchSettings | None = None,
) -> RecordedScheduler:
    """What a run keeps of a scheduler; plugins that are not `builtin` are kept by name and source."""
    config = configuration_document(configuration)
    config["clientConnection"] |= {"kubeconfig": ""}  # a path of the machine, which decides nothing
    foreign = {
        plugin: entry
        for profile in configuration.profiles
        for plugin, entry in profile.entries.items()
        if plugin not in builtin
    }
    sources = {plugin: plugin_source(plugin, entry)._asdict() for plugin, entry in foreign.items()}
    queues = None if batch is None else batch.document()
    return RecordedScheduler(name, config, decision_latency, view_delay, bind_latency, sources, queues)


def schedulers_of_meta(meta: Mapping[str, Any]) -> list[RecordedScheduler] | None:
    """The schedulers of a run, from its table `meta`; None: it does not say. `ValueError`: it says nonsense."""
    if "schedulers" in meta:
        return [_scheduler(plain) for plain in meta["schedulers"]]
    spec = meta.get("scenario", {}).get("spec")
    written = spec.get("schedulers") if isinstance(spec, dict) else None
    if not isinstance(written, list) or not written:
        return None
    return [_of_scenario(plain) for plain in written]


def _scheduler(plain: Any) -> RecordedScheduler:
    known = RecordedScheduler.__dataclass_fields__
    if not isinstance(plain, dict) or not {"name", "config"} <= plain.keys() <= known.keys():
        raise ValueError("a scheduler without name and config")
    times = [plain.get(name, 0.0) for name in ("decision_latency", "view_delay", "bind_latency")]
    wanted = {"name": str, "config": dict, "plugins": dict, "batch": dict}
    is_wrong = any(not isinstance(plain[key], kind) for key, kind in wanted.items() if key in plain)
    if is_wrong or not all(isinstance(time, int | float) and 0 <= time < 1e9 for time in times):
        raise ValueError("a scheduler whose fields are of another kind")
    return RecordedScheduler(**plain)


def _of_scenario(plain: Any) -> RecordedScheduler:
    """Version 1 kept the completed scenario, whose configurations are written in place and may leave fields out."""
    if not isinstance(plain, dict) or not isinstance(plain.get("config") or {}, dict):
        raise ValueError("a scheduler that is none")
    name = str(plain.get("name", "default-scheduler"))
    config = {"apiVersion": API_VERSION, "kind": KIND, **(plain.get("config") or {})}
    if not config.get("profiles"):
        config["profiles"] = [{"schedulerName": name}]
    decision, view, bind = (_seconds(plain.get(key, 0)) for key in ("decisionLatency", "viewDelay", "bindLatency"))
    return RecordedScheduler(name, config, decision, view, bind)


def _seconds(text: Any) -> float:
    """`500ms`, `1h30m`, or a number of seconds."""
    return float(text) if isinstance(text, int | float) else float(parse_duration(str(text)))
