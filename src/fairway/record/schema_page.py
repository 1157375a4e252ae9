"""The page that documents runs, made from the schema and the definitions of metrics.

Out: `docs/run-schema.md`; a test holds the file against it. After a change: `python -m fairway.record.schema_page >
docs/run-schema.md`.
"""

from __future__ import annotations

import sys

from fairway.record.metric_definitions import DEFINITIONS
from fairway.record.schema import SCHEMA_VERSION, TABLES
from fairway.record.table_schema import Field, TableSchema

__all__ = ["schema_page"]

# Lines of the page are as long as they like: readers wrap them.
OPENING = (
    "# The tables of a run\n\n"
    f"A run is one DuckDB file. This is version {SCHEMA_VERSION} of its tables; `fairway.record.schema` defines "
    "them, and this page is made from it. Open a run with `fairway.record.Run.open` or the `duckdb` command, or export "
    "it to Parquet or CSV.\n\n"
    "- Times are seconds of the run's clock. Amounts are integers: cpu in thousandths, memory in bytes, other "
    "resources in whole units.\n"
    "- Each resource has a column of its own in `nodes`, `pods`, `holds`, `occupancy` and `charges`, added when it "
    "first appears; `resources` names them.\n"
    "- Numbers (`pod_id`, `node_id`, `decision_id`, `template_id`, `job_id`) join the tables; names are repeated "
    "where people look for them.\n"
    "- Same scenario and seed: the same rows, except for columns that say they are measured.\n"
    "- While a run is being written its file is called `<name>.partial`. One that ended early is marked "
    "`complete = false` in `meta`; of a writer that was killed the `.partial` file remains, which can be read too but "
    "lacks pods, states of nodes and intervals that were open then.\n"
)
METRICS = (
    "## Metrics\n\n"
    "`Run.metrics()` works these out; `Metrics.flat()` names them so (`<name>` stands for a resource or a plugin). "
    '"Over time" is the mean weighted by time, from the first node\'s coming to the end of the run. Node by node, runs '
    "with many changes are looked at in equal steps instead of at every change.\n\n"
    "| metric | unit | better | meaning |\n|---|---|---|---|\n"
)


WORDS = (
    "## Words\n\n"
    "What happened to nodes, pods and objects is told in these words and no others, whether it was simulated or seen "
    "in a live cluster; `fairway.record.vocabulary` defines them. Simulations of version 1 say `updated` and `removed` "
    "of nodes.\n\n| list | word | meaning |\n|---|---|---|\n"
)


def schema_page() -> str:
    """`docs/run-schema.md`."""
    metrics = "".join(
        f"| `{one.name.replace('{}', '<name>')}` | {one.unit} | {one.better} | {one.meaning} |\n" for one in DEFINITIONS
    )
    lists = dict.fromkeys(kind for table in TABLES.values() for column in table.columns for kind in column.words)
    words = "".join(f"| {kind.__name__} | `{word}` | {word.meaning} |\n" for kind in lists for word in kind)
    return "\n".join([OPENING, *map(_section, TABLES.values()), WORDS + words, METRICS + metrics])


def _section(table: TableSchema) -> str:
    order = table.order.replace("rowid", "as it happened")
    rows = "".join(
        f"| `{column.name}` | {column.type} | {'yes' if column.is_nullable else ''} | {_meaning(column)} |\n"
        for column in table.columns
    )
    if table.amounts:
        rows += f"| `cpu_milli`, `memory_bytes`, ... | BIGINT | | one column a resource: {table.amounts} |\n"
    return (
        f"## {table.name}\n\n{table.meaning}\n\nOrder of the rows: {order}.\n\n"
        f"| column | type | may be null | meaning |\n|---|---|---|---|\n{rows}"
    )


def _meaning(column: Field) -> str:
    lists = " or ".join(f"[{kind.__name__}](#words)" for kind in column.words)
    return f"{column.meaning}: a word of {lists}" if lists else column.meaning


if __name__ == "__main__":
    sys.stdout.write(schema_page())
