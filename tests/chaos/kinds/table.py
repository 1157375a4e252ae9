"""All kinds of chaos, by name, in the order of the table that `make chaos` prints.

In: nothing. Out: `KINDS`. A new kind is a function of a `Stage` and a row here. Read by `__main__` and `test_chaos`.
"""

from __future__ import annotations

from typing import Final

from tests.chaos.kinds.clocks import clock_jumps
from tests.chaos.kinds.connections import late_watches, storms_of_429
from tests.chaos.kinds.objects import (
    flapping_nodes,
    labels_changed,
    namespaces_deleted,
    pods_deleted_unseen,
    pods_made_again,
)
from tests.chaos.kinds.priorities import preemption_storm
from tests.chaos.kinds.processes import disk_full, leaders_killed, sigterm
from tests.chaos.kinds.servers import compaction
from tests.chaos.kinds.storage import volume_churn
from tests.chaos.trial import Kind

__all__ = ["KINDS"]

KINDS: Final = {
    kind.name: kind
    for kind in (
        Kind("leaders-killed", leaders_killed, "leaders killed", share=1.0, num_rounds=1),
        Kind("pods-made-again", pods_made_again, "made again"),
        Kind("pods-deleted-unseen", pods_deleted_unseen, "deleted unseen"),
        Kind("429-storms", storms_of_429, "requests refused"),
        Kind("late-watches", late_watches, "delays"),
        Kind("flapping-nodes", flapping_nodes, "nodes taken down"),
        Kind("labels-changed", labels_changed, "nodes moved"),
        Kind("volume-churn", volume_churn, "provisioned"),
        Kind("preemption-storm", preemption_storm, "preempted"),
        Kind("namespaces-deleted", namespaces_deleted, "namespaces deleted"),
        Kind("compaction", compaction, "compactions and restarts"),
        Kind("clock-jumps", clock_jumps, "wall clocks set", share=0.4, num_rounds=1),
        Kind("disk-full", disk_full, "full disks"),
        Kind("sigterm", sigterm, "SIGTERM", share=0.4, num_rounds=1),
    )
}
