"""What a desk promised is kept by those who come after it, whenever it is killed: none slips, none is forgotten.

Random jobs, whose order changes while they wait, in queues whose desk dies between any two of its writes. After every
step of the simulation that a desk lives to see the end of, promises are what they were, or earlier, or kept.
"""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairway.batch.settings import BatchSettings
from fairway.cluster import Event
from fairway.model import Pod
from fairway.model.batch import QueueLimits, QueueSpec, WeightSpec
from fairway.model.duration import Duration
from fairway.sim.kubelets import KubeletSettings
from fairway.sim.simulation import Plan
from fairway.testing import node
from tests.properties.test_queues import WANTED, Wanted, arrivals
from tests.sim.mortal import Mortal

NODES = (4, 4, 8)
SIZES = WeightSpec(age=0, size=1000, fair_share=0, queue=0, class_=0)
"""Whoever comes later may be before others who wait: promises made again in the order of the queue are others."""

FUSES = st.lists(st.integers(0, 12), max_size=10)
LONG = WANTED.map(lambda want: want._replace(limit=want.limit * 40, gap=want.gap * 20))


class Heirs:
    """Jobs, and desks one after the other; what each of them promised is held against those after it."""

    def __init__(
        self, wanted: list[Wanted], fuses: list[int], discipline: str, *, dates: bool = False, latency: float = 0.0
    ) -> None:
        limits = QueueLimits(max=Duration(1e6), kill_grace=Duration(0))
        queue = QueueSpec(discipline=discipline, weights=SIZES, limits=limits).completed()  # type: ignore[arg-type]
        batch = BatchSettings({"q": queue}, horizon=math.inf)
        times = KubeletSettings(start_latency=0.0, termination_latency=0.0)
        nodes = [node(f"n{number}", cpu=cpu) for number, cpu in enumerate(NODES)]
        self.mortal = Mortal(Plan(nodes, (), arrivals(wanted), [], kubelet=times), batch, fuses, dates, latency)
        self.starts: dict[str, float] = {}
        self.mortal.simulation.api.watch(self._watch)

    def _watch(self, event: Event) -> None:
        pod = event.object
        if isinstance(pod, Pod) and pod.spec.node_name:
            name = pod.metadata.annotations.get("fairway.dev/gang", pod.metadata.name)
            self.starts.setdefault(f"default/{name}", self.mortal.simulation.timeline.now())

    def run(self) -> None:
        """To the end, looking at all promises on the way."""
        timeline, held = self.mortal.simulation.timeline, dict[str, float]()
        while timeline.step():
            assert timeline.now() < 1e6
            queues = self.mortal.scheduler.queues
            assert queues is not None
            if self.mortal.is_dead or queues.desk.is_due:
                continue
            promises, book = queues.desk.machine.calendar.promises, queues.desk.book
            held = {key: date for key, date in held.items() if (job := book.find(key)) and job.started is None}
            for key, date in held.items():
                if not book.jobs[key].is_released:  # else it may still have to wait again, if the desk dies now
                    assert key in promises, f"nobody knows any more what {key} was promised"
                    assert promises[key].slot.start <= date + 1e-6, key
            held |= {key: promise.slot.start for key, promise in promises.items()}


@settings(max_examples=60, deadline=None)
@given(
    wanted=st.lists(WANTED, min_size=2, max_size=10), fuses=FUSES, discipline=st.sampled_from(["easy", "conservative"])
)
def test_no_promise_slips_because_a_desk_died(wanted: list[Wanted], fuses: list[int], discipline: str) -> None:
    Heirs(wanted, fuses, discipline).run()


@settings(max_examples=20, deadline=None)
@given(wanted=st.lists(LONG, min_size=2, max_size=10), fuses=FUSES)
def test_nobody_starts_later_than_any_desk_told_it(wanted: list[Wanted], fuses: list[int]) -> None:
    heirs = Heirs(wanted, fuses, "conservative", dates=True)
    heirs.run()
    for record in heirs.mortal.store.records():
        if record.ledger.dates is not None:
            assert record.ledger.dates.first.is_promised
            assert heirs.starts[record.key] <= record.ledger.dates.promised + 1e-6, record.key


MANY = [
    Wanted(4, 3, 20.0, 0.0, 0.5),
    Wanted(2, 2, 9.0, 1.0, 1.0),
    Wanted(4, 2, 8.0, 1.0, 1.0),
    Wanted(1, 1, 30.0, 1.0, 0.2),
    Wanted(4, 4, 5.0, 1.0, 1.0),
    Wanted(3, 1, 12.0, 3.0, 1.0),
]
BEFORE_A_LARGER_ONE = [Wanted(4, 2, 30.0, 0.0, 1.0), Wanted(8, 1, 10.0, 0.0, 1.0)]
BEFORE_A_LARGER_ONE += [Wanted(6, 1, 10.0, 1.0, 1.0), Wanted(8, 1, 10.0, 1.0, 1.0), Wanted(8, 1, 10.0, 8.7, 1.0)]
"""The third is let go in the same room that the fourth, which is larger and so before it, waits for.

The last comes while the third is let go and has no node yet.
"""


@pytest.mark.parametrize("discipline", ["easy", "conservative"])
@pytest.mark.parametrize("wanted", [MANY, BEFORE_A_LARGER_ONE], ids=["many", "before a larger one"])
def test_a_desk_that_dies_once_anywhere_leaves_its_promises(wanted: list[Wanted], discipline: str) -> None:
    """Killed after the first write, after the second, and so on."""
    immortal = Heirs(wanted, [], discipline)
    immortal.run()
    for fuse in range(immortal.mortal.num_writes):
        heirs = Heirs(wanted, [fuse], discipline)
        heirs.run()
        assert heirs.mortal.num_deaths == 1
        assert heirs.starts.keys() == immortal.starts.keys()
