"""`fairway why JOB`: how many members fit, where there is room, who holds the rest, who is in the way, what helps."""

from __future__ import annotations

from typing import Any

import duckdb
import msgspec
import pytest

from fairway.explain.jobs.live_job import live_job
from fairway.model import Loaded, Pod, Source, UserError
from fairway.testing import node, pod
from fairway.testing.group_builders import members, pod_group
from tests.cli.trial_files import Folder, controller
from tests.record.job_runs import configuration, recorded
from tests.sim.diary import lasting

RACK = "fairway.dev/rack"
CONFIG = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles: [{schedulerName: default-scheduler, fairway: {sampling: all, gangs: {mode: MODE}}}]
"""
CLUSTER = [
    node("a1", cpu=4, labels={RACK: "r1"}),
    node("a2", cpu=4, labels={RACK: "r1"}),
    node("b1", cpu=4, labels={RACK: "r2"}),
    pod("embed", namespace="svc", cpu=2, node="a1", owner="ReplicaSet/embed-7d"),
    pod("web", namespace="svc", cpu=3, node="a2", priority=9),
]


def job(number: int = 4, topology: str | None = RACK, least: int | None = None, **settings: Any) -> list[Any]:
    own: dict[str, Any] = {"namespace": "ml", "cpu": 2, "priority": 5, "preemption_policy": "Never"} | settings
    return [pod_group("train", least or number, namespace="ml", topology=topology), *members(number, **own)]


def config(folder: Folder, mode: str = "fairway") -> str:
    return folder.write("config.yaml", CONFIG.replace("MODE", mode))


BLOCK = """\
job ml/train waits · 2 of 4 members fit (min 4, PodGroup)
  4 × train   2 cpu, tightest: rack (required)
    RACK   SLOTS   WHO HOLDS THE REST
    r2         2   nobody
    r1         1   svc/web 3 cpu no limit, svc/embed-7d 2 cpu no limit
  blocking  train-2 in r2:     1  node
                               0  NodeResourcesFit   1 short: cpu 1 (needs 2, most free 0)
  fix  2 instead of 4 members → fits now in r2
       1 node more like b1 → fits
