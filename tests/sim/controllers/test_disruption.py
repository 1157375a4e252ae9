"""Disruption budgets: what they allow, as pods come, run and go."""

from typing import Any

import msgspec
import pytest

from fairway.model import (
    Deployment,
    Job,
    LabelSelector,
    LabelSelectorRequirement,
    ObjectMeta,
    PodDisruptionBudget,
    PodDisruptionBudgetSpec,
    ReplicaSet,
    ReplicaSetSpec,
    StatefulSet,
    StatefulSetSpec,
)
from fairway.model.controllers import DeploymentSpec, JobSpec
from fairway.sim.eviction import evict
from fairway.testing import node, pod
from tests.sim.controllers.world import LABELS, World, template

SELECTOR = LabelSelector(match_labels=LABELS)


def meta(name: str) -> ObjectMeta:
    return ObjectMeta(name=name, namespace="default")


def budget(name: str = "budget", selector: LabelSelector | None = SELECTOR, **spec: Any) -> PodDisruptionBudget:
    return PodDisruptionBudget(metadata=meta(name), spec=PodDisruptionBudgetSpec(selector=selector, **spec))


def deployment(replicas: int, name: str = "web") -> Deployment:
    return Deployment(
        metadata=meta(name), spec=DeploymentSpec(replicas=replicas, selector=SELECTOR, template=template())
    )


def status(world: World, name: str = "budget") -> tuple[int, int, int, int]:
    """Expected, healthy, desired, allowed."""
    found = world.api.find("PodDisruptionBudget", "default", name)
    assert isinstance(found, PodDisruptionBudget)
    said = found.status
    return said.expected_pods, said.current_healthy, said.desired_healthy, said.disruptions_allowed


@pytest.mark.parametrize(
    ("spec", "replicas", "expected"),
    [
        pytest.param({"min_available": 2}, 5, (5, 5, 2, 3), id="at least two"),
        pytest.param({"min_available": 7}, 5, (5, 5, 7, 0), id="more than there are"),
        pytest.param({"min_available": "50%"}, 5, (5, 5, 3, 2), id="a share is rounded up"),
        pytest.param({"min_available": "100%"}, 5, (5, 5, 5, 0), id="all"),
        pytest.param({"min_available": "0%"}, 5, (5, 5, 0, 5), id="none"),
        pytest.param({"max_unavailable": 1}, 5, (5, 5, 4, 1), id="one may be away"),
        pytest.param({"max_unavailable": 9}, 5, (5, 5, 0, 5), id="more than all may be away"),
        pytest.param({"max_unavailable": "30%"}, 5, (5, 5, 3, 2), id="a share away is rounded up too"),
        pytest.param({}, 5, (0, 5, 0, 0), id="nothing said, nothing allowed"),
        pytest.param({"max_unavailable": 1}, 0, (0, 0, 0, 0), id="no pods, nothing allowed"),
    ],
)
def test_what_is_allowed(spec: dict[str, Any], replicas: int, expected: tuple[int, int, int, int]) -> None:
    world = World()
    world.create(budget(**spec))
    world.create(deployment(replicas))
    world.run(10)
    assert status(world) == expected


def test_a_budget_counts_pods_that_were_there_before_it() -> None:
    world = World()
    world.create(deployment(3))
    world.run(10)
    world.create(budget(max_unavailable=1))
    world.run(11)
    assert status(world) == (3, 3, 2, 1)


def test_pods_count_when_they_run_and_until_somebody_asks_for_their_end() -> None:
    world = World()
    world.create(budget(min_available=1))
    world.create(deployment(2))
    world.run(0.5)
    assert status(world) == (2, 0, 1, 0)
    world.run(1)
    assert status(world) == (2, 2, 1, 1)
    world.api.delete(world.pods[0])
    world.run(1)
    assert status(world) == (3, 1, 1, 0)  # the one that goes, the one that stays, and its replacement
    world.run(10)
    assert status(world) == (2, 2, 1, 1)


def test_the_scale_is_that_of_the_owner_not_the_number_of_pods() -> None:
    world = World(nodes=(node("n", pods=2),))
    world.create(budget(max_unavailable="50%"))
    world.create(ReplicaSet(metadata=meta("set"), spec=ReplicaSetSpec(replicas=2, template=template())))
    world.run(5)
    assert status(world) == (2, 2, 1, 1)
    found = world.api.find("ReplicaSet", "default", "set")
    assert isinstance(found, ReplicaSet)
    world.binds = False
    world.change(found, replicas=8)
    world.run(6)
    assert status(world) == (8, 2, 4, 0)


def test_owners_add_up() -> None:
    world = World()
    world.create(budget(max_unavailable=2))
    world.create(deployment(3))
    world.create(ReplicaSet(metadata=meta("set"), spec=ReplicaSetSpec(replicas=2, template=template())))
    world.create(
        StatefulSet(
            metadata=meta("db"),
            spec=StatefulSetSpec(replicas=1, template=template(), pod_management_policy="Parallel"),
        )
    )
    world.run(10)
    assert status(world) == (6, 6, 4, 2)


