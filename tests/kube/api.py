"""A small client for the tests' own use of an API server: what a person would do with kubectl.

In: where the server is, and a token or a client certificate. Out: objects as plain JSON. Blocking; connections are kept
and shared, so that thousands of objects can be created from a pool of threads. Nothing here is the code under test.
"""

from __future__ import annotations

import http.client
import json
import ssl
import threading
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import urlencode, urlsplit

__all__ = ["Api", "ApiError", "Json"]

Json = dict[str, Any]

CORE: Final = "api/v1"
APPS: Final = "apis/apps/v1"
STORAGE: Final = "apis/storage.k8s.io/v1"
RBAC: Final = "apis/rbac.authorization.k8s.io/v1"
RESOURCE: Final = "apis/resource.k8s.io/v1"
OURS: Final = "apis/fairway.dev/v1alpha1"


class Kind(NamedTuple):
    """Where objects of a kind live."""

    group: str
    plural: str
    is_namespaced: bool = True


KINDS: Final = {
    "Namespace": Kind(CORE, "namespaces", False),
    "Node": Kind(CORE, "nodes", False),
    "Pod": Kind(CORE, "pods"),
    "Service": Kind(CORE, "services"),
    "ServiceAccount": Kind(CORE, "serviceaccounts"),
    "ConfigMap": Kind(CORE, "configmaps"),
    "Secret": Kind(CORE, "secrets"),
    "ReplicationController": Kind(CORE, "replicationcontrollers"),
    "PersistentVolume": Kind(CORE, "persistentvolumes", False),
    "PersistentVolumeClaim": Kind(CORE, "persistentvolumeclaims"),
    "ReplicaSet": Kind(APPS, "replicasets"),
    "StatefulSet": Kind(APPS, "statefulsets"),
    "Deployment": Kind(APPS, "deployments"),
    "Job": Kind("apis/batch/v1", "jobs"),
    "CustomResourceDefinition": Kind("apis/apiextensions.k8s.io/v1", "customresourcedefinitions", False),
    "PodDisruptionBudget": Kind("apis/policy/v1", "poddisruptionbudgets"),
    "NetworkPolicy": Kind("apis/networking.k8s.io/v1", "networkpolicies"),
    "PriorityClass": Kind("apis/scheduling.k8s.io/v1", "priorityclasses", False),
    "StorageClass": Kind(STORAGE, "storageclasses", False),
    "CSINode": Kind(STORAGE, "csinodes", False),
    "CSIDriver": Kind(STORAGE, "csidrivers", False),
    "CSIStorageCapacity": Kind(STORAGE, "csistoragecapacities"),
    "VolumeAttachment": Kind(STORAGE, "volumeattachments", False),
    "ResourceClaim": Kind(RESOURCE, "resourceclaims"),
    "ResourceSlice": Kind(RESOURCE, "resourceslices", False),
    "DeviceClass": Kind(RESOURCE, "deviceclasses", False),
    "Lease": Kind("apis/coordination.k8s.io/v1", "leases"),
    "Event": Kind("apis/events.k8s.io/v1", "events"),
    "Queue": Kind(OURS, "queues", False),
    "Account": Kind(OURS, "accounts", False),
    "MaintenanceWindow": Kind(OURS, "maintenancewindows", False),
    "Reservation": Kind(OURS, "reservations", False),
    "JobRecord": Kind(OURS, "jobrecords"),
    "Role": Kind(RBAC, "roles"),
    "RoleBinding": Kind(RBAC, "rolebindings"),
    "ClusterRole": Kind(RBAC, "clusterroles", False),
    "ClusterRoleBinding": Kind(RBAC, "clusterrolebindings", False),
}

PATCHES: Final = {
    "strategic": "application/strategic-merge-patch+json",
    "merge": "application/merge-patch+json",
    "apply": "application/apply-patch+yaml",
}


