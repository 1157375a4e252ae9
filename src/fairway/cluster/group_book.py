"""The book of one job: its members that live, who of them waits, who has a node, and what they say about it.

In: its members, from `groups`, which keeps the books of all jobs. Out: counts that take the same time however many
members there are. Read by the plugins that hold gangs together, by the cycles of groups and by `gangs`.
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple, TypeVar

from fairway.model import Pod
from fairway.model.group import GroupKey, GroupSpec, Misconfigured, Spelling
from fairway.model.group_reading import Sayings

__all__ = ["GroupBook", "KeptSpec"]

T = TypeVar("T")


class KeptSpec(NamedTuple):
    """How a job starts, and what that was read from."""

    version: int  # of all groups' objects; as long as it is that, and members say the same, nothing is read anew
    holder: object  # its object or its controller
    said: list[tuple[Sayings, str]]
    spec: GroupSpec | Misconfigured


class GroupBook:
    """A job and its members that live: each waits, is assumed on a node, or is bound to one."""

    __slots__ = (
        "_priorities",
        "_said",
        "_saying_of",
        "_sayings",
        "assumed",
        "bound",
        "ignored",
        "kept",
        "key",
        "num_gated",
        "pods",
        "remembered",
        "schedulers",
        "version",
    )

    def __init__(self, key: GroupKey) -> None:
        self.key = key
        self.pods: dict[str, Pod] = {}  # by uid: all members, as they were last seen
        self.assumed: dict[str, Pod] = {}  # by uid: those that we decided about and the world has not confirmed
        self.bound: dict[str, None] = {}  # uids
        self.num_gated = 0  # members that wait behind gates of their own
        self.schedulers: Counter[str] = Counter()  # whom members ask to schedule them
        self.ignored: tuple[Spelling, ...] = ()  # spellings that some member uses besides
        self.version = 0  # changes with everything here
        self.remembered: object | None = None  # what the plugin that holds it together keeps in mind
        self.kept: KeptSpec | None = None  # how it starts, as last read
        self._said: dict[Sayings, dict[str, None]] = {}  # what members say about the group, and their uids
        self._saying_of: dict[str, Sayings] = {}  # by uid
        self._sayings: list[tuple[Sayings, str]] | None = None  # as last asked for; None: to be made anew
        self._priorities: Counter[int] = Counter()

    def __len__(self) -> int:
        return len(self.pods)

    @property
    def waiting(self) -> list[str]:
        """The uids of members without a node, in the order they came."""
        return [uid for uid in self.pods if uid not in self.assumed and uid not in self.bound]

    @property
    def num_scheduled(self) -> int:
        """How many members are assumed or bound."""
        return len(self.assumed) + len(self.bound)

    @property
    def num_ready(self) -> int:
        """How many members exist that are not gated."""
        return len(self.pods) - self.num_gated

    @property
    def highest_priority(self) -> int:
        """That of its most important member."""
        return max(self._priorities, default=0)

    @property
    def sayings(self) -> list[tuple[Sayings, str]]:
        """The different things that members say about it, each with a member that does."""
        if self._sayings is None:
            self._sayings = [(said, self.pods[next(iter(uids))].key) for said, uids in self._said.items()]
        return self._sayings

    def add(self, pod: Pod, said: Sayings) -> None:
        """A member came, or is another than before."""
        uid = pod.metadata.uid
        if uid in self.pods:
            self._uncount(uid)
        self.pods[uid] = pod
        self.num_gated += bool(pod.spec.scheduling_gates)
        self.schedulers[pod.spec.scheduler_name] += 1
        self._priorities[pod.priority] += 1
        if self._saying_of.get(uid) != said:
            self._unsay(uid)
            if said not in self._said:
                self._sayings = None
            self._said.setdefault(said, {})[uid] = None
            self._saying_of[uid] = said
        if pod.spec.node_name:
            self.bound[uid] = None
            self.assumed.pop(uid, None)
        self.version += 1

    def drop(self, uid: str) -> None:
        """A member is gone, or has ended."""
        self._uncount(uid)
        self._unsay(uid)
        del self.pods[uid]
        self.assumed.pop(uid, None)
        self.bound.pop(uid, None)
        self.version += 1

    def _uncount(self, uid: str) -> None:
        pod = self.pods[uid]
        self.num_gated -= bool(pod.spec.scheduling_gates)
        _take_one(self.schedulers, pod.spec.scheduler_name)
        _take_one(self._priorities, pod.priority)

    def _unsay(self, uid: str) -> None:
        """Who says it next, if anybody does, is another member."""
        said = self._saying_of.pop(uid, None)
        if said is None:
            return
        del self._said[said][uid]
        if not self._said[said]:
            del self._said[said]
        self._sayings = None


def _take_one(counts: Counter[T], value: T) -> None:
    counts[value] -= 1
    if not counts[value]:
        del counts[value]
