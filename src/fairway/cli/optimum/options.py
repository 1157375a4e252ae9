"""`--optimum`: how far a policy is from the best possible placement, for `try` and `compare`.

In: the options, and a trial after its last pod, or the runs of policies. Out: a `PolicyJudgement` for each policy; a
table with what it reached, what was possible and how far apart they are, goal by goal, and the same for programs. That
the solver is there is made sure of before anything else is done.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click

from fairway.cli.options.run import RunTime
from fairway.cli.output import Column, narrate, plain_table, progress, say

if TYPE_CHECKING:
    from fairway.compare.metrics import PolicyRuns
    from fairway.compare.report import OptimumSection
    from fairway.explain.trial import Trial, Verdict
    from fairway.record.quality.judgement import Judgement, PlacementProblem

__all__ = [
    "OptimumChoices",
    "judge_policies",
    "judge_trial",
    "optimum_documents",
    "optimum_options",
    "optimum_section",
    "print_optimum",
    "refuse_optimum",
]

F = TypeVar("F", bound=Callable[..., Any])
NUM_GOALS = 6
NOTHING = 1e-6  # the solver does not tell smaller differences

COLUMNS = (
    Column("policy", "POLICY"),
    Column("goal", "GOAL"),
    Column("here", "HERE", right=True),
    Column("best", "BEST", right=True),
    Column("gap", "GAP", right=True),
)


class OptimumChoices(NamedTuple):
    """What to compare with the optimum, and how long it may take."""

    seconds: float
    label: str = ""
    at: float | None = None  # of runs; None: when most pods are on nodes


class PolicyJudgement(NamedTuple):
    """One policy beside the optimum."""

    policy: str  # empty: there is one only
    problem: PlacementProblem
    judgements: Sequence[Judgement]
    at: float | None = None  # of the run
    seed: int | None = None  # of the run, where there are several

    def document(self) -> dict[str, Any]:
        """For programs."""
        return {
            **({"policy": self.policy} if self.policy else {}),
            **({} if self.at is None else {"atSeconds": self.at}),
            "pods": self.problem.instance.num_pods,
            "podsStaying": self.problem.num_staying,
            "notLookedAt": list(self.problem.not_looked_at),
            "goals": [judgement.document() for judgement in self.judgements],
        }


def optimum_options(*, of_runs: bool) -> Callable[[F], F]:
    """The options; they arrive as the argument `optimum`, None where it is not asked for."""
    options = [
        click.option(
            "--optimum",
            "is_wanted",
            is_flag=True,
            help="And how far is that from the best possible placement? Needs pip install 'fairway[quality]'.",
        ),
        click.option(
            "--optimum-seconds",
            type=click.FloatRange(0, 86_400, min_open=True),
            metavar="N",
            help="So long may the solver take for each goal; then it is a bound.  [default: 10]",
        ),
        click.option("--optimum-by", metavar="LABEL", help="Spread over domains of this label.  [default: nodes]"),
    ]
    if of_runs:
        options.append(
            click.option(
                "--optimum-at",
                type=RunTime(),
                metavar="TIME",
                help="At this moment of the runs.  [default: when most pods are on nodes]",
            )
        )

    def decorate(command: F) -> F:
        @wraps(command)
        def with_choices(
            *arguments: Any,
            is_wanted: bool,
            optimum_seconds: float | None,
            optimum_by: str | None,
            optimum_at: float | None = None,
            **others: Any,
        ) -> Any:
            given = {"seconds": optimum_seconds, "by": optimum_by, "at": optimum_at}
            alone = [f"--optimum-{name}" for name, value in given.items() if value is not None]
            if alone and not is_wanted:
                raise click.UsageError(f"{alone[0]} needs --optimum", click.get_current_context())
            choices = None
            if is_wanted:
                from fairway.record.quality.integer_program import load_solver

                load_solver()  # whoever lacks it is told before anything runs
                choices = OptimumChoices(optimum_seconds or 10.0, optimum_by or "", optimum_at)
            return command(*arguments, optimum=choices, **others)

        decorated: Any = with_choices
        for option in reversed(options):
            decorated = option(decorated)
        result: F = decorated
        return result

    return decorate


def refuse_optimum(choices: OptimumChoices | None, other: str) -> None:
    """Complain about an option that leaves nothing to judge."""
    if choices is not None:
        raise click.UsageError(f"{other} and --optimum exclude each other", click.get_current_context())


def judge_trial(trial: Trial, verdicts: Sequence[Verdict], choices: OptimumChoices | None) -> list[PolicyJudgement]:
    """The pods of a trial, after they were placed; whoever was on the cluster before stays."""
    if choices is None:
        return []
    from fairway.explain.placement_problem import placement_problem

    pods = [verdict.pod for verdict in verdicts if verdict.result not in ("gated", "ignored", "error")]
    problem = placement_problem(trial.cluster, trial.profiles, pods, choices.label)
    return [PolicyJudgement("", problem, _judged(problem, choices, "this cluster"))]


def judge_policies(policies: Sequence[PolicyRuns], choices: OptimumChoices | None) -> list[PolicyJudgement]:
    """All pods of each policy's run (the first seed's) at one time."""
    if choices is None:
        return []
    from fairway.explain.run_problem import run_problem
    from fairway.record import Run

    judged = []
    for policy in policies:
        first = policy.seeds[0]
        with Run.open(policy.paths[first]) as run:
            time, problem = run_problem(run, choices.at, choices.label)
        seed = first if len(policy.seeds) > 1 else None
        judged.append(PolicyJudgement(policy.name, problem, _judged(problem, choices, policy.name), time, seed))
    return judged


def _judged(problem: PlacementProblem, choices: OptimumChoices, name: str) -> list[Judgement]:
    from fairway.model import UserError
    from fairway.record.quality.judgement import judge

    judgements = []
    with progress("looking for the best placement", NUM_GOALS) as advance:
        try:
            for judgement in judge(problem, choices.seconds):
                judgements.append(judgement)
                advance(1)
        except UserError as error:
            narrate(f"note: the best possible placement is not known for {name}: {error}")
    return judgements


def optimum_documents(judged: Sequence[PolicyJudgement]) -> dict[str, Any]:
    """What a document says of it: nothing where it was not asked for."""
    return {"optimum": [one.document() for one in judged]} if judged else {}


def print_optimum(judged: Sequence[PolicyJudgement], choices: OptimumChoices | None) -> None:
    """The table, and what to know about it; nothing where it was not asked for."""
    with_policy = any(one.policy for one in judged)
    rows = _rows(judged)
    if choices is None or not rows:
        return
    say("\nhow far from the best possible placement:")
    say(plain_table(rows, COLUMNS if with_policy else COLUMNS[1:]), nl=False)
    for note in _notes(judged, choices):
        narrate(note)


def optimum_section(judged: Sequence[PolicyJudgement], choices: OptimumChoices | None) -> OptimumSection | None:
    """The same for a report; None where it was not asked for."""
    from fairway.compare.report import OptimumSection

    rows = _rows(judged)
    if choices is None or not rows:
        return None
    return OptimumSection([tuple(row[column.key] for column in COLUMNS) for row in rows], list(_notes(judged, choices)))


def _rows(judged: Sequence[PolicyJudgement]) -> list[dict[str, str]]:
    return [_row(one.policy, judgement) for one in judged for judgement in one.judgements]


def _notes(judged: Sequence[PolicyJudgement], choices: OptimumChoices) -> Iterator[str]:
    from fairway.words import clock_text

    for one in judged:
        if one.at is not None:
            placed = int((one.problem.placement >= 0).sum())
            of_seed = "" if one.seed is None else f" (seed {one.seed}, the first)"
            yield f"{one.policy}: at {clock_text(one.at)}, {placed} pods on nodes{of_seed}"
    if any(not judgement.optimum.is_proven for one in judged for judgement in one.judgements):
        yield (
            f"where BEST is a range, the solver ran out of its {choices.seconds:g} s: the best placement it knows, and "
            "what none can beat; --optimum-seconds gives it more"
        )
    others = sorted({name for one in judged for name in one.problem.not_looked_at})
    if others:
        yield f"BEST does not keep to {', '.join(others)}: with these rules, less may be possible"


def _row(policy: str, judgement: Judgement) -> dict[str, str]:
    optimum = judgement.optimum
    best = _text(judgement, optimum.value)
    if not optimum.is_proven:
        best = "–".join([_text(judgement, value) for value in sorted((optimum.value, optimum.bound))])
    return {
        "policy": policy,
        "goal": judgement.title,
        "here": _text(judgement, judgement.value),
        "best": best,
        "gap": _gap(judgement),
    }


def _text(judgement: Judgement, value: float) -> str:
    return f"{value:.1%}" if judgement.is_share else f"{value:.0f}"


def _gap(judgement: Judgement) -> str:
    """Points of shares, else a number and per cent of the best; against the bound where that is all that is known."""
    optimum = judgement.optimum
    reference = optimum.value if optimum.is_proven else optimum.bound
    distance = judgement.value - reference
    if abs(distance) < NOTHING:
        return "="
    most = "" if optimum.is_proven else "up to "
    if judgement.is_share:
        return f"{most}{100 * distance:+.1f}".replace("-", "−")
    part = f" ({distance / reference:+.0%})" if reference else ""
    return f"{most}{distance:+.0f}{part}".replace("-", "−")
