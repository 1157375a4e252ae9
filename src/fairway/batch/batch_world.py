"""Where the desk's decisions take effect: the one seam between queues of jobs and a cluster, real or simulated.

In: what the desk wants done. Out: nothing; what comes of it is seen in events. `sim/` and `live/` are such worlds.
Everything here is absolute and may be said twice: a desk that was killed between two calls says all of it again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

from fairway.batch.accounts.books import BookStore
from fairway.batch.accounts.charges import ChargeLine
from fairway.batch.actions import Action
from fairway.batch.job import BatchJob, JobRecord
from fairway.batch.upkeep.closing_status import ClosingStatus
from fairway.model import Pod
from fairway.plan import StartEstimate

__all__ = ["BatchWorld", "PassReport"]


class PassReport(NamedTuple):
    """What a pass came to."""

    num_jobs: int  # that wait
    num_released: int
    num_promised: int  # of a forecast: were told a date
    seconds: float  # of processor time


class BatchWorld(Protocol):
    """A cluster, as the desk sees it."""

    @property
    def books(self) -> BookStore:
        """Where the books of accounts are."""

    @property
    def keeps_dates(self) -> bool:
        """Does anybody want to know when jobs will start? If not, it is not worked out."""

    @property
    def keeps_promises(self) -> bool:
        """Does anybody come after this desk who has to know what it promised? If not, that is not written down."""

    @property
    def awaits_settling(self) -> bool:
        """Does anybody wait for jobs to be settled, or read their charges, where they have no accounts?"""

    @property
    def tells_turns(self) -> bool:
        """Does anybody want to know how many come before a job that waits? If not, it is told that somebody does."""

    def now(self) -> float:
        """The time in seconds; never less than before."""

    def write_record(self, job: BatchJob) -> None:
        """Write down where the job is: its standing, its ledger, its dates."""

    def write_promise(self, job: BatchJob) -> None:
        """Write down what is booked for the job: its ledger has it. Where every promise is told, that may do it."""

    def write_dates(
        self, job: BatchJob, estimate: StartEstimate, nodes: Sequence[str], factors: Mapping[str, float] | None
    ) -> None:
        """Write down what the job is told of its start: when, and where if nothing changes; why it comes when it does.

        Its ledger has the dates already; `factors` are those of its priority.
        """

    def records(self) -> Iterable[JobRecord]:
        """All that is written down of jobs, by this desk or by one before it."""

    def write_status(self, status: ClosingStatus) -> None:
        """Write down where a maintenance window or a reservation is."""

    def statuses(self) -> Iterable[ClosingStatus]:
        """All that is written down of them, by this desk or by one before it."""

    def when_ended(self, tell: Callable[[str], None]) -> None:
        """Tell of the account of a job that is over, if that is in its record later than `write_record` came back."""

    def lines(self, account: str) -> Iterable[ChargeLine] | None:
        """The ledger's lines of an account; None: none are kept."""

    def why_not_anew(self, pods: Sequence[Pod]) -> str:
        """Why pods that are to end can not be made anew, by us; "": they can. `pods`: as they come again."""

    def carry_out(self, actions: Sequence[Action]) -> None:
        """Make it so."""

    def passed(self, report: PassReport) -> None:
        """A pass is over. For those who measure."""

    def foretold(self, report: PassReport) -> None:
        """A forecast is over. For those who measure."""
