"""Whatever happens to pods and nodes, in the end there is what was asked for, and nothing is left over."""

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from fairway.model import (
    DaemonSet,
    Deployment,
    Job,
    LabelSelector,
    ObjectMeta,
    ReplicaSet,
    ReplicaSetSpec,
    StatefulSet,
    StatefulSetSpec,
)
from fairway.model.controllers import DaemonSetSpec, DeploymentSpec, JobSpec
from fairway.testing import node
from tests.sim.controllers.world import LABELS, World, changed, template

SELECTOR = LabelSelector(match_labels=LABELS)
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["delete", "remove", "update", "scale", "lose", "revive", "add", "wait"]),
        st.integers(min_value=0, max_value=7),
    ),
    max_size=25,
)


def meta(name: str) -> ObjectMeta:
    return ObjectMeta(name=name, namespace="default")


@settings(max_examples=60, deadline=None)
@given(steps=STEPS)
def test_everything_comes_right_in_the_end(steps: list[tuple[str, int]]) -> None:
    world = World(nodes=(node("n0"), node("n1")))
    web = world.create(
        Deployment(metadata=meta("web"), spec=DeploymentSpec(replicas=3, selector=SELECTOR, template=template()))
    )
    world.create(ReplicaSet(metadata=meta("set"), spec=ReplicaSetSpec(replicas=2, template=template())))
    db = world.create(StatefulSet(metadata=meta("db"), spec=StatefulSetSpec(replicas=2, template=template())))
    agent = world.create(DaemonSet(metadata=meta("agent"), spec=DaemonSetSpec(template=template())))
    world.create(
        Job(
            metadata=meta("job"),
            spec=JobSpec(
                completions=6,
                parallelism=2,
                completion_mode="Indexed",
                backoff_limit=1000,
                template=template(duration="5"),
            ),
        )
    )
    replicas = 3
    lost: set[str] = set()
    for number, (step, choice) in enumerate(steps):
        pods = world.pods
        match step:
            case "delete" if pods:
                world.api.delete(pods[choice % len(pods)])
            case "remove" if pods:
                world.api.remove(pods[choice % len(pods)])
            case "update":
                for owner in (web, db, agent):
                    world.change(owner, template=changed(template(), f"v{number}"))
            case "scale":
                replicas = choice
                world.change(web, replicas=choice)
            case "lose" if f"n{choice % 2}" not in lost:
                lost.add(f"n{choice % 2}")
                world.kubelets.lose(f"n{choice % 2}")
            case "revive" if f"n{choice % 2}" in lost:
                lost.discard(f"n{choice % 2}")
                world.kubelets.revive(f"n{choice % 2}")
            case "add" if world.api.find("Node", "", f"x{choice}") is None:
                world.api.create(node(f"x{choice}"))
        world.run(world.timeline.now() + choice / 3)
    for name in lost:
        world.kubelets.revive(name)
    world.run(world.timeline.now() + 20_000)
    owners: Counter[str] = Counter()
    for pod in world.pods:
        owner = pod.metadata.controller
        assert owner is not None
        assert pod.status.phase == "Running"
        assert not pod.is_terminating
        owners["own" if owner.name == "set" else owner.kind] += 1
    expected = {"own": 2, "StatefulSet": 2, "DaemonSet": len(world.api.objects("Node"))}
    assert owners == expected | ({"ReplicaSet": replicas} if replicas else {})
    status = world.job().status
    assert (world.verdict(), status.completed_indexes) == ("Complete CompletionsReached", "0-5")
    latest = max((number for number, (step, _) in enumerate(steps) if step == "update"), default=None)
    images = {
        pod.spec.containers[0].image for pod in world.pods if pod.metadata.name.startswith(("web", "db", "agent"))
    }
    assert images == {"i" if latest is None else f"v{latest}"}
