"""All kinds of chaos, by name, in the order of the table that `make chaos` prints.

In: nothing. Out: `KINDS`. A new kind is a function of a `Stage` and a row here. Read by `__main__` and `test_chaos`.
"""

from __future__ import annotations

from typing import Final

from tests.chaos.kinds.clocks import clock_jumps
from tests.chaos.kinds.connections import late_watches, storms_of_429
from tests.chaos.kinds.objects import flapping_nodes, labels_changed, namespaces_deleted, pods_made_again
from tests.chaos.kinds.priorities import preemption_storm
from tests.chaos.kinds.processes import disk_full, leaders_killed, sigterm
from tests.chaos.kinds.servers import compaction
from tests.chaos.kinds.storage import volume_churn
from tests.chaos.trial import Kind

__all__ = ["KINDS"]

KINDS: Final = {
    kind.name: kind
    for kind in (
        Kind("leaders-killed", leaders_killed, share=1.0, num_rounds=1),
        Kind("pods-made-again", pods_made_again),
        Kind("429-storms", storms_of_429),
        Kind("late-watches", late_watches),
        Kind("flapping-nodes", flapping_nodes),
        Kind("labels-changed", labels_changed),
        Kind("volume-churn", volume_churn),
        Kind("preemption-storm", preemption_storm),
        Kind("namespaces-deleted", namespaces_deleted),
        Kind("compaction", compaction),
        Kind("clock-jumps", clock_jumps, num_rounds=1),
        Kind("disk-full", disk_full),
        Kind("sigterm", sigterm, num_rounds=1),
    )
}
