"""How an evaluation grows from a corpus to one four times as large, for this source tree and for another commit."""

from __future__ import annotations

import contextlib
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tests.bench.checkout import ROOT, checked_out
from tests.flink.cluster import FlinkCluster
from tests.flink.measured import Measured, corpus_of, evaluate

PARALLELISM = 2
TIMES = 4
THIS = "this"

HEADER = [
    "",
    "samples",
    "processor µs of the workers, a sample",
    "bytes read, a sample",
    "of it by groupings",
    "peak MiB of a worker",
    "processor µs of the TaskManagers, a sample",
    "s",
]

Costs = tuple[float, ...]
"""What HEADER names after the samples; from the memory on, of whole runs alone.

A TaskManager is slow at first, so that the difference of two runs tells nothing of it.
"""


@dataclass(frozen=True)
class Growth:
    """What a corpus took, and one TIMES as large."""

    small: Measured
    large: Measured

    def rows(self) -> dict[str, Costs]:
        """Returns the costs of both corpora, and those of the samples that one has more, by what they are of."""
        small, large = self.small, self.large
        count = large.samples - small.samples
        more = [after - before for before, after in zip(_totals(small), _totals(large), strict=True)]
        return {
            f"{small.samples}": _of_run(small),
            f"{large.samples}": _of_run(large),
            f"the {count} more": tuple(each / count for each in more),
        }


def _of_run(run: Measured) -> Costs:
    each = [total / run.samples for total in _totals(run)]
    return (*each, run.worker_mebibytes, run.task_manager_seconds / run.samples * 1e6, run.seconds)


def _totals(run: Measured) -> list[float]:
    return [run.worker_seconds * 1e6, run.bytes_read, run.bytes_regrouped]


def measure(samples: int, against: str | None) -> dict[str, Growth]:
    """Evaluates both corpora on a cluster of this source tree and, in turns, on one of the commit `against`."""
    with contextlib.ExitStack() as stack:
        trees = {THIS: ROOT}
        if against is not None:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            trees[against] = stack.enter_context(checked_out(against, folder / "beamscore"))
        clusters = {name: stack.enter_context(FlinkCluster(tree=tree)) for name, tree in trees.items()}
        small = {name: evaluate(cluster, corpus_of(samples), PARALLELISM) for name, cluster in clusters.items()}
        turns = reversed(clusters.items())
        large = {name: evaluate(cluster, corpus_of(TIMES * samples), PARALLELISM) for name, cluster in turns}
    return {name: Growth(small[name], large[name]) for name in clusters}


def growth_rows(samples: int, against: str | None) -> list[list[str]]:
    """Returns rows of HEADER for each source tree, and where there are two, the ratios of this one to the other."""
    found = {name: growth.rows() for name, growth in measure(samples, against).items()}
    rows = [
        [name, what, *(f"{cost:.0f}" for cost in costs)]
        for name, parts in found.items()
        for what, costs in parts.items()
    ]
    if against is not None:
        for what, costs in found[THIS].items():
            ratios = [ours / theirs for ours, theirs in zip(costs, found[against][what], strict=True)]
            rows.append([f"{THIS}, of {against}", what, *(f"{ratio:.2f}" for ratio in ratios)])
    return [row + [""] * (len(HEADER) - len(row)) for row in rows]
