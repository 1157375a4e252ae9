"""What happened: runs written, read, measured, compared and exported.

`RunWriter` writes a run as the world goes on, `Run` opens one; `schema` says what is in it. `metrics` and `quality`
judge it, `difference` finds where two part, `export` and `perfetto` hand it to other tools, `snapshot` gives the
cluster back as it was. All but what every world tells its recorder is imported when it is first asked for: a
simulation that nobody records needs no DuckDB.
"""

from typing import TYPE_CHECKING

from fairway.record.errors import CannotWriteError, RecordError
from fairway.record.null_recorder import NullRecorder
from fairway.record.options import RecordOptions
from fairway.record.recorder import Recorder, Scored, best_nodes

__all__ = [
    "CannotWriteError",
    "Difference",
    "Metrics",
    "NullRecorder",
    "Patience",
    "RecordError",
    "RecordOptions",
    "Recorder",
    "Run",
    "RunWriter",
    "Scored",
    "Table",
    "best_nodes",
    "export_csv",
    "export_parquet",
    "export_rows",
    "export_table",
    "export_trace",
    "first_difference",
    "measure",
]

if TYPE_CHECKING:
    from fairway.record.difference import Difference, first_difference
    from fairway.record.export import export_csv, export_parquet, export_rows, export_table
    from fairway.record.metrics import Metrics, measure
    from fairway.record.perfetto import export_trace
    from fairway.record.run import Run
    from fairway.record.table import Table
    from fairway.record.writing.row_writer import Patience
    from fairway.record.writing.writer import RunWriter
else:
    WHERE = {
        "Difference": "difference",
        "first_difference": "difference",
        "export_csv": "export",
        "export_parquet": "export",
        "export_rows": "export",
        "export_table": "export",
        "Metrics": "metrics",
        "measure": "metrics",
        "export_trace": "perfetto",
        "Run": "run",
        "Table": "table",
        "Patience": "writing.row_writer",
        "RunWriter": "writing.writer",
    }

    def __getattr__(name: str) -> object:
        if name not in WHERE:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        import importlib  # noqa: PLC0415

        found = globals()[name] = getattr(importlib.import_module(f"{__name__}.{WHERE[name]}"), name)
        return found
