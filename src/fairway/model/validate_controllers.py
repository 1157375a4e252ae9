"""What an API server would refuse in the controllers that make pods.

In: a controller, after defaulting. Out: the problems, each with the path of its field; those of a pod template are
named as fields of the template. Called by `fairway.model.validate`. The rules are those of
`pkg/apis/{apps,batch}/validation` of Kubernetes 1.36, as far as they matter to a simulation.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from fairway.model.controllers import (
    Controller,
    CronJob,
    DaemonSet,
    DaemonSetUpdateStrategy,
    Deployment,
    DeploymentStrategy,
    Job,
    JobSpec,
    PodFailurePolicyRule,
    SuccessPolicy,
)
from fairway.model.cron import parse_schedule, parse_zone
from fairway.model.default_pod import default_pod
from fairway.model.meta import LabelSelector
from fairway.model.pod import Pod, PodTemplateSpec
from fairway.model.selector import compile_selector
from fairway.model.validate_parts import Problem, choice_problems, selector_problems
from fairway.model.validate_pod import pod_problems
from fairway.model.workload import IntOrPercent, PodDisruptionBudget, ReplicationController, StatefulSet

__all__ = ["budget_problems", "controller_problems"]

PERCENTAGE = re.compile(r"[0-9]{1,9}%")
ACTIONS = ("FailJob", "FailIndex", "Ignore", "Count")
INTERVAL = re.compile(r"([0-9]{1,9})(?:-([0-9]{1,9}))?")
MAX_SUCCESS_RULES = 20
MAX_INDEXED_PARALLELISM = 100_000
MAX_CRON_NAME = 52  # of 63: the controller adds a dash and the minute


def controller_problems(thing: Controller) -> Iterator[Problem]:
    """Everything that is wrong with a controller besides its name."""
    match thing:
        case Job():
            yield from _job_problems("spec", thing.spec)
            return
        case CronJob():
            yield from _cron_job_problems(thing)
            return
        case ReplicationController():
            yield from _number_problems("spec.replicas", thing.spec.replicas)
            template = thing.spec.template or PodTemplateSpec()
            labels = template.metadata.labels
            if template != PodTemplateSpec() and not thing.spec.selector.items() <= labels.items():
                yield "spec.selector", _unmatched(template)
        case Deployment():
            yield from _number_problems("spec.replicas", thing.spec.replicas)
            yield from _matching_problems(thing.spec.selector, thing.spec.template, required=True)
            yield from _strategy_problems(thing)
            template = thing.spec.template
        case DaemonSet():
            yield from _matching_problems(thing.spec.selector, thing.spec.template, required=True)
            yield from _strategy_problems(thing)
            template = thing.spec.template
        case _:
            yield from _number_problems("spec.replicas", thing.spec.replicas)
            yield from _matching_problems(thing.spec.selector, thing.spec.template, required=False)
            if isinstance(thing, StatefulSet):
                yield from _stateful_problems(thing)
            template = thing.spec.template
    if template != PodTemplateSpec() or isinstance(thing, Deployment | DaemonSet):
        yield from _template_problems("spec", template)
        policy = template.spec.restart_policy
        if policy not in ("", "Always"):
            yield "spec.template.spec.restartPolicy", f"{policy!r} must be Always here; only a Job's pods may end"


def budget_problems(budget: PodDisruptionBudget) -> Iterator[Problem]:
    """Everything that is wrong with what a disruption budget allows."""
    spec = budget.spec
    yield from selector_problems("spec.selector", spec.selector)
    for path, share in (("spec.minAvailable", spec.min_available), ("spec.maxUnavailable", spec.max_unavailable)):
        yield from _share_problems(path, share)
        if isinstance(share, str) and PERCENTAGE.fullmatch(share) and int(share.removesuffix("%")) > 100:
            yield path, f"{share!r} must not be greater than 100%"
    if spec.min_available is not None and spec.max_unavailable is not None:
        yield "spec", "minAvailable and maxUnavailable cannot be both set"
    policies = ("IfHealthyBudget", "AlwaysAllow")
    chosen = spec.unhealthy_pod_eviction_policy or policies[0]
    yield from choice_problems("spec.unhealthyPodEvictionPolicy", chosen, policies)


def _number_problems(path: str, value: int | None) -> Iterator[Problem]:
    if value is not None and value < 0:
        yield path, f"{value} must not be negative"


def _unmatched(template: PodTemplateSpec) -> str:
    return f"does not match the labels of its own pods, {template.metadata.labels or 'none'}"


def _matching_problems(
    selector: LabelSelector | None, template: PodTemplateSpec, *, required: bool
) -> Iterator[Problem]:
    """A ReplicaSet without a template is only there to be looked at, and may have any selector."""
    problems = list(selector_problems("spec.selector", selector))
    yield from problems
    if problems or (not required and template == PodTemplateSpec()):
        return
    if not compile_selector(selector).matches(template.metadata.labels):
        yield "spec.selector", _unmatched(template)


def _template_problems(path: str, template: PodTemplateSpec) -> Iterator[Problem]:
    spec = msgspec.structs.replace(template.spec, priority=template.spec.priority or 0)  # its class is looked up later
    for field, problem in pod_problems(default_pod(Pod(metadata=template.metadata, spec=spec), {})):
        yield f"{path}.template.{field}", problem


def _share_problems(path: str, value: IntOrPercent | None) -> Iterator[Problem]:
    if isinstance(value, str) and not PERCENTAGE.fullmatch(value):
        yield path, f"{value!r} must be a number, or a percentage such as 25%"
    elif isinstance(value, int) and value < 0:
        yield path, f"{value} must not be negative"


def _strategy_problems(thing: Deployment | DaemonSet) -> Iterator[Problem]:
    yield from _number_problems("spec.minReadySeconds", thing.spec.min_ready_seconds)
    strategy: DeploymentStrategy | DaemonSetUpdateStrategy
    if isinstance(thing, Deployment):
        path, strategy, other = "spec.strategy", thing.spec.strategy, "Recreate"
    else:
        path, strategy, other = "spec.updateStrategy", thing.spec.update_strategy, "OnDelete"
    yield from choice_problems(f"{path}.type", strategy.type, ("RollingUpdate", other))
    rolling = strategy.rolling_update
    if rolling is None:
        return
    if strategy.type == other:
        yield f"{path}.rollingUpdate", f"may not be specified when strategy type is {other}"
        return
    path = f"{path}.rollingUpdate"
    problems = [
        *_share_problems(f"{path}.maxSurge", rolling.max_surge),
        *_share_problems(f"{path}.maxUnavailable", rolling.max_unavailable),
    ]
    yield from problems
    nothing = (0, "0%")
    if not problems and rolling.max_surge in nothing and rolling.max_unavailable in nothing:
        yield f"{path}.maxUnavailable", "may not be 0 when maxSurge is 0, or nothing could ever be replaced"
    surging = rolling.max_surge not in nothing and rolling.max_unavailable not in nothing
    if not problems and isinstance(thing, DaemonSet) and surging:
        yield f"{path}.maxSurge", "may not be set when maxUnavailable is non-zero"


def _stateful_problems(thing: StatefulSet) -> Iterator[Problem]:
    spec = thing.spec
    policies = ("OrderedReady", "Parallel")
    yield from choice_problems("spec.podManagementPolicy", spec.pod_management_policy or policies[0], policies)
    types = ("RollingUpdate", "OnDelete")
    yield from choice_problems("spec.updateStrategy.type", spec.update_strategy.type or types[0], types)
    retention = spec.persistent_volume_claim_retention_policy
    if retention is not None:
        path, fates = "spec.persistentVolumeClaimRetentionPolicy", ("Retain", "Delete")
        yield from choice_problems(f"{path}.whenDeleted", retention.when_deleted or fates[0], fates)
        yield from choice_problems(f"{path}.whenScaled", retention.when_scaled or fates[0], fates)
    if spec.ordinals is not None:
        yield from _number_problems("spec.ordinals.start", spec.ordinals.start)
    rolling = spec.update_strategy.rolling_update
    if rolling is not None:
        path = "spec.updateStrategy.rollingUpdate"
        yield from _number_problems(f"{path}.partition", rolling.partition)
        yield from _share_problems(f"{path}.maxUnavailable", rolling.max_unavailable)
        if rolling.max_unavailable in (0, "0%"):
            yield f"{path}.maxUnavailable", "must not be 0"


def _job_problems(path: str, spec: JobSpec) -> Iterator[Problem]:
    for field, value in (
        ("parallelism", spec.parallelism),
        ("completions", spec.completions),
        ("activeDeadlineSeconds", spec.active_deadline_seconds),
        ("backoffLimit", spec.backoff_limit),
        ("backoffLimitPerIndex", spec.backoff_limit_per_index),
        ("maxFailedIndexes", spec.max_failed_indexes),
        ("ttlSecondsAfterFinished", spec.ttl_seconds_after_finished),
    ):
        yield from _number_problems(f"{path}.{field}", value)
    modes = ("NonIndexed", "Indexed")
    yield from choice_problems(f"{path}.completionMode", spec.completion_mode or modes[0], modes)
    if spec.is_indexed:
        if spec.completions is None:
            yield f"{path}.completions", "must be there when completionMode is Indexed"
        if (spec.parallelism or 0) > MAX_INDEXED_PARALLELISM:
            yield f"{path}.parallelism", f"must be at most {MAX_INDEXED_PARALLELISM} when completionMode is Indexed"
    else:
        for field, value in (
            ("backoffLimitPerIndex", spec.backoff_limit_per_index),
            ("maxFailedIndexes", spec.max_failed_indexes),
        ):
            if value is not None:
                yield f"{path}.{field}", "requires completionMode Indexed"
    if spec.max_failed_indexes is not None and spec.backoff_limit_per_index is None:
        yield f"{path}.backoffLimitPerIndex", "must be there when maxFailedIndexes is"
    if spec.success_policy is not None:
        yield from _success_problems(f"{path}.successPolicy", spec, spec.success_policy)
    if spec.manual_selector:
        problems = list(selector_problems(f"{path}.selector", spec.selector))
        yield from problems
        if not problems and not compile_selector(spec.selector).matches(spec.template.metadata.labels):
            yield f"{path}.selector", _unmatched(spec.template)
    yield from _replacement_problems(path, spec)
    yield from _template_problems(path, spec.template)
    allowed = ("Never",) if spec.pod_failure_policy is not None else ("OnFailure", "Never")
    yield from choice_problems(f"{path}.template.spec.restartPolicy", spec.template.spec.restart_policy, allowed)


def _success_problems(path: str, spec: JobSpec, policy: SuccessPolicy) -> Iterator[Problem]:
    if not spec.is_indexed:
        yield path, "requires completionMode Indexed"
        return
    if not 1 <= len(policy.rules) <= MAX_SUCCESS_RULES:
        yield f"{path}.rules", f"must be 1 to {MAX_SUCCESS_RULES} rules, found {len(policy.rules)}"
    completions = spec.completions or 0
    for index, rule in enumerate(policy.rules):
        place, total = f"{path}.rules[{index}]", completions
        if rule.succeeded_count is None and rule.succeeded_indexes is None:
            yield place, "must have succeededCount or succeededIndexes"
        if rule.succeeded_indexes is not None:
            total, problem = _num_indexes(rule.succeeded_indexes, completions)
            if problem:
                yield f"{place}.succeededIndexes", problem
                continue
        yield from _number_problems(f"{place}.succeededCount", rule.succeeded_count)
        if (rule.succeeded_count or 0) > total:
            yield f"{place}.succeededCount", f"must be at most {total}, the number of indexes it is counted among"


def _num_indexes(text: str, completions: int) -> tuple[int, str]:
    """How many indexes a text such as 0-3,7 names, and what is wrong with it."""
    total, last = 0, -1
    for part in text.split(",") if text else ():
        found = INTERVAL.fullmatch(part)
        if found is None:
            return 0, f"{part!r} is neither an index nor a range such as 2-5"
        low = int(found[1])
        high = low if found[2] is None else int(found[2])
        if high < low or (found[2] is not None and high == low) or high >= completions:
            return 0, f"{part!r} is no range of indexes below completions, which is {completions}"
        if low <= last:
            return 0, f"{part!r} comes after {last}: indexes must increase"
        total, last = total + high - low + 1, high
    return total, ""


def _replacement_problems(path: str, spec: JobSpec) -> Iterator[Problem]:
    policies: tuple[str, ...] = ("TerminatingOrFailed", "Failed")
    if spec.pod_failure_policy is not None:
        policies = ("Failed",)
        for index, rule in enumerate(spec.pod_failure_policy.rules):
            yield from _rule_problems(f"{path}.podFailurePolicy.rules[{index}]", rule, spec)
    chosen = spec.pod_replacement_policy or policies[-1]
    yield from choice_problems(f"{path}.podReplacementPolicy", chosen, policies)


def _rule_problems(path: str, rule: PodFailurePolicyRule, spec: JobSpec) -> Iterator[Problem]:
    yield from choice_problems(f"{path}.action", rule.action, ACTIONS)
    if rule.action == "FailIndex" and spec.backoff_limit_per_index is None:
        yield f"{path}.action", "FailIndex requires backoffLimitPerIndex"
    codes = rule.on_exit_codes
    if (codes is None) == (not rule.on_pod_conditions):
        yield path, "must have either onExitCodes or onPodConditions"
    if codes is not None:
        yield from choice_problems(f"{path}.onExitCodes.operator", codes.operator, ("In", "NotIn"))
        if not codes.values:
            yield f"{path}.onExitCodes.values", "must have at least one value"
        if codes.operator == "In" and 0 in codes.values:
            yield f"{path}.onExitCodes.values", "must not have 0 when operator is In"
        names = [one.name for one in (*spec.template.spec.containers, *spec.template.spec.init_containers)]
        if codes.container_name is not None:
            yield from choice_problems(f"{path}.onExitCodes.containerName", codes.container_name, names)


def _cron_job_problems(thing: CronJob) -> Iterator[Problem]:
    spec = thing.spec
    name = thing.metadata.name
    if len(name) > MAX_CRON_NAME:
        yield "metadata.name", f"{name!r} is {len(name)} characters long, at most {MAX_CRON_NAME} are allowed"
    try:
        parse_schedule(spec.schedule)
    except ValueError as error:
        yield "spec.schedule", str(error)
    if spec.time_zone is not None:
        try:
            parse_zone(spec.time_zone)
        except ValueError as error:
            yield "spec.timeZone", str(error)
    policies = ("Allow", "Forbid", "Replace")
    yield from choice_problems("spec.concurrencyPolicy", spec.concurrency_policy or policies[0], policies)
    yield from _number_problems("spec.startingDeadlineSeconds", spec.starting_deadline_seconds)
    yield from _number_problems("spec.successfulJobsHistoryLimit", spec.successful_jobs_history_limit)
    yield from _number_problems("spec.failedJobsHistoryLimit", spec.failed_jobs_history_limit)
    yield from _job_problems("spec.jobTemplate.spec", spec.job_template.spec)
