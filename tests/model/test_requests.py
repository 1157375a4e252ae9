"""What a pod needs, as component-helpers v0.36.4 adds it up."""

from __future__ import annotations

from typing import Any

import pytest

from fairway.model import (
    Pod,
    container_limits,
    container_requests,
    convert,
    is_scalar_resource,
    pod_requests,
    pod_scoring_requests,
    resident_scoring_requests,
)

MI = 1 << 20
NO_MEMORY = 200 * MI


def container(name: str = "c", **requests: str) -> dict[str, Any]:
    return {"name": name, "resources": {"requests": requests}}


def sidecar(name: str, **requests: str) -> dict[str, Any]:
    return container(name, **requests) | {"restartPolicy": "Always"}


def pod(*containers: dict[str, Any], init: list[dict[str, Any]] | None = None, status: Any = None, **spec: Any) -> Pod:
    return convert(
        {"spec": {"containers": containers, "initContainers": init or [], **spec}, "status": status or {}}, Pod
    )


SUMS = {
    "nothing": (pod(container()), {}),
    "one": (pod(container(cpu="250m", memory="1Mi")), {"cpu": 250, "memory": MI}),
    "two": (pod(container(cpu="250m"), container("d", cpu="1", memory="1Mi")), {"cpu": 1250, "memory": MI}),
    "rounded once, at the end": (pod(container(cpu="100u"), container("d", cpu="100u")), {"cpu": 1}),
    "an explicit zero stays": (pod(container(cpu="0")), {"cpu": 0}),
    "extended": (pod(container(**{"example.com/gpu": "2"})), {"example.com/gpu": 2}),
    "huge pages": (pod(container(**{"hugepages-2Mi": "4Mi"})), {"hugepages-2Mi": 4 * MI}),
    "ephemeral storage": (pod(container(**{"ephemeral-storage": "1Mi"})), {"ephemeral-storage": MI}),
    "not counted by schedulers": (pod(container(storage="1Mi", pods="3", cpu="1")), {"cpu": 1000}),
    "init containers are a floor": (
        pod(container(cpu="1", memory="5Mi"), init=[container("i", cpu="3"), container("j", memory="2Mi", cpu="2")]),
        {"cpu": 3000, "memory": 5 * MI},
    ),
    "sidecars run beside": (
        pod(container(cpu="1"), init=[sidecar("s", cpu="500m"), sidecar("t", cpu="250m")]),
        {"cpu": 1750},
    ),
    "an init container runs beside earlier sidecars": (
        pod(container(cpu="1"), init=[sidecar("s", cpu="1"), container("i", cpu="3"), sidecar("t", cpu="1")]),
        {"cpu": 4000},
    ),
    "but not beside later ones": (
        pod(container(cpu="1"), init=[container("i", cpu="3"), sidecar("s", cpu="1")]),
        {"cpu": 3000},
    ),
    "overhead": (pod(container(cpu="1"), overhead={"cpu": "10m", "memory": "1Mi"}), {"cpu": 1010, "memory": MI}),
    "the pod's own requests replace": (
        pod(container(cpu="1", memory="1Mi"), resources={"requests": {"cpu": "3"}}, overhead={"cpu": "10m"}),
        {"cpu": 3010, "memory": MI},
    ),
    "the pod's own limits alone do not": (pod(container(cpu="1"), resources={"limits": {"cpu": "3"}}), {"cpu": 1000}),
    "only what a pod may ask for": (
        pod(container(), resources={"requests": {"example.com/gpu": "1", "hugepages-2Mi": "2Mi"}}),
        {"hugepages-2Mi": 2 * MI},
    ),
}


@pytest.mark.parametrize(("subject", "expected"), SUMS.values(), ids=SUMS)
def test_pod_requests(subject: Pod, expected: dict[str, int]) -> None:
    assert pod_requests(subject) == expected
    assert pod_requests(subject, use_status=False) == expected


def resize(spec: str, actual: str | None, allocated: str | None, reason: str = "") -> Pod:
    reported: dict[str, Any] = {"name": "c"}
    if actual is not None:
        reported["resources"] = {"requests": {"cpu": actual}}
    if allocated is not None:
        reported["allocatedResources"] = {"cpu": allocated}
    conditions = [{"type": "PodResizePending", "status": "True", "reason": reason}] if reason else []
    return pod(container(cpu=spec), status={"containerStatuses": [reported], "conditions": conditions})


RESIZES = {
    "growing": (resize("3", "1", "1"), 3000),
    "shrinking": (resize("1", "3", "2"), 3000),
    "promised": (resize("1", "1", "4"), 4000),
    "deferred still counts": (resize("3", "1", "1", "Deferred"), 3000),
    "infeasible does not": (resize("3", "1", "2", "Infeasible"), 2000),
    "not reported": (resize("3", None, "9"), 3000),
}


