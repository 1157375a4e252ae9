"""The chart and the manifests: rendered by Helm, read as the cluster and the command line would read them."""

from __future__ import annotations

import re
from typing import Any

import click
import pytest

from fairway import __version__
from fairway.cli.run import run
from fairway.config import Configuration, decode_configuration
from fairway.model.duration import Duration
from fairway.plugins.registry import REGISTRY
from tests.deploy.chart import CHART, MANIFESTS, ROOT, HelmError, ask, is_hook, load, render

Object = dict[str, Any]


def one(objects: list[Object], kind: str) -> Object:
    (found,) = [each for each in objects if each["kind"] == kind and not is_hook(each)]
    return found


def container(objects: list[Object]) -> Object:
    (found,) = one(objects, "Deployment")["spec"]["template"]["spec"]["containers"]
    return dict(found)


def configuration(objects: list[Object]) -> Configuration:
    text = one(objects, "ConfigMap")["data"]["config.yaml"]
    return decode_configuration(text.encode(), "config.yaml", REGISTRY)


def test_plain_manifests_are_the_chart_with_its_defaults() -> None:
    assert load(MANIFESTS.read_text()) == render()


def test_helm_finds_nothing_to_complain_about() -> None:
    assert "0 chart(s) failed" in ask("lint", "--strict", str(CHART))


def test_chart_has_the_packages_version() -> None:
    assert f'appVersion: "{__version__}"' in (CHART / "Chart.yaml").read_text()


def test_everything_a_second_scheduler_needs_is_there() -> None:
    assert sorted(each["kind"] for each in render()) == [
        "ClusterRole",
        "ClusterRoleBinding",
        "ConfigMap",
        "Deployment",
        "PodDisruptionBudget",
        "Role",
        "RoleBinding",
        "Service",
        "ServiceAccount",
    ]


def test_configuration_is_one_that_fairway_reads() -> None:
    found = configuration(render())
    assert [profile.scheduler_name for profile in found.profiles] == ["fairway"]
    assert found.leader_election.leader_elect
    assert (found.leader_election.resource_namespace, found.leader_election.resource_name) == ("kube-system", "fairway")


def test_users_configuration_is_kept_and_has_its_own_lease() -> None:
    config = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "podMaxBackoffSeconds": 20,
        "profiles": [{"schedulerName": "a"}, {"schedulerName": "b"}],
        "extenders": [{"urlPrefix": "http://x", "filterVerb": "filter"}],
    }
    found = configuration(render({"config": config, "leaderElection.leaseDuration": "30s"}, "lab", "batch"))
    assert [profile.scheduler_name for profile in found.profiles] == ["a", "b"]
    assert found.pod_max_backoff_seconds == 20
    assert found.extenders[0].url_prefix == "http://x"
    election = found.leader_election
    assert (election.resource_namespace, election.resource_name) == ("batch", "lab-fairway")
    assert election.lease_duration == Duration(30)


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"logging.verbosity": 2, "logging.format": "text"},
        {"tlsSecretName": "cert"},
        {"extraArgs": ["--kube-api-qps=100", "--kube-api-burst=200"]},
        {"shadow": True},
        {"web.enabled": True, "web.history": "90m"},
        {"batch.enabled": True},
        {
            "batch.enabled": True,
            "batch.ledger": {"url": "postgresql://db/b", "passwordSecret": {"name": "s", "key": "k"}},
        },
    ],
    ids=["default", "verbose", "certificate", "more flags", "shadow", "pages", "queues", "ledger"],
)
def test_arguments_are_ones_that_fairway_takes(values: dict[str, Any]) -> None:
    command, *arguments = container(render(values))["args"]
    assert command == "run"
    with click.Context(run) as context:
        parsed = run.make_context("run", list(arguments), parent=context).params
    assert parsed["config"] == "/etc/fairway/config.yaml"
    assert parsed["secure_port"] == 10259
    assert parsed["batch"] is (None if values.get("batch.enabled") else False)


