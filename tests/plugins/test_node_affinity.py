"""NodeAffinity: what a pod requires of a node, what its profile enforces, what both prefer."""

from __future__ import annotations

from typing import Any

import pytest

from fairway.cluster import Action, Cluster, Nodes, Resource
from fairway.model import (
    Affinity,
    Node,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    Pod,
    PreferredSchedulingTerm,
)
from fairway.model import NodeAffinity as Requirements
from fairway.model.scheduler_args import NodeAffinityArgs
from fairway.plugin import SKIP, Refusal, Restriction
from fairway.plugins.node_affinity import NodeAffinity
from fairway.testing import cluster, node, pod
from fairway.testing.interview import Interview
from tests.plugins.volume_verdicts import OK, helps, verdicts, words

NOT_MATCHED = ("UnschedulableAndUnresolvable", "node(s) didn't match Pod's node affinity/selector")
NOT_ENFORCED = ("UnschedulableAndUnresolvable", "node(s) didn't match scheduler-enforced node affinity")
NODES = (
    node("a", labels={"disk": "ssd", "cores": "8", "arch": "arm"}),
    node("b", labels={"disk": "hdd", "cores": "16"}),
    node("c"),
)


def fields(*requirements: tuple[str, ...]) -> NodeSelectorTerm:
    """A term over the node's name: operator, then values."""
    return NodeSelectorTerm(
        match_fields=tuple(
            NodeSelectorRequirement(key="metadata.name", operator=operator, values=values)
            for operator, *values in requirements
        )
    )


def enforcing(text: str) -> NodeAffinityArgs:
    required = pod(node_affinity=text).spec.affinity
    assert required is not None
    return NodeAffinityArgs(added_affinity=required.node_affinity)


def with_terms(*terms: NodeSelectorTerm) -> Pod:
    required = NodeSelector(node_selector_terms=terms)
    affinity = Affinity(node_affinity=Requirements(required_during_scheduling_ignored_during_execution=required))
    return pod(affinity_=affinity) if False else _with_affinity(affinity)


def _with_affinity(affinity: Affinity) -> Pod:
    import msgspec

    plain = pod()
    return msgspec.structs.replace(plain, spec=msgspec.structs.replace(plain.spec, affinity=affinity))
