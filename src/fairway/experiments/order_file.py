"""The shape of an order-only scenario: apiVersion fairway.dev/v1alpha1, kind OrderScenario.

Pods arrive one by one, are placed or turned away, and stay: no time, no queue, no second try. Structs with the file's
fields, their defaults and what they mean; `order_scenario` decodes into them, `order_schema` publishes them, and
docs/scenario.md describes them.
"""

# ruff: noqa: RUF012 - msgspec gives each struct an empty dict of its own
from __future__ import annotations

from typing import Annotated, Final, Literal

from msgspec import Meta

from fairway.scenario.scenario_file import Count, Factor, Policy, ScenarioMeta, ScenarioPart

__all__ = ["KIND", "Defragmentation", "Lookalike", "OrderFile", "OrderSpec", "TypicalRule"]

KIND: Final = "OrderScenario"
Percent = Annotated[float, Meta(gt=0, le=100)]


class Lookalike(ScenarioPart, frozen=True, kw_only=True):
    """A small synthetic look-alike of the openb trace, in place of the trace itself."""

    seed: Annotated[int, Meta(ge=0, le=2**63 - 1, description="What it is drawn from.")] = 0
    nodes: Annotated[Count, Meta(description="So many nodes.")] = 60
    pods: Annotated[Count, Meta(description="So many pods in each list.")] = 400


class TypicalRule(ScenarioPart, frozen=True, kw_only=True):
    """Which pods fragmentation is measured by: the most frequent shapes of the list."""

    threshold: Annotated[Percent, Meta(description="Shapes are taken until they hold this percentage of the pods.")] = (
        95.0
    )
    step: Annotated[Count, Meta(description="So many shapes are taken at a time.")] = 1


class Defragmentation(ScenarioPart, frozen=True, kw_only=True):
    """After the last arrival: evict pods whose leaving reduces fragmentation, and place them anew."""

    share: Annotated[float, Meta(gt=0, le=1, description="At most this share of the placed pods.")] = 0.05
    per_node: Annotated[
        Literal["one", "several"], Meta(description="one: of each node the pod of the largest gain; several: more.")
    ] = "one"


class OrderSpec(ScenarioPart, frozen=True, kw_only=True):
    """Traces, policies and seeds; every combination is one run."""

    data: Annotated[str, Meta(description="The folder of the openb trace. Without: FAIRWAY_OPENB, or --openb.")] = ""
    lookalike: Annotated[Lookalike | None, Meta(description="A synthetic look-alike in place of data.")] = None
    nodes: Annotated[str, Meta(description="The node list in that folder. Without: the one of nodes with GPUs.")] = ""
    traces: Annotated[tuple[str, ...], Meta(description="Pod lists: default is openb_pod_list_default.csv.")] = (
        "default",
    )
    policies: Annotated[tuple[str, ...], Meta(description="Known policies by name.")] = ()
    own_policies: Annotated[dict[str, Policy], Meta(description="Policies of your own, by name.")] = {}
    seed: Annotated[int, Meta(ge=0, le=2**63 - 1, description="The first seed.")] = 42
    seeds: Annotated[Count, Meta(description="So many seeds, counted up from the first.")] = 1
    arrivals: Annotated[
        str,
        Meta(
            description="drawn: shuffled and copied from the seed. recorded: as in the published runs. Otherwise a "
            "file of arrivals: pods by name or number, a column seedN for each seed, or a single column."
        ),
    ] = "drawn"
    load: Annotated[Factor, Meta(description="drawn: pods arrive until they ask for so many times the GPUs.")] = 1.3
    typical_pods: Annotated[TypicalRule, Meta(description="What fragmentation is measured by.")] = TypicalRule()
    defragment: Annotated[Defragmentation | None, Meta(description="Evict and place anew at the end.")] = None
    expected: Annotated[str, Meta(description="A folder of published results to show beside ours.")] = ""


class OrderFile(ScenarioPart, frozen=True, kw_only=True):
    """An order-only scenario for `fairway compare`."""

    api_version: Annotated[Literal["fairway.dev/v1alpha1"], Meta(description="The version of this format.")]
    kind: Annotated[Literal["OrderScenario"], Meta(description="What this file is.")]
    metadata: Annotated[ScenarioMeta, Meta(description="What it is called.")] = ScenarioMeta()
    spec: Annotated[OrderSpec, Meta(description="What it is.")] = OrderSpec()
