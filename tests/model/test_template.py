"""From templates to pods."""

import datetime as dt

import msgspec
import pytest

from fairway.model import (
    Affinity,
    Container,
    CronJob,
    DecodeError,
    Deployment,
    Job,
    LabelSelector,
    LabelSelectorRequirement,
    ObjectMeta,
    PodAffinityTerm,
    PodAntiAffinity,
    PodSpec,
    PodTemplateSpec,
    PriorityClass,
    ReplicaSet,
    TopologySpreadConstraint,
    pod_from_template,
)
from fairway.model.controllers import CronJobSpec, DeploymentSpec, JobSpec, JobTemplateSpec
from fairway.model.daemon import daemon_template, target_node
from fairway.model.owned import cron_job_run, job_labels, replica_set_of
from fairway.model.template import Stencil, name_suffix, template_hash
from fairway.testing import pod

LABELS = {"app": "web"}
META = ObjectMeta(labels=LABELS, annotations={"fairway.dev/duration": "5"})
TEMPLATE = PodTemplateSpec(metadata=META, spec=PodSpec(containers=(Container(name="c"),)))
OWNER = ReplicaSet(metadata=ObjectMeta(name="web", namespace="shop", uid="u1"))


def changed(**spec: object) -> PodTemplateSpec:
    return msgspec.structs.replace(TEMPLATE, spec=msgspec.structs.replace(TEMPLATE.spec, **spec))


def test_a_pod_is_complete_and_owned() -> None:
    made = pod_from_template(OWNER, TEMPLATE, "web-1", labels={"x": "y"}, annotations={"a": "b"})
    assert made.key == "shop/web-1"
    assert made.metadata.labels == {"app": "web", "x": "y"}
    assert made.metadata.annotations == {"fairway.dev/duration": "5", "a": "b"}
    owner = made.metadata.controller
    assert owner is not None
    assert (owner.api_version, owner.kind, owner.name, owner.uid) == ("apps/v1", "ReplicaSet", "web", "u1")
    assert (made.status.phase, made.spec.scheduler_name, made.spec.priority) == ("Pending", "default-scheduler", 0)


def test_its_priority_comes_from_its_class() -> None:
    template = changed(priority_class_name="high")
    classes = {"high": PriorityClass(metadata=ObjectMeta(name="high"), value=7)}
    assert pod_from_template(OWNER, template, "p", priority_classes=classes).spec.priority == 7
    with pytest.raises(DecodeError, match="there is no PriorityClass 'high'"):
        pod_from_template(OWNER, template, "p")


SPREAD = TopologySpreadConstraint(
    max_skew=1,
    topology_key="zone",
    when_unsatisfiable="DoNotSchedule",
    label_selector=LabelSelector(match_labels=LABELS),
    match_label_keys=("index",),
)
APART = Affinity(
    pod_anti_affinity=PodAntiAffinity(
        required_during_scheduling_ignored_during_execution=(
            PodAffinityTerm(
                topology_key="zone", label_selector=LabelSelector(match_labels=LABELS), match_label_keys=("index",)
            ),
        )
    )
)


@pytest.mark.parametrize(
    "template",
    [TEMPLATE, changed(topology_spread_constraints=(SPREAD,)), changed(affinity=APART)],
    ids=["plain", "spread by a label of its own", "apart by a label of its own"],
)
def test_a_stencil_makes_what_is_made_one_by_one(template: PodTemplateSpec) -> None:
    stencil = Stencil(OWNER, template, {})
    for index in range(3):
        labels = {"index": str(index)}
        assert stencil.pod(f"p{index}", labels) == pod_from_template(OWNER, template, f"p{index}", labels=labels)
    assert stencil.pod("q") == pod_from_template(OWNER, template, "q")


def test_label_keys_mean_each_pods_own_labels() -> None:
    stencil = Stencil(OWNER, changed(topology_spread_constraints=(SPREAD,)), {})
    selector = stencil.pod("p", {"index": "4"}).spec.topology_spread_constraints[0].label_selector
    assert selector is not None
    assert selector.match_expressions == (LabelSelectorRequirement(key="index", operator="In", values=("4",)),)


def test_equal_pods_share_one_spec() -> None:
    stencil = Stencil(OWNER, TEMPLATE, {})
    assert stencil.pod("a").spec is stencil.pod("b", {"x": "y"}).spec


def test_names_do_not_repeat() -> None:
    names = {name_suffix("shop/web", number) for number in range(100_000)}
    assert len(names) == 100_000
    assert all(len(name) == 5 for name in names)
    assert name_suffix("shop/web", 0) != name_suffix("shop/db", 0)
    assert name_suffix("shop/web", 7) == name_suffix("shop/web", 7)


def test_equal_templates_have_equal_hashes() -> None:
    again = PodTemplateSpec(
        metadata=ObjectMeta(labels=dict(LABELS), annotations=dict(META.annotations)),
        spec=PodSpec(containers=(Container(name="c"),)),
    )
    assert template_hash(again) == template_hash(TEMPLATE)
    assert template_hash(changed(hostname="h")) != template_hash(TEMPLATE)


def test_a_deployments_replica_set_is_told_apart_by_its_template() -> None:
    spec = DeploymentSpec(selector=LabelSelector(match_labels=LABELS), template=TEMPLATE)
    owner = Deployment(metadata=ObjectMeta(name="web", namespace="shop", uid="d1"), spec=spec)
    made = replica_set_of(owner, 3)
    mark = template_hash(TEMPLATE)
    assert (made.metadata.name, made.spec.replicas) == (f"web-{mark}", 3)
    assert made.spec.template.metadata.labels == LABELS | {"pod-template-hash": mark}
    assert made.spec.template.spec is TEMPLATE.spec


def test_a_job_without_a_uid_labels_its_pods_by_name_alone() -> None:
    assert set(job_labels(Job(metadata=ObjectMeta(name="j")))) == {"job-name", "batch.kubernetes.io/job-name"}


def test_a_cron_jobs_run_is_named_after_its_minute() -> None:
    jobs = JobTemplateSpec(metadata=ObjectMeta(labels=LABELS), spec=JobSpec(completions=3))
    owner = CronJob(metadata=ObjectMeta(name="nightly", namespace="shop"), spec=CronJobSpec(job_template=jobs))
    made = cron_job_run(owner, dt.datetime(1970, 1, 1, 1, 0, tzinfo=dt.UTC))
    assert (made.metadata.name, made.metadata.labels, made.spec.completions) == ("nightly-60", LABELS, 3)


def test_a_daemon_is_bound_for_its_node() -> None:
    made = daemon_template(TEMPLATE, "n7")
    assert target_node(made.spec) == "n7"
    assert daemon_template(made, "n8").spec.tolerations == made.spec.tolerations
    assert target_node(pod(node="n1").spec) == "n1"
    assert target_node(pod(node_affinity="disk=ssd").spec) == ""
    assert target_node(pod().spec) == ""
