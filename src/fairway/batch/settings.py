"""All that operators say about jobs, in one value: queues, accounts, windows, reservations, and how often is planned.

In: specs by name, checked. Out: a `BatchSettings`, which the desk is given, and again whenever one of them changes. As
plain values (`document`, `read_settings`) a run keeps it, so that the run can be asked about its queues.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final, Literal

import msgspec

from fairway.batch.job import BatchJob
from fairway.batch.occurrences import parse_moment
from fairway.model import Quantity, to_builtins
from fairway.model.batch import AccountSpec, QueueSpec, ReservationSpec, WindowSpec
from fairway.model.duration import Duration
from fairway.model.quantity import parse_quantity
from fairway.plan import BookingMode, Discipline, QueueRule, Replan

__all__ = ["BatchSettings", "Ties", "read_settings"]

Ties = Literal["ends-first", "each"]
"""What is planned when several things happen at one instant: all of it at once, ends first; or each by itself."""

ALL: Final = 1 << 30
UNKNOWN_QUEUE: Final = QueueSpec()


@dataclass(frozen=True)
class BatchSettings:
    """Specs by name; queues are complete (`QueueSpec.completed`)."""

    queues: Mapping[str, QueueSpec] = field(default_factory=dict)
    accounts: Mapping[str, AccountSpec] = field(default_factory=dict)
    windows: Mapping[str, WindowSpec] = field(default_factory=dict)
    reservations: Mapping[str, ReservationSpec] = field(default_factory=dict)
    interval: float = 30.0  # seconds between passes when nothing happens
    ties: Ties = "ends-first"
    half_life: float = 7 * 86400.0
    max_jobs: int = 1000  # so many waiting jobs are planned; others come after them
    horizon: float = 14 * 86400.0
    departed: Mapping[str, QueueSpec] = field(default_factory=dict)  # queues that were deleted, as they last were
    foreign: frozenset[str] = frozenset()  # queues that other schedulers serve: whoever names them waits in none here

    def spec_of(self, queue: str) -> QueueSpec:
        """What holds for jobs that run in a queue, also if it was deleted meanwhile: its limits stay."""
        return self.queues.get(queue) or self.departed.get(queue) or UNKNOWN_QUEUE

    def openings(self, epoch: float) -> dict[str, float]:
        """When queues are open again that say so, by the world's clock, which showed 0 at `epoch`."""
        return {
            name: parse_moment(queue.state_until, epoch, may_be_span=True)  # which an API server does not take
            for name, queue in self.queues.items()
            if queue.state_until
        }

    def as_of(self, now: float, epoch: float) -> BatchSettings:
        """The same when it is so late: queues whose time to be open again has come are."""
        over = [name for name, opening in self.openings(epoch).items() if opening <= now]
        if not over:
            return self
        opened = {name: msgspec.structs.replace(self.queues[name], state="Open", state_until="") for name in over}
        return replace(self, queues={**self.queues, **opened})

    def binds(self, job: BatchJob) -> bool:
        """Is there anything that the job has to keep to: a queue, now or when it began, or what was granted?"""
        queue = job.queue
        return queue in self.queues or queue in self.departed or job.ledger.granted_limit is not None

    # What follows from the specs, and every pass asks, is worked out once.

    @cached_property
    def weighs_shares(self) -> bool:
        """Does anybody's place depend on what was used?"""
        return any(queue.weights.fair_share and not queue.is_interactive for queue in self.queues.values())

    @cached_property
    def has_quotas(self) -> bool:
        """May any queue borrow, or lend?"""
        return any(queue.quota for queue in self.queues.values())

    @cached_property
    def limits_waiting(self) -> bool:
        """May any user have only so many jobs that wait?"""
        return any(queue.per_user.waiting is not None for queue in self.queues.values())

    @cached_property
    def has_tiers(self) -> bool:
        """Is any queue above another?"""
        return len({queue.tier or 0 for queue in self.queues.values()}) > 1

    @cached_property
    def lowest_tier(self) -> int:
        """Of all queues, also of those that are gone."""
        return min((queue.tier or 0 for queue in (*self.queues.values(), *self.departed.values())), default=0)

    @cached_property
    def protects(self) -> bool:
        """Do promises of any queue bind pods of no queue, too?"""
        return any(queue.nodes.protect == "fairway" for queue in self.queues.values())

    @property
    def rules(self) -> dict[str, QueueRule]:
        """How the jobs of each queue pass each other."""
        return {
            name: QueueRule(Discipline(queue.discipline or "easy"), queue.depth or 1, queue.is_interactive)
            for name, queue in self.queues.items()
        }

    @property
    def replan(self) -> Replan:
        """Do promises stand from one pass to the next? If any queue wants them anew, all are but interactive ones'."""
        return Replan.ANEW if any(queue.replan == "anew" for queue in self.queues.values()) else Replan.COMPRESS

    @property
    def booking(self) -> BookingMode:
        """What promises take. If any queue wants whole nodes, all promises take them."""
        takes_nodes = any(queue.booking == "nodes" for queue in self.queues.values())
        return BookingMode.NODES if takes_nodes else BookingMode.AMOUNTS

    @property
    def aliases(self) -> dict[str, str]:
        """Queues by the names that Kueue's users know them by."""
        return {alias: name for name, queue in self.queues.items() for alias in queue.aliases.kueue}

    @property
    def volcano_aliases(self) -> dict[str, str]:
        """Queues by the names that Volcano's users know them by."""
        return {alias: name for name, queue in self.queues.items() for alias in queue.aliases.volcano}

    def document(self) -> dict[str, Any]:
        """Plain values; `read_settings` takes them back."""
        plain: dict[str, Any] = to_builtins(self)
        del plain["departed"], plain["foreign"]  # of no run that begins
        return plain


def read_settings(document: Any) -> BatchSettings:
    """The settings of a document; `ValueError` says what is wrong with it."""
    return msgspec.convert(document, BatchSettings, dec_hook=_read)


def _read(kind: type, value: Any) -> Any:
    if kind is Duration:
        return Duration(str(value).removesuffix("s"))
    if kind is Quantity:
        return parse_quantity(str(value))
    raise TypeError(f"no way to read a {kind.__name__}")
