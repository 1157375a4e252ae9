"""The kinds that say which pods belong together, on a real API server: its own behind gates, others' by definitions.

In: what to serve. Out: flags for the server, and CustomResourceDefinitions that take anything, there for as long as a
test wants them. Nothing here is the code under test.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from tests.kube.api import Api, ApiError, Json
from tests.kube.processes import wait_until

__all__ = ["COSCHEDULING", "GATES", "JOB_SET", "LEADER_WORKER_SET", "SERVER_FLAGS", "VOLCANO", "defined", "is_served"]

GATES: Final = "--feature-gates=GenericWorkload=true,GangScheduling=true"
SERVER_FLAGS: Final = (GATES, "--runtime-config=scheduling.k8s.io/v1alpha2=true")
PATIENCE: Final = 120.0
DEFINITIONS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


def _definition(plural: str, kind: str, api_group: str, version: str) -> Json:
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "name": f"{plural}.{api_group}",
            "annotations": {"api-approved.kubernetes.io": "unapproved, for a test"},
        },
        "spec": {
            "group": api_group,
            "names": {"plural": plural, "kind": kind, "listKind": f"{kind}List", "singular": kind.lower()},
            "scope": "Namespaced",
            "versions": [{"name": version, "served": True, "storage": True, "schema": schema}],
        },
    }


COSCHEDULING: Final = _definition("podgroups", "PodGroup", "scheduling.x-k8s.io", "v1alpha1")
VOLCANO: Final = _definition("podgroups", "PodGroup", "scheduling.volcano.sh", "v1beta1")
JOB_SET: Final = _definition("jobsets", "JobSet", "jobset.x-k8s.io", "v1alpha2")
LEADER_WORKER_SET: Final = _definition("leaderworkersets", "LeaderWorkerSet", "leaderworkerset.x-k8s.io", "v1")


@contextmanager
def defined(api: Api, *definitions: Json) -> Iterator[None]:
    """Let the server serve these kinds, and take them away again with all their objects."""
    try:
        for each in definitions:
            api.request("POST", DEFINITIONS, each)
        for each in definitions:
            wait_until(lambda each=each: is_served(api, each), "the kind is served", PATIENCE)  # type: ignore[misc]
        yield
    finally:
        for each in definitions:
            api.request("DELETE", f"{DEFINITIONS}/{each['metadata']['name']}")
        for each in definitions:
            wait_until(lambda each=each: not is_served(api, each), "the kind is gone", PATIENCE)  # type: ignore[misc]


def is_served(api: Api, definition: Json) -> bool:
    """Whether objects of the kind can be had."""
    spec = definition["spec"]
    try:
        api.request("GET", f"/apis/{spec['group']}/{spec['versions'][0]['name']}/{spec['names']['plural']}")
    except ApiError as error:
        if error.status not in (404, 405, 429, 503):
            raise
        return False
    return True
