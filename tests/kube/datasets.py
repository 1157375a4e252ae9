"""Datashim's kinds on a real API server: definitions with its names and fields, in our own words, and objects of them.

In: a group, names, nodes. Out: CustomResourceDefinitions that an API server takes, and calls that make, change and
delete datasets of either group. Nothing here is the code under test.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tests.kube.api import Api, ApiError, Json
from tests.kube.processes import wait_until

__all__ = ["GROUPS", "NEW", "OLD", "Datasets"]

NEW: Final = "datashim.io"
OLD: Final = "com.ie.ibm.hpsys"
GROUPS: Final = (NEW, OLD)
PLURALS: Final = {"Dataset": "datasets", "DatasetInternal": "datasetsinternal"}
VERSION: Final = "v1alpha1"

TEXT: Final[Json] = {"type": "string"}
TEXTS: Final[Json] = {"type": "object", "additionalProperties": TEXT}
STATE: Final[Json] = {"type": "object", "properties": {"status": TEXT, "info": TEXT}}
PLACES: Final[Json] = {
    "type": "array",
    "items": {"type": "object", "required": ["key", "value"], "properties": {"key": TEXT, "value": TEXT}},
}
PLACED: Final[Json] = {
    "type": "object",
    "properties": {
        **STATE["properties"],
        "placements": {"type": "object", "properties": {"gateways": PLACES, "datalocations": PLACES}},
    },
}
SPEC: Final[Json] = {
    "type": "object",
    "properties": {"local": TEXTS, "remote": TEXTS, "type": TEXT, "url": TEXT, "format": TEXT, "extract": TEXT},
}


def definition(group: str, kind: str) -> Json:
    """What makes an API server serve a kind."""
    plural, caching = PLURALS[kind], STATE if kind == "Dataset" else PLACED
    status = {"type": "object", "properties": {"caching": caching, "provision": STATE}}
    schema = {"type": "object", "properties": {"spec": SPEC, "status": status}}
    version = {
        "name": VERSION,
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {"status": {}},
    }
    names = {"kind": kind, "listKind": f"{kind}List", "plural": plural, "singular": kind.lower()}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {"group": group, "scope": "Namespaced", "names": names, "versions": [version]},
    }


class Datasets:
    """The datasets of one namespace, as somebody with kubectl would handle them."""

    def __init__(self, api: Api, namespace: str) -> None:
        self._api = api
        self._namespace = namespace

    def install(self, *groups: str) -> None:
        """Let the server serve both kinds of these groups, and wait until it does."""
        for group in groups:
            for kind in PLURALS:
                self._api.apply(definition(group, kind))
        wait_until(
            lambda: all(self._is_served(group, kind) for group in groups for kind in PLURALS), "kinds are served"
        )

    def remove(self, *groups: str) -> None:
        """Take the kinds away, with all their objects, and wait until they are gone."""
        for group in groups:
            for kind in PLURALS:
                try:
                    self._api.delete("CustomResourceDefinition", f"{PLURALS[kind]}.{group}")
                except ApiError as error:
                    if error.status != 404:
                        raise
        wait_until(
            lambda: not any(self._is_served(group, kind) for group in groups for kind in PLURALS), "kinds are gone"
        )

    def place(self, name: str, gateways: Sequence[str] = (), copies: Sequence[str] = (), group: str = NEW) -> None:
        """A dataset that is ready, served and held by these nodes; one that is there already is changed."""
        host = "kubernetes.io/hostname"
        placements = {
            "gateways": [{"key": host, "value": node} for node in gateways],
            "datalocations": [{"key": host, "value": node} for node in copies],
        }
        self.declare(name, group)
        self.tell(name, "Dataset", {"caching": {"status": "OK"}, "provision": {"status": "OK"}}, group)
        self.tell(name, "DatasetInternal", {"caching": {"placements": placements}}, group)

    def declare(self, name: str, group: str = NEW) -> None:
        """Both objects, without a status."""
        for kind in PLURALS:
            thing = {
                "apiVersion": f"{group}/{VERSION}",
                "kind": kind,
                "metadata": {"name": name, "namespace": self._namespace},
                "spec": {"local": {"type": "COS", "bucket": name}},
            }
            try:
                self._api.request("POST", self._path(group, kind), thing)
            except ApiError as error:
                if error.status != 409:
                    raise

    def tell(self, name: str, kind: str, status: Json, group: str = NEW) -> None:
        """Write a status."""
        path = f"{self._path(group, kind)}/{name}"
        there = self._api.request("GET", path)
        self._api.request("PUT", f"{path}/status", there | {"status": status})

    def delete(self, name: str, group: str = NEW) -> None:
        """Both objects go."""
        for kind in PLURALS:
            self._api.request("DELETE", f"{self._path(group, kind)}/{name}")

    def _is_served(self, group: str, kind: str) -> bool:
        try:
            self._api.request("GET", self._path(group, kind))
        except ApiError as error:
            if error.status not in (404, 405, 429, 503):
                raise
            return False
        return True

    def _path(self, group: str, kind: str) -> str:
        return f"/apis/{group}/{VERSION}/namespaces/{self._namespace}/{PLURALS[kind]}"