def test_pods_that_nobody_owns_count_only_where_numbers_are_absolute() -> None:
    world = World()
    for number in range(3):
        world.create(pod(f"own-{number}", labels=LABELS))
    world.create(budget("absolute", min_available=1))
    world.create(budget("relative", max_unavailable=1))
    world.run(10)
    assert status(world, "absolute") == (3, 3, 1, 2)
    assert status(world, "relative") == (0, 3, 0, 0)


def test_owners_without_a_scale_allow_nothing_and_it_is_said_once() -> None:
    world = World()
    world.create(budget(max_unavailable=1))
    pods = template(duration="300")
    world.create(Job(metadata=meta("job"), spec=JobSpec(parallelism=3, completions=3, template=pods)))
    world.run(10)
    assert status(world)[3] == 0
    message = "jobs.batch does not implement the scale subresource"
    told = [words for words in world.reports if words[0] == "PodDisruptionBudget"]
    assert told == [("PodDisruptionBudget", "default/budget", "CalculateExpectedPodCountFailed", message)]


@pytest.mark.parametrize(
    ("selector", "allowed"),
    [
        pytest.param(None, 0, id="no selector selects nothing"),
        pytest.param(LabelSelector(), 1, id="an empty one selects everything"),
        pytest.param(LabelSelector(match_labels={"app": "other"}), 0, id="others"),
    ],
)
def test_selectors(selector: LabelSelector | None, allowed: int) -> None:
    world = World()
    world.create(budget(selector=selector, min_available=2))
    world.create(deployment(3))
    world.run(10)
    assert status(world)[3] == allowed


def test_a_selector_that_makes_no_sense_selects_nothing() -> None:
    world = World()
    line = LabelSelectorRequirement(key="app", operator="Like", values=("web",))
    world.create(budget(selector=LabelSelector(match_expressions=(line,)), min_available=1))
    world.create(deployment(3))
    world.run(10)
    assert status(world)[3] == 0
    assert [words[2] for words in world.reports] == ["NoPods"]


def test_a_changed_budget_is_reckoned_anew() -> None:
    world = World()
    made = world.create(budget(min_available=1))
    world.create(deployment(3))
    world.run(10)
    world.change(made, min_available=3)
    world.run(11)
    assert status(world) == (3, 3, 3, 0)
    world.change(made, selector=LabelSelector(match_labels={"app": "other"}))
    world.run(12)
    assert status(world) == (0, 0, 3, 0)


def test_a_deleted_budget_is_forgotten() -> None:
    world = World()
    made = world.create(budget(min_available=1))
    world.create(deployment(3))
    world.run(10)
    world.api.remove(made)
    world.api.delete(world.pods[0])
    world.run(20)
    assert world.api.objects("PodDisruptionBudget") == []


def test_a_pod_whose_labels_change_leaves_the_budget() -> None:
    world = World()
    world.create(budget(min_available=1))
    for number in range(2):
        world.create(pod(f"own-{number}", labels=LABELS))
    world.run(10)
    first = world.pods[0]
    world.api.update(
        msgspec.structs.replace(first, metadata=msgspec.structs.replace(first.metadata, labels={"app": "other"}))
    )
    world.run(11)
    assert status(world) == (1, 1, 1, 0)


# -- the eviction API ------------------------------------------------------------------------------------------------


def test_each_eviction_spends_one_disruption_at_once() -> None:
    world = World()
    world.create(budget(min_available=2))
    world.create(deployment(3))
    world.run(10)
    first, second, _ = world.pods
    assert evict(world.api, first) == ""
    refusal = evict(world.api, second)
    assert refusal.startswith("Cannot evict pod as it would violate the pod's disruption budget.")
    world.run(10)
    again = evict(world.api, second)
    assert again.endswith("The disruption budget budget needs 2 healthy pods and has 2 currently")
    world.run(12)
    assert evict(world.api, second) == ""  # the replacement of the first runs


def test_an_evicted_pod_says_so() -> None:
    world = World()
    world.create(deployment(1))
    world.run(10)
    (only,) = world.pods
    assert evict(world.api, only) == ""
    going = world.api.pod(only.metadata.uid)
    assert going is not None
    assert [(one.type, one.reason) for one in going.status.conditions] == [
        ("DisruptionTarget", "EvictionByEvictionAPI")
    ]


def test_pods_that_do_not_run_may_always_go() -> None:
    world = World(binds=False)
    world.create(budget(min_available=3))
    world.create(deployment(3))
    world.run(10)
    assert evict(world.api, world.pods[0]) == ""


def test_two_budgets_for_one_pod_are_one_too_many() -> None:
    world = World()
    world.create(budget("one", min_available=1))
    world.create(budget("two", min_available=1))
    world.create(deployment(3))
    world.run(10)
    assert "more than one PodDisruptionBudget" in evict(world.api, world.pods[0])
    assert status(world, "one")[3] == 2


def test_an_eviction_that_never_came_to_pass_is_forgotten_after_two_minutes() -> None:
    world = World()
    world.create(deployment(3))
    made = budget(min_available=1)
    world.run(10)
    stuck = {world.pods[0].metadata.name: world.api.calendar()}
    world.create(msgspec.structs.replace(made, status=msgspec.structs.replace(made.status, disrupted_pods=stuck)))
    world.run(20)
    assert status(world) == (3, 2, 1, 1)
    world.run(140)
    assert status(world) == (3, 3, 1, 2)