@pytest.mark.parametrize(("subject", "cpu"), RESIZES.values(), ids=RESIZES)
def test_a_resize_under_way_counts_for_placed_pods(subject: Pod, cpu: int) -> None:
    assert pod_requests(subject) == {"cpu": cpu}
    written = subject.spec.containers[0].resources.requests["cpu"].milli
    assert pod_requests(subject, use_status=False) == {"cpu": written}


def test_a_resize_of_the_whole_pod() -> None:
    subject = pod(
        container(cpu="1"),
        resources={"requests": {"cpu": "2", "memory": "1Mi"}},
        status={"resources": {"requests": {"cpu": "4"}}, "allocatedResources": {"memory": "3Mi"}},
    )
    assert pod_requests(subject) == {"cpu": 4000, "memory": 3 * MI}
    assert pod_requests(subject, use_status=False) == {"cpu": 2000, "memory": MI}


def test_what_a_node_never_gave_is_nothing_when_the_resize_cannot_be() -> None:
    subject = pod(
        container(),
        resources={"requests": {"cpu": "2"}},
        status={"resources": {}, "conditions": [{"type": "PodResizePending", "reason": "Infeasible"}]},
    )
    assert pod_requests(subject) == {"cpu": 0}


def test_the_status_of_a_plain_init_container_does_not_count() -> None:
    reported = [{"name": name, "resources": {"requests": {"cpu": "9"}}} for name in ("i", "s")]
    subject = pod(
        container(cpu="1"),
        init=[container("i", cpu="2"), sidecar("s", cpu="1")],
        status={"initContainerStatuses": reported},
    )
    assert pod_requests(subject) == {"cpu": 10000}


SCORING = {
    "nothing asked for": (pod(container()), (100, NO_MEMORY), (100, NO_MEMORY)),
    "each container": (pod(container(), container("d", cpu="1")), (1100, 2 * NO_MEMORY), (1100, 2 * NO_MEMORY)),
    "zero is an answer": (pod(container(cpu="0", memory="0")), (0, 0), (0, 0)),
    "init containers too": (pod(container(cpu="10m"), init=[container("i")]), (100, NO_MEMORY), (100, NO_MEMORY)),
    "overhead on top": (pod(container(), overhead={"cpu": "1"}), (1100, NO_MEMORY), (1100, NO_MEMORY)),
    "the pod says cpu, which counts only once it is placed": (
        pod(container(), container("d"), resources={"requests": {"cpu": "1"}}),
        (200, 2 * NO_MEMORY),
        (1000, 2 * NO_MEMORY),
    ),
    "the pod says cpu, a container memory": (
        pod(container(memory="1Mi"), container("d"), resources={"requests": {"cpu": "1"}}),
        (200, NO_MEMORY + MI),
        (1000, MI),
    ),
}


@pytest.mark.parametrize(("subject", "incoming", "resident"), SCORING.values(), ids=SCORING)
def test_scoring_requests(subject: Pod, incoming: tuple[int, int], resident: tuple[int, int]) -> None:
    scored = pod_scoring_requests(subject)
    assert (scored["cpu"], scored["memory"]) == incoming
    counted = resident_scoring_requests(subject)
    assert (counted["cpu"], counted["memory"]) == resident


def test_scoring_keeps_the_other_resources() -> None:
    subject = pod(container(**{"example.com/gpu": "2"}))
    assert pod_scoring_requests(subject)["example.com/gpu"] == 2


def test_containers_together_without_the_pod_itself() -> None:
    subject = convert(
        {
            "spec": {
                "containers": [{"resources": {"requests": {"cpu": "1"}, "limits": {"cpu": "2"}}}],
                "initContainers": [{"restartPolicy": "Always", "resources": {"limits": {"cpu": "3"}}}],
                "resources": {"requests": {"cpu": "9"}},
            }
        },
        Pod,
    )
    assert container_requests(subject) == {"cpu": 10**9}
    assert container_limits(subject) == {"cpu": 5 * 10**9}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("cpu", False),
        ("pods", False),
        ("storage", False),
        ("example.com/gpu", True),
        ("hugepages-1Gi", True),
        ("attachable-volumes-csi-x", True),
        ("kubernetes.io/thing", True),
        ("requests.example.com/gpu", False),
        ("example.com/-", False),
    ],
)
def test_is_scalar_resource(name: str, expected: bool) -> None:
    assert is_scalar_resource(name) is expected
