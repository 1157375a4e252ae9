"""The story of one pod of a run: created, tried, woken, bound, started, ended.

In: a run and a pod's row. Out: a `Story`: its attempts, each with the funnel of nodes that refused it (every node once,
so the numbers add up), the moves of the queue in counts, what was told about it; as lines and as a document. Called by
`run_answer`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from fairway.cycle.funnel import Group, Step, funnel_document
from fairway.record import Run
from fairway.record.vocabulary import HoldNote
from fairway.words import count_text, length_text, nodes_text, plugin_text, time_text

__all__ = ["RecordedAttempt", "Story", "story_document", "story_lines"]

SHOWN = 12
"""So many lines about attempts are shown; the first and the last ones."""
WOKEN_FROM = ("unschedulable", "gated")


@dataclass(frozen=True, slots=True)
class RecordedAttempt:
    """One try to place the pod; `row` is of the table `decisions`."""

    row: dict[str, Any]
    funnel: tuple[Step, ...]
    victims: tuple[str, ...]

    @property
    def words(self) -> str:
        """What came of it."""
        row = self.row
        if row["outcome"] == "scheduled":
            how = {"single": "the only node that fits", "nominated": "nominated to it"}
            return f"→ {row['node']}, {how.get(row['via']) or 'best of ' + nodes_text(row['num_feasible'])}"
        refused = ", ".join(
            f"{plugin_text(step.plugin)} {count_text(group.num_nodes)} {group.words}".rstrip()
            for step in self.funnel
            for group in step.groups
        )
        reason = f"none of {nodes_text(row['num_nodes'])}: {refused}" if self.funnel else row["message"] or ""
        parts = [row["outcome"], reason]
        if row["nominated_node"]:
            parts.append(f"makes room on {row['nominated_node']} by evicting {', '.join(self.victims)}")
        return " · ".join(part for part in parts if part)


@dataclass(frozen=True, slots=True)
class Story:
    """All that the run kept about one pod; `row` is of the table `pods`."""

    row: dict[str, Any]
    attempts: tuple[RecordedAttempt, ...]
    moves: tuple[dict[str, Any], ...]  # alike ones together: origin, place, event, how many
    events: tuple[dict[str, Any], ...]
    stays: tuple[dict[str, Any], ...]  # moves in order: when, to which place, upon what
    end: float  # of the run
    is_kept: bool  # were all attempts kept?

    @classmethod
    def of(cls, run: Run, row: dict[str, Any]) -> Story:
        """Read it."""
        number = row["pod_id"]
        kept = list(run.decisions.where("pod_id = ?", number))
        funnels, victims = _funnels(run, number), _victims(run, number)
        attempts = tuple(
            RecordedAttempt(one, funnels.get(one["decision_id"], ()), tuple(victims.get(one["decision_id"], ())))
            for one in kept
        )
        moves = run.sql(
            "SELECT origin, place, event, count(*) AS num FROM queue_moves WHERE pod_id = ?"
            " GROUP BY origin, place, event ORDER BY min(rowid)",
            number,
        )
        stays = run.sql("SELECT time_seconds, place, event FROM queue_moves WHERE pod_id = ? ORDER BY rowid", number)
        until = run.end_seconds if row["ended_seconds"] is None else row["ended_seconds"]
        told = "kind = 'Pod' AND subject = ? AND time_seconds BETWEEN ? AND ?"
        events = run.events.where(told, row["pod"], row["created_seconds"], until)
        return cls(
            row, attempts, tuple(moves), tuple(events), tuple(stays), run.end_seconds, row["attempts"] == len(kept)
        )

    @property
    def waited(self) -> float:
        """Seconds without a node."""
        row = self.row
        until = next((row[name] for name in ("bound_seconds", "ended_seconds") if row[name] is not None), self.end)
        return float(until - row["created_seconds"])

    @property
    def state(self) -> str:
        """How it stood when the run ended, or how it ended."""
        if self.row["reason"] is not None:
            return str(self.row["reason"])
        if self.row["bound_seconds"] is None:
            return "Waiting"
        return "Starting" if self.row["started_seconds"] is None else "Running"

    @property
    def wakeups(self) -> dict[str, int]:
        """What brought it back from among those that fit nowhere, and how often."""
        counts: dict[str, int] = {}
        for move in self.moves:
            if move["origin"] in WOKEN_FROM and move["place"] is not None:
                counts[move["event"]] = counts.get(move["event"], 0) + move["num"]
        return counts


def story_lines(story: Story) -> list[str]:
    """For people: one line that says it all, then what happened, in order."""
    row = story.row
    lines: list[tuple[float, str]] = [(row["created_seconds"], "created")]
    # At one time, the end of a wait comes before the attempt that follows it, and everything else after the attempt.
    told = [(one["reason"], (one["time_seconds"], f"{one['reason']}: {one['message']}")) for one in story.events]
    lines += [line for reason, line in told if reason == HoldNote.NOT_ALLOWED]
    lines += _attempt_lines(story.attempts)
    lines += [line for reason, line in told if reason != HoldNote.NOT_ALLOWED]
    for name, words in (
        ("bound_seconds", f"bound to {row['node']}"),
        ("started_seconds", "started"),
        ("ended_seconds", str(row["reason"])),
    ):
        if row[name] is not None:
            lines.append((row[name], words))
    lines.sort(key=lambda line: line[0])  # stable: things of one time stay in the order above
    width = max(len(time_text(time)) for time, _ in lines)
    text = [_headline(story), "", *(f"  {time_text(time):<{width}}  {words}" for time, words in lines)]
    if not story.is_kept:
        number = row["attempts"] - len(story.attempts)
        if row.get("job_id") is None:
            text.append(f"  {number} attempts were not kept (record.decisions)")
        else:
            text.append(f"  {number} attempts, made for its whole job, are told with the job")
    if wakeups := story.wakeups:
        woken = ", ".join(f"{event} {count_text(number)}" for event, number in wakeups.items())
        text.append(f"  woken {count_text(sum(wakeups.values()))}×: {woken}")
    return text


def story_document(story: Story) -> dict[str, Any]:
    """For programs; nothing is left out."""
    row = story.row
    return {
        "pod": row["pod"],
        "uid": row["uid"],
        "scheduler": row["scheduler"],
        "owner": row["owner"],
        "priority": row["priority"],
        "headline": _headline(story),
        "state": story.state,
        "createdSeconds": row["created_seconds"],
        "boundSeconds": row["bound_seconds"],
        "startedSeconds": row["started_seconds"],
        "endedSeconds": row["ended_seconds"],
        "waitedSeconds": story.waited,
        "node": row["node"],
        "numAttempts": row["attempts"],
        "attempts": [
            {
                "attempt": one.row["attempt"],
                "decision": one.row["decision_id"],
                "timeSeconds": one.row["time_seconds"],
                "outcome": one.row["outcome"],
                "node": one.row["node"],
                "via": one.row["via"],
                "nodes": one.row["num_nodes"],
                "feasible": one.row["num_feasible"],
                "score": one.row["score"],
                "nominatedNode": one.row["nominated_node"],
                "evicts": list(one.victims),
                "message": one.row["message"],
                "funnel": funnel_document(one.funnel),
            }
            for one in story.attempts
        ],
        "queueMoves": [
            {"origin": move["origin"], "place": move["place"], "event": move["event"], "number": move["num"]}
            for move in story.moves
        ],
        "stays": [
            {"timeSeconds": stay["time_seconds"], "place": stay["place"], "event": stay["event"]}
            for stay in story.stays
        ],
        "events": [
            {"timeSeconds": one["time_seconds"], "reason": one["reason"], "message": one["message"]}
            for one in story.events
        ],
    }


def _headline(story: Story) -> str:
    row, waited = story.row, length_text(story.waited)
    attempts = f"{count_text(row['attempts'])} attempt{'' if row['attempts'] == 1 else 's'}"
    if row["bound_seconds"] is None:
        what = f"is waiting, {waited}" if row["reason"] is None else f"waited {waited} in vain, {row['reason']}"
        return f"{row['pod']} {what} · {attempts}"
    went = f"waited {waited}, then went to {row['node']}" if story.waited else f"went to {row['node']} at once"
    parts = [f"{row['pod']} {went}", attempts]
    until = story.end if row["ended_seconds"] is None else row["ended_seconds"]
    if row["started_seconds"] is not None:
        ran = length_text(until - row["started_seconds"])
        parts.append(f"ran {ran}" if row["reason"] else f"runs, {ran}")
    parts += [row["reason"]] if row["reason"] else []
    return " · ".join(parts)


def _attempt_lines(attempts: Sequence[RecordedAttempt]) -> list[tuple[float, str]]:
    """Equal attempts in one line; of too many lines, the first and the last."""
    lines = []
    for words, group in groupby(attempts, key=lambda attempt: attempt.words):
        alike = [attempt.row for attempt in group]
        numbers = f"attempt {alike[0]['attempt']}"
        if len(alike) > 1:
            numbers = (
                f"attempts {alike[0]['attempt']}–{alike[-1]['attempt']}, until {time_text(alike[-1]['time_seconds'])}"
            )
        lines.append((alike[0]["time_seconds"], f"{numbers}: {words}"))
    if len(lines) > SHOWN:
        left = lines[SHOWN // 2 : -SHOWN // 2]
        more = (left[0][0], f"{len(left)} more lines about attempts (-o json has all)")
        lines = [*lines[: SHOWN // 2], more, *lines[-SHOWN // 2 :]]
    return lines


def _funnels(run: Run, pod_id: int) -> dict[int, tuple[Step, ...]]:
    """By decision: the nodes each plugin refused, and how many were left."""
    rows = run.sql(
        "SELECT f.*, d.num_nodes AS all_nodes FROM filter_counts f JOIN decisions d USING (decision_id)"
        " WHERE d.pod_id = ? ORDER BY decision_id, f.number",
        pod_id,
    )
    return {
        number: tuple(_steps(list(some))) for number, some in groupby(rows, key=lambda row: int(row["decision_id"]))
    }


def _steps(rows: list[dict[str, Any]]) -> Iterator[Step]:
    left = rows[0]["all_nodes"]
    by_plugin: dict[str, Counter[str]] = {}  # one reason may have two codes; it is one reason all the same
    for row in rows:
        words = ", ".join(reason.removeprefix("node(s) ") for reason in row["reason"].split(", "))
        by_plugin.setdefault(row["plugin"], Counter())[words] += row["num_nodes"]
    for plugin, counts in by_plugin.items():
        groups = [Group(words, count) for words, count in counts.items()]
        refused = sum(group.num_nodes for group in groups)
        left -= refused
        yield Step(plugin, refused, left, tuple(sorted(groups, key=lambda group: -group.num_nodes)))


def _victims(run: Run, pod_id: int) -> dict[int, list[str]]:
    victims: dict[int, list[str]] = {}
    for row in run.sql(
        "SELECT decision_id, victim FROM preemptions JOIN decisions USING (decision_id)"
        " WHERE pod_id = ? ORDER BY decision_id, number",
        pod_id,
    ):
        victims.setdefault(row["decision_id"], []).append(row["victim"])
    return victims
