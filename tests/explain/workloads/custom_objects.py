"""Objects of kinds that operators bring, as people write them, and what their operators make of them.

In: nothing. Out: for each kind an object, and the names of the pods that come of it with the CPUs that each asks for.
Used by the tests of the table of kinds.
"""

from __future__ import annotations

from typing import Any, NamedTuple


class Case(NamedTuple):
    """An object and its pods: CPUs in thousandths by name."""

    thing: dict[str, Any]
    pods: dict[str, int]
    labels: dict[str, str]  # what all of them have


def template(cpu: str = "1", **spec: Any) -> dict[str, Any]:
    container = {"name": "main", "image": "i", "resources": {"requests": {"cpu": cpu}}}
    return {"metadata": {"labels": {"app": "a"}}, "spec": {"containers": [container], **spec}}


def thing(version: str, kind: str, name: str = "x", **spec: Any) -> dict[str, Any]:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name}, "spec": spec}


def numbered(text: str, numbers: range, cpu: int = 1000) -> dict[str, int]:
    return {text.format(number): cpu for number in numbers}


JOB_SET = thing(
    "jobset.x-k8s.io/v1alpha2",
    "JobSet",
    replicatedJobs=[
        {"name": "driver", "template": {"spec": {"template": template("2")}}},
        {
            "name": "workers",
            "replicas": 2,
            "template": {"spec": {"parallelism": 3, "completions": 2, "template": template()}},
        },
    ],
)
RAY_SPEC: dict[str, Any] = {
    "headGroupSpec": {"template": template("2")},
    "workerGroupSpecs": [
        {"groupName": "small", "replicas": 1, "minReplicas": 2, "maxReplicas": 5, "template": template()},
        {"groupName": "big", "replicas": 9, "maxReplicas": 2, "numOfHosts": 2, "template": template("4")},
        {"groupName": "off", "replicas": 3, "suspend": True, "template": template()},
    ],
}
RAY_PODS = {
    "x-head": 2000,
    **numbered("x-small-worker-{}", range(2)),
    **numbered("x-big-worker-{}", range(4), 4000),
}

