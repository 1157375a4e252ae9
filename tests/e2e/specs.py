"""Which of upstream's specs are run, and why the others are not.

In: nothing. Out: the suites, in the order in which they run, and the expressions that choose among their specs. Nodes
here have no kubelets (`stages`), so a spec that looks into a container cannot pass with any scheduler; it would wait
for minutes first, so it is left out by name. What else fails with kube-scheduler is in the table, but does not count.
Called by `run` and `report`.
"""

from __future__ import annotations

from typing import Final

__all__ = ["LEFT_OUT", "SUITES", "chosen_files", "skipped_names", "suite_of"]

SUITES: Final = ("scheduling", "apps", "node")
"""Directories of test/e2e in Kubernetes' repository."""

LEFT_OUT: Final[dict[str, tuple[str, ...]]] = {
    "flaky or slow by upstream's own word: minutes of waiting for nothing to happen": (
        r"\[Flaky\]",
        r"\[Slow\]",
    ),
    "a cloud, SSH to nodes, or kubelets that can be restarted": (
        r"cloud load-balancer",
        r"DaemonRestart",
        r"\[sig-node\] SSH",
        r"\[sig-node\] crictl",
        r"NodeProblemDetector",
        r"with a private image",
    ),
    "something executed in a container, read from its log or fetched from its port": (
        r"should serve a basic image on each replica",
        r"Basic StatefulSet functionality .* should (provide basic identity|adopt matching orphans|not deadlock)",
        r"Basic StatefulSet functionality .* (rolling updates|legacy replacement)",
        r"Should recreate evicted statefulset",
        r"Deploy clustered applications",
        r"AvailableReplicas should get updated accordingly",
        r"should surge pods onto nodes",
        r"\[sig-node\] (AppArmor|Security Context|PreStop|Mount propagation|\[Feature:Example\])",
        r"\[sig-node\] .*\[Feature:GPUDevicePlugin\]",
    ),
    "four minutes of updates that no scheduler has a part in": (r"issue 500 podspec updates",),
    "what only a kubelet knows or does": (
        r"\[sig-node\] (kubelet|Kubelet|ContainerTerminationMetrics|PodRejectionStatus|specific log stream)",
        r"\[sig-node\] \[FeatureGate:KubeletFineGrainedAuthz\]",
        r"\[sig-node\] Events should be sent by kubelets",
        r"Pod InPlace Resize Container",
        r"Pods Extended Delete Grace Period",
        r"Pods Extended Pod Container (Status|lifecycle)",
        r"Pods Extended Pod TerminationGracePeriodSeconds",
        r"observedGeneration field set in pod conditions",
    ),
    "files that one container of a Job leaves for the next, or signals that it catches": (
        r"pod failure policy to ignore failure matching",
        r"sometimes fail and are not locally restarted",
        r"recreate pods only after they have failed",
        r"ContainerRestartRules",
    ),
}
"""Expressions for names of specs, by what the specs would need."""


def chosen_files(suite: str) -> str:
    """An expression for the files of a suite's specs, as the test program knows them."""
    return f"test/e2e/{suite}/"


def skipped_names() -> str:
    """One expression for the names of all specs that are left out."""
    return "|".join(each for expressions in LEFT_OUT.values() for each in expressions)


def suite_of(file: str) -> str:
    """The suite that a spec's file belongs to."""
    for suite in SUITES:
        if chosen_files(suite) in file:
            return suite
    raise ValueError(f"{file} belongs to none of the suites {', '.join(SUITES)}")
