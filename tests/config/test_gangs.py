"""What a profile says about pods that belong together, and kube-scheduler's flag that says it for all profiles."""

from typing import Any

import pytest

from fairway.config import ConfigError, decode_configuration, default_configuration
from fairway.config.document import configuration_document
from fairway.config.feature_gates import FeatureGatesError, gangs_of
from fairway.config.gangs import Gangs, complete_gangs, gangs_problems
from fairway.model.duration import Duration
from fairway.plugins.registry import REGISTRY


def file(gangs: Any = None, plugins: dict[str, Any] | None = None) -> dict[str, Any]:
    profile: dict[str, Any] = {"schedulerName": "fairway", "plugins": plugins or {}}
    if gangs is not None:
        profile["fairway"] = {"gangs": gangs}
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [profile],
    }


def test_without_the_key_nothing_is_added() -> None:
    profile = default_configuration(REGISTRY).profiles[0]
    assert profile.gangs is None
    assert not {"GangScheduling", "PodGroupPodsCount", "TopologyPlacementGenerator"} & profile.entries.keys()
    assert (profile.points["permit"], profile.points["placementScore"]) == ((), ())


def test_mode_kube_adds_kube_scheduler_s_plugin() -> None:
    profile = decode_configuration(file({"mode": "kube"}), "test", REGISTRY).profiles[0]
    assert profile.gangs == Gangs(mode="kube", topology=False, workload_preemption=False)
    assert profile.points["permit"] == ("GangScheduling",)
    assert profile.points["preEnqueue"][-1] == "GangScheduling"
    assert profile.points["placementScore"] == ()


def test_with_topology_sets_of_nodes_are_made_and_scored() -> None:
    profile = decode_configuration(file({"mode": "kube", "topology": True}), "test", REGISTRY).profiles[0]
    assert profile.points["placementGenerate"] == ("TopologyPlacementGenerator",)
    assert profile.points["placementScore"] == ("NodeResourcesFit", "PodGroupPodsCount")
    assert profile.placement_weights == {"NodeResourcesFit": 1, "PodGroupPodsCount": 1}


def test_such_a_plugin_can_be_left_out_or_weighted() -> None:
    plugins = {
        "placementScore": {
            "enabled": [{"name": "PodGroupPodsCount", "weight": 5}],
            "disabled": [{"name": "NodeResourcesFit"}],
        }
    }
    profile = decode_configuration(file({"mode": "kube", "topology": True}, plugins), "test", REGISTRY).profiles[0]
    assert profile.points["placementScore"] == ("PodGroupPodsCount",)
    assert profile.placement_weights == {"PodGroupPodsCount": 5}


SHOWN = [
    {"mode": "kube"},
    {"mode": "kube", "topology": True, "workloadPreemption": True},
    {"mode": "coscheduling", "permitWaiting": "5s"},
    {"mode": "pfnet", "prefix": "gang.example.com", "jitter": "1m"},
]


@pytest.mark.parametrize("gangs", SHOWN)
def test_what_is_shown_reads_back_as_the_same(gangs: dict[str, Any]) -> None:
    configuration = decode_configuration(file(gangs), "test", REGISTRY)
    assert decode_configuration(configuration_document(configuration), "again", REGISTRY) == configuration


def test_modes_that_hold_nodes_are_one_plugin_each_which_is_told_the_keys() -> None:
    profile = decode_configuration(file({"mode": "coscheduling", "groupBackoff": "9s"}), "test", REGISTRY).profiles[0]
    assert (profile.points["queueSort"], profile.points["permit"]) == (("Coscheduling",), ("Coscheduling",))
    assert (profile.args["Coscheduling"].group_backoff, profile.args["Coscheduling"].reject_percentage) == (9.0, 10)
    gangs = {"mode": "pfnet", "prefix": "gang.example.com", "timeout": "7s"}
    profile = decode_configuration(file(gangs), "test", REGISTRY).profiles[0]
    assert (profile.points["queueSort"], profile.points["permit"]) == (("PrioritySort",), ("PfnetGang",))
    assert profile.args["PfnetGang"].timeout == 7.0


def test_the_plugin_of_a_mode_is_not_listed_by_hand() -> None:
    plugins = {"multiPoint": {"enabled": [{"name": "Coscheduling"}]}}
    with pytest.raises(ConfigError, match=r"it comes with fairway\.gangs\.mode: coscheduling"):
        decode_configuration(file(None, plugins), "scheduler.yaml", REGISTRY)


def test_profiles_that_share_a_queue_sort_it_alike() -> None:
    document = file({"mode": "coscheduling"})
    document["profiles"].append({"schedulerName": "b", "fairway": {"gangs": {"mode": "coscheduling"}}})
    assert len(decode_configuration(document, "test", REGISTRY).profiles) == 2
    document["profiles"][1]["fairway"]["gangs"]["lastFailureOrder"] = False
    with pytest.raises(ConfigError, match="Coscheduling has other args"):
        decode_configuration(document, "test", REGISTRY)