CASES: dict[str, Case] = {
    "JobSet": Case(
        JOB_SET,
        {"x-driver-0-0": 2000, **{f"x-workers-{job}-{index}": 1000 for job in range(2) for index in range(2)}},
        {"jobset.sigs.k8s.io/jobset-name": "x"},
    ),
    "a suspended JobSet": Case(JOB_SET | {"spec": JOB_SET["spec"] | {"suspend": True}}, {}, {}),
    "LeaderWorkerSet": Case(
        thing(
            "leaderworkerset.x-k8s.io/v1",
            "LeaderWorkerSet",
            replicas=2,
            leaderWorkerTemplate={"size": 3, "leaderTemplate": template("2"), "workerTemplate": template()},
        ),
        {"x-0": 2000, "x-1": 2000, "x-0-1": 1000, "x-0-2": 1000, "x-1-1": 1000, "x-1-2": 1000},
        {"leaderworkerset.sigs.k8s.io/name": "x"},
    ),
    "LeaderWorkerSet with one template": Case(
        thing("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", leaderWorkerTemplate={"workerTemplate": template()}),
        {"x-0": 1000},
        {},
    ),
    "Volcano Job": Case(
        thing(
            "batch.volcano.sh/v1alpha1",
            "Job",
            schedulerName="default-scheduler",
            minAvailable=3,
            tasks=[
                {"name": "ps", "replicas": 1, "template": template("2")},
                {"name": "worker", "replicas": 2, "template": template()},
            ],
        ),
        {"x-ps-0": 2000, "x-worker-0": 1000, "x-worker-1": 1000},
        {"volcano.sh/job-name": "x"},
    ),
    "RayCluster": Case(thing("ray.io/v1", "RayCluster", **RAY_SPEC), RAY_PODS, {"ray.io/cluster": "x"}),
    "an old RayCluster": Case(thing("ray.io/v1alpha1", "RayCluster", **RAY_SPEC), RAY_PODS, {"ray.io/cluster": "x"}),
    "RayJob": Case(
        thing("ray.io/v1", "RayJob", rayClusterSpec=RAY_SPEC),
        RAY_PODS | {"x-submitter": 500},
        {"ray.io/originated-from-cr-name": "x"},
    ),
    "RayJob without a submitter": Case(
        thing("ray.io/v1", "RayJob", submissionMode="HTTPMode", rayClusterSpec=RAY_SPEC), RAY_PODS, {}
    ),
    "RayJob with a submitter of its own": Case(
        thing("ray.io/v1", "RayJob", submitterPodTemplate=template("3"), rayClusterSpec=RAY_SPEC),
        RAY_PODS | {"x-submitter": 3000},
        {},
    ),
    "RayService": Case(
        thing("ray.io/v1", "RayService", rayClusterConfig=RAY_SPEC), RAY_PODS, {"ray.io/originated-from-cr-name": "x"}
    ),
    "TFJob": Case(
        thing(
            "kubeflow.org/v1",
            "TFJob",
            tfReplicaSpecs={"PS": {"template": template()}, "Worker": {"replicas": 2, "template": template("2")}},
        ),
        {"x-ps-0": 1000, "x-worker-0": 2000, "x-worker-1": 2000},
        {"training.kubeflow.org/job-name": "x"},
    ),
    "PyTorchJob": Case(
        thing(
            "kubeflow.org/v1",
            "PyTorchJob",
            pytorchReplicaSpecs={
                "Master": {"replicas": 1, "template": template()},
                "Worker": {"replicas": 3, "template": template("2")},
            },
        ),
        {"x-master-0": 1000, **numbered("x-worker-{}", range(3), 2000)},
        {"training.kubeflow.org/job-name": "x"},
    ),
    "MPIJob": Case(
        thing(
            "kubeflow.org/v2beta1",
            "MPIJob",
            mpiReplicaSpecs={
                "Launcher": {"template": template()},
                "Worker": {"replicas": 2, "template": template("2")},
            },
        ),
        {"x-launcher": 1000, "x-worker-0": 2000, "x-worker-1": 2000},
        {"training.kubeflow.org/job-name": "x"},
    ),
    "MPIJob that only launches": Case(
        thing("kubeflow.org/v2beta1", "MPIJob", mpiReplicaSpecs={"Launcher": {"template": template()}}),
        {"x-launcher": 1000},
        {},
    ),
    "SparkApplication": Case(
        thing(
            "sparkoperator.k8s.io/v1beta2",
            "SparkApplication",
            type="Scala",
            driver={"cores": 1, "memory": "512m", "labels": {"version": "4"}},
            executor={"instances": 2, "coreRequest": "1500m", "memory": "4g"},
        ),
        {"x-driver": 1000, "x-exec-1": 1500, "x-exec-2": 1500},
        {"sparkoperator.k8s.io/app-name": "x"},
    ),
    "Argo Rollout": Case(
        thing("argoproj.io/v1alpha1", "Rollout", replicas=2, template=template()),
        numbered("x-{}", range(2)),
        {"app": "a"},
    ),
    "Knative Service": Case(
        thing("serving.knative.dev/v1", "Service", template={"spec": {"containers": [{"image": "i"}]}}),
        {"x-00001-deployment-0": 25},
        {"serving.knative.dev/service": "x"},
    ),
    "Knative Service with a least scale": Case(
        thing(
            "serving.knative.dev/v1",
            "Service",
            template=template() | {"metadata": {"annotations": {"autoscaling.knative.dev/min-scale": "3"}}},
        ),
        numbered("x-00001-deployment-{}", range(3), 1025),
        {},
    ),
    "Prometheus": Case(
        thing(
            "monitoring.coreos.com/v1",
            "Prometheus",
            replicas=2,
            shards=2,
            resources={"requests": {"cpu": "500m"}},
            storage={"volumeClaimTemplate": {"spec": {"resources": {"requests": {"storage": "1Gi"}}}}},
            containers=[{"name": "sidecar", "image": "s", "resources": {"requests": {"cpu": "90m"}}}],
        ),
        numbered("prometheus-x-{}", range(4), 600),
        {"operator.prometheus.io/name": "x"},
    ),
    "Alertmanager": Case(
        thing("monitoring.coreos.com/v1", "Alertmanager", replicas=3),
        numbered("alertmanager-x-{}", range(3), 10),
        {"alertmanager": "x"},
    ),
    "CloneSet": Case(
        thing("apps.kruise.io/v1alpha1", "CloneSet", replicas=2, template=template()), numbered("x-{}", range(2)), {}
    ),
    "Kruise StatefulSet": Case(
        thing("apps.kruise.io/v1beta1", "StatefulSet", replicas=2, template=template()), numbered("x-{}", range(2)), {}
    ),
    "Kruise DaemonSet": Case(
        thing("apps.kruise.io/v1alpha1", "DaemonSet", template=template()), {"x-n1": 1000, "x-n2": 1000}, {}
    ),
    "DeploymentConfig": Case(
        thing("apps.openshift.io/v1", "DeploymentConfig", replicas=2, template=template()),
        numbered("x-1-{}", range(2)),
        {},
    ),
    "Elasticsearch": Case(
        thing(
            "elasticsearch.k8s.elastic.co/v1",
            "Elasticsearch",
            nodeSets=[{"name": "hot", "count": 2}, {"name": "cold", "count": 1, "podTemplate": template("2")}],
        ),
        {"x-es-hot-0": 0, "x-es-hot-1": 0, "x-es-cold-0": 2000},
        {"elasticsearch.k8s.elastic.co/cluster-name": "x"},
    ),
    "Fleet": Case(
        thing("agones.dev/v1", "Fleet", replicas=2, template={"spec": {"template": template()}}),
        numbered("x-{}", range(2)),
        {"agones.dev/fleet": "x"},
    ),
    "extensions/v1beta1 Deployment": Case(
        thing("extensions/v1beta1", "Deployment", replicas=2, template=template()), numbered("x-{}", range(2)), {}
    ),
    "apps/v1beta1 StatefulSet": Case(
        thing("apps/v1beta1", "StatefulSet", replicas=2, template=template()), numbered("x-{}", range(2)), {}
    ),
    "apps/v1beta2 DaemonSet": Case(
        thing("apps/v1beta2", "DaemonSet", selector={"matchLabels": {"app": "a"}}, template=template()),
        {"x-n1": 1000, "x-n2": 1000},
        {},
    ),
    "batch/v1beta1 CronJob": Case(
        thing(
            "batch/v1beta1",
            "CronJob",
            schedule="* * * * *",
            jobTemplate={"spec": {"template": template(restartPolicy="Never")}},
        ),
        {"x-0": 1000},
        {},
    ),
    "KafkaNodePool": Case(
        thing("kafka.strimzi.io/v1", "KafkaNodePool", replicas=2, resources={"requests": {"cpu": "2"}})
        | {"metadata": {"name": "x", "labels": {"strimzi.io/cluster": "k"}}},
        numbered("k-x-{}", range(2), 2000),
        {"strimzi.io/cluster": "k", "strimzi.io/pool-name": "x"},
    ),
    "Kafka without node pools": Case(
        thing(
            "kafka.strimzi.io/v1beta2",
            "Kafka",
            kafka={"replicas": 2, "resources": {"requests": {"cpu": "1"}}},
            zookeeper={"replicas": 1},
            entityOperator={"topicOperator": {"resources": {"requests": {"cpu": "100m"}}}},
        ),
        {**numbered("x-kafka-{}", range(2)), "x-zookeeper-0": 0, "x-entity-operator-0": 100},
        {},
    ),
    "Sandbox": Case(thing("agents.x-k8s.io/v1alpha1", "Sandbox", podTemplate=template()), {"x": 1000}, {"app": "a"}),
    "SparkConnect": Case(
        thing(
            "sparkoperator.k8s.io/v1alpha1",
            "SparkConnect",
            server={"template": template()},
            executor={"instances": 2, "template": {"spec": {"containers": []}}},
        ),
        {"x-server": 1000, **numbered("x-executor-{}", range(2), 0)},
        {},
    ),
    "StormService": Case(
        thing(
            "orchestration.aibrix.ai/v1alpha1",
            "StormService",
            replicas=2,
            template={
                "spec": {
                    "roles": [
                        {"name": "prefill", "replicas": 1, "podGroupSize": 2, "template": template("2")},
                        {"name": "decode", "replicas": 2, "template": template()},
                    ]
                }
            },
        ),
        {f"x-{one}-prefill-0-{member}": 2000 for one in range(2) for member in range(2)}
        | {f"x-{one}-decode-{role}-0": 1000 for one in range(2) for role in range(2)},
        {"storm-service-name": "x"},
    ),
    "RoleSet": Case(
        thing(
            "orchestration.aibrix.ai/v1alpha1", "RoleSet", roles=[{"name": "r", "replicas": 2, "template": template()}]
        ),
        {"x-r-0-0": 1000, "x-r-1-0": 1000},
        {"roleset-name": "x", "role-name": "r"},
    ),
    "Logstash": Case(thing("logstash.k8s.elastic.co/v1alpha1", "Logstash", count=1), {"x-ls-0": 1000}, {}),
}
