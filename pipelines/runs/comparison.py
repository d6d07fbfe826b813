"""The document of a comparison: every metric of every slice, with the results of the tests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy.typing as npt

from ...metrics.benchmark import AnyBenchmark
from ...metrics.statistics.comparison import SWAPS, ComparedMetric, ComparedSlice, verdict
from ...metrics.statistics.sums import Sums
from ..config.settings import Settings

COMPARISON = "comparison.json"
REPORT = "comparison.md"
COMPARISON_FORMAT = 1


@dataclass(frozen=True)
class ComparisonSetting:
    """What is compared, and how.

    benchmark: with the options of the baseline. baseline, candidate: (run, system). metrics: the names of the metrics
    of all samples. corpora: the sums of all samples of each run. settings: of the baseline. differences: how the runs
    differ, as allowed by the user. one_sided: the labels of the slices that only the baseline has, and that only the
    candidate has. threshold: of a large change of a per-sample metric.
    """

    benchmark: AnyBenchmark
    baseline: tuple[str, str]
    candidate: tuple[str, str]
    metrics: tuple[str, ...]
    corpora: tuple[Sums, Sums]
    settings: Settings
    differences: tuple[str, ...]
    one_sided: tuple[tuple[str, ...], tuple[str, ...]]
    threshold: float
    signature: str


def document(
    setting: ComparisonSetting,
    counts: Mapping[str, int],
    slices: Mapping[str, ComparedSlice],
    largest: npt.NDArray[Any] | None,
    changes: Mapping[str, Mapping[str, int]],
) -> dict[str, Any]:
    """Returns the document of comparison.json.

    counts: of the samples, by outcome. slices: by label; the label of all samples is empty. largest: see `verdict`.
    changes: by per-sample metric, how many samples changed in which way.
    """
    written = {label: _slice(setting, slices[label], largest) for label in sorted(slices)}
    overall, drawn = written.pop("", {"metrics": {}}), setting.settings.bootstrap
    bootstrap = {"replicates": drawn.replicates, "seed": drawn.seed, "clusters": setting.settings.cluster is not None}
    return {
        "format": COMPARISON_FORMAT,
        "benchmark": setting.benchmark.name,
        "signature": setting.signature,
        "baseline": dict(zip(("run", "system"), setting.baseline, strict=True)),
        "candidate": dict(zip(("run", "system"), setting.candidate, strict=True)),
        "confidence": drawn.confidence,
        "bootstrap": bootstrap,
        "swaps": SWAPS,
        "differences": list(setting.differences),
        "samples": {name: counts[name] for name in sorted(counts)},
        "metrics": overall["metrics"],
        "slices": written,
        # The slice values are those of the baseline, so a slice that it alone has may be compared.
        "slices_of_baseline_alone": [label for label in setting.one_sided[0] if label not in slices],
        "slices_of_candidate_alone": list(setting.one_sided[1]),
        "changes": {"threshold": setting.threshold, "metrics": {name: dict(each) for name, each in changes.items()}},
    }


def _slice(setting: ComparisonSetting, compared: ComparedSlice, largest: npt.NDArray[Any] | None) -> dict[str, Any]:
    metrics = {name: _metric(setting, name, each, largest) for name, each in compared.metrics.items()}
    return {"samples": compared.samples, "metrics": metrics}


def _metric(
    setting: ComparisonSetting, name: str, compared: ComparedMetric, largest: npt.NDArray[Any] | None
) -> dict[str, Any]:
    difference, test = compared.difference, compared.test
    word, simultaneous = verdict(
        type(setting.benchmark), name, compared, largest, setting.settings.bootstrap.confidence
    )
    # Differences that cancel within each cluster make an interval of 0, too; and what a statistic does to a metric may
    # show only where both systems have other sums.
    is_identical = test is not None and not test.differing_samples and not difference.difference
    return {
        "baseline": difference.baseline,
        "candidate": difference.candidate,
        "difference": difference.difference,
        "interval": difference.interval,
        "p": None if test is None else test.p,
        "simultaneous_p": simultaneous,
        "verdict": "identical" if is_identical else word,
        "detectable": difference.detectable,
        "units": round(difference.units),
        "differing_samples": None if test is None else test.differing_samples,
    }
