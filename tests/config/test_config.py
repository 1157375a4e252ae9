import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from fairway.config.config_file import API_VERSION, KIND
from fairway.config.configuration import (
    ConfigError,
    Configuration,
    decode_configuration,
    default_configuration,
    load_configuration,
)
from fairway.model.duration import Duration
from fairway.plugins.default_preemption import DefaultPreemptionArgs
from fairway.plugins.node_resources_fit_args import NodeResourcesFitArgs
from tests.cycle.plugin_registry import DEFAULT_POINTS, REGISTRY

DEFAULTS_FILE = Path(__file__).parent / "kubescheduler-defaults.yaml"


def decode(**fields: Any) -> Configuration:
    return decode_configuration({"apiVersion": API_VERSION, "kind": KIND, **fields}, "test.yaml", REGISTRY)


def decode_profile(**fields: Any) -> Configuration:
    return decode(profiles=[fields])


def test_default_configuration_runs_what_kube_scheduler_runs() -> None:
    configuration = default_configuration(REGISTRY)

    (profile,) = configuration.profiles
    assert profile.scheduler_name == "default-scheduler"
    assert profile.points == DEFAULT_POINTS
    assert profile.weights == {
        "TaintToleration": 3,
        "NodeAffinity": 2,
        "NodeResourcesFit": 1,
        "VolumeBinding": 1,
        "PodTopologySpread": 2,
        "InterPodAffinity": 2,
        "DynamicResources": 2,
        "NodeResourcesBalancedAllocation": 1,
        "ImageLocality": 1,
    }
    assert (profile.percentage_of_nodes_to_score, profile.sampling, profile.seed) == (0, "kube", 0)
    assert profile.args["DefaultPreemption"] == DefaultPreemptionArgs()
    assert set(profile.args) == {
        "DefaultPreemption",
        "DynamicResources",
        "InterPodAffinity",
        "NodeAffinity",
        "NodeResourcesBalancedAllocation",
        "NodeResourcesFit",
        "PodTopologySpread",
        "VolumeBinding",
    }
    assert set(profile.entries) == {name for names in DEFAULT_POINTS.values() for name in names}


def test_defaults_written_out_by_kube_scheduler_are_the_defaults() -> None:
    assert load_configuration(DEFAULTS_FILE, REGISTRY) == default_configuration(REGISTRY)


def test_defaults_written_out_as_json_are_the_defaults() -> None:
    text = json.dumps(yaml.safe_load(DEFAULTS_FILE.read_text()), indent="\t").encode()
    assert decode_configuration(text, "defaults.json", REGISTRY) == default_configuration(REGISTRY)


