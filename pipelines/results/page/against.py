"""The differences of a run from its baseline, from the stored sums of both: for the page of an evaluation.

Nothing is scored or read again. A difference is better or worse where its interval leaves zero out; that of a slice,
where the interval at the confidence of all slices and main metrics at once does (Bonferroni): with m of them, each has
the confidence 1 - (1 - c) / m.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ....metrics.benchmark import Benchmark
from ....metrics.statistics.measured import spec_of
from ....metrics.statistics.paired import PairedDifference, paired_differences, paired_interval
from ....metrics.statistics.same_samples import same_samples
from ....transforms.io.storage import STORAGE_ERRORS
from ...config.errors import UsageError
from ..baseline import Baseline
from ..differences import JUDGED, differences
from ..judged import judged_result
from ..run import RunResult, signature
from ..stored import Run
from .document import Difference

MAX_SLICES = 500
"""So many slices of a system are compared, the first by name: each takes the metrics of all replicates of both runs."""


SLICES_NAMED = 5


@dataclass(frozen=True)
class AgainstMetric:
    """One metric of one slice against the baseline."""

    baseline: float | None
    difference: Difference
    detectable: float | None


@dataclass(frozen=True)
class Against:
    """A run against its baseline; `note` says what that is, or why nothing is compared.

    main: the main metrics. found: by (system, label, metric).
    """

    note: str
    main: tuple[str, ...] = ()
    found: Mapping[tuple[str, str, str], AgainstMetric] = field(default_factory=dict)

    def compared(self, system: str, label: str, metric: str) -> AgainstMetric | None:
        """Returns what is known of a metric of a slice, that of all samples under the empty label."""
        return self.found.get((system, label, metric))

    def sentence(self) -> str:
        """Returns in a sentence what moved."""
        if not self.found:
            return self.note
        whole = [(name, each) for (_, label, name), each in self.found.items() if not label]
        said = []
        for verdict in ("worse", "better"):
            names = dict.fromkeys(name for name, each in whole if each.difference.verdict == verdict)
            if names:
                said.append(f"{verdict} in {', '.join(names)}")
        slices = {(system, label) for system, label, _ in self.found if label}
        worse = {(system, label) for (system, label, _), each in self.found.items() if label and _is_worse(each)}
        text = (
            f"Against the baseline it is {' and '.join(said)}" if said else "No difference from the baseline is shown"
        )
        return text + (
            f"; {len(worse):,} of {len(slices):,} slices {'is' if len(worse) == 1 else 'are'} worse." if slices else "."
        )


def _is_worse(found: AgainstMetric) -> bool:
    return found.difference.verdict == "worse"


def against_baseline(result: RunResult, document: Mapping[str, Any], baseline: Baseline) -> Against:
    """Returns the differences of the main metrics from a baseline, of all samples and of the slices that both have.

    document: of summary.json.
    """
    name = f"the baseline {baseline.path}"
    reasons = differences(signature(result), baseline.signature, JUDGED)
    if reasons:
        return Against(f"Not compared with {name}: {reasons[0]}.")
    try:
        run = Run(baseline.path)
        if run.run_id != baseline.run_id:
            return Against(f"Not compared with {name}: another run has replaced it meanwhile.")
        found, apart = _differences(result, baseline, run)
    except (UsageError, *STORAGE_ERRORS, ValueError, KeyError) as error:
        return Against(f"Not compared with {name}: {error}.")
    if not found:
        return Against(f"Not compared with {name}: it has no system of the same name.")
    seed = f"{run.sums.bootstrap.replicates:,} paired bootstrap replicates"
    main = tuple(result.configuration.benchmark.main_metrics())
    left = max((len(system.slices) for system in result.systems.values()), default=0) - MAX_SLICES
    more = (
        f" Only the first {MAX_SLICES:,} slices by name are compared; beamscore compare tests all." if left > 0 else ""
    )
    if not baseline.rows:
        more += " Its rows (samples/) are missing, so nothing tells which samples changed."
    samples = "over the same samples"
    if apart:
        labels = sorted({label or "all samples" for _, label in apart})
        named = ", ".join(labels[:SLICES_NAMED]) + (
            f" and {len(labels) - SLICES_NAMED:,} more" * (len(labels) > SLICES_NAMED)
        )
        samples = f"over samples that are not the same in {named}"
    return Against(f"This run less {name}, {samples}, with intervals of {seed}.{more}", main, found)


def _differences(
    result: RunResult, baseline: Baseline, run: Run
) -> tuple[dict[tuple[str, str, str], AgainstMetric], list[tuple[str, str]]]:
    """Returns the differences, and the systems and labels that rest on other samples in the two runs."""
    configuration = result.configuration
    benchmark, confidence = configuration.benchmark, configuration.settings.bootstrap.confidence
    main = benchmark.main_metrics()
    paired: dict[tuple[str, str, str], PairedDifference] = {}
    apart: list[tuple[str, str]] = []
    for name, slices in judged_result(result).items():
        other = baseline.system_for(name)
        if other is None:
            continue
        for label in [label for label in slices if run.slice(other, label) is not None][: MAX_SLICES + 1]:
            sides = run.measured(other, label), slices[label].measure()
            moved = paired_differences(benchmark, *sides, confidence)
            if any(same_samples(benchmark, metric, *sides) is False for metric in main):
                apart.append((name, label))
            paired |= {(name, label, metric): moved[metric] for metric in main if metric in moved}
    tested = sum(bool(label) and each.interval is not None for (_, label, _), each in paired.items())
    strict = 1 - (1 - confidence) / max(1, tested)
    found = {
        (system, label, metric): against_metric(benchmark, metric, each, strict if label else confidence)
        for (system, label, metric), each in paired.items()
    }
    return found, apart


def against_metric(
    benchmark: Benchmark[Any, Any, Any], metric: str, found: PairedDifference, confidence: float
) -> AgainstMetric:
    """Returns a paired difference with what is said of it: better or worse where its interval leaves zero out.

    confidence: of the interval that decides; the interval that is shown is the one of `found`.
    """
    if found.difference is None:
        return AgainstMetric(found.baseline, Difference(), None)
    low, high = found.interval if found.interval is not None else (None, None)
    spec = spec_of(type(benchmark), metric)
    verdict = "no interval"
    if found.error is not None:
        interval = paired_interval(found.difference, found.error, found.units, confidence, spec.bounds)
        verdict = _verdict(interval, spec.higher_is_better)
    return AgainstMetric(found.baseline, Difference(found.difference, low, high, verdict), found.detectable)


def _verdict(interval: tuple[float, float] | None, higher_is_better: bool) -> str:
    if interval is None:
        return "no interval"
    if interval[0] <= 0 <= interval[1]:
        return "no difference shown"
    return "better" if (interval[0] > 0) == higher_is_better else "worse"
