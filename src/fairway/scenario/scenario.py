"""Scenario files: a cluster, a workload, schedulers and what goes wrong, for `simulate` to run.

In: a file, its text, or its plain values. Out: a `Scenario`, which gives the parts that run: `configurations`,
`workload`, `faults`, `kubelet_settings`, `record_options`. `complete` fills in everything that was left open, so that
its YAML runs identically from anywhere. Whatever is wrong is a `ScenarioError` that names file and field. Called by
the command line, the library's `simulate` and the tests.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from fairway.config.fields import kind_problems
from fairway.config.plugin_entry import Registry
from fairway.config.plugin_folders import FOLDERS
from fairway.config.text import parse_text
from fairway.model import DecodeError, Node, Pod
from fairway.model.text_file import Progress, read_bytes
from fairway.plugins.registry import REGISTRY
from fairway.record import RecordOptions
from fairway.scenario.batch_files import with_files
from fairway.scenario.batch_orders import planned_orders, unknown_jobs
from fairway.scenario.batch_section import (
    BatchSection,
    batch_problems,
    batch_settings,
    merged_batch,
    served,
)
from fairway.scenario.checks import policy_problem, scenario_problems
from fairway.scenario.data_changes import plan_data_changes, read_ladder
from fairway.scenario.defragmentations import defragmentations
from fairway.scenario.faults import draw_faults
from fairway.scenario.fields import Problem, ScenarioError, decode_struct
from fairway.scenario.former_words import in_words_of_today
from fairway.scenario.overrides import Overrides, overridden
from fairway.scenario.paths import with_absolute_paths
from fairway.scenario.scenario_file import API_VERSION, KIND, Config, ScenarioFile, ScenarioSpec, SchedulerSpec
from fairway.scenario.schedulers import configure, plain_config, scheduler_seed
from fairway.scenario.schema import json_schema
from fairway.scenario.text import plain_values, yaml_text
from fairway.scenario.typical_workload import typical_of
from fairway.scenario.workload import build_workload
from fairway.sim.batch_orders import BatchOrder
from fairway.sim.controllers import ControllerSettings
from fairway.sim.data_changes import DataChange
from fairway.sim.kubelets import KubeletSettings
from fairway.sim.simulation import Fault, Plan, SchedulerPlan
from fairway.trace import Workload

__all__ = [
    "Scenario",
    "ScenarioError",
    "complete",
    "decode_scenario",
    "json_schema",
    "load_scenario",
    "to_yaml",
]

DEFAULT_POLICY = "default"
FORMER_WORDS = {"profiles": "policies"}


@dataclass(frozen=True)
class Scenario:
    """A scenario as it was written; two are equal if they say the same."""

    file: ScenarioFile
    source: str = field(default="<scenario>", compare=False)  # what messages call it
    folder: str = field(default="", compare=False)  # where relative paths begin
    notes: tuple[str, ...] = field(default=(), compare=False)  # for whoever wrote the file

    @property
    def spec(self) -> ScenarioSpec:
        """What the file says."""
        return self.file.spec

    @property
    def name(self) -> str:
        """Its own name, or that of its file."""
        return self.file.metadata.name or _stem(self.source)

    @property
    def seed(self) -> int:
        """What everything that is left to chance follows from."""
        return self.spec.seed

    @property
    def end(self) -> float | None:
        """When the simulation stops, in seconds; None: when nothing is left to do."""
        return None if self.spec.end is None else float(self.spec.end)

    @property
    def policy_names(self) -> list[str]:
        """The policies one can choose: `default`, then those of the file in their order."""
        return list(dict.fromkeys((DEFAULT_POLICY, *self.spec.policies)))

    @property
    def kubelet_settings(self) -> KubeletSettings:
        """How fast kubelets are."""
        times = self.spec.kubelet
        return KubeletSettings(**{name: float(getattr(times, name)) for name in times.__struct_fields__})

    @property
    def controller_settings(self) -> ControllerSettings:
        """How fast controllers are, and what they make."""
        wanted = self.spec.controllers
        return ControllerSettings(
            reconcile_latency=float(wanted.reconcile_latency),
            provision_latency=float(wanted.provision_latency),
            pod_groups=wanted.pod_groups,
        )

    @property
    def record_options(self) -> RecordOptions:
        """What the run file keeps."""
        wanted = self.spec.record
        return RecordOptions(**{name: getattr(wanted, name) for name in wanted.__struct_fields__})

    def plan(
        self, policy: str | None = None, progress: Progress | None = None, workload: Workload | None = None
    ) -> Plan:
        """Everything that a `Simulation` runs, with this policy; `progress` hears of the reading, if none is given."""
        schedulers = self.configurations(policy)  # first: what is wrong here is told before long files are read
        workload = self.workload(progress) if workload is None else workload
        nodes = self._nodes_of(workload)
        section = self.batch(policy)
        return Plan(
            nodes=workload.nodes,
            objects=workload.objects,
            arrivals=workload.arrivals,
            schedulers=schedulers,
            faults=self.faults(nodes),
            defragmentations=defragmentations(self.spec),
            data_changes=self.data_changes(workload),
            orders=self.orders(section, workload),
            read_ladder=read_ladder(self.spec),
            kubelet=self.kubelet_settings,
            controllers=self.controller_settings,
            seed=self.seed,
            end=self.end,
            typical_pods=typical_of(workload, nodes),
        )

    def configurations(self, policy: str | None = None, registry: Registry = REGISTRY) -> list[SchedulerPlan]:
        """Every scheduler, ready to run; the first one has this policy, or its own configuration."""
        problems: list[Problem] = []
        made = []
        batch = batch_settings(self.batch(policy))
        for index, scheduler in enumerate(self.spec.schedulers):
            config, path = self._config(index, policy)
            seed = scheduler_seed(self.seed, index)
            made.append(configure(scheduler, config, self.folder, seed, (path, problems), registry))
        if problems:
            raise ScenarioError(self.source, problems)
        return [replace(each, batch=served(batch, each)) for each in made if each is not None]

    def batch(self, policy: str | None = None) -> BatchSection | None:
        """Queues of jobs, as this policy has them."""
        chosen = self.spec.policies.get(policy or "")
        problems: list[Problem] = []
        changes = {} if chosen is None else chosen.batch
        section = self.spec.batch
        if section is not None and section.files:
            section = with_files(section, self.folder, "spec.batch", problems)
            problems += batch_problems(section, "spec.batch")
        if not problems:
            section = merged_batch(section, changes, f'spec.policies["{policy}"].batch', problems)
        if problems:
            raise ScenarioError(self.source, problems)
        return section

    def orders(self, section: BatchSection | None, workload: Workload) -> list[BatchOrder]:
        """What operators and owners say of the jobs of this workload, in order of time."""
        if section is None or not section.orders:
            return []
        problems = list(unknown_jobs(section.orders, workload, "spec.batch.orders"))
        if problems:
            raise ScenarioError(self.source, problems)
        return planned_orders(section.orders, section.queues, section.accounts)

    def _config(self, index: int, policy: str | None) -> tuple[Config | None, str]:
        """The config of a scheduler, and the field it comes from."""
        policies = self.spec.policies
        if index == 0 and policy is not None:
            if policy in policies:
                return policies[policy].config, f'spec.policies["{policy}"].config'
            if policy != DEFAULT_POLICY:
                raise ScenarioError(self.source, [policy_problem(self.spec, policy, "spec.policies")])
        return self.spec.schedulers[index].config, f"spec.schedulers[{index}].config"

    def workload(self, progress: Progress | None = None) -> Workload:
        """The nodes, what is there at the start, and what arrives; `progress` hears parts that add up to 1."""
        return build_workload(self.spec, self.name, self.source, self.folder, progress)

    def faults(self, nodes: Sequence[Node] | None = None) -> list[Fault]:
        """What happens to these nodes (without: those of the workload), in order of time."""
        if not self.spec.faults and not self.spec.random_faults:
            return []
        nodes = self._nodes_of(self.workload()) if nodes is None else nodes
        problems: list[Problem] = []
        drawn = draw_faults(self.spec, nodes, problems)
        if problems:
            raise ScenarioError(self.source, problems)
        return drawn

    def data_changes(self, workload: Workload | None = None) -> list[DataChange]:
        """What happens to copies of datasets, in order of time."""
        if not self.spec.data_changes:
            return []
        workload = self.workload() if workload is None else workload
        cluster = self.spec.cluster
        may_come = (
            cluster.files
            or any(group.joins for group in cluster.nodes)
            or any(source.files for source in self.spec.workloads)
        )
        late = [arrival.object for arrival in workload.arrivals if may_come and not isinstance(arrival.object, Pod)]
        nodes = [*workload.nodes, *(thing for thing in late if isinstance(thing, Node))]
        problems: list[Problem] = []
        planned = plan_data_changes(self.spec, nodes, [*workload.objects, *late], problems)
        if problems:
            raise ScenarioError(self.source, problems)
        return planned

    def _nodes_of(self, workload: Workload) -> list[Node]:
        """The nodes at the start, and those that join; only generated nodes and manifests can."""
        cluster = self.spec.cluster
        if not (self.spec.faults or self.spec.random_faults):
            return workload.nodes
        may_join = any(group.joins for group in cluster.nodes) or cluster.files
        late = (arrival.object for arrival in workload.arrivals) if may_join else ()
        return [*workload.nodes, *(thing for thing in late if isinstance(thing, Node))]

    def generator(self, purpose: str) -> np.random.Generator:
        """Chance for one purpose: the same for the same seed, whatever other purposes draw."""
        return np.random.default_rng((zlib.crc32(purpose.encode()), self.seed))

    def with_overrides(self, **wanted: Any) -> Scenario:
        """With other nodes, workload, policy, seed, until or strict; see `Overrides` for what each may be."""
        if wanted.get("policy") is not None:
            config, _ = self._config(0, wanted["policy"])
            first = msgspec.structs.replace(self.spec.schedulers[0], config=config)
            wanted["schedulers"] = (first, *self.spec.schedulers[1:])
        batch = self.batch(wanted.get("policy"))
        file = overridden(self.file, Overrides(**wanted))
        if batch is not self.spec.batch:
            file = msgspec.structs.replace(file, spec=msgspec.structs.replace(file.spec, batch=batch))
        problems = list(scenario_problems(file))
        if problems:
            raise ScenarioError(self.source, problems)
        return replace(self, file=file)

    def as_dict(self) -> dict[str, Any]:
        """Plain values, as the file would have them; `decode_scenario` reads them back."""
        plain: dict[str, Any] = plain_values(self.file)
        return plain


def load_scenario(path: str | os.PathLike[str]) -> Scenario:
    """Read a file, YAML or JSON, plain or gzip; relative paths in it begin where it is."""
    source = os.fspath(path)
    try:
        text = read_bytes(path)
    except (DecodeError, ValueError) as error:
        reason = error.problem if isinstance(error, DecodeError) else f"cannot be read: {error}"
        raise ScenarioError(source, [Problem("", reason)]) from error
    return decode_scenario(text, source)


def decode_scenario(data: Any, source: str) -> Scenario:
    """From text (bytes) or plain values; messages say `source`, and relative paths begin at its folder."""
    if isinstance(data, bytes):
        try:
            data = parse_text(data)
        except ValueError as error:
            raise ScenarioError(source, [Problem("", str(error))]) from error
    if isinstance(data, dict) and data.get("kind") == "OrderScenario":
        raise ScenarioError(source, [Problem("kind", "an OrderScenario has no time to simulate; use fairway compare")])
    FOLDERS.offer(source)
    problems = list(kind_problems(data, API_VERSION, KIND))
    data, notes = in_words_of_today(data, FORMER_WORDS, problems)
    file = None if problems else decode_struct(data, ScenarioFile, "", problems)
    if file is not None:
        problems += scenario_problems(file)
    if problems or file is None:
        raise ScenarioError(source, problems)
    return Scenario(file, source, os.path.dirname(source), notes)  # noqa: PTH120 - "" for the folder we are in


def complete(scenario: Scenario) -> Scenario:
    """The scenario with a name, absolute paths, and every config written in place."""
    problems: list[Problem] = []
    spec = scenario.spec

    def written(scheduler: SchedulerSpec, config: Config | None, path: str) -> Config | None:
        return plain_config(config, scheduler.name, scenario.folder, (path, problems))

    schedulers = tuple(
        msgspec.structs.replace(each, config=written(each, each.config, f"spec.schedulers[{index}].config"))
        for index, each in enumerate(spec.schedulers)
    )
    policies = {
        name: msgspec.structs.replace(
            policy, config=written(spec.schedulers[0], policy.config, f'spec.policies["{name}"].config')
        )
        for name, policy in spec.policies.items()
    }
    if problems:
        raise ScenarioError(scenario.source, problems)
    batch = scenario.batch()  # what its files say is written in place
    spec = msgspec.structs.replace(
        with_absolute_paths(spec, scenario.folder), schedulers=schedulers, policies=policies, batch=batch
    )
    metadata = msgspec.structs.replace(scenario.file.metadata, name=scenario.name)
    return replace(scenario, file=msgspec.structs.replace(scenario.file, metadata=metadata, spec=spec))


def to_yaml(scenario: Scenario) -> str:
    """A file that reads back as this scenario; of a completed one, a file that runs identically."""
    return yaml_text(scenario.as_dict())


def _stem(source: str) -> str:
    name = Path(source).name
    return name.removesuffix(".gz").rsplit(".", 1)[0] or name