"""


def test_the_whole_answer(folder: Folder) -> None:
    printed = folder.attempt(CLUSTER, job(), "--config", config(folder), command="why ml/train")
    assert printed.out == BLOCK
    assert printed.code == 3
    assert printed.err.splitlines()[-1].startswith("→ fairway why ml/train-2 -f ")


def test_what_it_says_is_a_document_too(folder: Folder) -> None:
    document = folder.attempt(
        CLUSTER, job(), "--config", config(folder), "-o", "json", command="why --job train"
    ).document
    assert (document["job"], document["state"], document["fit"], document["minCount"]) == ("ml/train", "waits", 2, 4)
    assert [(one["domain"], one["slots"]) for one in document["domains"]] == [("r2", 2), ("r1", 1)]
    assert [one["name"] for one in document["domains"][1]["holders"]] == ["svc/web", "svc/embed-7d"]
    assert (document["resource"], document["blocking"]["pod"]) == ("cpu", "ml/train-2")
    assert [one["change"] for one in document["fixes"]] == ["2 instead of 4 members", "1 node more like b1"]
    assert len(document["members"]) == 4


@pytest.mark.parametrize("mode", ["fairway", "kube"])
def test_fewer_members_is_true(folder: Folder, mode: str) -> None:
    """What is proposed starts when it is done, and one member more does not."""
    topology = None if mode == "kube" else RACK
    path = config(folder, mode)
    document = folder.attempt(
        CLUSTER, job(topology=topology), "--config", path, "-o", "json", command="why ml/train"
    ).document
    change = next(one["change"] for one in document["fixes"] if "instead of 4 members" in one["change"])
    number = int(change.split()[0])
    starts = folder.attempt(CLUSTER, job(topology=topology, least=number), "--config", path, "-o", "json").document
    assert starts["placed"] >= number
    more = folder.attempt(CLUSTER, job(topology=topology, least=number + 1), "--config", path, "-o", "json").document
    assert more["placed"] == 0


def test_a_label_that_is_preferred_is_a_fix_that_is_true(folder: Folder) -> None:
    path = config(folder)
    printed = folder.attempt(CLUSTER, job(3), "--config", path, command="why ml/train")
    assert "fix  topology preferred instead of required → 3 of 3 fit now, over 2 racks\n" in printed.out
    said = {"fairway.dev/gang": "train", "fairway.dev/gang-min": "3", "fairway.dev/gang-topology": f"preferred={RACK}"}
    loose = [pod(f"t-{n}", namespace="ml", cpu=2, annotations=said) for n in range(3)]
    assert folder.attempt(CLUSTER, loose, "--config", path).code == 0


def test_who_would_have_to_go_is_a_fix_that_is_true(folder: Folder) -> None:
    path = config(folder)
    printed = folder.attempt(
        CLUSTER[:2] + CLUSTER[3:4], job(4, topology=None), "--config", path, command="why ml/train"
    )
    assert "evict svc/embed (priority 0 < 5) → fits now" in printed.out
    assert folder.attempt(CLUSTER[:2], job(4, topology=None), "--config", path).code == 0
    may = job(4, topology=None, preemption_policy=None)
    printed = folder.attempt(CLUSTER[:2] + CLUSTER[3:4], may, "--config", path, command="why ml/train")
    assert "makes room by evicting 1 pods" in printed.out
    assert "  evicts  svc/embed\n" in printed.out


def test_the_time_until_which_others_hold_room_is_told(folder: Folder) -> None:
    import datetime as dt  # noqa: PLC0415

    begun = dt.datetime(2030, 1, 1, 12, tzinfo=dt.UTC)
    busy = pod("busy", cpu=4, node="n", started=begun, active_deadline_seconds=3600)
    printed = folder.attempt(
        [node("n", cpu=4), busy], job(1, topology=None), "--config", config(folder), command="why ml/train"
    )
    assert "default/busy 4 cpu until 2030-01-01 13:00 at the latest" in printed.out


def test_a_job_that_fits_says_where(folder: Folder) -> None:
    printed = folder.attempt(CLUSTER, job(2), "--config", config(folder), command="why ml/train")
    assert printed.code == 0
    assert (
        printed.out.splitlines()[0]
        == "job ml/train could start now · 2 of 2 members fit in r2, on 1 node (min 2, PodGroup)"
    )
    assert printed.out.splitlines()[-1] == "    2 on b1"


@pytest.mark.parametrize(
    ("things", "words"),
    [
        (job(4, least=6), "job ml/train waits · 4 of 6 members are there (min 6, PodGroup)"),
        (job(2)[1:], "job ml/train waits · no PodGroup ml/train"),
        (
            [pod("x", namespace="ml", annotations={"fairway.dev/gang": "train", "fairway.dev/gang-min": "many"})],
            "job ml/train waits · Misconfigured: Pod ml/x: metadata.annotations['fairway.dev/gang-min']: 'many' is not "
            "a number",
        ),
    ],
    ids=["too few", "no object", "no number"],
)
def test_a_job_that_can_not_be_tried_says_why(folder: Folder, things: list[Any], words: str) -> None:
    printed = folder.attempt(CLUSTER, things, "--config", config(folder), command="why ml/train")
    assert printed.out.splitlines()[0] == words
    assert printed.code == 3


def test_who_made_the_members_of_an_incomplete_job_is_told(folder: Folder) -> None:
    made = members(2, namespace="ml", owner="Job/train-workers")
    by_hand = [msgspec.structs.replace(each, metadata=msgspec.structs.replace(each.metadata, name="by-hand", uid="h"))
               for each in members(1, namespace="ml")]  # fmt: skip
    things = [pod_group("train", 8, namespace="ml"), *made, *by_hand]
    printed = folder.attempt(CLUSTER, things, "--config", config(folder), command="why ml/train")
    assert printed.out.splitlines()[0] == "job ml/train waits · 3 of 8 members are there (min 8, PodGroup)"
    assert printed.out.splitlines()[-1] == "  made    2 by Job ml/train-workers, 1 by no controller"
    document = folder.attempt(
        CLUSTER, things, "--config", config(folder), "-o", "json", command="why ml/train"
    ).document
    assert document["madeBy"] == {"Job ml/train-workers": 2, "": 1}


def test_a_replacement_for_which_its_domain_has_no_room_says_so(folder: Folder) -> None:
    """The job runs in r1, where the place of the one that is gone is taken; r2 is free, and does not count."""
    first, second, third = job(3)[1:]
    running = [
        msgspec.structs.replace(each, spec=msgspec.structs.replace(each.spec, node_name=name))
        for each, name in ((first, "a1"), (second, "a2"))
    ]
    nodes = [node("a1", cpu=3, labels={RACK: "r1"}), node("a2", cpu=3, labels={RACK: "r1"})]
    cluster = [*nodes, node("b1", cpu=8, labels={RACK: "r2"}), *running]
    things = [pod_group("train", 2, namespace="ml", topology=RACK), third]
    printed = folder.attempt(cluster, things, "--config", config(folder), command="why ml/train")
    assert printed.out.splitlines()[0].startswith("job ml/train has started · 2 of 2 members run on 2 nodes")
    assert printed.out.splitlines()[0].endswith("1 more wait")
    assert "  blocking  train-2 in r1:     2  nodes" in printed.out
    assert "0  NodeResourcesFit   2 short: cpu 2 (needs 2, most free 1)" in printed.out


def test_a_member_opens_with_its_job(folder: Folder) -> None:
    printed = folder.attempt(CLUSTER, job(), "--config", config(folder), command="why ml/train-0")
    lines = printed.out.splitlines()
    assert lines[0] == "job ml/train waits · 2 of 4 members fit (min 4, PodGroup)"
    assert lines[2] == "by itself, without the other members:"
    assert lines[3].startswith("ml/train-0 goes to ")
    assert printed.code == 3  # for it starts with the others or not at all


@pytest.mark.parametrize(
    ("command", "mode", "words"),
    [
        ("why --job ml/trian", "fairway", "no job is called ml/trian\n→ did you mean ml/train?"),
        ("why ml/nothing", "fairway", "no pod to place is called ml/nothing"),
        ("why --job ml/train --node a1", "fairway", "--job and --node exclude each other"),
    ],
)
def test_a_wrong_name_is_answered(folder: Folder, command: str, mode: str, words: str) -> None:
    printed = folder.attempt(CLUSTER, job(), "--config", config(folder, mode), command=command)
    assert words in printed.err
    assert printed.code == 2


def test_without_gangs_there_are_no_jobs(folder: Folder) -> None:
    printed = folder.attempt(CLUSTER, job(), command="why --job ml/train")
    assert "no profile has gangs, so pods are placed one by one" in printed.err


# -- try ---------------------------------------------------------------------------------------------------------------


def test_try_places_jobs_as_jobs_and_explains_those_that_can_not_start(folder: Folder) -> None:
    printed = folder.attempt(CLUSTER, [*job(), pod("small", cpu=1)], "--config", config(folder))
    assert printed.code == 3
    assert BLOCK in printed.out
    assert printed.out.count("its job can not start") == 4
    assert "default/small   scheduled" in printed.out
    document = folder.attempt(CLUSTER, job(), "--config", config(folder), "-o", "json").document
    assert [one["job"] for one in document["jobs"]] == ["ml/train"]


def test_pods_are_asked_about_as_a_gang(folder: Folder) -> None:
    from tests.cli.trial_files import controller  # noqa: PLC0415

    web = controller(
        "Deployment", "web", {"containers": [{"name": "c", "resources": {"requests": {"cpu": "2"}}}]}, replicas=5
    )
    free = CLUSTER[:3]
    assert folder.attempt(free, [web], "--gang", "web=5").code == 0
    printed = folder.attempt(CLUSTER, [web], "--gang", "web=5")
    assert "job default/web waits · 3 of 5 members fit (min 5, fairway.dev/gang)" in printed.out
    assert printed.out.splitlines()[-1] == "0 of 5 pods get a node, 5 fit nowhere"
    assert folder.attempt(CLUSTER, [web], "--gang", "web=3").out.splitlines()[-1].startswith("3 of 5 pods get a node")


@pytest.mark.parametrize(
    ("gang", "words"),
    [
        ("web", "'web' is not a name and a number, such as train=8"),
        ("web=0", "'web=0' is not a name and a number"),
        ("other=2", "nothing that makes pods is called other\n→ there are: web"),
        ("web=9", "web makes 1 pods, fewer than have to start together"),
    ],
)
def test_a_gang_that_can_not_be_meant_is_refused(folder: Folder, gang: str, words: str) -> None:
    printed = folder.attempt(CLUSTER, [pod("web", cpu=1)], "--gang", gang)
    assert printed.code == 2
    assert words in printed.err


# -- runs --------------------------------------------------------------------------------------------------------------


@pytest.fixture
def run(folder: Folder) -> str:
    """A job of three that waits from second 1 for `busy`, which leaves at 60."""
    path = folder.path / "run.duckdb"
    said = {"fairway.dev/gang": "train", "fairway.dev/gang-size": "3"}
    job = [pod(f"train-{number}", cpu=1, annotations=said) for number in range(3)]
    arrivals = [(0.0, lasting("busy", 60, cpu=3)), *((1.0, each) for each in job)]
    recorded(path, [node("a", cpu=4)], arrivals, config=configuration("fairway"), end=100).close()
    return str(path)


def test_a_job_of_a_run_is_explained_as_it_was(folder: Folder, run: str) -> None:
    printed = folder.run("why", "default/train", "--run", run, "--at", "31s")
    assert printed.out == (
        "job default/train waits, 30s · 1 of 3 members fit (min 3, fairway.dev/gang) · attempt 1 · "
        "next try when a node changes, or in 4m 59s\n"
        "  3 × train   1 cpu\n"
        "    NODES   SLOTS   WHO HOLDS THE REST\n"
        "    all 1       1   default/busy 3 cpu no limit\n"
        "  blocking  train-1:     1  node\n"
        "                         0  NodeResourcesFit   1 short: cpu 1 (needs 1, most free 0)\n"
        "  fix  1 instead of 3 members → fits now\n"
        "       1 node more like a → fits\n"
        "\n"
        "in the run: first member at 00:00:01 · complete at 00:00:01 · started at 00:01:01, 1m later\n"
        "  00:00:01  attempt 1: unschedulable · 2 too few fit · train-1 is short of cpu\n"
    )
    assert printed.code == 3
    after = folder.run("why", "--job", "train", "--run", run)
    assert after.code == 0
    assert after.out.splitlines()[0].startswith("job default/train has started · 3 of 3 members run on 1 node")
    document = folder.run("why", "train", "--run", run, "--at", "31s", "-o", "json").document
    assert (document["atSeconds"], document["fit"], document["story"]["numAttempts"]) == (31, 1, 2)


def test_room_that_comes_and_goes_is_told(folder: Folder) -> None:
    """One pod at a time is away, from another node each time: a job of two never has both, and has had all three."""
    path = folder.path / "run.duckdb"
    said = {"fairway.dev/gang": "train", "fairway.dev/gang-size": "2"}
    job = [pod(f"train-{number}", cpu=3, annotations=said) for number in range(2)]
    busy = [(0.0, lasting(f"busy-{number}", 60 + 30 * number, cpu=3)) for number in range(3)]
    next_ones = [(70.0 + 30 * number, lasting(f"next-{number}", 500, cpu=3)) for number in range(3)]
    nodes = [node(f"n{number}", cpu=4) for number in range(3)]
    arrivals = [*busy, *((1.0, each) for each in job), *next_ones]
    recorded(path, nodes, arrivals, config=configuration("fairway"), end=300).close()
    told = (
        "  room comes and goes: 3 nodes had some since it was complete, for 3 members by and by, but at no time for "
        "more than 1 of 2; nobody keeps it for a job in no queue"
    )
    printed = folder.run("why", "train", "--run", str(path), "--at", "200s")
    assert told in printed.out.splitlines()
    document = folder.run("why", "train", "--run", str(path), "--at", "200s", "-o", "json").document
    assert document["passingRoom"] == {"needed": 2, "atOnce": 1, "nodes": 3, "inTurn": 3}
    early = folder.run("why", "train", "--run", str(path), "--at", "80s")
    assert "comes and goes" not in early.out  # one node had room, and that is not enough in any case


def test_a_job_in_another_namespace_is_named(folder: Folder, run: str) -> None:
    printed = folder.run("why", "ml/train", "--run", run)
    assert (printed.code, printed.err.splitlines()[-1]) == (2, "→ did you mean default/train?")


def test_a_member_of_a_run_opens_with_its_job(folder: Folder, run: str) -> None:
    printed = folder.run("why", "train-2", "--run", run, "--at", "31s")
    assert printed.out.startswith(
        "job default/train waits, 30s · 1 of 3 members fit (min 3, fairway.dev/gang) · attempt 1 · "
        "next try when a node changes, or in 4m 59s\n\n"
    )
    assert "\n00:00:31: by itself, without the other members,\n" in printed.out
    assert printed.code == 3
    assert "1 attempts, made for its whole job, are told with the job" in printed.out


def test_status_puts_waiting_pods_under_their_job(folder: Folder, run: str) -> None:
    printed = folder.run("status", "--run", run, "--at", "31s")
    assert "     3   job default/train: 2 too few fit, short of cpu" in printed.out
    assert printed.err.startswith("→ fairway why default/train --run ")
    document = folder.run("status", "--run", run, "--at", "31s", "-o", "json").document
    assert [(one["job"], one["pods"]) for one in document["waiting"]] == [("default/train", 3)]


def test_a_run_that_does_not_know_jobs_says_so(folder: Folder, run: str) -> None:
    with duckdb.connect(run) as connection:
        for table, column in (("pods", "job_id"), ("decisions", "job_id"), ("decisions", "job_decision_id")):
            connection.execute(f"ALTER TABLE {table} DROP COLUMN {column}")
        for table in ("jobs", "job_decisions", "holds"):
            connection.execute(f"DROP TABLE {table}")
    printed = folder.run("why", "--job", "default/train", "--run", run)
    assert printed.code == 2
    assert "does not say which pods belong together: it was written by an older version" in printed.err
    assert folder.run("status", "--run", run, "--at", "31s").code == 0
    assert folder.run("why", "train-0", "--run", run).code == 0


# -- live clusters -----------------------------------------------------------------------------------------------------


def test_a_job_of_a_live_cluster_is_explained_without_a_configuration() -> None:
    pods: list[Pod] = [each for each in job(4)[1:] if isinstance(each, Pod)]
    waiting = [msgspec.structs.replace(each, status=each.status) for each in pods]
    loaded = [Loaded(thing, Source("a test")) for thing in (*CLUSTER, job(4)[0], *waiting)]
    found = live_job(loaded, "ml/train", None, 0, 1000.0)
    assert found is not None
    answer, note = found
    assert "judged by the default plugins in mode fairway" in note
    assert str(answer).splitlines()[:4] == BLOCK.splitlines()[:4]
    assert live_job(loaded, "ml/train-0", None, 0, 1000.0) is None  # that is a pod
    assert live_job(loaded, "ml/nothing", None, 0, 1000.0) is None
    with pytest.raises(UserError, match="no job is called ml/nothing"):
        live_job(loaded, "ml/nothing", None, 0, 1000.0, must_be_job=True)


@pytest.mark.parametrize("where", ["job", "template"])
def test_a_job_that_asks_for_it_is_tried_as_one(folder: Folder, where: str) -> None:
    """Three fit, and it takes four."""
    asks = {"fairway.dev/start-together": "true"}
    made = controller("Job", "train", parallelism=4, completions=4, backoffLimit=0)
    made["spec"]["template"]["spec"]["restartPolicy"] = "Never"
    (made if where == "job" else made["spec"]["template"])["metadata"]["annotations"] = asks
    cluster = [node("a", cpu=3)]
    printed = folder.attempt(cluster, [made], "--config", config(folder), command="why default/train")
    assert printed.out.splitlines()[0] == "job default/train waits · 3 of 4 members fit (min 4, its controller) · " + (
        "can never fit on these nodes"
    )
    assert printed.code == 3
    tried = folder.attempt(cluster, [made], "--config", config(folder))
    assert tried.code == 3
    assert "0 of 4 pods get a node" in tried.out
