"""Jobs that belong together: one start for several, and some after others."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from fairway.cluster import Event, Verb
from fairway.cycle.groups.group_decision import GroupOutcome
from fairway.gangs.connections import MOST_STEPS
from fairway.model import Pod
from fairway.scheduler import Scheduler
from fairway.testing import node, pod
from tests.containers import num_calls, sizes
from tests.test_group_scheduling import configuration
from tests.test_job_scheduling import attempt, scheduler, words
from tests.test_scheduler import SmallWorld, world_of


def job(name: str, number: int, to: str = "", mode: str = "", namespace: str = "default", **settings: Any) -> list[Pod]:
    said = {"fairway.dev/gang": name, "fairway.dev/gang-size": str(number)}
    if to:
        said["fairway.dev/connect-to"] = to
    if mode:
        said["fairway.dev/connect-mode"] = mode
    return [pod(f"{name}-{index}", namespace=namespace, annotations=said, cpu=1, **settings) for index in range(number)]


def finish(made: Scheduler, pods: list[Pod], phase: str, on: str = "n") -> None:
    for each in pods:
        ended = msgspec.structs.replace(
            each,
            spec=msgspec.structs.replace(each.spec, node_name=on),
            status=msgspec.structs.replace(each.status, phase=phase),
        )
        made.observe(Event(Verb.MODIFIED, ended))


# -- together ----------------------------------------------------------------------------------------------------------


def test_jobs_that_belong_together_wait_for_each_other_and_start_in_one_step() -> None:
    made = scheduler(node("n", cpu=5), *job("a", 2, to="b"))
    assert words(made, "a-0") == "Dependency: no job default/b"
    second = job("b", 3)
    for each in second[:2]:
        made.observe(Event(Verb.ADDED, each))
    assert words(made, "a-0") == (
        "Dependency: job default/b, with which job default/a starts, is incomplete: 2 of 3 members are ready"
    )
    assert made.step() is None
    made.observe(Event(Verb.ADDED, second[2]))
    attempt(made)
    assert len(world_of(made).bindings) == 5
    assert made.step() is None
    assert len(made.queue.groups) == 0


def test_if_one_of_them_does_not_fit_nobody_starts_and_room_for_it_helps_all() -> None:
    made = scheduler(node("n", cpu=4), *job("b", 3), *job("a", 2, to="b"))
    decision = attempt(made)
    assert decision.outcome is GroupOutcome.UNSCHEDULABLE
    assert world_of(made).bindings == []
    assert len(made.cluster.pods) == 0
    assert made.step() is None
    made.observe(Event(Verb.ADDED, node("m", cpu=1)))
    attempt(made)
    assert len(world_of(made).bindings) == 5


def test_what_was_named_first_waits_for_who_names_it() -> None:
    """Nobody knows that `b` belongs to `a` until `a` is there; from then on they are one."""
    made = scheduler(*job("b", 2), *job("a", 2, to="b"))
    made.observe(Event(Verb.ADDED, node("n", cpu=3)))
    made.run_until_idle()
    assert world_of(made).bindings == []


def test_a_job_that_runs_already_counts_as_there() -> None:
    made = scheduler(node("n", cpu=5), *job("b", 2))
    made.run_until_idle()
    for each in job("a", 2, to="b"):
        made.observe(Event(Verb.ADDED, each))
    assert attempt(made).outcome is GroupOutcome.SCHEDULED


def test_across_namespaces_both_have_to_say_so() -> None:
    made = scheduler(node("n", cpu=5), *job("a", 2, to="ml/b"), *job("b", 2, namespace="ml"))
    assert words(made, "a-0") == "Dependency: job ml/b does not name job default/a in turn"
    made = scheduler(node("n", cpu=5), *job("a", 2, to="ml/b"), *job("b", 2, to="default/a", namespace="ml"))
    attempt(made)
    assert len(world_of(made).bindings) == 4


def test_many_jobs_are_one_over_others() -> None:
    made = scheduler(node("n", cpu=9), *job("a", 2, to="b"), *job("b", 2, to="c"), *job("c", 2))
    attempt(made)
    assert len(world_of(made).bindings) == 6


def test_the_widest_goes_first_where_the_order_matters() -> None:
    small = job("a", 4, to="b")
    big = [
        msgspec.structs.replace(
            each, spec=msgspec.structs.replace(each.spec, containers=pod("x", cpu=4).spec.containers)
        )
        for each in job("b", 2)
    ]
    made = scheduler(node("n", cpu=4), node("m", cpu=4), node("o", cpu=4), *small, *big)
    attempt(made)
    assert len(world_of(made).bindings) == 6


def test_room_is_made_for_jobs_that_start_together_and_kept_for_both() -> None:
    running = [pod(f"p{index}", node="n", cpu=2) for index in range(2)]
    made = scheduler(node("n", cpu=4), *running, *job("a", 2, to="b", priority=10), *job("b", 2, priority=10))
    assert attempt(made).outcome is GroupOutcome.PREEMPTING
    assert sorted(name for name, _ in world_of(made).evictions) == ["p0", "p1"]
    assert len(made.cluster.nominations) == 4
    made.observe(Event(Verb.ADDED, pod("intruder", cpu=1)))
    made.run_until_idle()
    assert sorted(name for name, _ in world_of(made).bindings) == ["a-0", "a-1", "b-0", "b-1"]
    assert len(made.cluster.nominations) == 0


def test_room_that_is_kept_too_long_for_jobs_that_start_together_is_given_up_for_all() -> None:
    class Slow(SmallWorld):
        def evict(self, victim: Pod, preemptor: Pod) -> None:
            self.evictions.append((victim.metadata.name, preemptor.metadata.name))

    world = Slow()
    made = Scheduler(configuration({"earmark": "30s"}), world, tie_break="first")
    world.scheduler = made
    for thing in (
        node("n", cpu=4),
        pod("v", node="n", cpu=4),
        *job("a", 2, to="b", priority=9),
        *job("b", 2, priority=9),
    ):
        made.observe(Event(Verb.ADDED, thing))
    attempt(made)
    assert [made.next_wakeup(), len(made.cluster.nominations)] == [30, 4]
    world.advance(30)
    attempt(made)  # looked at once more, and room is asked for anew
    assert len(world.evictions) == 2
    assert len(made.cluster.nominations) == 4


def test_too_many_jobs_are_too_many() -> None:
    chain = [each for index in range(17) for each in job(f"j{index}", 2, to=f"j{index + 1}")]
    made = scheduler(node("n", cpu=99), *chain, *job("j17", 2))
    assert words(made, "j0-0") == "Misconfigured: job default/j0: more than 16 jobs would start together"


def test_a_job_that_names_itself_is_told() -> None:
    made = scheduler(*job("a", 2, to="a"))
    assert words(made, "a-0") == "Misconfigured: job default/a: fairway.dev/connect-to: names itself"


# -- one after the other -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mode", "after_start", "after_failure", "after_success"),
    [("after-started", True, True, True), ("after-any", False, True, True), ("after-ok", False, False, True)],
)
def test_a_job_waits_until_another_has_got_so_far(
    mode: str, after_start: bool, after_failure: bool, after_success: bool
) -> None:
    for phase, expected in (("Running", after_start), ("Failed", after_failure), ("Succeeded", after_success)):
        first = job("a", 2)
        made = scheduler(node("n", cpu=9), *job("b", 2, to="a", mode=mode))
        assert words(made, "b-0") == "Dependency: no job default/a"
        for each in first:
            made.observe(Event(Verb.ADDED, each))
        assert words(made, "b-0").startswith("Dependency: job default/b waits for job default/a to ")
        made.run_until_idle()
        finish(made, first, phase)
        made.run_until_idle()
        assert (("b-0", "n") in world_of(made).bindings) is expected, phase


def test_a_failed_job_before_it_is_named() -> None:
    first = job("a", 2)
    made = scheduler(node("n", cpu=9), *first, *job("b", 2, to="a", mode="after-ok"))
    made.run_until_idle()
    finish(made, first, "Failed")
    assert words(made, "b-0") == (
        "Dependency: job default/a has failed, and job default/b starts only when it has ended well"
    )


def test_jobs_that_wait_for_each_other_in_a_circle_are_told_the_circle() -> None:
    made = scheduler(
        node("n", cpu=9),
        *job("a", 2, to="b", mode="after-ok"),
        *job("b", 2, to="c", mode="after-any"),
        *job("c", 2, to="a", mode="after-started"),
    )
    assert words(made, "a-0") == (
        "Misconfigured: job default/a: fairway.dev/connect-to: a cycle: default/a after default/b after default/c "
        "after default/a"
    )
    assert words(made, "c-0").startswith("Misconfigured: job default/c")
    assert made.step() is None
    for each in job("c", 2):
        made.observe(Event(Verb.MODIFIED, each))
    made.run_until_idle()
    assert ("c-0", "n") in world_of(made).bindings
    assert words(made, "a-0") == "Dependency: job default/a waits for job default/b to end well"


# -- near --------------------------------------------------------------------------------------------------------------


def test_a_job_that_wants_to_be_near_another_is() -> None:
    racks = [node(f"n{index}", cpu=8, labels={"fairway.dev/rack": f"r{index // 2}"}) for index in range(4)]
    made = scheduler(*racks)
    profile = made.profiles["default-scheduler"]
    for each in job("data", 2, node_selector={"kubernetes.io/hostname": "n3"}):
        made.observe(Event(Verb.ADDED, each))
    made.run_until_idle()
    assert "NearJob" not in [plugin.name for plugin in profile.plugins]  # who does not ask does not pay
    for each in job("b", 2, to="data", mode="near"):
        made.observe(Event(Verb.ADDED, each))
    assert "NearJob" in [plugin.name for plugin in profile.scores]
    attempt(made)
    assert {on for name, on in world_of(made).bindings if name.startswith("b-")} <= {"n2", "n3"}


def test_near_never_blocks() -> None:
    made = scheduler(node("n", cpu=2), *job("b", 2, to="nobody", mode="near"))
    assert attempt(made).outcome is GroupOutcome.SCHEDULED


@pytest.mark.parametrize("is_forward", [True, False], ids=["names who comes later", "names who came before"])
@pytest.mark.parametrize("mode", ["after-ok", "after-started", "together"])
def test_long_chains_cost_what_they_say(mode: str, is_forward: bool) -> None:
    """Anybody may make one: what each job looks at, and what is noted of it, does not grow with the chain."""
    made = scheduler(node("n", cpu=99))
    for number in range(200):
        other = number + 1 if is_forward else number - 1
        for one in job(f"j{number}", 1, to=f"j{other}", mode=mode):
            made.observe(Event(Verb.ADDED, one))
    assert made.jobs is not None
    noted = sizes(made)["Connections._named"]
    assert 200 <= noted <= 200 * (MOST_STEPS + 2)
    assert words(made, "j100-0").startswith(("Dependency:", "Misconfigured:"))


@pytest.mark.parametrize("mode", ["after-ok", "after-started", "together"])
def test_a_job_of_many_members_that_many_speak_of_costs_what_they_say(mode: str) -> None:
    """Anybody may make one: what a member of it costs does not grow with the jobs that wait for it."""

    def calls_of_members(num_jobs: int) -> int:
        made = scheduler(node("n", cpu=99))
        for number in range(num_jobs):
            for each in job(f"j{number}", 1, to="hub", mode=mode):
                made.observe(Event(Verb.ADDED, each))
        first, *others = job("hub", 50)[:40]
        made.observe(Event(Verb.ADDED, first))

        def come() -> None:
            for each in others:
                made.observe(Event(Verb.ADDED, each))

        return num_calls(come)

    assert calls_of_members(120) < 1.2 * calls_of_members(30)


def test_a_cycle_of_many_jobs_is_written_out() -> None:
    ring = [each for index in range(20) for each in job(f"j{index}", 1, to=f"j{(index + 1) % 20}", mode="after-any")]
    made = scheduler(node("n", cpu=99), *ring)
    way = " after ".join(f"default/j{index % 20}" for index in range(21))
    assert words(made, "j0-0") == f"Misconfigured: job default/j0: fairway.dev/connect-to: a cycle: {way}"