class ApiError(Exception):
    """The server refused: its code and its words."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(f"{status}: {message}")
        self.status = status


class Api:
    """An API server, as one of its users."""

    def __init__(
        self, url: str, ca_file: Path, *, token: str | None = None, client: tuple[Path, Path] | None = None
    ) -> None:
        parts = urlsplit(url)
        self._host, self._port = parts.hostname or "127.0.0.1", parts.port or 443
        self._context = ssl.create_default_context(cafile=str(ca_file))
        if client:
            self._context.load_cert_chain(*client)
        self._headers = {"Accept": "application/json"} | ({"Authorization": f"Bearer {token}"} if token else {})
        self._lock = threading.Lock()
        self._idle: list[http.client.HTTPSConnection] = []

    def request(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        query: Mapping[str, str] | None = None,
        content_type: str = "application/json",
    ) -> Json:
        """One request; an `ApiError` unless the answer is a success."""
        target = f"/{path.lstrip('/')}" + (f"?{urlencode(query)}" if query else "")
        data = None if body is None else json.dumps(body).encode()
        headers = self._headers | ({"Content-Type": content_type} if data else {})
        status, answer = self._exchange(method, target, data, headers)
        content: Json = json.loads(answer) if answer[:1] == b"{" else {"text": answer.decode(errors="replace")}
        if status >= 400:
            raise ApiError(status, content.get("message") or content.get("text", ""))
        return content

    def create(self, thing: Json, **query: str) -> Json:
        """Create an object of any kind in `KINDS`; its status is written too, if it has one."""
        metadata = thing["metadata"]
        path = self._path(thing["kind"], metadata.get("namespace"))
        created = self.request("POST", path, thing, query=query)
        if thing.get("status") and thing["kind"] in {
            "PersistentVolumeClaim",
            "PersistentVolume",
            "PodDisruptionBudget",
        }:
            created = self.update_status({**created, "status": thing["status"]})
        return created

    def create_all(self, things: Iterable[Json], num_threads: int = 8) -> None:
        """Create very many."""
        with ThreadPoolExecutor(num_threads) as pool:
            for _ in pool.map(self.create, things):
                pass

    def get(self, kind: str, name: str, namespace: str | None = None) -> Json:
        """One object."""
        return self.request("GET", f"{self._path(kind, namespace)}/{name}")

    def items(self, kind: str, namespace: str | None = None, **query: str) -> list[Json]:
        """All objects of a kind, in one namespace or in all; `labelSelector=...` and the like narrow it down."""
        items = self.request("GET", self._path(kind, namespace), query=query)["items"]
        return list(items)

    def columns(self, kind: str, namespace: str) -> list[str]:
        """Those of the table that kubectl prints unless asked for more, in capitals as it prints them."""
        headers = self._headers | {"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
        status, answer = self._exchange("GET", self._path(kind, namespace), None, headers)
        if status != 200:
            raise ApiError(status, answer.decode(errors="replace"))
        found = json.loads(answer)["columnDefinitions"]
        return [column["name"].upper() for column in found if not column.get("priority")]

    def patch(self, kind: str, name: str, namespace: str | None, change: Json, *, subresource: str = "") -> Json:
        """A strategic merge patch (a merge patch for what has no strategy)."""
        path = f"{self._path(kind, namespace)}/{name}" + (f"/{subresource}" if subresource else "")
        return self.request("PATCH", path, change, content_type=PATCHES["strategic"])

    def apply(self, thing: Json, *, manager: str = "tests", dry_run: bool = False) -> Json:
        """Server-side apply, as `kubectl apply --server-side` does it."""
        path = f"{self._path(thing['kind'], thing['metadata'].get('namespace'))}/{thing['metadata']['name']}"
        query = {"fieldManager": manager, "force": "true"} | ({"dryRun": "All"} if dry_run else {})
        return self.request("PATCH", path, thing, query=query, content_type=PATCHES["apply"])

    def update_status(self, thing: Json) -> Json:
        """Replace an object's status."""
        metadata = thing["metadata"]
        path = f"{self._path(thing['kind'], metadata.get('namespace'))}/{metadata['name']}/status"
        return self.request("PUT", path, thing)

    def bind(self, name: str, namespace: str, node: str) -> Json:
        """Bind a pod, as any scheduler may."""
        body = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": name, "namespace": namespace},
            "target": {"kind": "Node", "name": node},
        }
        return self.request("POST", f"{self._path('Pod', namespace)}/{name}/binding", body)

    def delete(self, kind: str, name: str, namespace: str | None = None) -> None:
        """Delete an object at once, without a grace period."""
        query = {"gracePeriodSeconds": "0"}
        self.request("DELETE", f"{self._path(kind, namespace)}/{name}", query=query)

    def delete_all(self, kind: str, namespace: str | None = None) -> None:
        """Delete every object of a kind, in one namespace, or in every one that has such objects.

        Nothing stays because of a finalizer: whoever put it there may be gone.
        """
        query = {"gracePeriodSeconds": "0"}
        if KINDS[kind].is_namespaced and namespace is None:
            namespaces = {str(item["metadata"]["namespace"]) for item in self.items(kind)}
        else:
            namespaces = {namespace or ""}
        for each in namespaces:
            while not self._delete_some(self._path(kind, each or None), query):
                pass
        for item in self.items(kind, namespace):
            if item["metadata"].get("finalizers") and "deletionTimestamp" in item["metadata"]:
                self._unprotect(kind, item["metadata"])

    def _unprotect(self, kind: str, metadata: Json) -> None:
        """Let an object that is being deleted go, if it is still there."""
        path = f"{self._path(kind, metadata.get('namespace'))}/{metadata['name']}"
        try:
            self.request("PATCH", path, {"metadata": {"finalizers": None}}, content_type="application/merge-patch+json")
        except ApiError as error:
            if error.status != http.HTTPStatus.NOT_FOUND:
                raise

    def _delete_some(self, path: str, query: Mapping[str, str]) -> bool:
        """Delete a collection, or as much of it as the server manages in its time; whether it was all."""
        try:
            self.request("DELETE", path, query=query)
        except ApiError as error:
            if error.status != http.HTTPStatus.GATEWAY_TIMEOUT:
                raise
            return False
        return True

    def _path(self, kind: str, namespace: str | None) -> str:
        where = KINDS[kind]
        middle = f"namespaces/{namespace}/" if namespace and where.is_namespaced else ""
        return f"/{where.group}/{middle}{where.plural}"

    def _exchange(self, method: str, target: str, data: bytes | None, headers: Mapping[str, str]) -> tuple[int, bytes]:
        """Send on an idle connection; one that the server has closed meanwhile is made anew, once."""
        with self._lock:
            idle = self._idle.pop() if self._idle else None
        connection = idle or http.client.HTTPSConnection(self._host, self._port, context=self._context, timeout=90)
        try:
            connection.request(method, target, body=data, headers=dict(headers))
            response = connection.getresponse()
            answer = response.status, response.read()
        except (http.client.HTTPException, OSError):
            connection.close()
            if idle is None:
                raise
            self.close()  # the others are as old
            return self._exchange(method, target, data, headers)
        with self._lock:
            self._idle.append(connection)
        return answer

    def close(self) -> None:
        """Close the idle connections; more are opened when needed."""
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()