def test_every_setting_of_a_file_is_kept() -> None:
    text = b"""
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
parallelism: 4
percentageOfNodesToScore: 30
podInitialBackoffSeconds: 2
podMaxBackoffSeconds: 20
enableProfiling: false
delayCacheUntilActive: true
leaderElection: {leaderElect: false, leaseDuration: 1m30s, resourceName: fairway, retryPeriod: 0s}
clientConnection: {kubeconfig: /etc/kube.conf, qps: 1e3, burst: null}
profiles:
- schedulerName: default-scheduler
- schedulerName: packed
  percentageOfNodesToScore: 0
  fairway: {sampling: two-choices, seed: 7}
  pluginConfig:
  - name: Green
    args: {label: power, nothing: null}
  - name: NodeResourcesFit
    args: {scoringStrategy: {type: MostAllocated}}
extenders:
- urlPrefix: http://127.0.0.1/first
  ignorable: true
  managedResources: [{name: example.com/gpu, ignoredByScheduler: true}]
- urlPrefix: https://127.0.0.1/second
  enableHTTPS: true
  httpTimeout: 500ms
  bindVerb: bind
  tlsConfig: {caData: aGVsbG8=}
"""
    configuration = decode_configuration(text, "scheduler.yaml", REGISTRY)

    assert configuration.parallelism == 4
    assert configuration.percentage_of_nodes_to_score == 30
    assert (configuration.pod_initial_backoff_seconds, configuration.pod_max_backoff_seconds) == (2, 20)
    assert not configuration.enable_profiling
    assert not configuration.enable_contention_profiling
    assert configuration.delay_cache_until_active
    election = configuration.leader_election
    assert not election.leader_elect
    assert (election.lease_duration, election.retry_period) == (Duration(90), Duration(2))
    assert (election.resource_name, election.resource_namespace) == ("fairway", "kube-system")
    connection = configuration.client_connection
    assert (connection.kubeconfig, connection.qps, connection.burst) == ("/etc/kube.conf", 1000, 100)
    default, packed = configuration.profiles
    assert (default.percentage_of_nodes_to_score, packed.percentage_of_nodes_to_score) == (30, 0)
    assert (packed.sampling, packed.seed) == ("two-choices", 7)
    assert packed.args["Green"] == {"label": "power", "nothing": None}
    second, first = configuration.extenders  # the ignorable one is asked last
    assert (first.url_prefix, second.url_prefix) == ("http://127.0.0.1/first", "https://127.0.0.1/second")
    assert (second.enable_https, second.http_timeout) == (True, Duration(0.5))
    assert second.tls_config is not None
    assert second.tls_config.ca_data == b"hello"
    for profile in configuration.profiles:  # what an extender looks after is not checked by the plugin
        fit = profile.args["NodeResourcesFit"]
        assert isinstance(fit, NodeResourcesFitArgs)
        assert fit.ignored_resources == ("example.com/gpu",)


ERRORS: dict[str, tuple[Any, str]] = {
    "not-a-mapping": ([], "test.yaml: not a KubeSchedulerConfiguration but []"),
    "empty": (None, "test.yaml: not a KubeSchedulerConfiguration but empty"),
    "no-kind": (
        {"apiVersion": API_VERSION},
        "test.yaml: kind: missing; write kind: KubeSchedulerConfiguration",
    ),
    "old-version": (
        {"apiVersion": "kubescheduler.config.k8s.io/v1beta3", "kind": KIND},
        'test.yaml: apiVersion: "kubescheduler.config.k8s.io/v1beta3" is not supported; allowed:'
        " kubescheduler.config.k8s.io/v1",
    ),
    "bad-text": (
        b"apiVersion: [\n",
        "test.yaml: not YAML: line 2, column 1: expected the node content, but found '<stream end>'",
    ),
}


@pytest.mark.parametrize(("data", "message"), ERRORS.values(), ids=ERRORS)
def test_what_is_no_configuration_at_all_is_refused(data: Any, message: str) -> None:
    with pytest.raises(ConfigError) as error:
        decode_configuration(data, "test.yaml", REGISTRY)
    assert str(error.value) == message


