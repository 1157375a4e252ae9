"""Nodes held for members of jobs that have not started, under three modes: the picture of docs/gangs.md.

Run it with `python examples/gangs/held.py gangs-held.svg` (or .png); it needs `pip install 'fairway[plots]'`.
"""

import sys
from pathlib import Path

import fairway
from fairway import plots
from fairway.plots.axes import new_figure, policy_colour

SCENARIOS = Path(__file__).parents[1] / "scenarios" / "gangs"
MODES = ("coscheduling", "pfnet", "fairway")  # kube holds nothing either


def main(target: str) -> None:
    """Play two scenarios under each mode, and draw how many nodes are held in their first minutes."""
    figure, panels = new_figure(2, (11, 3.2))
    for axes, name in zip(panels, ("hold", "deadlock"), strict=True):
        axes.set_prop_cycle(color=[policy_colour(number) for number in range(len(MODES))])
        runs = {mode: fairway.simulate(SCENARIOS / f"{name}.yaml", policy=mode) for mode in MODES}
        plots.held(runs, axes=axes)
        axes.set(title=name, xlim=(0, 12))
        axes.legend_ = None  # one below serves both
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=len(MODES), frameon=False)
    figure.savefig(target, metadata={"Date": None} if target.endswith(".svg") else None)


if __name__ == "__main__":
    main(sys.argv[1])
