"""How far policies are from the best possible placement: kube-scheduler's own, random choice, and two choices.

Run it: python examples/quality.py. It needs the solver: pip install 'fairway[quality]'.
"""

from typing import Any

from fairway.config import default_configuration
from fairway.plugins.best_fit import BestFit
from fairway.plugins.node_resources_fit import NodeResourcesFit
from fairway.plugins.random_policy import Random
from fairway.plugins.registry import REGISTRY
from fairway.testing import check_quality

EXAMPLES = 20
MOST_ALLOCATED = {"scoringStrategy": {"type": "MostAllocated"}}

policies: dict[str, tuple[Any, dict[str, Any]]] = {
    "kube-scheduler's defaults": (default_configuration(REGISTRY).profiles[0], {}),
    "LeastAllocated": (NodeResourcesFit, {}),
    "MostAllocated": (NodeResourcesFit, {"args": MOST_ALLOCATED}),
    "best fit": (BestFit, {}),
    "random choice": (Random, {}),
    "LeastAllocated of two": (NodeResourcesFit, {"sampling": "two-choices"}),
    "MostAllocated of two": (NodeResourcesFit, {"args": MOST_ALLOCATED, "sampling": "two-choices"}),
}

print(f"{'policy':<28}{'pack':>8}{'spread':>8}")
for name, (policy, options) in policies.items():
    gaps = [
        check_quality(policy, goal=goal, within=10, examples=EXAMPLES, **options).gap for goal in ("pack", "spread")
    ]
    print(f"{name:<28}{gaps[0]:>+8.0%}{gaps[1]:>+8.2f}")