SETTINGS: dict[str, tuple[dict[str, Any], str, str]] = {
    "unknown-field": ({"paralelism": 1}, "paralelism", "unknown field; did you mean parallelism? Allowed: apiVersion"),
    "removed-field": ({"healthzBindAddress": ":1"}, "healthzBindAddress", "unknown field; kubescheduler.config.k8s"),
    "string-for-integer": ({"parallelism": "16"}, "parallelism", 'expected a 32-bit integer, got "16"'),
    "boolean-for-integer": ({"parallelism": True}, "parallelism", "expected a 32-bit integer, got true"),
    "too-big": ({"parallelism": 2**31}, "parallelism", "expected a 32-bit integer, got 2147483648"),
    "fraction": ({"parallelism": 1.5}, "parallelism", "expected a 32-bit integer, got 1.5"),
    "no-parallelism": ({"parallelism": 0}, "parallelism", "0 is out of range; allowed: 1 or more"),
    "percentage": ({"percentageOfNodesToScore": 101}, "percentageOfNodesToScore", "101 is out of range; allowed: 0 to"),
    "no-backoff": ({"podInitialBackoffSeconds": 0}, "podInitialBackoffSeconds", "0 is out of range; allowed: 1 or"),
    "short-backoff": (
        {"podInitialBackoffSeconds": 5, "podMaxBackoffSeconds": 4},
        "podMaxBackoffSeconds",
        "4 is below podInitialBackoffSeconds; allowed: 5 or more",
    ),
    "burst": ({"clientConnection": {"burst": -1}}, "clientConnection.burst", "-1 is negative; allowed: 0 or more"),
    "infinite": ({"clientConnection": {"qps": float("inf")}}, "clientConnection.qps", "expected a number, got Inf"),
    "duration": (
        {"leaderElection": {"leaseDuration": "15 s"}},
        "leaderElection.leaseDuration",
        'expected a duration such as "15s" or "1m30s", got "15 s"',
    ),
    "negative-duration": (
        {"leaderElection": {"retryPeriod": "-2s"}},
        "leaderElection.retryPeriod",
        "negative; allowed: more than 0s",
    ),
    "lease": (
        {"leaderElection": {"leaseDuration": "10s"}},
        "leaderElection.leaseDuration",
        "it has to be longer than renewDeadline, which is 10s",
    ),
    "lock": (
        {"leaderElection": {"resourceLock": "endpoints"}},
        "leaderElection.resourceLock",
        '"endpoints" is not supported; allowed: leases',
    ),
    "profiles": ({"profiles": {}}, "profiles", "expected a list, got {}"),
    "profile": ({"profiles": [1]}, "profiles[0]", "expected fields (schedulerName, percentageOfNodesToScore, plugins"),
    "extender-weight": (
        {"extenders": [{"prioritizeVerb": "p"}]},
        "extenders[0].weight",
        "0 with a prioritizeVerb; allowed: 1 or more",
    ),
    "two-binders": (
        {"extenders": [{"bindVerb": "a"}, {"bindVerb": "b"}]},
        "extenders[1].bindVerb",
        "only one extender can bind, and extenders[0] does already",
    ),
    "native-resource": (
        {"extenders": [{"managedResources": [{"name": "cpu"}]}]},
        "extenders[0].managedResources[0].name",
        '"cpu" is not an extended resource, such as example.com/gpu',
    ),
    "bad-resource": (
        {"extenders": [{"managedResources": [{"name": "a.com/b/c"}]}]},
        "extenders[0].managedResources[0].name",
        "the prefix of 'a.com/b/c'",
    ),
    "resource-twice": (
        {"extenders": [{"managedResources": [{"name": "a.com/b"}]}, {"managedResources": [{"name": "a.com/b"}]}]},
        "extenders[1].managedResources[0].name",
        "a.com/b is managed by extenders[0] already",
    ),
    "base64": (
        {"extenders": [{"tlsConfig": {"caData": "?"}}]},
        "extenders[0].tlsConfig.caData",
        "expected base64 text",
    ),
    "unnamed-profile": ({"profiles": [{}, {}]}, "profiles[0].schedulerName", "missing; it is the name that pods give"),
    "empty-name": ({"profiles": [{"schedulerName": ""}]}, "profiles[0].schedulerName", "missing; it is the name"),
    "same-name": (
        {"profiles": [{"schedulerName": "a"}, {"schedulerName": "a"}]},
        "profiles[1].schedulerName",
        '"a" is the name of profiles[0] already',
    ),
}


@pytest.mark.parametrize(("fields", "path", "text"), SETTINGS.values(), ids=SETTINGS)
def test_settings_out_of_bounds_are_refused(fields: dict[str, Any], path: str, text: str) -> None:
    with pytest.raises(ConfigError) as error:
        decode(**fields)
    assert error.value.problems[0].path == path
    assert error.value.problems[0].text.startswith(text)
    assert str(error.value).startswith(f"test.yaml: {path}: {text}")


