"""The kinds of queues on a real API server: they are served, and what can not be meant is refused with a reason."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import pytest

from deploy.crds import definitions
from fairway.config.fields import Problem
from fairway.model.batch import (
    AccountSpec,
    QueueSpec,
    ReservationSpec,
    WindowSpec,
    account_problems,
    queue_problems,
    reservation_problems,
    window_problems,
)
from fairway.scenario.fields import decode_struct
from tests.kube.api import Api, ApiError, Json
from tests.kube.control_plane import ControlPlane
from tests.kube.group_kinds import defined

VERSION: Final = "fairway.dev/v1alpha1"

QUEUE: Final[Json] = {
    "policy": "batch",
    "schedulerName": "fairway",
    "state": "Open",
    "nodes": {"selector": {"pool": "batch"}, "protect": "none"},
    "namespaces": {"matchLabels": {"team": "ml"}},
    "discipline": "easy",
    "depth": 1,
    "tier": 0,
    "priority": 10,
    "weights": {"age": 1000, "size": 0, "fairShare": 10000, "queue": 1000, "class": 10000, "maxAge": "7d"},
    "limits": {"default": "1h", "max": "48h", "overTime": "0s", "killGrace": "30s", "warnBefore": "5m"},
    "extension": {"max": "24h", "delays": "none", "byOwner": True},
    "quota": {"cpu": "400", "nvidia.com/gpu": "64"},
    "max": {"cpu": "600"},
    "perUser": {"running": 20, "waiting": 500, "resources": {"cpu": "200"}},
    "preemption": {"by": "higherTier", "mode": "requeue", "minRuntime": "10m", "borrowed": True},
    "failure": {"rules": [], "retries": 3, "brokenAfter": "60s", "nodeLoss": "requeue", "lostAfter": "350s"},
    "accounts": {"default": "", "from": ["annotation", "namespace"]},
    "startTogether": ["Job"],
    "aliases": {"kueue": ["batch-lq"], "volcano": ["default"]},
}
ACCOUNT: Final[Json] = {
    "parent": "physics",
    "shares": 10,
    "users": {"ada": {"shares": 2}},
    "namespaces": ["ada-*"],
    "budget": {"amount": 1000000, "period": "month", "onExhausted": "hold"},
    "weights": {"cpu": 1, "memory": 0.25, "nvidia.com/gpu": 20},
    "billing": "sum",
}
WINDOW: Final[Json] = {
    "start": "2026-12-01T06:00:00Z",
    "duration": "4h",
    "nodes": {"selector": {"rack": "r7"}},
    "mode": "avoid",
    "announce": "7d",
    "drainLead": "24h",
    "message": "new switches",
}
WEEKLY: Final[Json] = {"schedule": "0 6 * * 1", "timeZone": "Europe/Copenhagen", "duration": "4h"}
RESERVATION: Final[Json] = {
    "start": "2026-12-02T08:00:00Z",
    "duration": "8h",
    "nodes": {"selector": {}, "count": 16},
    "for": {"users": ["ada"], "accounts": ["course"], "queues": []},
    "ifUnused": "30m",
}


class Case(NamedTuple):
    """An object, and what the server says to it."""

    kind: str
    spec: Json
    words: str = ""  # of the refusal; "": it is taken
    name: str = "it"

    @property
    def title(self) -> str:
        return f"{self.kind} {json.dumps(self.spec)[:60]} {self.words or 'is taken'}"


def limits(**spans: str) -> Json:
    return {"limits": spans}


CASES: Final = (
    Case("Queue", QUEUE),
    Case("Queue", {}),
    Case("Queue", limits(default="90m", max="1h30m")),
    Case("Queue", limits(default="1.5h", max="90m")),
    Case("Queue", limits(default="1w", max="7d")),
    Case("Queue", limits(default="25h", max="1d"), "limits.default is more than limits.max allows"),
    Case("Queue", limits(default="7d1s", max="1w"), "limits.default is more than limits.max allows"),
    Case("Queue", limits(max="30m"), "limits.default is more than limits.max allows"),
    Case("Queue", limits(default="49h"), "limits.default is more than limits.max allows"),
    Case("Queue", {"policy": "interactive", **limits(default="9h")}, "limits.default is more than limits.max allows"),
    Case("Queue", {"policy": "interactive", **limits(default="8h")}),
    Case("Queue", limits(default="0s"), "default has to be more than 0"),
    Case("Queue", limits(max="0h0m"), "max has to be more than 0"),
    Case("Queue", limits(default="-1h"), "should match"),
    Case("Queue", limits(default="soon"), "should match"),
    Case("Queue", limits(default="1 h"), "should match"),
    Case("Queue", limits(killGrace="0s", overTime="0s", warnBefore="0s")),
    Case("Queue", {"weights": {"maxAge": "0s"}}, "maxAge has to be more than 0"),
    Case("Queue", {"extension": {"max": "0s"}}, "max has to be more than 0"),
    Case("Queue", {"quota": {"cpu": "many"}}, "amounts are quantities"),
    Case("Queue", {"quota": {"cpu": "0"}}, "amounts are quantities"),
    Case("Queue", {"quota": {"cpu": -1}}, "amounts are quantities"),
    Case("Queue", {"quota": {"cpu": 4}, "max": {"cpu": "4000m"}}),
    Case("Queue", {"quota": {"cpu": "4001m"}, "max": {"cpu": 4}}, "max is less than quota"),
    Case("Queue", {"quota": {"memory": "1Ti"}, "max": {"memory": "1000Gi"}}, "max is less than quota"),
    Case("Queue", {"quota": {"cpu": "4"}, "max": {"memory": "1Gi"}}),
    Case("Queue", {"perUser": {"resources": {"cpu": "0"}}}, "amounts are quantities"),
    Case("Queue", {"perUser": {"running": -1}}, "greater than or equal to 0"),
    Case("Queue", {"depth": 0}, "greater than or equal to 1"),
    Case("Queue", {"state": "Ajar"}, "Unsupported value"),
    Case("Queue", {"state": "Paused", "stateUntil": "2026-12-01T06:00:00+01:00"}),
    Case("Queue", {"state": "Open", "stateUntil": "2026-12-01T06:00:00Z"}, "the end of another state than Open"),
    Case("Queue", {"stateUntil": "2026-12-01T06:00:00Z"}, "the end of another state than Open"),
    Case("Queue", {"state": "Paused", "stateUntil": "soon"}, "should match"),
    Case("Queue", {"discipline": "lottery"}, "Unsupported value"),
    Case("Queue", {"policy": "interactive", "discipline": "walk"}, "promises everybody a date"),
    Case("Queue", {"nodes": {"count": 3}}, "nodes.count is for reservations"),
    Case("Account", ACCOUNT),
    Case("Account", {}),
    Case("Account", {"shares": 0}),
    Case("Account", {"shares": 2**31}),
    Case("Account", {"shares": "parent"}),
    Case("Account", {"shares": -1}, "a whole number from 0 to 2147483648, or parent"),
    Case("Account", {"shares": 2**31 + 1}, "a whole number from 0 to 2147483648, or parent"),
    Case("Account", {"shares": "half"}, "a whole number from 0 to 2147483648, or parent"),
    Case("Account", {"users": {"ada": {"shares": -2}}}, "a whole number from 0 to 2147483648, or parent"),
    Case("Account", {"parent": "it"}, "an account is not its own parent"),
    Case("Account", {"parent": "it"}, name="below-it"),
    Case("Account", {"budget": {"amount": 0}}, "greater than 0"),
    Case("Account", {"budget": {}}, "Required value"),
    Case("Account", {"weights": {"cpu": -1}}, "greater than or equal to 0"),
    Case("MaintenanceWindow", WINDOW),
    Case("MaintenanceWindow", WEEKLY),
    Case("MaintenanceWindow", WINDOW | WEEKLY, "a start, or a schedule; not both"),
    Case("MaintenanceWindow", {"duration": "4h"}, "a start, or a schedule"),
    Case("MaintenanceWindow", {"start": "2026-12-01T06:00:00Z"}, "spec.duration: Required value"),
    Case("MaintenanceWindow", WEEKLY | {"duration": "0s"}, "duration has to be more than 0"),
    Case("MaintenanceWindow", WINDOW | {"start": "tomorrow"}, "should match"),
    Case("MaintenanceWindow", WINDOW | {"start": "2026-12-01T06:00:00"}, "should match"),
    Case("MaintenanceWindow", WINDOW | {"mode": "ask"}, "Unsupported value"),
    Case("MaintenanceWindow", WINDOW | {"drainLead": "-1h"}, "should match"),
    Case("MaintenanceWindow", WINDOW | {"nodes": {"count": 2}}, "nodes.count is for reservations"),
    Case("Reservation", RESERVATION),
    Case("Reservation", RESERVATION | {"for": {}}, "say for whom"),
    Case("Reservation", RESERVATION | {"for": {"users": []}}, "say for whom"),
    Case("Reservation", RESERVATION | {"for": {"queues": ["batch"]}}),
    Case("Reservation", RESERVATION | {"duration": "0m"}, "duration has to be more than 0"),
    Case("Reservation", RESERVATION | {"ifUnused": "0s"}, "ifUnused has to be more than 0"),
    Case("Reservation", {"duration": "8h", "for": {"users": ["ada"]}}, "spec.start: Required value"),
    Case("Reservation", RESERVATION | {"nodes": {"count": 0}}, "greater than or equal to 1"),
    Case("JobRecord", {}),
    Case("JobRecord", {"hold": True, "nice": 10_000, "timeLimit": "12h", "queue": "batch"}),
    Case("JobRecord", {"nice": 10_001}, "less than or equal to 10000"),
    Case("JobRecord", {"nice": -1}, "greater than or equal to 0"),
    Case("JobRecord", {"timeLimit": "0s"}, "timeLimit has to be more than 0"),
    Case("JobRecord", {"timeLimit": "long"}, "should match"),
)


@pytest.fixture(scope="module")
def api(shared_control_plane: ControlPlane) -> Iterator[Api]:
    with defined(shared_control_plane.api(), *definitions()):
        yield shared_control_plane.api()


def body(kind: str, name: str, spec: Json) -> Json:
    metadata = {"name": name} | ({"namespace": "default"} if kind == "JobRecord" else {})
    return {"apiVersion": VERSION, "kind": kind, "metadata": metadata, "spec": spec}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.title)
def test_the_server_takes_what_can_be_meant_and_refuses_the_rest(api: Api, case: Case) -> None:
    thing = body(case.kind, case.name, case.spec)
    if not case.words:
        taken = api.create(thing, dryRun="All", fieldValidation="Strict")
        assert case.spec.items() <= taken["spec"].items()
        return
    with pytest.raises(ApiError, match=r"^422: ") as refused:
        api.create(thing, dryRun="All", fieldValidation="Strict")
    assert case.words in str(refused.value)


READ: Final[dict[str, Any]] = {
    "Queue": (QueueSpec, lambda name, spec: queue_problems(spec, "spec")),
    "Account": (AccountSpec, lambda name, spec: account_problems(name, spec, "spec")),
    "MaintenanceWindow": (WindowSpec, lambda name, spec: window_problems(spec, "spec")),
    "Reservation": (ReservationSpec, lambda name, spec: reservation_problems(spec, "spec")),
}
ONLY_THE_SERVER: Final = ("tomorrow", "2026-12-01T06:00:00", "soon")
"""Times of windows and queues, which the scheduler reads when it looks at them."""


@pytest.mark.parametrize("case", [case for case in CASES if case.kind in READ], ids=lambda case: case.title)
def test_the_scheduler_says_the_same_of_each(case: Case) -> None:
    """What reads scenarios and objects refuses what the server refuses, and nothing else."""
    kind, problems_of = READ[case.kind]
    problems: list[Problem] = []
    spec = decode_struct(case.spec, kind, "spec", problems)
    if spec is not None:
        problems += problems_of(case.name, spec)
    if not {case.spec.get("start"), case.spec.get("stateUntil")} & set(ONLY_THE_SERVER):
        assert bool(problems) == bool(case.words), problems


def test_nodes_of_a_window_are_fixed_once_it_has_begun(api: Api) -> None:
    path = f"/apis/{VERSION}/maintenancewindows/fixed"
    made = api.create(body("MaintenanceWindow", "fixed", WINDOW))

    def change(**spec: Any) -> Json:
        made = api.request("GET", path)
        return api.request("PUT", path, made | {"spec": made["spec"] | spec})

    change(nodes={"selector": {"rack": "r8"}})
    status = {"status": {"phase": "Active"}}
    merge = "application/merge-patch+json"
    api.request("PATCH", f"{path}/status", status, content_type=merge)
    change(message="new cables", duration="5h")
    with pytest.raises(ApiError, match="nodes of a window that has begun stay as they are"):
        change(nodes={"selector": {"rack": "r9"}})
    with pytest.raises(ApiError, match="nodes of a window that has begun stay as they are"):
        change(nodes=None)
    api.request("PATCH", f"{path}/status", {"status": {"phase": "Announced"}}, content_type=merge)
    assert change(nodes={"selector": {"rack": "r9"}})["spec"]["nodes"] != made["spec"]["nodes"]


def test_status_is_written_apart_and_shown_in_columns(api: Api, shared_control_plane: ControlPlane) -> None:
    api.create(body("JobRecord", "train", {"nice": 5}))
    path = f"/apis/{VERSION}/namespaces/default/jobrecords/train"
    status = {
        "state": "Queued",
        "reason": "Resources",
        "queue": "batch",
        "start": "2026-12-01T06:00:00Z",
        "limit": "12h",
        "nodes": 8,
        "ledger": {"anything": [1, 2.5, {"x": "y"}]},
    }
    merge = "application/merge-patch+json"
    written = api.request("PATCH", f"{path}/status", {"status": status, "spec": {"nice": 7}}, content_type=merge)
    assert written["status"] == status
    assert written["spec"] == {"nice": 5}
    assert "status" not in api.request("PATCH", path, {"status": None, "spec": {"nice": 6}}, content_type=merge)["spec"]
    assert api.request("GET", path)["status"] == status
    table = subprocess.run(
        ["kubectl", "--kubeconfig", shared_control_plane.kubeconfig("admin"), "get", "fjob", "-n", "default"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    head = ["NAME", "STATE", "REASON", "QUEUE", "START(LIKELY)", "LIMIT", "LEFT", "NODES", "AGE"]
    assert table[0].split() == head
    assert table[1].split()[:6] == ["train", "Queued", "Resources", "batch", "2026-12-01T06:00:00Z", "12h"]
