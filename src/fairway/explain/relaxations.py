"""What a pod could ask for less of: each of its demands, relaxed, as the plugins that refused it say.

In: a pod that fits nowhere, and the diagnosis of its attempt. Out: `Relaxation`s: words for what would change, and
the pod with that change. Whether it helps is not known here; `fixes` runs the cycle again with each of them. Only
who refused any node is asked.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from fairway.cluster import Nodes
from fairway.cycle import Diagnosis, Profile
from fairway.cycle.funnel import refused_rows
from fairway.model import Pod
from fairway.plugin import Refused, Relaxation

__all__ = ["relaxations"]

NO_ROWS = np.empty(0, np.intp)


def relaxations(profile: Profile, pod: Pod, diagnosis: Diagnosis) -> Iterator[Relaxation]:
    """Everything worth trying, each once, in the order in which the plugins are asked."""
    cluster, pod_class = profile.cluster, profile.classify(pod)
    refused = {
        plugin: [Refused(refusal, Nodes(cluster, rows)) for refusal, rows in refusals]
        for plugin, refusals in refused_rows(diagnosis).items()
    }
    if diagnosis.pre_filter is not None:
        name, refusal = diagnosis.pre_filter
        refused.setdefault(name, []).append(Refused(refusal, Nodes(cluster, NO_ROWS)))
    proposed: list[Relaxation] = []
    for plugin in profile.asked_filters:
        if plugin.name not in refused and plugin.name not in diagnosis.restricted_by:
            continue
        for relaxation in plugin.relax(pod, pod_class, refused.get(plugin.name, ())):
            if relaxation not in proposed:  # as two plugins may say of the same volume
                proposed.append(relaxation)
                yield relaxation
