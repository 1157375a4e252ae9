"""What users' plugins want done before a pod is bound, in the simulated world."""

from __future__ import annotations

from typing import Any

import pytest

from fairway.model import Node, Pod
from fairway.sim.scheduler_settings import SchedulerSettings
from fairway.sim.simulation import Plan, SchedulerPlan, Simulation
from fairway.testing import node, pod
from fairway.trace.workload import Arrival
from tests.sim.diary import Diary, configuration
from tests.user_plugins import LICENSED

MARK, LICENCE = "tests.user_plugins:Mark", "tests.user_plugins:Licence"
PREFIX = f'running PreBind plugin "{LICENCE}": '


def play(label: str, wanted: Pod, *plugins: str, at: float = 20, end: float = 100) -> tuple[Simulation, Diary]:
    """A pod arrives at 10 s, and node a gets a label at 20 s."""
    diary = Diary()
    plans = [SchedulerPlan("default-scheduler", configuration("default-scheduler", *plugins))]
    simulation = Simulation(Plan([node("a", cpu=4)], [], [Arrival(10, wanted)], plans, end=end), diary)

    def give() -> None:
        simulation.api.update(node("a", cpu=4, labels={"licence": label}))

    simulation.timeline.at(at, give)
    simulation.run()
    return simulation, diary


def there(simulation: Simulation, kind: str, namespace: str, name: str) -> Any:
    found = simulation.api.find(kind, namespace, name)
    assert isinstance(found, Pod | Node)
    return found


def failures(diary: Diary) -> list[tuple[float, str]]:
    return [(time, message) for time, _, reason, message in diary.events if reason == "BindingFailed"]


def test_a_pod_is_bound_when_what_it_waits_for_has_happened() -> None:
    simulation, diary = play("gold", pod("p", labels={"licence": "gold"}), LICENCE)
    assert diary.tried("p") == [10]
    assert diary.of("p")[0] == (20, "bound to a")
    assert there(simulation, "Pod", "default", "p").metadata.annotations[LICENSED] == "gold"


def test_plugins_have_their_turns_and_nobody_else_is_held_up() -> None:
    simulation, diary = play("gold", pod("p", labels={"licence": "gold"}), LICENCE, MARK)
    assert diary.of("p")[0] == (20, "bound to a")
    assert there(simulation, "Node", "", "a").metadata.labels["for"] == "p"
    _, diary = play("gold", pod("p"), LICENCE, MARK)
    assert diary.of("p")[0] == (10, "bound to a")


@pytest.mark.parametrize(
    ("wanted", "failed"),
    [
        pytest.param("silver", (20, f"{PREFIX}silver is denied"), id="denied"),
        pytest.param("bronze", (40, f"{PREFIX}waiting for a licence: context deadline exceeded"), id="too late"),
        pytest.param(
            "broken", (10, f"{PREFIX}plugin {LICENCE}: until() raised OSError: the licence server is away"), id="broken"
        ),
    ],
)
def test_a_preparation_that_fails_gives_the_room_back(wanted: str, failed: tuple[float, str]) -> None:
    simulation, diary = play("no-silver", pod("p", cpu=4, labels={"licence": wanted}), LICENCE, end=40.5)
    assert failures(diary)[0] == failed
    assert there(simulation, "Pod", "default", "p").spec.node_name == ""


def test_a_pod_that_was_written_on_before_its_binding_failed_is_tried_as_it_is_now() -> None:
    # The first attempt annotates the pod; the second, which patches the newer version, is no conflict.
    _, diary = play("no-silver", pod("p", labels={"licence": "silver"}), LICENCE, end=30)
    assert {message for _, message in failures(diary)} == {f"{PREFIX}silver is denied"}
    assert len(failures(diary)) > 1


def test_a_refusal_fails_the_attempt_which_is_made_again_after_a_backoff() -> None:
    simulation, diary = play("gold", pod("p", labels={"licence": "unknown"}), LICENCE)
    assert failures(diary) == []
    assert diary.attempts[0] == (10, "p", "ERROR")
    assert len(diary.attempts) > 2
    assert len(simulation.schedulers[0].scheduler.cluster.pods) == 0


def test_an_object_that_changed_meanwhile_is_a_conflict_and_the_next_attempt_knows_better() -> None:
    # With a late view, Mark names a version of the node that is no longer the newest when it is written.
    late = SchedulerSettings(view_delay=5)
    diary = Diary()
    plans = [SchedulerPlan("default-scheduler", configuration("default-scheduler", MARK), late)]
    simulation = Simulation(Plan([node("a", cpu=4)], [], [Arrival(10, pod("p"))], plans, end=100), diary)
    simulation.timeline.at(13, lambda: simulation.api.update(node("a", cpu=4, labels={"other": "label"})) and None)
    simulation.run()
    time, message = failures(diary)[0]
    assert (time, message) == (
        15,
        f'running PreBind plugin "{MARK}": Operation cannot be fulfilled on nodes "a": the object has been modified; '
        "please apply your changes to the latest version and try again",
    )
    assert diary.of("p")[0][1] == "bound to a"
    assert there(simulation, "Node", "", "a").metadata.labels["for"] == "p"