def test_pages_have_a_port_a_service_and_a_role_for_those_who_may_see_them() -> None:
    objects = render({"web.enabled": True, "web.port": 9443, "networkPolicy.enabled": True})
    assert "--web=0.0.0.0:9443" in container(objects)["args"]
    assert {"name": "pages", "containerPort": 9443, "protocol": "TCP"} in container(objects)["ports"]
    ports = {port["name"]: port["targetPort"] for port in one(objects, "Service")["spec"]["ports"]}
    assert ports == {"https": "https", "pages": "pages"}
    (viewer,) = [each for each in objects if each["metadata"]["name"].endswith("-viewer")]
    assert (viewer["kind"], viewer["rules"]) == (
        "ClusterRole",
        [{"nonResourceURLs": ["/fairway/api/v1/*"], "verbs": ["get"]}],
    )
    entries = one(objects, "NetworkPolicy")["spec"]["ingress"]
    assert [port["port"] for entry in entries for port in entry["ports"]] == ["https", "pages"]
    closed = render({"web.enabled": True, "networkPolicy.enabled": True, "networkPolicy.webFrom": []})
    entries = one(closed, "NetworkPolicy")["spec"]["ingress"]
    assert [port["port"] for entry in entries for port in entry["ports"]] == ["https"]


def test_process_may_do_nothing_but_its_work() -> None:
    objects = render()
    pod = one(objects, "Deployment")["spec"]["template"]["spec"]
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert container(objects)["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "privileged": False,
        "capabilities": {"drop": ["ALL"]},
    }
    assert "command" not in container(objects)


def test_two_replicas_apart_with_probes_and_a_budget() -> None:
    objects = render()
    deployment = one(objects, "Deployment")["spec"]
    assert deployment["replicas"] == 2
    labels = deployment["template"]["metadata"]["labels"]
    budget = one(objects, "PodDisruptionBudget")["spec"]
    assert budget["minAvailable"] == 1
    selected = [
        deployment["selector"]["matchLabels"],
        budget["selector"]["matchLabels"],
        one(objects, "Service")["spec"]["selector"],
        deployment["template"]["spec"]["topologySpreadConstraints"][0]["labelSelector"]["matchLabels"],
    ]
    assert all(selector.items() <= labels.items() and selector for selector in selected)
    probes = {name: container(objects)[name]["httpGet"] for name in ("startupProbe", "livenessProbe", "readinessProbe")}
    assert {name: probe["path"] for name, probe in probes.items()} == {
        "startupProbe": "/livez",
        "livenessProbe": "/livez",
        "readinessProbe": "/readyz",
    }
    assert all(probe["scheme"] == "HTTPS" for probe in probes.values())


def test_pods_are_replaced_when_the_configuration_changes() -> None:
    def checksum(values: dict[str, Any]) -> str:
        pod = one(render(values), "Deployment")["spec"]["template"]
        return str(pod["metadata"]["annotations"]["fairway/config-checksum"])

    assert checksum({"config.podMaxBackoffSeconds": 20}) != checksum({})
    assert checksum({"replicas": 3}) == checksum({})


def test_without_election_there_is_no_right_to_a_lease() -> None:
    objects = render({"leaderElection.enabled": False, "replicas": 1})
    assert not [each for each in objects if each["kind"] in ("Role", "RoleBinding")]
    assert not configuration(objects).leader_election.leader_elect


def test_shadow_has_no_right_to_change_anything() -> None:
    objects = render({"shadow": True, "schedulerName": "default-scheduler"})
    assert "--shadow" in container(objects)["args"]
    assert not [each for each in objects if each["kind"] in ("Role", "RoleBinding")]
    reviews = {"tokenreviews", "subjectaccessreviews"}
    for rule in one(objects, "ClusterRole")["rules"]:
        assert rule["verbs"] == ["list", "watch"] or set(rule["resources"]) <= reviews


