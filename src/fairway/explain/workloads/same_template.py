"""Is what runs made from this template?

In: two templates as an API server and a person write them, or a running pod and one made from the template. Out: do
they say the same, as far as Fairway reads them: images, resources, labels, constraints, volumes. What the model does
not hold, such as environment variables and commands, is compared by `unread_changes`. Called by `there`.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from fairway.model import Container, Pod, PodSpec, PodTemplateSpec
from fairway.model.default_pod import default_pod
from fairway.model.owned import TEMPLATE_HASH

__all__ = ["RESTARTED_AT", "same_pod", "same_template"]

RESTARTED_AT: Final = "kubectl.kubernetes.io/restartedAt"
"""What `kubectl rollout restart` leaves behind: it is in no file, and applying a file does not remove it."""


def same_template(there: PodTemplateSpec, wanted: PodTemplateSpec) -> bool:
    """Do both say the same, once what the API server fills in is filled in?"""
    return bool(_completed(there) == _completed(wanted))


def same_pod(there: Pod, made: Pod, *, is_daemon: bool = False) -> bool:
    """Could the pod have been made from the template that `made` is of? Admission may have added to it since."""
    if not made.metadata.labels.items() <= there.metadata.labels.items():
        return False
    if not made.metadata.annotations.items() <= there.metadata.annotations.items():
        return False
    wanted, own = _default_spec(made.spec), _default_spec(there.spec)
    if not _same_containers(own.containers, wanted.containers):
        return False
    if not _same_containers(own.init_containers, wanted.init_containers):
        return False
    if not is_daemon and _node_affinity(own) != _node_affinity(wanted):
        return False
    return (
        wanted.node_selector.items() <= own.node_selector.items()
        and wanted.priority_class_name in ("", own.priority_class_name)
        and wanted.scheduler_name == own.scheduler_name
        and wanted.host_network == own.host_network
        and set(wanted.tolerations) <= set(own.tolerations)
        and {one.name for one in wanted.volumes} <= {one.name for one in own.volumes}
        and _spreading(wanted) == _spreading(own)
    )


def _completed(template: PodTemplateSpec) -> Any:
    labels = {key: value for key, value in template.metadata.labels.items() if key != TEMPLATE_HASH}
    notes = {key: value for key, value in template.metadata.annotations.items() if key != RESTARTED_AT}
    return labels, notes, template.spec.priority_class_name, _default_spec(template.spec)


def _default_spec(spec: PodSpec) -> PodSpec:
    """With the defaults; priorities, which depend on the cluster, are left out."""
    bare = msgspec.structs.replace(spec, priority_class_name="", priority=None, preemption_policy=None)
    made = default_pod(Pod(spec=bare), {}).spec
    return msgspec.structs.replace(made, priority_class_name=spec.priority_class_name, priority=None)


def _same_containers(there: tuple[Container, ...], wanted: tuple[Container, ...]) -> bool:
    by_name = {one.name: one for one in there}
    return all(one.name in by_name and _facts(by_name[one.name]) == _facts(one) for one in wanted)


def _facts(container: Container) -> Any:
    ports = {(port.container_port, port.host_port, port.protocol) for port in container.ports}
    return container.image, container.resources, ports, container.restart_policy


def _node_affinity(spec: PodSpec) -> Any:
    return spec.affinity.node_affinity if spec.affinity is not None else None


def _spreading(spec: PodSpec) -> Any:
    constraints = {(one.topology_key, one.max_skew, one.when_unsatisfiable) for one in spec.topology_spread_constraints}
    terms = set()
    if spec.affinity is not None:
        for name, affinity in (("near", spec.affinity.pod_affinity), ("apart", spec.affinity.pod_anti_affinity)):
            if affinity is not None:
                terms |= {(name, term.topology_key) for term in affinity.required}
    return constraints, terms
