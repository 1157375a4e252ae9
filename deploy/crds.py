"""The definitions of our kinds, made from the structs that read them: `python -m deploy.crds`.

In: the structs of `fairway.model.batch`. Out: CustomResourceDefinitions of Queue, Account, MaintenanceWindow,
Reservation and JobRecord, with the rules that a field alone does not say (CEL) and the columns of `kubectl get`;
written to the chart and, for those who install without it, to deploy/manifests. Both are committed; a test makes them
anew and compares. What the rules say is what `queue_problems` and its like say, as far as one object alone can tell.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec
import yaml
from msgspec import inspect

from fairway.model import Quantity
from fairway.model.batch import AccountSpec, QueueSpec, ReservationSpec, WindowSpec
from fairway.model.batch.job_record import (
    AccountStatus,
    ClosingObjectStatus,
    JobRecordSpec,
    JobRecordStatus,
    QueueStatus,
)
from fairway.model.duration import Duration

__all__ = ["CHART_FILE", "MANIFEST_FILE", "definitions", "files"]

ROOT: Final = Path(__file__).parents[1]
CHART_FILE: Final = ROOT / "deploy" / "helm" / "fairway" / "templates" / "crds.yaml"
MANIFEST_FILE: Final = ROOT / "deploy" / "manifests" / "crds.yaml"
HEADER: Final = "# The kinds of Fairway's queues. Made from the structs that read them: python -m deploy.crds\n"

Schema = dict[str, Any]
MOST_ENTRIES: Final = 256
LONGEST_TEXT: Final = 1024
UNITS: Final = "{'ns': 1e-9, 'us': 1e-6, 'ms': 1e-3, 's': 1.0, 'm': 60.0, 'h': 3600.0, 'd': 86400.0, 'w': 604800.0}"
SPAN: Final = r"^([0-9]{1,9}(\.[0-9]{1,9})?(ns|us|ms|s|m|h|d|w)){1,6}$"
MOMENT: Final = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?([Zz]|[+-][0-9]{2}:[0-9]{2})$"
OPEN: Final[Schema] = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def seconds(text: str) -> str:
    """CEL: how many seconds the span of time in `text` is."""
    unit = f"{UNITS}[part.find('[a-z]+')]"
    return f"{text}.findAll('[0-9.]+[a-z]+').map(part, double(part.find('^[0-9.]+')) * {unit}).sum()"


def at_least_some(amounts: str) -> str:
    """CEL: all amounts of a mapping are quantities, and more than nothing."""
    text = f"string({amounts}[name])"
    return f"{amounts}.all(name, isQuantity({text}) && quantity({text}).isGreaterThan(quantity('0')))"


def given(path: str, otherwise: str) -> str:
    """CEL: what is at a path below `self`, two steps long, or something else."""
    first, second = path.split(".")
    return f"(has(self.{first}) && has(self.{first}.{second}) ? self.{path} : {otherwise})"


SHORTEST_MAX: Final = "(has(self.policy) && self.policy == 'interactive' ? '8h' : '48h')"
DEFAULT: Final = given("limits.default", "'1h'")
MAX: Final = given("limits.max", SHORTEST_MAX)
SAME: Final = "self.spec.nodes == oldSelf.spec.nodes"
SAME_NODES: Final = f"has(self.spec.nodes) == has(oldSelf.spec.nodes) && (!has(self.spec.nodes) || {SAME})"
HAS_BEGUN: Final = "has(oldSelf.status) && has(oldSelf.status.phase) && oldSelf.status.phase in ['Active', 'Done']"

RULES: Final[dict[str, list[tuple[str, str]]]] = {
    "QueueSpec": [
        (f"{seconds(DEFAULT)} <= {seconds(MAX)}", "limits.default is more than limits.max allows"),
        (
            "!has(self.max) || !has(self.quota) || self.max.all(name, !(name in self.quota) || "
            "quantity(string(self.max[name])).compareTo(quantity(string(self.quota[name]))) >= 0)",
            "max is less than quota, which a queue may always use",
        ),
        (
            "!has(self.policy) || self.policy != 'interactive' || !has(self.discipline) "
            "|| self.discipline == 'conservative'",
            "an interactive queue promises everybody a date: leave discipline out, or write conservative",
        ),
        ("!has(self.nodes) || !has(self.nodes.count)", "nodes.count is for reservations"),
        (
            "!has(self.stateUntil) || (has(self.state) && self.state != 'Open')",
            "stateUntil is the end of another state than Open: leave it out, or say which state",
        ),
    ],
    "WindowSpec": [
        ("has(self.start) != has(self.schedule)", "say when: a start, or a schedule; not both"),
        ("!has(self.nodes) || !has(self.nodes.count)", "nodes.count is for reservations"),
    ],
    "ReservationFor": [
        (
            " || ".join(f"(has(self.{each}) && size(self.{each}) > 0)" for each in ("users", "accounts", "queues")),
            "say for whom: users, accounts or queues",
        )
    ],
    "Account": [
        (
            "!has(self.spec.parent) || self.spec.parent != self.metadata.name",
            "an account is not its own parent",
        )
    ],
    "MaintenanceWindow": [
        (f"!({HAS_BEGUN}) || ({SAME_NODES})", "nodes of a window that has begun stay as they are"),
    ],
}
"""By struct, or by kind where names or statuses matter: what has to hold, and what is told otherwise."""

POSITIVE: Final = {
    "QueueLimits": ("default", "max"),
    "ExtensionRules": ("max",),
    "WeightSpec": ("maxAge",),
    "WindowSpec": ("duration",),
    "ReservationSpec": ("duration", "ifUnused"),
}
"""Spans of time that are more than 0."""

PRESET: Final = {
    "QueueSpec": {"policy": "batch", "schedulerName": "fairway", "state": "Open"},
    "WindowSpec": {"mode": "avoid"},
}
"""What the server fills in, so that columns have it."""

MOMENTS: Final = {
    "QueueSpec": ("stateUntil",),
    "WindowSpec": ("start",),
    "ReservationSpec": ("start",),
    "JobRecordSpec": ("requeueBefore",),
}
SPANS: Final = {"JobRecordSpec": ("timeLimit",)}


class Column(NamedTuple):
    """One of `kubectl get`."""

    name: str
    path: str
    kind: str = "string"


class Kind(NamedTuple):
    """One of ours."""

    kind: str
    plural: str
    spec: type[msgspec.Struct]
    status: type[msgspec.Struct]
    columns: tuple[Column, ...]
    short: tuple[str, ...] = ()
    is_namespaced: bool = False
    more_status: tuple[str, ...] = ()  # of the status, for the scheduler alone


CLOSING: Final = (
    Column("Phase", ".status.phase"),
    Column("Start", ".status.start"),
    Column("End", ".status.end"),
    Column("Nodes", ".status.numNodes", "integer"),
)
KINDS: Final = (
    Kind(
        "Queue",
        "queues",
        QueueSpec,
        QueueStatus,
        (
            Column("State", ".status.state"),
            Column("Policy", ".spec.policy"),
            Column("Waiting", ".status.waiting", "integer"),
            Column("Running", ".status.running", "integer"),
            Column("Head-Starts", ".status.headStarts"),
        ),
    ),
    Kind(
        "Account",
        "accounts",
        AccountSpec,
        AccountStatus,
        (
            Column("Parent", ".spec.parent"),
            Column("Shares", ".spec.shares"),
            Column("Used", ".status.used"),
            Column("Budget", ".spec.budget.amount", "number"),
            Column("Factor", ".status.factor"),
        ),
        more_status=("book",),
    ),
    Kind(
        "MaintenanceWindow",
        "maintenancewindows",
        WindowSpec,
        ClosingObjectStatus,
        (*CLOSING, Column("Jobs", ".status.numJobs", "integer")),
        more_status=("closing",),
    ),
    Kind(
        "Reservation",
        "reservations",
        ReservationSpec,
        ClosingObjectStatus,
        (*CLOSING, Column("Used", ".status.used")),
        more_status=("closing",),
    ),
    Kind(
        "JobRecord",
        "jobrecords",
        JobRecordSpec,
        JobRecordStatus,
        (
            Column("State", ".status.state"),
            Column("Reason", ".status.reason"),
            Column("Queue", ".status.queue"),
            Column("Start(likely)", ".status.start"),
            Column("Limit", ".status.limit"),
            Column("Left", ".status.deadline"),  # until when: what is left no server can say
            Column("Nodes", ".status.nodes", "integer"),
        ),
        ("fjob",),
        is_namespaced=True,
        more_status=("ledger",),
    ),
)


class _Dumper(yaml.SafeDumper):
    """Writes everything out, also what is the same twice."""

    def ignore_aliases(self, data: object) -> bool:
        """No anchors: people read it."""
        return True


def definitions() -> list[Schema]:
    """All of them, as objects."""
    return [_definition(kind) for kind in KINDS]


def files() -> dict[Path, str]:
    """What is to be where."""
    text = "".join(f"---\n{yaml.dump(each, Dumper=_Dumper, sort_keys=False, width=120)}" for each in definitions())
    # With the release the kinds would go, and with them every record and every book.
    kept = text.replace("\nmetadata:\n", "\nmetadata:\n  annotations:\n    helm.sh/resource-policy: keep\n")
    return {
        CHART_FILE: f"{HEADER}{{{{- if and .Values.batch.enabled .Values.batch.crds }}}}\n{kept}{{{{- end }}}}\n",
        MANIFEST_FILE: HEADER + text,
    }


def _definition(kind: Kind) -> Schema:
    status = _struct(kind.status)
    status["properties"] |= dict.fromkeys(kind.more_status, OPEN)
    root: Schema = {
        "type": "object",
        "properties": {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": {"type": "object"},
            "spec": _struct(kind.spec),
            "status": status,
        },
    }
    if not kind.is_namespaced:
        root["required"] = ["spec"]
    _add_rules(root, kind.kind)
    version = {
        "name": "v1alpha1",
        "served": True,
        "storage": True,
        "subresources": {"status": {}},
        "additionalPrinterColumns": [
            *({"name": each.name, "type": each.kind, "jsonPath": each.path} for each in kind.columns),
            {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
        ],
        "schema": {"openAPIV3Schema": root},
    }
    names: Schema = {
        "kind": kind.kind,
        "listKind": f"{kind.kind}List",
        "plural": kind.plural,
        "singular": kind.kind.lower(),
    }
    if kind.short:
        names["shortNames"] = list(kind.short)
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{kind.plural}.fairway.dev"},
        "spec": {
            "group": "fairway.dev",
            "names": names,
            "scope": "Namespaced" if kind.is_namespaced else "Cluster",
            "versions": [version],
        },
    }


def _struct(kind: type[msgspec.Struct]) -> Schema:
    shape = inspect.type_info(kind)
    assert isinstance(shape, inspect.StructType)
    name, properties = kind.__name__, {}
    for field in shape.fields:
        properties[field.encode_name] = _schema(field.type)
        if field.encode_name in MOMENTS.get(name, ()):
            properties[field.encode_name] |= {"pattern": MOMENT, "maxLength": 64}
        if field.encode_name in SPANS.get(name, ()):
            properties[field.encode_name] = _span()
        if field.encode_name in (*POSITIVE.get(name, ()), *SPANS.get(name, ())):
            rule = {"rule": "self.matches('[1-9]')", "message": f"{field.encode_name} has to be more than 0"}
            properties[field.encode_name]["x-kubernetes-validations"] = [rule]
    for field_name, value in PRESET.get(name, {}).items():
        properties[field_name]["default"] = value
    schema: Schema = {"type": "object", "properties": properties}
    if required := [field.encode_name for field in shape.fields if field.required]:
        schema["required"] = required
    _add_rules(schema, name)
    return schema


def _add_rules(schema: Schema, name: str) -> None:
    if name in RULES:
        schema["x-kubernetes-validations"] = [{"rule": rule, "message": words} for rule, words in RULES[name]]


def _schema(shape: inspect.Type) -> Schema:  # noqa: PLR0911 - one for each kind of value
    match shape:
        case inspect.Metadata():
            return _schema(shape.type)
        case inspect.StructType():
            return _struct(shape.cls)
        case inspect.CustomType():
            return _span() if shape.cls is Duration else _amount(shape.cls)
        case inspect.UnionType():
            return _union([each for each in shape.types if not isinstance(each, inspect.NoneType)])
        case inspect.LiteralType():
            return {"type": "string", "enum": list(shape.values)}
        case inspect.VarTupleType():
            return {"type": "array", "maxItems": MOST_ENTRIES, "items": _schema(shape.item_type)}
        case inspect.DictType():
            return _mapping(shape)
        case inspect.IntType() | inspect.FloatType():
            limits = {"minimum": shape.ge, "maximum": shape.le}
            kind = "integer" if isinstance(shape, inspect.IntType) else "number"
            schema: Schema = {"type": kind} | {name: limit for name, limit in limits.items() if limit is not None}
            if kind == "integer":
                schema["format"] = "int64"
            if shape.gt is not None:
                schema |= {"minimum": shape.gt, "exclusiveMinimum": True}
            return schema
        case inspect.BoolType():
            return {"type": "boolean"}
        case inspect.StrType():
            return {"type": "string", "maxLength": LONGEST_TEXT}
    raise TypeError(f"no schema for {shape}")


def _mapping(shape: inspect.DictType) -> Schema:
    if isinstance(shape.value_type, inspect.AnyType):
        return dict(OPEN)
    value = _schema(shape.value_type)
    schema: Schema = {"type": "object", "maxProperties": MOST_ENTRIES, "additionalProperties": value}
    if isinstance(shape.value_type, inspect.CustomType) and shape.value_type.cls is Quantity:
        words = "amounts are quantities such as 400, 250m or 2Gi, and more than 0"
        schema["maxProperties"] = 32
        schema["x-kubernetes-validations"] = [{"rule": at_least_some("self"), "message": words}]
    return schema


def _union(options: list[inspect.Type]) -> Schema:
    if len(options) == 1:
        return _schema(options[0])
    (number,) = [each for each in options if isinstance(each, inspect.IntType)]
    (words,) = [each for each in options if isinstance(each, inspect.LiteralType)]
    allowed = " || ".join(f"self == '{word}'" for word in words.values)
    rule = f"type(self) == int ? self >= {number.ge} && self <= {number.le} : {allowed}"
    message = f"a whole number from {number.ge} to {number.le}, or {', '.join(map(str, words.values))}"
    rules = [{"rule": rule, "message": message}]
    return {"x-kubernetes-int-or-string": True, "maxLength": 16, "x-kubernetes-validations": rules}


def _span() -> Schema:
    return {"type": "string", "pattern": SPAN, "maxLength": 64}


def _amount(kind: type) -> Schema:
    assert kind is Quantity, kind
    return {"anyOf": [{"type": "integer"}, {"type": "string"}], "maxLength": 64, "x-kubernetes-int-or-string": True}


def main() -> None:
    """Write them."""
    for path, text in files().items():
        path.write_text(text)


if __name__ == "__main__":
    main()
