"""Order-only scenarios: which traces, policies and seeds, and where the data is.

In: a file of kind OrderScenario, its text or its plain values. Out: an `OrderScenario`, whose `data` gives workloads,
whose `profile` gives a policy's configuration, and whose `keys` are the runs. Whatever is wrong is a `ScenarioError`
that names file and field; data that is not there is a `DecodeError` that says where to get it. Called by `compare`,
`sim` and the tests.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import msgspec

from fairway.config import ProfileConfig
from fairway.config.fields import alternatives, kind_problems, shown
from fairway.config.plugin_folders import FOLDERS
from fairway.config.text import parse_text
from fairway.experiments.gpu_policies import POLICIES, policy_config
from fairway.experiments.openb_data import SOURCE, OpenbData, OrderedWorkload
from fairway.experiments.order_file import KIND, OrderFile, OrderSpec
from fairway.experiments.ordered_cluster import RunKey
from fairway.model import DecodeError
from fairway.model.text_file import read_bytes
from fairway.scenario.fields import Problem, ScenarioError, decode_struct
from fairway.scenario.former_words import in_words_of_today
from fairway.scenario.scenario_file import API_VERSION, SchedulerSpec
from fairway.scenario.schedulers import configure, plain_config
from fairway.scenario.text import plain_values
from fairway.trace.openb_lookalike import write_lookalike

__all__ = ["ENVIRONMENT", "OrderScenario", "decode_order_scenario", "is_order_scenario", "load_order_scenario"]

ENVIRONMENT: Final = "FAIRWAY_OPENB"
SCHEDULER: Final = SchedulerSpec()
FORMER_WORDS: Final = {"profiles": "ownPolicies"}


@dataclass(frozen=True)
class OrderScenario:
    """A scenario as it was written."""

    file: OrderFile
    source: str = field(default="<scenario>", compare=False)
    folder: str = field(default="", compare=False)  # where relative paths begin
    notes: tuple[str, ...] = field(default=(), compare=False)  # for whoever wrote the file

    @property
    def spec(self) -> OrderSpec:
        """What the file says."""
        return self.file.spec

    @property
    def name(self) -> str:
        """Its own name, or that of its file."""
        return self.file.metadata.name or Path(self.source).stem

    @property
    def policies(self) -> list[str]:
        """All policies, the known ones first."""
        return [*self.spec.policies, *self.spec.own_policies]

    def keys(self) -> list[RunKey]:
        """Every run, in the order of the file."""
        seeds = range(self.spec.seed, self.spec.seed + self.spec.seeds)
        return [RunKey(trace, policy, seed) for trace in self.spec.traces for policy in self.policies for seed in seeds]

    def path(self, written: str) -> Path:
        """A path of the file."""
        return Path(self.folder, written)

    def data_folder(self) -> Path:
        """Where the trace is; `DecodeError` says where to get it."""
        written = self.spec.data
        if written and self.path(written).is_dir():
            return self.path(written)
        elsewhere = os.environ.get(ENVIRONMENT, "")
        if elsewhere and Path(elsewhere).is_dir():
            return Path(elsewhere)
        tried = [f"{self.path(written)} (spec.data)"] if written else []
        tried += [f"{elsewhere} ({ENVIRONMENT})"] if elsewhere else []
        there = f"not at {' nor at '.join(tried)}" if tried else "and the scenario does not say where it is"
        words = f"name its csv folder with --openb, or in the variable {ENVIRONMENT}; it can be had at {SOURCE}"
        raise DecodeError(f"the openb trace is not here: {there}; {words}", source=self.source)

    def data(self, scratch: Path) -> OpenbData:
        """The trace; a look-alike is written to the folder given."""
        wanted = self.spec.lookalike
        if wanted is None:
            return OpenbData(self.data_folder(), self.spec.nodes)
        write_lookalike(scratch, seed=wanted.seed, num_nodes=wanted.nodes, num_pods=wanted.pods)
        return OpenbData(scratch, self.spec.nodes)

    def workload(self, data: OpenbData, trace: str, seed: int) -> OrderedWorkload:
        """What arrives in a run, and on which nodes."""
        match self.spec.arrivals:
            case "recorded":
                return data.recorded(trace, seed)
            case "drawn":
                return data.drawn(trace, seed, self.spec.load)
        return data.from_file(trace, seed, self.path(self.spec.arrivals))

    def profile(self, policy: str, seed: int = 0) -> ProfileConfig:
        """A policy, ready to run; `seed` is for those that choose by chance."""
        problems: list[Problem] = []
        made = self._configured(policy, problems, seed)
        if made is None or problems:
            raise ScenarioError(self.source, problems)
        return made

    def plain_policy(self, policy: str) -> dict[str, Any]:
        """A policy as a KubeSchedulerConfiguration in plain values."""
        problems: list[Problem] = []
        own = self.spec.own_policies.get(policy)
        config = own.config if own is not None else policy_config(policy)
        plain = plain_config(config, SCHEDULER.name, self.folder, ("", problems))
        if plain is None:
            raise ScenarioError(self.source, problems)
        return plain

    def with_changes(self, **changes: Any) -> OrderScenario:
        """With other fields of the spec; None leaves a field as it is."""
        wanted = {name: value for name, value in changes.items() if value is not None}
        file = msgspec.structs.replace(self.file, spec=msgspec.structs.replace(self.spec, **wanted))
        made = replace(self, file=file)
        problems = list(made.problems())
        if problems:
            raise ScenarioError(self.source, problems)
        return made

    def as_dict(self) -> dict[str, Any]:
        """Plain values, as the file would have them."""
        plain: dict[str, Any] = plain_values(self.file)
        return plain

    def problems(self) -> Iterator[Problem]:
        """Everything that is wrong with a file whose types are right."""
        spec = self.spec
        if spec.lookalike is not None and spec.data:
            yield Problem("spec.lookalike", "there is data already; give one of the two")
        if spec.lookalike is not None and spec.arrivals == "recorded":
            yield Problem("spec.arrivals", "nothing was recorded of a look-alike; allowed: drawn, or a file")
        for name in ("traces", "policies"):
            values = getattr(spec, name)
            twice = sorted({value for value in values if values.count(value) > 1})
            if twice:
                yield Problem(f"spec.{name}", f"{', '.join(twice)} is there twice")
        if not spec.traces:
            yield Problem("spec.traces", "empty; give the name of a pod list or more")
        if not spec.policies and not spec.own_policies:
            yield Problem("spec.policies", f"no policy to run; known ones are {', '.join(POLICIES)}")
        for index, name in enumerate(spec.policies):
            if name not in POLICIES:
                yield Problem(f"spec.policies[{index}]", f"{shown(name)} is unknown{alternatives(name[:60], POLICIES)}")
            elif name in spec.own_policies:
                yield Problem(f'spec.ownPolicies["{name}"]', "there is a policy of this name already; take another")
        for name in spec.own_policies:
            if "/" in name or not name.strip():
                yield Problem(f'spec.ownPolicies["{name}"]', "is no name: it becomes part of a file's name")
            found: list[Problem] = []
            self._configured(name, found)
            yield from found

    def _configured(self, policy: str, problems: list[Problem], seed: int = 0) -> ProfileConfig | None:
        own = self.spec.own_policies.get(policy)
        if own is None and policy not in POLICIES:
            problems.append(Problem("spec.policies", f"{shown(policy)} is unknown"))
            return None
        config = own.config if own is not None else policy_config(policy, seed)
        at = f'spec.ownPolicies["{policy}"].config', problems
        plan = configure(SCHEDULER, config, self.folder, seed, at)
        return None if plan is None else plan.configuration.profiles[0]


def is_order_scenario(path: str | os.PathLike[str]) -> bool:
    """Does the file say that it is one? What cannot be read is not."""
    try:
        data = parse_text(read_bytes(path))
    except (DecodeError, ValueError):
        return False
    return isinstance(data, dict) and data.get("kind") == KIND


def load_order_scenario(path: str | os.PathLike[str]) -> OrderScenario:
    """Read a file, YAML or JSON; relative paths in it begin where it is."""
    source = os.fspath(path)
    try:
        data = parse_text(read_bytes(path))
    except DecodeError as error:
        raise ScenarioError(source, [Problem("", error.problem)]) from error
    except ValueError as error:
        raise ScenarioError(source, [Problem("", str(error))]) from error
    return decode_order_scenario(data, source)


def decode_order_scenario(data: Any, source: str) -> OrderScenario:
    """From plain values; messages say `source`, and relative paths begin at its folder."""
    FOLDERS.offer(source)
    problems = list(kind_problems(data, API_VERSION, KIND))
    data, notes = in_words_of_today(data, FORMER_WORDS, problems)
    file = None if problems else decode_struct(data, OrderFile, "", problems)
    if file is None:
        raise ScenarioError(source, problems)
    folder = os.path.dirname(source)  # noqa: PTH120 - "" for the folder we are in
    made = OrderScenario(file, source, folder, notes)
    problems += made.problems()
    if problems:
        raise ScenarioError(source, problems)
    return made
