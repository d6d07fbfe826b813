"""The samples of a system as scores for Inspect (https://inspect.aisi.org.uk): an id, a value and an explanation."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import pyarrow.dataset as ds

from ...transforms.rows import read_rows
from ..runs.run import Run


def sample_scores(run: Run, system: str) -> Iterator[bytes]:
    """Yields a line of JSON for each sample: `id`, `value`, `explanation` and `metadata`, the fields of a `Score`.

    value: the main per-sample metric; null if the sample was not scored. explanation: what matched what. metadata: the
    status of the sample, and all its metrics.

    Raises InputProblem if a file of the rows is damaged.
    """
    benchmark = run.configuration.benchmark
    main, names = benchmark.main_sample_metric().name, benchmark.sample_metric_names()
    columns = ["sample_id", "status", "details", *names]
    for path in run.rows:
        for batch in read_rows(path, columns, ds.field("system") == system):
            for row in batch.to_pylist():
                details = msgspec.json.decode(row["details"])
                lines = [] if details is None else benchmark.explain(details)
                yield msgspec.json.encode({
                    "id": row["sample_id"],
                    "value": row[main],
                    "explanation": "\n".join(lines),
                    "metadata": {name: row[name] for name in ("status", *names)},
                })  # fmt: skip