WRONG: dict[str, tuple[Any, str, str]] = {
    "an unknown mode": ({"mode": "volcano"}, ".mode", "allowed"),
    "an unknown key": ({"backtrack": 3}, ".backtrack", "backtracks"),
    "a key of another mode": (
        {"mode": "kube", "backtracks": 3},
        ".backtracks",
        "is a key of mode fairway; mode kube has",
    ),
    "pfnet without a prefix": ({"mode": "pfnet"}, ".prefix", "missing"),
    "an empty prefix": ({"mode": "kube", "prefix": " "}, ".prefix", "is empty"),
    "a negative number": ({"backtracks": -1}, ".backtracks", "0"),
    "no duration": ({"maxBackoff": 60}, ".maxBackoff", "duration"),
    "a negative duration": ({"mode": "coscheduling", "permitWaiting": "-1s"}, ".permitWaiting", "negative"),
    "more than all": ({"mode": "coscheduling", "rejectPercentage": 101}, ".rejectPercentage", "100"),
}


@pytest.mark.parametrize(("gangs", "field", "words"), WRONG.values(), ids=WRONG.keys())
def test_what_can_not_be_meant_names_the_field(gangs: Any, field: str, words: str) -> None:
    with pytest.raises(ConfigError) as error:
        decode_configuration(file(gangs), "scheduler.yaml", REGISTRY)
    (line,) = [line for line in str(error.value).splitlines() if f"profiles[0].fairway.gangs{field}" in line]
    assert line.startswith("scheduler.yaml: ")
    assert words in line


DEFAULTS: dict[str, dict[str, Any]] = {
    "fairway": {"backtracks": 32, "domains": 16, "max_backoff": Duration(60), "surplus": "bestEffort"},
    "kube": {"topology": False, "workload_preemption": False},
    "coscheduling": {"permit_waiting": Duration(60), "reject_percentage": 10, "last_failure_order": True},
    "pfnet": {"timeout": Duration(30), "timeout_limit": Duration(100), "jitter": Duration(30)},
}


@pytest.mark.parametrize("mode", DEFAULTS)
def test_each_mode_has_its_own_keys_filled_in(mode: Any) -> None:
    gangs = complete_gangs(Gangs(mode=mode, prefix="x"))
    assert list(gangs_problems(gangs, "gangs")) == []
    assert {name: getattr(gangs, name) for name in DEFAULTS[mode]} == DEFAULTS[mode]
    others = {name for other, keys in DEFAULTS.items() if other != mode for name in keys}
    assert {getattr(gangs, name) for name in others} == {None}


# -- the flag ----------------------------------------------------------------------------------------------------------

BOTH = "GenericWorkload=true,GangScheduling=true"
FLAGS: dict[str, Gangs | None] = {
    "": None,
    "GenericWorkload=false": None,
    "OpportunisticBatching=true": None,
    BOTH: Gangs(mode="kube", topology=False, workload_preemption=False),
    f"{BOTH}, TopologyAwareWorkloadScheduling=True": Gangs(mode="kube", topology=True, workload_preemption=False),
    f"{BOTH},WorkloadAwarePreemption=true": Gangs(mode="kube", topology=False, workload_preemption=True),
}


@pytest.mark.parametrize(("flag", "gangs"), FLAGS.items())
def test_the_flag_asks_for_kube_scheduler_s_behaviour(flag: str, gangs: Gangs | None) -> None:
    assert gangs_of(flag) == gangs


BAD_FLAGS = {
    "GangScheduling=true": "GangScheduling=true needs GenericWorkload=true",
    "GenericWorkload=true,WorkloadAwarePreemption=true": "needs GangScheduling=true",
    "GenericWorkload=true": "without GangScheduling=true is not supported",
    "GenericWorkload": "is not NAME=true or NAME=false",
    "GenericWorkload=yes": "is not NAME=true or NAME=false",
    "OpportunisticBatching=false,SchedulerQueueingHints=false": "OpportunisticBatching=false, SchedulerQueueingHints",
    "GangSchedulin=true": "GangScheduling",
}


@pytest.mark.parametrize(("flag", "words"), BAD_FLAGS.items())
def test_a_flag_that_asks_for_what_there_is_not_is_refused(flag: str, words: str) -> None:
    with pytest.raises(FeatureGatesError, match=words):
        gangs_of(flag)


def test_the_flag_is_for_profiles_that_do_not_say_theirs() -> None:
    told = file({"mode": "kube", "topology": True})
    told["profiles"].append({"schedulerName": "other"})
    asked = gangs_of(f"{BOTH},WorkloadAwarePreemption=true")
    first, second = decode_configuration(told, "test", REGISTRY, asked).profiles
    assert first.gangs == Gangs(mode="kube", topology=True, workload_preemption=False)
    assert second.gangs == Gangs(mode="kube", topology=False, workload_preemption=True)
