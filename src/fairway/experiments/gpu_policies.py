"""The known policies for shared GPUs, each as a scheduler configuration.

Out: `POLICIES`, by the names of the published tables, and configurations for them: kube-scheduler's filters and
GpuShare, one policy (or a weighted mix) as the only score, no preemption. Called by order-only scenarios and by
`conformance --openb`; a scenario of one's own can write the same configurations by hand.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final, NamedTuple

from fairway.config import ProfileConfig, decode_configuration
from fairway.config.config_file import API_VERSION
from fairway.config.config_file import KIND as CONFIG_KIND
from fairway.plugins.registry import REGISTRY

__all__ = ["POLICIES", "policy_config", "policy_profile"]

WEIGHT: Final = 1000


class _Known(NamedTuple):
    weights: dict[str, int]  # of the score plugins
    args: dict[str, dict[str, Any]]  # of plugins, by name
    is_random: bool = False


POLICIES: Final[dict[str, _Known]] = {
    "FGD": _Known({"FGD": WEIGHT}, {}),
    "BestFit": _Known({"BestFit": WEIGHT}, {}),
    "GpuPacking": _Known({"GpuPacking": WEIGHT}, {}),
    "GpuClustering": _Known({"GpuClustering": WEIGHT}, {}),
    "DotProd": _Known({"DotProduct": WEIGHT}, {}),
    "Random": _Known({"Random": WEIGHT}, {"GpuShare": {"deviceChoice": "random"}}, is_random=True),
    "PWR": _Known({"PWR": WEIGHT}, {}),
    "PWR+FGD": _Known({"PWR": WEIGHT // 2, "FGD": WEIGHT // 2}, {}),
}
"""By the names of the published tables, the better ones first. `PWR+FGD` is the even mix; devices are FGD's choice."""


def policy_config(policy: str, seed: int = 0) -> dict[str, Any]:
    """The KubeSchedulerConfiguration of a known policy; `seed` matters to those that choose by chance."""
    known = POLICIES[policy]
    args = {name: dict(values) for name, values in known.args.items()}
    if known.is_random:
        args.setdefault("GpuShare", {})["seed"] = seed
        args.setdefault("Random", {})["seed"] = seed
    scores = [{"name": name, "weight": weight} for name, weight in known.weights.items()]
    plugins: dict[str, Any] = {
        "multiPoint": {"enabled": [{"name": "GpuShare"}, *({"name": name} for name in known.weights)]},
        "score": {"enabled": scores, "disabled": [{"name": "*"}]},
        "postFilter": {"disabled": [{"name": "*"}]},
    }
    profile: dict[str, Any] = {"plugins": plugins, "fairway": {"sampling": "all"}}
    if args:
        profile["pluginConfig"] = [{"name": name, "args": values} for name, values in args.items()]
    return {"apiVersion": API_VERSION, "kind": CONFIG_KIND, "profiles": [profile]}


@cache
def policy_profile(policy: str, seed: int = 0) -> ProfileConfig:
    """The same, ready to run."""
    return decode_configuration(policy_config(policy, seed), f"policy {policy}", REGISTRY).profiles[0]
