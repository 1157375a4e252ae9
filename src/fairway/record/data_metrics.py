"""What a run's pods read of their datasets, and from how far.

In: a `Run` with its table `data_reads`, and how long pods ran. Out: `DataMetrics`, a part of `Metrics`; None where no
pod has read a dataset. Rungs are called by the last part of their label (`hostname`, `zone`), and `elsewhere` what is
farther than all of them.
"""

from __future__ import annotations

from dataclasses import dataclass

from fairway.record.run import Run

__all__ = ["ELSEWHERE", "DataMetrics", "data_metrics", "rung_names"]

ELSEWHERE = "elsewhere"
HOUR = 3600.0


@dataclass(frozen=True, slots=True)
class DataMetrics:
    """Reads of datasets; each dataset counts each time that a pod which uses it begins to run."""

    reads: int
    share: dict[str, float]  # by rung
    remote_share: float  # not from the pod's own node
    remote_gib: float | None  # of datasets that have a size; None: none has
    remote_hours: float  # run time of pods, by the share of their datasets that they read from other nodes
    extra_hours: float  # run time that was added for it


def rung_names(keys: list[str | None]) -> dict[str | None, str]:
    """What rungs are called: the last parts of their labels, or the whole labels where two would be called the same."""
    short = {key: ELSEWHERE if key is None else key.rpartition("/")[2] for key in keys}
    taken = list(short.values())
    return {key: name if key is None or taken.count(name) == 1 else key for key, name in short.items()}


def _ladder(run: Run) -> list[str]:
    """The rungs of the scenario, from near to far, as far as the run still says."""
    reads = (run.scenario.get("spec") or {}).get("dataReads") or {}
    return [rung["key"] for rung in reads.get("ladder", ())]


def data_metrics(run: Run) -> DataMetrics | None:
    """Work out the metrics of a run."""
    num_reads = len(run.data_reads)
    if not num_reads:
        return None
    rungs = run.sql("SELECT rung, count(*) AS num_reads FROM data_reads GROUP BY rung ORDER BY num_reads DESC, rung")
    counts: dict[str | None, int] = dict.fromkeys((*_ladder(run), None), 0)
    counts |= {row["rung"]: row["num_reads"] for row in rungs.rows()}
    (sums,) = run.sql(
        """
        WITH reads AS (
            SELECT pod_id, time_seconds, extra_share, size_bytes,
                   source_node IS DISTINCT FROM node AS is_remote,
                   1.0 / count(*) OVER (PARTITION BY pod_id, time_seconds) AS part,
                   lead(time_seconds) OVER (PARTITION BY pod_id, dataset ORDER BY time_seconds) AS begun_again
            FROM data_reads
        ), spans AS (
            SELECT reads.*,
                   greatest(least(coalesce(begun_again, 1e300), coalesce(ended_seconds, ?)) - time_seconds, 0) AS ran
            FROM reads JOIN pods USING (pod_id)
        )
        SELECT avg(is_remote::INTEGER) AS remote_share,
               sum(size_bytes) FILTER (WHERE is_remote) AS remote_bytes,
               count(size_bytes) AS num_sized,
               sum(ran * part) FILTER (WHERE is_remote) AS remote_seconds,
               sum(ran * extra_share) AS extra_seconds
        FROM spans
        """,
        run.end_seconds,
    ).rows()
    names = rung_names(list(counts))
    return DataMetrics(
        reads=num_reads,
        share={names[key]: count / num_reads for key, count in counts.items()},
        remote_share=sums["remote_share"],
        remote_gib=(sums["remote_bytes"] or 0) / 2**30 if sums["num_sized"] else None,
        remote_hours=(sums["remote_seconds"] or 0.0) / HOUR,
        extra_hours=(sums["extra_seconds"] or 0.0) / HOUR,
    )