def cluster_rights(values: dict[str, Any]) -> set[tuple[str, str, str]]:
    return {
        (group, resource, verb)
        for rule in one(render(values), "ClusterRole")["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


@pytest.mark.parametrize("values", [{}, {"shadow": True}], ids=["scheduling", "shadow"])
def test_data_gives_the_right_to_read_datasets_and_no_other(values: dict[str, Any]) -> None:
    without = cluster_rights(values)
    assert not [right for right in without if right[1].startswith("dataset")]
    assert cluster_rights(values | {"data.enabled": True}) - without == {
        (group, resource, verb)
        for group in ("com.ie.ibm.hpsys", "datashim.io")
        for resource in ("datasets", "datasetsinternal")
        for verb in ("get", "list", "watch")
    }


def test_gangs_are_on_and_give_the_rights_that_they_take() -> None:
    assert [each.gangs.mode for each in configuration(render({})).profiles if each.gangs is not None] == ["fairway"]
    assert [each.gangs for each in configuration(render({"gangs.mode": ""})).profiles] == [None]
    given = cluster_rights({}) - cluster_rights({"gangs.mode": ""})
    read = {
        ("scheduling.k8s.io", "podgroups"),
        ("scheduling.x-k8s.io", "podgroups"),
        ("scheduling.volcano.sh", "podgroups"),
        ("batch", "jobs"),
        ("jobset.x-k8s.io", "jobsets"),
        ("leaderworkerset.x-k8s.io", "leaderworkersets"),
    }
    assert given == {(group, resource, verb) for group, resource in read for verb in ("list", "watch")} | {
        ("scheduling.k8s.io", "podgroups/status", "patch")
    }


OURS = ("accounts", "jobrecords", "maintenancewindows", "queues", "reservations")


def test_batch_gives_the_kinds_and_the_rights_that_they_take_and_no_other() -> None:
    without = render()
    assert not [each for each in without if each["kind"] == "CustomResourceDefinition"]
    objects = render({"batch.enabled": True})
    kinds = [each for each in objects if each["kind"] == "CustomResourceDefinition"]
    assert sorted(each["spec"]["names"]["plural"] for each in kinds) == sorted(OURS)
    # A release that goes leaves the books of accounts.
    assert all(each["metadata"]["annotations"]["helm.sh/resource-policy"] == "keep" for each in kinds)
    assert not [each for each in render({"batch.enabled": True, "batch.crds": False}) if each in kinds]
    read = {("fairway.dev", kind, verb) for kind in OURS for verb in ("get", "list", "watch")}
    written = {("fairway.dev", f"{kind}/status", "update") for kind in OURS}
    assert cluster_rights({"batch.enabled": True}) - cluster_rights({}) == {
        *read,
        *written,
        *(("fairway.dev", "jobrecords", verb) for verb in ("create", "patch")),
        ("", "pods", "patch"),
        ("", "pods/eviction", "create"),
        ("", "nodes", "patch"),
        ("batch", "jobs", "patch"),
    }
    assert cluster_rights({"batch.enabled": True, "shadow": True}) - cluster_rights({"shadow": True}) == read
    recreate = {"batch.enabled": True, "batch.recreate": True}
    assert cluster_rights(recreate) - cluster_rights({"batch.enabled": True}) == {("", "pods", "create")}
    assert cluster_rights(recreate | {"shadow": True}) - cluster_rights({"shadow": True}) == read
    assert cluster_rights({"batch.recreate": True}) == cluster_rights({})


LEDGER = {"batch.enabled": True, "batch.ledger": {"url": "postgresql://fairway@db/books?sslmode=verify-full"}}
SECRET = {"batch.ledger": {**LEDGER["batch.ledger"], "passwordSecret": {"name": "books", "key": "pw"}}}  # type: ignore[dict-item]


def test_a_ledger_is_named_in_a_flag_and_its_password_in_a_secret() -> None:
    def pod(values: dict[str, Any]) -> Object:
        (deployment,) = [each for each in render(values) if each["kind"] == "Deployment"]
        spec: Object = deployment["spec"]["template"]["spec"]
        return spec

    def flags(values: dict[str, Any]) -> list[str]:
        return [each for each in pod(values)["containers"][0]["args"] if "ledger" in each]

    url = "--ledger=postgresql://fairway@db/books?sslmode=verify-full"
    assert flags(LEDGER) == [url]
    found = LEDGER | SECRET
    assert flags(found) == [url, "--ledger-password-file=/etc/fairway-ledger/password"]
    items = [{"key": "pw", "path": "password"}]
    assert {"name": "ledger", "secret": {"secretName": "books", "items": items}} in pod(found)["volumes"]
    mount = {"name": "ledger", "mountPath": "/etc/fairway-ledger", "readOnly": True}
    assert mount in pod(found)["containers"][0]["volumeMounts"]
    assert flags(found | {"shadow": True}) == flags(found | {"batch.enabled": False}) == []


def test_a_release_that_goes_takes_finalizers_taints_and_cordons_along() -> None:
    """By a job of its own, with an account and rights of its own: those of the release are gone by then."""
    assert not any(map(is_hook, render()))
    assert not any(map(is_hook, render({"batch.enabled": True, "shadow": True})))
    assert not any(map(is_hook, render({"batch.enabled": True, "batch.cleanUp": False})))
    hooks = {each["kind"]: each for each in render({"batch.enabled": True}) if is_hook(each)}
    assert hooks.keys() == {"ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Job"}
    assert all(each["metadata"]["annotations"]["helm.sh/hook"] == "post-delete" for each in hooks.values())
    weights = {kind: int(each["metadata"]["annotations"].get("helm.sh/hook-weight", 0)) for kind, each in hooks.items()}
    assert weights.pop("Job") > max(weights.values())
    pod = hooks["Job"]["spec"]["template"]["spec"]
    assert pod["serviceAccountName"] == hooks["ServiceAccount"]["metadata"]["name"]
    (made,) = pod["containers"]
    assert made["image"] == container(render({"batch.enabled": True}))["image"]
    election = configuration(render({"batch.enabled": True})).leader_election
    assert made["args"] == [
        "run",
        "--clean-up",
        "--leader-elect=true",
        f"--leader-elect-resource-name={election.resource_name}",
        f"--leader-elect-resource-namespace={election.resource_namespace}",
    ]
    rights = {
        (group, resource, verb)
        for rule in hooks["ClusterRole"]["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }
    assert rights == {
        ("fairway.dev", "jobrecords", "list"),
        ("fairway.dev", "jobrecords", "patch"),
        ("", "nodes", "list"),
        ("", "nodes", "patch"),
        ("coordination.k8s.io", "leases", "get"),
    }


def test_batch_without_gangs_may_read_jobs() -> None:
    lonely = {"gangs.mode": ""}
    given = cluster_rights({"batch.enabled": True} | lonely) - cluster_rights(lonely)
    assert {right for right in given if right[0] == "batch"} == {
        ("batch", "jobs", verb) for verb in ("list", "watch", "patch")
    }


def test_the_guard_gives_the_right_to_patch_nodes_and_no_other() -> None:
    without = cluster_rights({})
    assert cluster_rights({"exclusiveGuard.enabled": True}) - without == {("", "nodes", "patch")}
    assert cluster_rights({"exclusiveGuard.enabled": True, "shadow": True}) == cluster_rights({"shadow": True})


def test_service_monitor_comes_with_a_role_to_scrape() -> None:
    objects = render({"serviceMonitor.enabled": True, "serviceMonitor.labels": {"release": "prometheus"}})
    monitor = one(objects, "ServiceMonitor")
    assert monitor["metadata"]["labels"]["release"] == "prometheus"
    assert monitor["spec"]["endpoints"][0]["scheme"] == "https"
    rules = [each["rules"] for each in objects if each["metadata"]["name"] == "fairway-metrics"]
    assert rules == [[{"nonResourceURLs": ["/metrics", "/metrics/resources"], "verbs": ["get"]}]]


MONITOR: dict[str, Any] = {"serviceMonitor.enabled": True}
AUTHORITY = {"secret": {"name": "fairway-tls", "key": "ca.crt"}}


@pytest.mark.parametrize(
    ("values", "trust"),
    [
        ({}, {"insecureSkipVerify": True}),
        ({"tlsSecretName": "t"}, {"insecureSkipVerify": False, "serverName": "fairway.kube-system.svc"}),
        (
            {"tlsSecretName": "t", "serviceMonitor.tls.ca": AUTHORITY, "serviceMonitor.tls.serverName": "metrics.lab"},
            {"insecureSkipVerify": False, "serverName": "metrics.lab", "ca": AUTHORITY},
        ),
        (
            {"serviceMonitor.tls.ca": {"configMap": {"name": "a", "key": "b"}}},
            {
                "insecureSkipVerify": False,
                "serverName": "fairway.kube-system.svc",
                "ca": {"configMap": {"name": "a", "key": "b"}},
            },
        ),
        ({"tlsSecretName": "t", "serviceMonitor.tls.insecureSkipVerify": True}, {"insecureSkipVerify": True}),
        (
            {"serviceMonitor.tls.insecureSkipVerify": False},
            {"insecureSkipVerify": False, "serverName": "fairway.kube-system.svc"},
        ),
    ],
    ids=["self-signed", "certificate", "with authority and name", "authority alone", "told not to", "told to"],
)
def test_prometheus_checks_a_certificate_that_can_be_checked(values: dict[str, Any], trust: Object) -> None:
    (endpoint,) = one(render(MONITOR | values), "ServiceMonitor")["spec"]["endpoints"]
    assert endpoint["tlsConfig"] == trust


def test_image_is_named_by_digest_if_there_is_one() -> None:
    digest = f"sha256:{'ab' * 32}"
    assert container(render({"image.repository": "r"}))["image"] == f"r:{__version__}"
    assert container(render({"image.repository": "r", "image.tag": "t"}))["image"] == "r:t"
    named = {"image.repository": "r", "image.tag": "t", "image.digest": digest}
    assert container(render(named))["image"] == f"r@{digest}"


def test_there_is_no_network_policy_unless_asked_for() -> None:
    assert not [each for each in render() if each["kind"] == "NetworkPolicy"]


def test_network_policy_lets_metrics_in_and_requests_to_the_api_server_out() -> None:
    objects = render({"networkPolicy.enabled": True, "securePort": 1234})
    spec = one(objects, "NetworkPolicy")["spec"]
    labels = one(objects, "Deployment")["spec"]["template"]["metadata"]["labels"]
    assert spec["podSelector"]["matchLabels"].items() <= labels.items()
    assert spec["policyTypes"] == ["Ingress", "Egress"]
    (port,) = container(objects)["ports"]
    assert spec["ingress"] == [{"ports": [{"port": port["name"], "protocol": "TCP"}]}]
    server, names = spec["egress"]
    assert server == {"ports": [{"port": 443, "protocol": "TCP"}, {"port": 6443, "protocol": "TCP"}]}
    assert [(rule["port"], rule["protocol"]) for rule in names["ports"]] == [(53, "UDP"), (53, "TCP")]
    (resolver,) = names["to"]
    assert resolver["podSelector"]["matchLabels"] == {"k8s-app": "kube-dns"}
    assert resolver["namespaceSelector"]["matchLabels"] == {"kubernetes.io/metadata.name": "kube-system"}


def test_network_policy_can_be_narrower() -> None:
    prometheus = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "monitoring"}}}
    server, extender = {"ipBlock": {"cidr": "10.0.0.1/32"}}, {"to": [{"podSelector": {}}], "ports": [{"port": 8888}]}
    values = {
        "networkPolicy.enabled": True,
        "networkPolicy.metricsFrom": [prometheus],
        "networkPolicy.apiServer": [server],
        "networkPolicy.apiServerPorts": [6443],
        "networkPolicy.dns": None,
        "networkPolicy.extraEgress": [extender],
    }
    spec = one(render(values), "NetworkPolicy")["spec"]
    assert [rule["from"] for rule in spec["ingress"]] == [[prometheus]]
    assert spec["egress"] == [{"ports": [{"port": 6443, "protocol": "TCP"}], "to": [server]}, extender]
    assert one(render(values | {"networkPolicy.metricsFrom": []}), "NetworkPolicy")["spec"]["ingress"] == []


ALL_RIGHTS: list[dict[str, Any]] = [
    {},
    {"batch.enabled": True, "exclusiveGuard.enabled": True},
    {"batch.enabled": True, "gangs.mode": ""},
]


@pytest.mark.parametrize("values", ALL_RIGHTS, ids=["default", "batch", "batch without gangs"])
def test_no_right_is_for_everything(values: dict[str, Any]) -> None:
    for role in (each for each in render(values) if each["kind"] in ("Role", "ClusterRole")):
        for rule in role["rules"]:
            words = [*rule["apiGroups"], *rule["resources"], *rule["verbs"]]
            assert not any("*" in word for word in words)
            assert not {"secrets", "configmaps"} & set(rule["resources"])


@pytest.mark.parametrize("values", ALL_RIGHTS, ids=["default", "batch", "batch without gangs"])
def test_no_right_is_given_twice(values: dict[str, Any]) -> None:
    for role in (each for each in render(values) if each["kind"] in ("Role", "ClusterRole")):
        granted = [
            (group, resource, verb, tuple(rule.get("resourceNames", ())))
            for rule in role["rules"]
            for group in rule["apiGroups"]
            for resource in rule["resources"]
            for verb in rule["verbs"]
        ]
        assert len(granted) == len(set(granted))


@pytest.mark.parametrize(
    "values",
    [
        {"replica": 3},
        {"logging.format": "xml"},
        {"securePort": 0},
        {"image.repository": ""},
        {"config": {"leaderElection": {"leaderElect": True}}},
        {"image.digest": "sha256:abc"},
        {"serviceMonitor.tls.ca": {"secret": {"name": "a", "key": "b"}, "configMap": {"name": "a", "key": "b"}}},
        {"serviceMonitor.tls.ca": {"secret": {"name": "a"}}},
        {"networkPolicy.apiServerPorts": []},
        {"data.enabled": "yes"},
        {"data.group": "datashim.io"},
        {"batch.ledger": {"url": "postgresql://fairway:secret@db/books"}},
        {"batch.ledger": {"url": "postgresql://db/books", "passwordSecret": {"name": "books"}}},
    ],
    ids=[
        "unknown",
        "format",
        "port",
        "no image",
        "lease in config",
        "digest",
        "two authorities",
        "no key",
        "no API server",
        "data",
        "data group",
        "password in the URL",
        "secret without a key",
    ],
)
def test_mistakes_in_values_are_refused(values: dict[str, Any]) -> None:
    with pytest.raises(HelmError, match="schema"):
        render(values)


# -- the image ---------------------------------------------------------------------------------------------------------


def dockerfile() -> list[str]:
    text = (ROOT / "deploy" / "Dockerfile").read_text().replace("\\\n", " ")
    return [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("#")]


def test_image_runs_as_nobody_and_needs_no_shell() -> None:
    lines = dockerfile()
    last = lines[max(index for index, line in enumerate(lines) if line.startswith("FROM")) :]
    assert [line for line in last if line.startswith("USER")] == ["USER 65532:65532"]
    commands = [line for line in lines if line.startswith(("RUN", "CMD", "ENTRYPOINT"))]
    assert commands
    assert all(re.match(r"(RUN|CMD|ENTRYPOINT) \[.*\]$", line) for line in commands)
    assert not [line for line in last if line.startswith("RUN")]


def test_image_is_built_from_what_there_is() -> None:
    copied = [line.split()[1:-1] for line in dockerfile() if line.startswith("COPY") and "--from" not in line]
    assert all((ROOT / name).exists() for names in copied for name in names)
    ignored = (ROOT / "deploy" / "Dockerfile.dockerignore").read_text()
    assert all(f"!{name.partition('/')[0]}" in ignored for names in copied for name in names)


def test_no_registry_is_named() -> None:
    files = [path for path in (ROOT / "deploy").rglob("*") if path.is_file() and path.suffix != ".pyc"]
    images = [
        match
        for path in files
        for match in re.findall(r"(?:FROM|ARG PYTHON=|image:|repository:)\s*\"?([^\s\"]+)", path.read_text())
    ]
    assert images
    assert not [image for image in images if "." in image.partition("/")[0] and "/" in image]
