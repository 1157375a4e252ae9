"""What `sim` and `compare` are told: a scenario, what to change in it, which policies, and where runs are kept.

In: the arguments of the command line. Out: a `Scenario` with the policies among its own, and paths of runs.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from fairway.cli.main import CommandError
from fairway.cli.options.plugins import allow_plugins_option
from fairway.cli.output import narrate

if TYPE_CHECKING:
    from fairway.scenario.scenario import Scenario

__all__ = ["FORMER_NAMES", "change_options", "change_words", "read_scenario", "run_path", "with_policies"]

F = TypeVar("F", bound=Callable[..., Any])
FORMER_NAMES: Final = {"token_normalize_func": lambda name: "policy" if name == "profile" else name}
"""Settings of a command that takes --profile, as --policy was called before, for the same; help does not show it."""

OPTIONS = (
    click.option(
        "--nodes",
        multiple=True,
        type=click.Path(),
        metavar="FILES|N",
        help="Other nodes: files, or so many of the scenario's own.",
    ),
    click.option(
        "--prices",
        type=click.Path(),
        metavar="FILE",
        help="What an hour of a node costs, by its name or instance type: then what a day costs is told.",
    ),
    click.option(
        "--workload",
        multiple=True,
        type=click.Path(),
        metavar="FILES",
        help="Another workload: manifests, SWF, openb CSV.",
    ),
    click.option(
        "--kinds",
        multiple=True,
        type=click.Path(),
        metavar="FILE",
        help="Tables of kinds that make pods, beside Fairway's own.",
    ),
    click.option(
        "--policy",
        "policies",
        multiple=True,
        type=click.Path(),
        metavar="NAME|FILE",
        help="A policy: one of the scenario's, or a KubeSchedulerConfiguration. Several are compared.",
    ),
    click.option("--seed", type=click.IntRange(0, 2**63 - 1), metavar="N", help="Another seed of all chance."),
    click.option("--until", metavar="TIME", help="Stop at that virtual time, such as 12h."),
    click.option("--strict", is_flag=True, help="Input that makes no sense is an error, not skipped."),
    click.option("--plugin-times", is_flag=True, help="Measure what each plugin takes, for status --plugins; slower."),
    allow_plugins_option,
)


def change_options(command: F) -> F:
    """The options that change a scenario."""
    for option in reversed(OPTIONS):
        command = option(command)
    return command


def change_words(changes: Mapping[str, Any]) -> str:
    """The options as they were given, to be shown in a hint; each with a space before it."""
    from fairway.config.plugin_folders import FOLDERS

    words = ["--allow-plugins"] if FOLDERS.allows_all else []
    for name, value in changes.items():
        option = f"--{name.replace('_', '-')}"
        if value is True:
            words.append(option)
        elif isinstance(value, tuple | list):
            words += [word for one in value for word in (option, shlex.quote(str(one)))]
        elif value is not None and value is not False:
            words += [option, shlex.quote(str(value))]
    return "".join(f" {word}" for word in words)


def read_scenario(
    path: str | None,
    *,
    nodes: Sequence[str] = (),
    prices: str | None = None,
    workload: Sequence[str] = (),
    kinds: Sequence[str] = (),
    seed: int | None = None,
    until: str | None = None,
    strict: bool = False,
    plugin_times: bool = False,
) -> Scenario:
    """The scenario as the options want it; without a file, nothing but the options."""
    from fairway.scenario.fields import ScenarioError
    from fairway.scenario.scenario import decode_scenario, load_scenario

    if path is None:
        if not nodes or not workload:
            raise click.UsageError("give a SCENARIO, or both --nodes and --workload")
        plain = {"apiVersion": "fairway.dev/v1alpha1", "kind": "Scenario", "metadata": {"name": "command-line"}}
        scenario = decode_scenario(plain, "the command line")
    else:
        scenario = load_scenario(path)
        for note in scenario.notes:
            narrate(f"note: {path}: {note}")
    count = int(nodes[0]) if len(nodes) == 1 and nodes[0].isascii() and nodes[0].isdigit() else None
    wanted: dict[str, Any] = {
        "nodes": list(nodes) if count is None and nodes else count,
        "prices": prices,
        "workload": list(workload) or None,
        "kinds": list(kinds) or None,
        "seed": seed,
        "until": until,
        "strict": strict or None,
        "plugin_times": plugin_times or None,
    }
    try:
        return scenario.with_overrides(**wanted)
    except ScenarioError as error:
        if not error.source.startswith("--"):
            raise
        raise click.UsageError(str(error)) from error  # about an option, not about a file


def with_policies(scenario: Scenario, wanted: Sequence[str], *, is_run: bool = True) -> tuple[Scenario, list[str]]:
    """The scenario with policies from files among its own, and the names of those wanted.

    What is not going to run is only read: its plugins are not imported.
    """
    from fairway.config.plugin_entry import NamesOnly
    from fairway.plugins.registry import REGISTRY

    registry = REGISTRY if is_run else NamesOnly(REGISTRY)
    names = []
    for text in wanted:
        name = text
        if text not in scenario.policy_names and _is_file(text):
            name = Path(text.removesuffix(".gz")).stem
            if name in scenario.policy_names:
                raise CommandError(
                    f"--policy {text}: there is a policy {name} already", "rename the file, or leave one of them out"
                )
            scenario = _with_policy(scenario, name, str(Path(text).absolute()))
        names.append(name)
    doubles = {name for name in names if names.count(name) > 1}
    if doubles:
        raise click.UsageError(f"--policy {', '.join(sorted(doubles))} is given twice")
    for name in names:
        scenario.configurations(name, registry)  # whatever is wrong is told before anything runs
    return scenario, names


def _is_file(text: str) -> bool:
    return Path(text).is_file() or text.removesuffix(".gz").endswith((".yaml", ".yml", ".json"))


def _with_policy(scenario: Scenario, name: str, config: str) -> Scenario:
    from dataclasses import replace

    import msgspec

    from fairway.scenario.scenario_file import Policy

    policies = {**scenario.spec.policies, name: Policy(config=config)}
    spec = msgspec.structs.replace(scenario.spec, policies=policies)
    return replace(scenario, file=msgspec.structs.replace(scenario.file, spec=spec))


def run_path(save: str, policy: str, seed: int | None) -> str:
    """The file of one of several runs: the name given, with the policy (and the seed) before its suffix."""
    stem, suffix = os.path.splitext(save)  # noqa: PTH122 - the folder stays as it was written
    words = [policy] if seed is None else [policy, f"seed{seed}"]
    return "-".join([stem, *words]) + suffix
