"""A look-alike of the openb trace with recorded orders and ranks, as the real folder has them."""

from pathlib import Path

import numpy as np

from fairway.experiments.openb_data import OpenbData
from fairway.trace.openb_lookalike import write_lookalike


def recorded_lookalike(
    folder: Path, *, num_nodes: int = 12, num_pods: int = 80, seeds: tuple[int, ...] = (42, 43)
) -> OpenbData:
    """Files for two traces, with orders and ranks for each seed."""
    write_lookalike(folder, seed=1, num_nodes=num_nodes, num_pods=num_pods)
    data = OpenbData(folder)
    (folder / "order").mkdir()
    names = [node.metadata.name for node in data.nodes()]
    ranks = {}
    for trace in ("default", "gpuspec33"):
        drawn = {seed: data.drawn(trace, seed, 1.3) for seed in seeds}
        orders = [drawn[seed].order.tolist() for seed in seeds]
        length = max(map(len, orders))
        rows = [",".join(f"seed{seed}" for seed in seeds)]
        rows += [
            ",".join(str(order[place]) if place < len(order) else "" for order in orders) for place in range(length)
        ]
        (folder / "order" / f"arrivals_{trace}.csv").write_text("\n".join(rows) + "\n")
        for seed in seeds:
            place = {node.metadata.name: rank for rank, node in enumerate(drawn[seed].nodes)}
            ranks[f"{trace}:{seed}"] = [place[name] for name in names]
    table = np.array(list(ranks.values())).T.tolist()
    lines = [
        ",".join(["node", *ranks]),
        *(",".join(map(str, [name, *row])) for name, row in zip(names, table, strict=True)),
    ]
    (folder / "order" / "node_rank.csv").write_text("\n".join(lines) + "\n")
    return OpenbData(folder)
