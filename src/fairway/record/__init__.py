"""What happened: runs written, read, measured, compared and exported.

`RunWriter` writes a run as the world goes on, `Run` opens one; `schema` says what is in it. `metrics` and `quality`
judge it, `difference` finds where two part, `export` and `perfetto` hand it to other tools, `snapshot` gives the
cluster back as it was.
"""

from fairway.record.difference import Difference, first_difference
from fairway.record.errors import CannotWriteError, RecordError
from fairway.record.export import export_csv, export_parquet, export_rows, export_table
from fairway.record.metrics import Metrics, measure
from fairway.record.null_recorder import NullRecorder
from fairway.record.options import RecordOptions
from fairway.record.perfetto import export_trace
from fairway.record.recorder import Recorder, Scored, best_nodes
from fairway.record.run import Run
from fairway.record.table import Table
from fairway.record.writing.row_writer import Patience
from fairway.record.writing.writer import RunWriter

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