PROFILES: dict[str, tuple[dict[str, Any], str, str]] = {
    "percentage": ({"percentageOfNodesToScore": -1}, "percentageOfNodesToScore", "-1 is out of range; allowed: 0 to"),
    "sampling": (
        {"fairway": {"sampling": "two"}},
        "fairway.sampling",
        '"two" is unknown; did you mean two-choices? Allowed: all, kube, two-choices',
    ),
    "seed": ({"fairway": {"seed": -1}}, "fairway.seed", "expected an integer from 0 to 9223372036854775807, got -1"),
    "point": ({"plugins": {"Score": {}}}, "plugins.Score", "unknown field; did you mean score? Allowed: preEnqueue"),
    "no-plugin-name": (
        {"plugins": {"score": {"enabled": [{"weight": 1}]}}},
        "plugins.score.enabled[0].name",
        "missing; it is a string",
    ),
    "args-of-nobody": (
        {"pluginConfig": [{"name": "NodeResourceFit"}]},
        "pluginConfig[0].name",
        'no plugin is called "NodeResourceFit"; did you mean NodeResourcesFit? Allowed: DefaultBinder',
    ),
    "args-of-the-past": (
        {"pluginConfig": [{"name": "EBSLimits"}]},
        "pluginConfig[0].name",
        "EBSLimits was removed from kube-scheduler",
    ),
    "args-twice": (
        {"pluginConfig": [{"name": "Green"}, {"name": "Green"}]},
        "pluginConfig[1].name",
        "Green is configured twice",
    ),
    "args-no-mapping": (
        {"pluginConfig": [{"name": "Green", "args": 3}]},
        "pluginConfig[0].args",
        "expected fields, go",
    ),
    "two-queue-sorts": (
        {"plugins": {"queueSort": {"enabled": [{"name": "Lifo"}]}}},
        "plugins.queueSort",
        "exactly one plugin has to sort the queue; enabled: PrioritySort, Lifo",
    ),
    "no-bind": (
        {"plugins": {"bind": {"disabled": [{"name": "*"}]}}},
        "plugins.bind",
        "no plugin binds; enable DefaultBinder",
    ),
}


@pytest.mark.parametrize(("fields", "path", "text"), PROFILES.values(), ids=PROFILES)
def test_profiles_that_cannot_run_are_refused(fields: dict[str, Any], path: str, text: str) -> None:
    with pytest.raises(ConfigError) as error:
        decode_profile(**fields)
    assert [problem.path for problem in error.value.problems] == [f"profiles[0].{path}"]
    assert error.value.problems[0].text.startswith(text)


LIFO = {"queueSort": {"enabled": [{"name": "Lifo"}], "disabled": [{"name": "*"}]}}


@pytest.mark.parametrize(
    ("first", "second", "path", "text"),
    [
        (
            {},
            {"plugins": LIFO},
            "plugins.queueSort",
            "all profiles share one queue; profiles[0] sorts it by PrioritySort",
        ),
        (
            {"plugins": LIFO, "pluginConfig": [{"name": "Lifo", "args": {"by": "age"}}]},
            {"plugins": LIFO, "pluginConfig": [{"name": "Lifo", "args": {"by": "size"}}]},
            "pluginConfig",
            "Lifo has other args than in profiles[0], which shares the queue",
        ),
    ],
    ids=["another-plugin", "other-args"],
)
def test_profiles_have_to_agree_on_the_queue(
    first: dict[str, Any], second: dict[str, Any], path: str, text: str
) -> None:
    with pytest.raises(ConfigError) as error:
        decode(profiles=[{"schedulerName": "a", **first}, {"schedulerName": "b", **second}])
    assert [tuple(problem) for problem in error.value.problems] == [(f"profiles[1].{path}", text)]


def test_all_problems_are_told_at_once() -> None:
    with pytest.raises(ConfigError) as error:
        decode(parallelism=0, podInitialBackoffSeconds=-1, profiles=[{"percentageOfNodesToScore": 200}])
    assert [problem.path for problem in error.value.problems] == [
        "parallelism",
        "podInitialBackoffSeconds",
        "profiles[0].percentageOfNodesToScore",
    ]


def test_an_unreadable_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"nowhere\.yaml: cannot be read: No such file"):
        load_configuration(tmp_path / "nowhere.yaml", REGISTRY)
