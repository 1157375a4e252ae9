"""Worlds in which jobs are tried: a profile of mode `fairway` with nodes, pods and groups.

In: objects, and keys of `gangs`. Out: a `Profile` that decides among equals by name and looks at every node; and
`attempt`, what is decided about members that wait.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from fairway.cluster import Cluster
from fairway.config import PluginEntry, decode_configuration, implemented_points
from fairway.config.gangs import Gangs, complete_gangs
from fairway.cycle import Profile
from fairway.cycle.extender import Extender
from fairway.cycle.groups.group_decision import GroupDecision
from fairway.cycle.groups.job_cycle import decide_job
from fairway.cycle.sampling import TieBreak
from fairway.model import Pod
from fairway.model.group import GroupSpec
from fairway.plugin import Plugin
from fairway.plugins.registry import REGISTRY


def world(
    *objects: Any,
    tie_break: TieBreak = "first",
    plugins: Sequence[str | type[Plugin]] = (),
    extenders: Sequence[Extender] = (),
    seed: int | None = None,
    **gangs: Any,
) -> Profile:
    """`plugins` are enabled besides the default ones; `gangs` are the fields of `Gangs`."""
    kinds = {plugin.name: plugin for plugin in plugins if not isinstance(plugin, str)}
    names = [plugin if isinstance(plugin, str) else plugin.name for plugin in plugins]
    registry = {**REGISTRY, **{name: PluginEntry(kind, implemented_points(kind)) for name, kind in kinds.items()}}
    written: dict[str, Any] = {
        "fairway": {"sampling": "all"},
        "plugins": {"multiPoint": {"enabled": [{"name": name} for name in names]}},
    }
    tree = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration", "profiles": [written]}
    config = decode_configuration(tree, "test", registry).profiles[0]
    cluster = Cluster()
    made = Profile(
        replace(config, gangs=complete_gangs(Gangs(**gangs))),
        cluster,
        tie_break=tie_break,
        extenders=extenders,
        seed=seed,
    )
    cluster.load(objects)
    return made


def attempt(profile: Profile, pods: Sequence[Pod]) -> GroupDecision:
    groups = profile.cluster.groups
    for each in pods:
        groups.observe(each)
    group = groups.of(pods[0].metadata.uid)
    assert group is not None
    spec = groups.spec_of(group)
    assert isinstance(spec, GroupSpec), spec
    return decide_job(profile, group, spec, pods)


def places(decision: GroupDecision) -> dict[str, str]:
    """The node of each member, "" for none."""
    return {each.pod.metadata.name: each.node for each in decision.members}
