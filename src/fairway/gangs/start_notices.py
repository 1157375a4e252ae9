"""What people hear of jobs that go well: that one has started, and which of its spellings count.

In: jobs whose members are being bound, and their books as they change. Out: an event `GangScheduled`, once a start,
when as many are bound as it takes, with how many, on how many nodes, and where they are all together; an event
`GangIgnored`, once a job, for members that name their group in several ways. Called by `job_members`, `job_attempts`.
"""

from __future__ import annotations

from fairway.cluster.groups import GroupBook, Groups
from fairway.cycle.groups.group_decision import GroupDecision
from fairway.model.group import GroupKey, GroupSpec
from fairway.plugin import Notice
from fairway.world import World

__all__ = ["StartNotices"]


class StartNotices:
    """Tells of starts."""

    def __init__(self, groups: Groups, world: World) -> None:
        self._groups = groups
        self._world = world
        self._starting: dict[GroupKey, tuple[GroupDecision, float]] = {}  # with when its first member came
        self._ignored: set[GroupKey] = set()  # those whose other spellings were told of

    def expect(self, decision: GroupDecision, first_seen: float) -> None:
        """Members of the job are being bound."""
        book = self._groups.find(decision.job)
        spec = None if book is None else self._groups.spec_of(book)
        if book is not None and isinstance(spec, GroupSpec) and len(book.bound) < max(spec.min_count, 1):
            self._starting.setdefault(decision.job, (decision, first_seen))

    def forget(self, key: GroupKey) -> None:
        """The job has no members any more; another of that name is another job."""
        self._starting.pop(key, None)
        self._ignored.discard(key)

    def look(self, book: GroupBook) -> None:
        """A job's book is another than before."""
        if book.pods and book.ignored and book.key not in self._ignored:
            self._ignored.add(book.key)
            others = ", ".join(spelling.value for spelling in book.ignored)
            words = f"members of job {book.key} also name a group in another way ({others}), which does not count"
            first = next(iter(book.pods.values()))
            self._world.tell_group(book.key, first, Notice("GangIgnored", words))
        if self._starting and book.key in self._starting:
            self._look_at_start(book)

    def _look_at_start(self, book: GroupBook) -> None:
        spec = self._groups.spec_of(book) if book.pods else None
        if not isinstance(spec, GroupSpec):
            del self._starting[book.key]
            return
        if len(book.bound) < spec.min_count or book.assumed:
            return
        decision, first_seen = self._starting.pop(book.key)
        nodes = {book.pods[uid].spec.node_name for uid in book.bound}
        words = f"{len(book.bound)} of {max(len(book), spec.size or 0)} members on {len(nodes)} node"
        words += "" if len(nodes) == 1 else "s"
        if decision.domain:
            words += f", {decision.level} {decision.domain}"
        first = book.pods[next(iter(book.bound))]
        self._world.tell_group(book.key, first, Notice("GangScheduled", words, is_warning=False))
        self._world.job_started(book.key, len(book.bound), self._world.now() - first_seen)
