"""What KWOK does in place of the kubelets and of a volume provisioner: the stages that objects go through.

In: nothing. Out: the text of a KWOK configuration. Closer to a kubelet than `tests/kube/kubelet.yaml`, as upstream's
specs look at more: containers have statuses, pods have addresses, a script that says `exit 1` fails, an image that does
not exist is not run, a preStop hook that sleeps keeps a deleted pod alive, and a deleted pod with a finalizer is seen
to end. Nothing is really run, so nothing can be executed in a container, read from its log or fetched from its port.
A claim for which the scheduler has chosen a node gets a volume there. Called by `cluster`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from textwrap import indent
from typing import Any, Final

__all__ = ["STORAGE_CLASS", "stages"]

Json = dict[str, Any]

STORAGE_CLASS: Final[Json] = {
    "apiVersion": "storage.k8s.io/v1",
    "kind": "StorageClass",
    "metadata": {"name": "standard", "annotations": {"storageclass.kubernetes.io/is-default-class": "true"}},
    "provisioner": "fairway.test/provisioner",
    "volumeBindingMode": "WaitForFirstConsumer",
}

EXIT_CODE: Final = """
def script: [.spec.containers[0] | (.command // [])[], (.args // [])[]] | join(" ");
def index: .metadata.annotations["batch.kubernetes.io/job-completion-index"] // "0" | tonumber;
def restarts: .status.containerStatuses[0].restartCount // 0;
if script | test("JOB_COMPLETION_INDEX} % 2") then index % 2 | tostring
elif script | test("touch /data/foo\\\\s") then (if restarts > 0 then "0" else "1" end)
elif script | test("exit 0$|/bin/true$|RANDOM") then "0"
elif script | test("exit 1$|/bin/false$") then "1"
elif script == "" and (.spec.containers[0].image | test("busybox")) then "0"
else "runs" end
"""
"""What a container's command comes to, in jq: the scripts of upstream's Jobs (test/e2e/framework/job/fixtures.go), read
rather than run. One of them fails until it has been restarted, one leaves it to chance and is lucky here; a shell that
has nothing to do ends well."""

IS_MISSING: Final = '[.spec.containers[].image] | any(test(":404$|:non-?existent$|doesnt-exist$"))'
"""An image that the specs count on not to exist."""

IS_HELD: Final = "(.metadata.finalizers // []) != []"
"""Somebody wants to see how the pod ended before it goes."""

READY_AFTER: Final = '([.spec.containers[].readinessProbe.initialDelaySeconds // 0] | max | tostring) + "s"'
GONE_AFTER: Final = '([1, (.spec.containers[].lifecycle.preStop.sleep.seconds // 0)] | max | tostring) + "s"'
"""Never at once: specs look at a pod that they have just deleted, and count on seeing it or its successor."""

RUNNING: Final = """
{{ $now := Now }}
phase: Running
startTime: {{ $now | Quote }}
observedGeneration: {{ or .metadata.generation 1 }}
conditions:
{{ range list "PodScheduled" "Initialized" }}
- {type: {{ . }}, status: "True", lastTransitionTime: {{ $now | Quote }}}
{{ end }}
{{ range list "Ready" "ContainersReady" }}
- {type: {{ . }}, status: "False", lastTransitionTime: {{ $now | Quote }}}
{{ end }}
containerStatuses:
{{ range .spec.containers }}
- name: {{ .name | Quote }}
  image: {{ .image | Quote }}
  imageID: ""
  ready: false
  started: true
  restartCount: 0
  state: {running: {startedAt: {{ $now | Quote }}}}
{{ end }}
initContainerStatuses:
{{ range .spec.initContainers }}
- name: {{ .name | Quote }}
  image: {{ .image | Quote }}
  imageID: ""
  ready: true
  restartCount: 0
  state: {terminated: {exitCode: 0, reason: Completed, startedAt: {{ $now | Quote }}, finishedAt: {{ $now | Quote }}}}
{{ end }}
{{ with NodeIPsWith .spec.nodeName }}
hostIP: {{ index . 0 | Quote }}
hostIPs: [{ip: {{ index . 0 | Quote }}}]
{{ end }}
{{ $network := or .spec.hostNetwork false }}
{{ with PodIPsWith .spec.nodeName $network (or .metadata.uid "") .metadata.name .metadata.namespace }}
podIP: {{ index . 0 | Quote }}
podIPs: [{ip: {{ index . 0 | Quote }}}]
{{ end }}
"""

ENDED: Final = """
{{ $now := Now }}
phase: PHASE
observedGeneration: {{ or .metadata.generation 1 }}
conditions:
{{ range list "Ready" "ContainersReady" }}
- {type: {{ . }}, status: "False", reason: PodPHASE, lastTransitionTime: {{ $now | Quote }}}
{{ end }}
{{ $statuses := .status.containerStatuses }}
containerStatuses:
{{ range $container := .spec.containers }}
- name: {{ .name | Quote }}
  image: {{ .image | Quote }}
  imageID: ""
  ready: false
  started: false
  restartCount: {{ $restarts := 0 }}{{ range $statuses }}
    {{- if eq .name $container.name }}{{ $restarts = int .restartCount }}{{ end }}{{ end }}{{ $restarts }}
  state:
    terminated: {exitCode: CODE, reason: REASON, startedAt: {{ $now | Quote }}, finishedAt: {{ $now | Quote }}}
{{ end }}
"""

READY: Final = """
{{ $now := Now }}
conditions:
{{ range list "Ready" "ContainersReady" }}
- {type: {{ . }}, status: "True", lastTransitionTime: {{ $now | Quote }}}
{{ end }}
containerStatuses:
{{ range .status.containerStatuses }}
- {{ merge (dict "ready" true) . | toJson }}
{{ end }}
"""

RESTARTED: Final = """
containerStatuses:
{{ range .status.containerStatuses }}
- {{ merge (dict "restartCount" (add (int .restartCount) 1)) . | toJson }}
{{ end }}
"""

OBSERVED: Final = "observedGeneration: {{ .metadata.generation }}"

OFFERED: Final = """
{{ $node := . }}
allocatable:
{{ range $name, $amount := .status.capacity }}
  {{ $name | Quote }}: {{ $amount | Quote }}
{{ end }}
{{ range $name, $amount := .status.allocatable }}
{{ if not (hasKey $node.status.capacity $name) }}
  {{ $name | Quote }}: null
{{ end }}
{{ end }}
"""

VOLUME: Final = """
apiVersion: v1
kind: PersistentVolume
metadata:
  name: volume-{{ .metadata.uid }}
  annotations: {pv.kubernetes.io/provisioned-by: fairway.test/provisioner}
spec:
  accessModes: {{ .spec.accessModes | toJson }}
  capacity: {{ .spec.resources.requests | toJson }}
  persistentVolumeReclaimPolicy: Delete
  storageClassName: {{ .spec.storageClassName | Quote }}
  claimRef:
    apiVersion: v1
    kind: PersistentVolumeClaim
    name: {{ .metadata.name | Quote }}
    namespace: {{ .metadata.namespace | Quote }}
    uid: {{ .metadata.uid | Quote }}
  local: {path: /tmp}
  nodeAffinity:
    required:
      nodeSelectorTerms:
      - matchExpressions:
        - key: kubernetes.io/hostname
          operator: In
          values: [{{ index .metadata.annotations "volume.kubernetes.io/selected-node" | Quote }}]
"""


def stages() -> str:
    """KWOK's configuration: one stage a document."""
    is_alive: Json = {"key": ".metadata.deletionTimestamp", "operator": "DoesNotExist"}
    is_deleted: Json = {"key": ".metadata.deletionTimestamp", "operator": "Exists"}
    has_time_left = _is(".metadata.deletionGracePeriodSeconds > 0", "true")  # else the server removes it by itself
    is_pending, is_running = _is(".status.phase", "Pending"), _is(".status.phase", "Running")
    succeeds, fails = _is(EXIT_CODE, "0"), _is(EXIT_CODE, "1")
    has_node: Json = {"key": '.metadata.annotations["volume.kubernetes.io/selected-node"]', "operator": "Exists"}
    is_observed = ".status.observedGeneration == .metadata.generation"
    return "---\n".join(
        [
            # Specs give a node more by writing its capacity; a kubelet then offers that.
            _stage(
                "nodes-offer-what-they-have",
                [_is(".status.capacity == .status.allocatable", "false")],
                _patch(OFFERED, "merge"),
                kind="Node",
            ),
            _stage("bound-pods-run", [is_alive, is_pending, _is(IS_MISSING, "false")], _patch(RUNNING)),
            _stage(
                "running-pods-are-ready",
                [is_alive, is_running, _is('.status.conditions[] | select(.type == "Ready") | .status', "False")],
                _patch(READY),
                delay={"durationFrom": {"expressionFrom": READY_AFTER}},
            ),
            _stage("changes-are-observed", [is_alive, is_running, _is(is_observed, "false")], _patch(OBSERVED)),
            _stage(
                "pods-succeed",
                [is_alive, is_running, succeeds, _is(".spec.restartPolicy", "Never", "OnFailure")],
                _patch(_ended("Succeeded", 0, "Completed")),
                delay={"durationMilliseconds": 1000},
            ),
            _stage(
                "pods-fail",
                [is_alive, is_running, fails, _is(".spec.restartPolicy", "Never")],
                _patch(_ended("Failed", 1, "Error")),
                delay={"durationMilliseconds": 1000},
            ),
            _stage(
                "containers-restart",
                [is_alive, is_running, fails, _is(".spec.restartPolicy", "Always", "OnFailure")],
                _patch(RESTARTED),
                delay={"durationMilliseconds": 2000},
            ),
            # KWOK deletes by name alone, so nothing is deleted twice: that could hit a successor of the same name.
            _stage(
                "deleted-pods-end",
                [is_deleted, _is(IS_HELD, "true"), _is(".status.phase", "Pending", "Running")],
                _patch(_ended("Failed", 137, "Error")),
                delay={"durationFrom": {"expressionFrom": GONE_AFTER}},
            ),
            _stage(
                "deleted-pods-go",
                [has_time_left, _is(IS_HELD, "false")],
                [{"delete": True}],
                delay={"durationFrom": {"expressionFrom": GONE_AFTER}},
            ),
            _stage(
                "ended-pods-go",
                [has_time_left, _is(IS_HELD, "true"), _is(".status.phase", "Succeeded", "Failed")],
                [{"delete": True}],
            ),
            _stage(
                "claims-get-volumes",
                [is_alive, is_pending, has_node, _is(".spec.storageClassName", "standard")],
                [{"apply": {"template": VOLUME}}],
                kind="PersistentVolumeClaim",
            ),
            _stage(
                "released-volumes-go",
                [is_alive, _is(".status.phase", "Released"), _is(".spec.storageClassName", "standard")],
                [{"delete": True}],
                kind="PersistentVolume",
            ),
        ]
    )


def _stage(
    name: str,
    conditions: Sequence[Json],
    steps: Sequence[Json],
    *,
    kind: str = "Pod",
    delay: Mapping[str, Any] | None = None,
) -> str:
    spec: Json = {
        "resourceRef": {"apiGroup": "v1", "kind": kind},
        "selector": {"matchExpressions": list(conditions)},
        "steps": list(steps),
    }
    if delay:
        spec["delay"] = delay
    content = {"apiVersion": "kwok.x-k8s.io/v1alpha1", "kind": "Stage", "metadata": {"name": name}, "spec": spec}
    return json.dumps(content, indent=1) + "\n"


def _is(expression: str, *values: str) -> Json:
    return {"key": expression, "operator": "In", "values": list(values)}


def _patch(template: str, kind: str = "strategic") -> list[Json]:
    """A change of the status; of this very object, not of one that has come into the world under the same name."""
    whole = f"metadata: {{uid: {{{{ .metadata.uid | Quote }}}}}}\nstatus:\n{indent(template, '  ')}"
    return [{"patch": {"subresource": "status", "type": kind, "template": whole}}]


def _ended(phase: str, code: int, reason: str) -> str:
    return ENDED.replace("PHASE", phase).replace("CODE", str(code)).replace("REASON", reason)
