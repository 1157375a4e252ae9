"""Whoever decides in which order things happen around a scheduler: requests, answers, watches, users, time.

In: a `ModelServer` with a `LiveScheduler` at work on it. Out: `moves()`, everything that could happen next, by name;
`drain()`, after which everything that was to happen has: every request served and answered, every watch up to date, the
scheduler idle. `differences()` compares what the scheduler then believes with what the server has, by restating it
naively.
"""

from __future__ import annotations

import asyncio
import copy
from collections import Counter
from collections.abc import Callable
from functools import partial

from fairway.live.service import LiveScheduler
from fairway.live.world.live_world import LiveWorld
from fairway.model import Node, Pod
from tests.live.live_cluster import node, pod
from tests.live.model_server import Call, ModelServer, Tree, Watch, is_selected, key_of

PODS = {  # name: cpu, priority, held by the permit plugin
    "a": ("3", 0, False),
    "b": ("3", 100, False),
    "c": ("1", 0, True),
    "d": ("3", 0, False),
}
NODES = ("n1", "n2")
CPU = 4
CODES = (409, 404, 500, 429)
Move = Callable[[], object]


async def settle() -> None:
    """Until nobody has anything to do at this instant."""
    for _ in range(30):
        await asyncio.sleep(0)


class Adversary:
    def __init__(self, server: ModelServer, live: LiveScheduler, names: str) -> None:
        """`names`: of the pods that take part; the fewer there are, the more happens to each."""
        self.server, self.live, self._names = server, live, names

    # -- everything that could happen ----------------------------------------------------------------------------------

    def moves(self) -> dict[str, dict[str, Move]]:
        """By who makes them: the network, the watches, users, the cluster's owner."""
        found = {
            "network": {name: move for call in self.server.calls for name, move in self._call_moves(call).items()},
            "watches": self._watch_moves(),
            "users": {name: move for pod_name in self._names for name, move in self._user_moves(pod_name).items()},
            "owner": self._owner_moves(),
        }
        return {who: moves for who, moves in found.items() if moves}

    def _watch_moves(self) -> dict[str, Move]:
        server, found = self.server, dict[str, Move]()
        for watch in server.watches:
            if server.untold(watch):
                found[f"tell {watch.resource}"] = partial(server.tell, watch)
                found[f"tell all {watch.resource}"] = partial(self._tell_all, watch)
        return found

    def _owner_moves(self) -> dict[str, Move]:
        server, found = self.server, dict[str, Move]()
        for name in NODES:
            if name in server.objects["nodes"]:
                found[f"remove {name}"] = partial(server.remove, "nodes", name)
            else:
                found[f"add {name}"] = partial(server.put, "nodes", node(name, cpu=str(CPU)))
        found |= {f"cut {watch.resource}": partial(server.cut, watch) for watch in server.watches}
        found["compact"] = server.compact
        for staleness in (0, 2, 6):
            if staleness != server.staleness:
                found[f"lists are {staleness} behind"] = partial(setattr, server, "staleness", staleness)
        return found

    def _call_moves(self, call: Call) -> dict[str, Move]:
        server = self.server
        found: dict[str, Move] = {f"lose {call}": partial(server.lose, call)}
        if call.outcome is None:
            found[f"serve {call}"] = partial(server.serve, call)
            for code in CODES if call.method != "GET" else (500,):
                found[f"refuse {call} {code}"] = partial(server.refuse, call, code)
        else:
            found[f"answer {call}"] = partial(server.answer, call)
        return found

    def _user_moves(self, name: str) -> dict[str, Move]:
        server, found = self.server, dict[str, Move]()
        tree = server.objects["pods"].get(f"default/{name}")
        if tree is None:
            return {f"create {name}": partial(self._create, name)}
        found[f"delete {name}"] = partial(server.remove, "pods", key_of(tree))
        found[f"label {name}"] = partial(self._label, tree)
        is_terminating = "deletionTimestamp" in tree["metadata"]
        if is_selected(tree):
            found[f"finish {name}"] = partial(self._change, tree, "status", phase="Succeeded")
            if not tree["spec"].get("nodeName") and not is_terminating:
                for there in NODES:
                    found[f"bind {name} to {there}"] = partial(self._change, tree, "spec", nodeName=there)
        if not is_terminating:
            word = "2026-01-01T00:00:00Z"
            found[f"terminate {name}"] = partial(self._change, tree, "metadata", deletionTimestamp=word)
        return found

    def _create(self, name: str) -> None:
        cpu, priority, is_held = PODS[name]
        tree = pod(name, cpu=cpu, priority=priority)
        tree["metadata"] |= {"namespace": "default", "labels": {"held": str(is_held)}}
        self.server.put("pods", tree)

    def _label(self, tree: Tree) -> None:
        labels = tree["metadata"]["labels"]
        self._change(tree, "metadata", labels=labels | {"turn": str(int(labels.get("turn", "0")) + 1)})

    def _change(self, tree: Tree, part: str, **fields: object) -> None:
        tree = copy.deepcopy(tree)
        tree[part] |= fields
        self.server.put("pods", tree)

    def _tell_all(self, watch: Watch) -> None:
        while self.server.untold(watch):
            self.server.tell(watch)

    # -- the end -------------------------------------------------------------------------------------------------------

    async def drain(self) -> None:
        """Let everything come to its end: less time than the queue's flush takes, which would hide a forgotten pod."""
        server = self.server
        server.staleness = 0
        quiet_since = asyncio.get_running_loop().time()
        while asyncio.get_running_loop().time() - quiet_since < 40:
            is_quiet = not server.calls
            for call in list(server.calls):
                if call.outcome is None:
                    server.serve(call)
                server.answer(call)
            for tree in [one for one in server.objects["pods"].values() if "deletionTimestamp" in one["metadata"]]:
                server.remove("pods", key_of(tree))  # the node's kubelet has stopped it
                is_quiet = False
            for watch in server.watches:
                is_quiet &= not server.untold(watch)
                self._tell_all(watch)
            if not is_quiet:
                quiet_since = asyncio.get_running_loop().time()
            await asyncio.sleep(1.0)
            assert quiet_since < 10_000, "it never comes to rest"

    def differences(self) -> list[str]:
        """What the scheduler believes and the API server does not have, or the other way round."""
        return [*self._in_cluster(), *self._in_queue(), *self._under_way(), *self._in_stores(), *self._forgotten()]

    def _truth(self) -> list[Tree]:
        return [one for one in self.server.objects["pods"].values() if is_selected(one)]

    def _in_cluster(self) -> list[str]:
        cluster = self.live.cluster
        nodes = set(self.server.objects["nodes"])
        wrong = [] if set(cluster.nodes.row_of) == nodes else [f"nodes: {sorted(cluster.nodes.row_of)}"]
        there = {one["metadata"]["uid"]: one["spec"].get("nodeName") for one in self._truth()}
        bound = {uid: name for uid, name in there.items() if name in nodes}
        names = cluster.nodes.names
        believed = {uid: names[placed.row] for uid, placed in cluster.pods.by_uid.items()}
        if believed != bound:
            wrong.append(f"pods on nodes: {believed} instead of {bound}")
        wrong += [f"{uid} is only assumed" for uid, placed in cluster.pods.by_uid.items() if placed.assumed]
        used: Counter[str] = Counter()
        for one in self._truth():
            if one["metadata"]["uid"] in bound:
                used[one["spec"]["nodeName"]] += 1000 * int(PODS[one["metadata"]["name"]][0])
        wrong += [
            f"{name} has {cluster.nodes.requested[row, 0]} in use instead of {used[name]}"
            for name, row in cluster.nodes.row_of.items()
            if cluster.nodes.requested[row, 0] != used[name]
        ]
        return wrong

    def _in_queue(self) -> list[str]:
        queue, cluster = self.live.scheduler.queue, self.live.cluster
        waiting = {one["metadata"]["uid"] for one in self._truth() if not one["spec"].get("nodeName")}
        pending = queue.pending()
        believed = {queued.uid for place in pending for queued in place}
        wrong = [] if believed == waiting else [f"waiting: {believed} instead of {waiting}"]
        wrong += [f"{queued.uid} is in flight" for queued in pending.in_flight]
        promised = {one.metadata.uid for name in cluster.nominations.nodes() for one in cluster.nominations.on(name)}
        return [*wrong, *(f"{uid} has a node promised to it" for uid in promised - waiting)]

    def _under_way(self) -> list[str]:
        scheduler, world = self.live.scheduler, self.live.world
        assert isinstance(world, LiveWorld)
        counts = {
            "held": len(scheduler.cluster.held),
            "decided": len(scheduler._bound),  # noqa: SLF001 - nobody else sees what is kept for ever
            "bindings": world.backlog,
            "expected": len(world.assumed),
            "evictions": world.evictor.backlog,
            "reservations": len(self.live.cluster.storage.reservations),
        }
        found = [f"{name}: {count}" for name, count in counts.items() if count]
        return found + [f"{uid} was deleted {count} times" for uid, count in self.server.deletions.items() if count > 1]

    def _in_stores(self) -> list[str]:
        wrong = []
        for kind, resource in ((Pod, "pods"), (Node, "nodes")):
            store = self.live.watch.reflectors[kind].store
            believed = {thing.metadata.uid: thing.metadata.resource_version for thing in store}
            there = {
                one["metadata"]["uid"]: one["metadata"]["resourceVersion"]
                for one in self.server.objects[resource].values()
                if is_selected(one)
            }
            if believed != there:
                wrong.append(f"the store of {resource}: {believed} instead of {there}")
            if store._gone:  # noqa: SLF001 - nobody else sees what is kept for ever
                wrong.append(f"the store of {resource} still waits to hear of {store._gone}")  # noqa: SLF001
        return wrong

    def _forgotten(self) -> list[str]:
        """Pods that wait though there is room."""
        free = dict.fromkeys(self.server.objects["nodes"], CPU)
        for one in self._truth():
            if one["spec"].get("nodeName") in free:
                free[one["spec"]["nodeName"]] -= int(PODS[one["metadata"]["name"]][0])
        most = max(free.values(), default=0)
        return [
            f"{one['metadata']['name']} waits though there is room"
            for one in self._truth()
            if not one["spec"].get("nodeName") and int(PODS[one["metadata"]["name"]][0]) <= most
        ]
