"""What happened: runs written, read, measured, compared and exported.

`RunWriter` writes a run as the world goes on, `Run` opens one; `schema` says what is in it.
"""

from fairway.record.errors import RecordError
from fairway.record.null_writer import NullWriter, Scored, best_nodes
from fairway.record.options import RecordOptions
from fairway.record.run import Run
from fairway.record.table import Table
from fairway.record.writer import RunWriter

__all__ = ["NullWriter", "RecordError", "RecordOptions", "Run", "RunWriter", "Scored", "Table", "best_nodes"]
