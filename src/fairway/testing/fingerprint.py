"""The whole content of a cluster, in comparable pieces.

In: a cluster. Out: `fingerprint(cluster)`, one entry for each thing that a reader of its tables can see, under a name
that says which. Two equal fingerprints: nobody could tell the clusters apart. Columns nobody has asked for yet, row
numbers of slots, and how far the journals have run do not count.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fairway.cluster import Cluster, Nodes
from fairway.cluster.pod_class import ENCODER
from fairway.cluster.terms import KINDS

__all__ = ["fingerprint"]


def fingerprint(cluster: Cluster) -> dict[str, Any]:
    """What the cluster knows; equal values are equal knowledge."""
    return {**_nodes(cluster), **_pods(cluster), **_devices(cluster), **_counters(cluster), **_objects(cluster)}


def differences(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """The names of the pieces that differ; a counter may come into being, or be dropped, when somebody looks."""
    known = (before.keys() | after.keys()) - {
        name for name in before.keys() ^ after.keys() if name.startswith("counters[")
    }
    return sorted(name for name in known if before.get(name) != after.get(name))


def _nodes(cluster: Cluster) -> dict[str, Any]:
    table = cluster.nodes
    rows = slice(0, table.num_rows)
    found: dict[str, Any] = {
        "nodes.names": list(table.names),
        "nodes.row_of": dict(table.row_of),
        "nodes.objects": [None if node is None else ENCODER.encode(node) for node in table.objects],
        "nodes.alive": table.alive[rows].tolist(),
        "nodes.unschedulable": table.unschedulable[rows].tolist(),
        "nodes.nonzero": table.nonzero[rows].tolist(),
        "nodes.taint_sets": [table.taint_values[number] for number in table.taint_sets[rows].tolist()],
        "nodes.feature_sets": [table.feature_values[number] for number in table.feature_sets[rows].tolist()],
        "nodes.name_ranks": table.name_ranks().tolist(),
        "nodes.images": {
            name: (image.size, image.num_nodes, np.flatnonzero(image.rows).tolist())
            for name, image in table.images.by_name.items()
        },
    }
    for name, amounts in (("allocatable", table.allocatable), ("requested", table.requested)):
        used = amounts[rows]
        found[f"nodes.{name}"] = {
            resource: used[:, column].tolist()
            for column, resource in enumerate(table.resources.values)
            if used[:, column].any()
        }
    view = Nodes(cluster)
    for key in sorted({key for node in view.objects for key in node.metadata.labels}):
        found[f"nodes.labels[{key}]"] = view.label(key).tolist()
    return found


def _pods(cluster: Cluster) -> dict[str, Any]:
    table = cluster.pods
    found: dict[str, Any] = {}
    for row in range(cluster.nodes.num_rows):
        found[f"pods.on_row({row})"] = [
            (
                placed.pod.metadata.uid,
                ENCODER.encode(placed.pod),
                ENCODER.encode(placed.pod_class.spec),
                placed.assumed,
                placed.terminating,
                int(table.row[placed.slot]),
                int(table.label_set[placed.slot]),
                int(table.priority[placed.slot]),
                bool(table.terminating[placed.slot]),
            )
            for placed in table.on_row(row)
        ]
        found[f"ports.taken({row})"] = sorted(cluster.ports.taken(row))
    found["pods.by_uid"] = {uid: placed.row for uid, placed in table.by_uid.items()}
    found["pods.slots"] = int(np.count_nonzero(table.row >= 0))
    taken = {port for row in range(cluster.nodes.num_rows) for port in cluster.ports.taken(row)}
    found["ports.rows_using"] = {port: sorted(cluster.ports.rows_using(port)) for port in taken}
    nominations = cluster.nominations
    found["nominations"] = {
        name: sorted(pod.metadata.uid for pod in nominations.on(name)) for name in nominations.nodes()
    }
    return found


def _devices(cluster: Cluster) -> dict[str, Any]:
    table = cluster.devices
    rows = range(cluster.nodes.num_rows)
    names = [*table.models.values, ""]
    return {
        "devices.free": [table.free[row, : table.count[row]].tolist() for row in rows],
        "devices.model": [names[table.model[row]] for row in rows],
        "devices.sums": [(int(table.left[row]), int(table.most[row]), int(table.idle[row])) for row in rows],
        "devices.num_pods": [
            {table.kinds[kind]: number for kind, number in enumerate(table.num_pods[row].tolist()) if number}
            for row in rows
        ],
        "devices.total": (table.num_devices, table.left_milli),
        "devices.indices_of": {uid: table.indices_of(uid) for uid in cluster.pods.by_uid},
    }


def _counters(cluster: Cluster) -> dict[str, Any]:
    rows = slice(0, cluster.nodes.num_rows)
    found: dict[str, Any] = {}
    for counter in cluster.counters.in_use():
        if counter.requirements:
            words = ", ".join(f"{selector} in {namespaces}" for namespaces, selector in counter.requirements)
            found[f"counters[{words}; {counter.skip_terminating}]"] = (counter.rows[rows].tolist(), counter.total)
    for kind in KINDS:
        carried: dict[str, Any] = {}  # by term: on which rows, of all its counters
        for term, counter in cluster.counters.terms(kind):
            if counter.total:  # a term that no pod carries may be forgotten at any time
                name = f"counters[{kind} {term}]"
                carried[name] = counter.rows[rows] + carried.get(name, 0)
        found.update((name, (counts.tolist(), int(counts.sum()))) for name, counts in carried.items())
    return found


def _objects(cluster: Cluster) -> dict[str, Any]:
    storage, workloads = cluster.storage, cluster.workloads
    kinds: dict[str, Any] = {
        "storage.volumes": storage.volumes,
        "storage.claims": storage.claims,
        "storage.classes": storage.classes,
        "storage.csi_nodes": storage.csi_nodes,
        "storage.drivers": storage.drivers,
        "storage.capacities": storage.capacities,
        "storage.attachments": storage.attachments,
        "workloads.services": workloads.services,
        "workloads.replication_controllers": workloads.replication_controllers,
        "workloads.replica_sets": workloads.replica_sets,
        "workloads.stateful_sets": workloads.stateful_sets,
        "workloads.disruption_budgets": workloads.disruption_budgets,
        "workloads.priority_classes": workloads.priority_classes,
        "workloads.namespaces": workloads.namespaces,
    }
    found: dict[str, Any] = {name: ENCODER.encode(things) for name, things in kinds.items()}
    found["storage.reservations"] = dict(storage.reservations)
    found["storage.selected_nodes"] = {key: storage.selected_node(claim) for key, claim in storage.claims.items()}
    storage.in_use.refresh()
    live = np.flatnonzero(cluster.nodes.alive[: cluster.nodes.num_rows])
    for name, amounts in (("counts", storage.in_use.counts), ("limits", storage.in_use.limits)):
        found[f"storage.in_use.{name}"] = {driver: column[live].tolist() for driver, column in amounts.items()}
    return found
