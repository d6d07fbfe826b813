"""The result of a run as documents: the summary, the sums behind it, the coverage."""

from __future__ import annotations

import base64
import posixpath
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import msgspec

from ...metrics.benchmark import Benchmark, MetricSpec
from ...metrics.statistics.bootstrap import Bootstrap, BootstrapSums
from ...metrics.statistics.intervals import METHODS
from ...metrics.statistics.replicates import PackedReplicates
from ...metrics.statistics.sums import FRACTION_BITS, Sums
from ...metrics.version import VERSION
from ...transforms.finalize import SliceResult
from ...transforms.hashes import fingerprint_text
from ...transforms.io.published import Layout, Published, find_published
from ...transforms.io.storage import STORAGE_ERRORS
from ...transforms.quarantine import CauseCount
from ...transforms.read import presence
from ...transforms.records import GROUND_TRUTH
from ...transforms.slice import SliceKey
from ..config.errors import UsageError, one_line
from ..config.mismatch import without_values
from ..config.settings import Configuration
from .coverage import STATUSES, Coverage, coverage_document, extra_counts
from .differences import Signature
from .ranking import Ranking, rank_with_ties
from .stored_documents import Fingerprint
from .verdict import GateVerdict

SUMMARY = "summary.json"
SUMS = "sums.json"
REPORT = "report.md"
PAGE = "report.html"
RUN = "run.json"
LAYOUT = Layout("evaluation", (REPORT, PAGE, RUN, SUMS, SUMMARY), ("samples", "quarantine"))
SUMS_FORMAT = 1
MIN_SAMPLES, MIN_CLUSTERS = 20, 6
"""Fewer units than these, behind a metric, make its interval rough."""


def open_result(output: str) -> Published:
    """Returns the paths of the files of the result in the folder `output`, all of one run.

    A run that replaces the result meanwhile removes the files; whoever finds one gone opens the result again.
    Raises UsageError where there is no result.
    """
    try:
        found = find_published(output, LAYOUT)
    except (*STORAGE_ERRORS, ValueError) as error:
        raise UsageError(f"{output}: no finished run can be read here ({one_line(error)})") from error
    if found is None:
        path = posixpath.join(output, SUMMARY)
        raise UsageError(f"{path}: no finished run is here (no such file); give its --output folder")
    return found


@dataclass(frozen=True)
class SystemResult:
    """What is known of one system: the metrics of all samples, of each slice by label, the coverage, the worst."""

    name: str
    overall: SliceResult
    slices: dict[str, SliceResult]
    coverage: Coverage
    worst: list[tuple[float, str, str]]


@dataclass(frozen=True)
class RunResult:
    """What is known of a run, in an order that depends on nothing but its input."""

    configuration: Configuration
    systems: dict[str, SystemResult]
    ranking: list[str]
    causes: list[CauseCount]
    warnings: list[str]
    places: Ranking | None = None
    verdicts: tuple[GateVerdict, ...] = ()

    @classmethod
    def of(
        cls,
        configuration: Configuration,
        names: Sequence[str],
        slices: Sequence[SliceResult],
        outcomes: Mapping[int, Sums],
        worst: Mapping[int, Sequence[tuple[float, str, str]]],
        causes: Sequence[CauseCount],
    ) -> RunResult:
        """Puts the parts that the pipeline gathered into order."""
        settings, benchmark = configuration.settings, configuration.benchmark
        by_key = {each.key: each for each in slices}
        systems = {}
        for system, name in enumerate(names):
            overall = by_key.pop(SliceKey(system), None)
            if overall is None:
                overall = _no_samples(system, benchmark.values(Sums()))
            labelled = {key.label: found for key, found in by_key.items() if key.system == system}
            systems[name] = SystemResult(
                name,
                overall,
                {label: labelled[label] for label in sorted(labelled)},
                _coverage(overall.coverage, outcomes.get(GROUND_TRUTH, Sums()), outcomes.get(system, Sums())),
                sorted(worst.get(system, []), key=worst_first(benchmark))[: settings.worst_samples],
            )
        return cls.ranked(configuration, systems, causes, _warnings(configuration, outcomes.get(GROUND_TRUTH, Sums())))

    @classmethod
    def ranked(
        cls,
        configuration: Configuration,
        systems: dict[str, SystemResult],
        causes: Sequence[CauseCount],
        warnings: list[str],
    ) -> RunResult:
        """Returns the result of these systems, ranked; the causes are put into order."""
        settings, benchmark = configuration.settings, configuration.benchmark
        ranking = rank({name: each.overall.values for name, each in systems.items()}, benchmark.ranking_metrics())
        whole = {name: each.overall for name, each in systems.items()}
        drawn, clustered = settings.bootstrap, settings.cluster is not None
        places = rank_with_ties(benchmark, ranking, whole, drawn.replicates, drawn.confidence, clustered)
        return cls(configuration, systems, ranking, sorted(causes, key=_cause_order), warnings, places)


def _warnings(configuration: Configuration, truths: Sums) -> list[str]:
    """Returns what a reader of the result should know: the columns that the run needs and no ground truth has."""
    if truths["read"] == truths["rejected"]:
        return []
    columns = configuration.truth_columns()
    return [without_values(configuration, column) for column in columns if not truths[presence(column)]]


def few_units(configuration: Configuration, system: SystemResult) -> list[str]:
    """Returns a warning where main metrics rest on too few units for their intervals to be trusted, one for slices."""
    if not configuration.settings.bootstrap.replicates:
        return []
    what, least = ("clusters", MIN_CLUSTERS) if configuration.settings.cluster else ("samples", MIN_SAMPLES)
    main = configuration.benchmark.main_metrics()

    def few(found: SliceResult) -> list[str]:
        measured = (metric for metric in main if found.values.get(metric) is not None)
        return [metric for metric in measured if round(found.units[metric]) < least]

    warnings = []
    if metrics := few(system.overall):
        counts = ", ".join(f"{metric} on {round(system.overall.units[metric])}" for metric in metrics)
        warnings.append(f"the interval of a metric that rests on fewer than {least} {what} is rough: {counts}")
    slices = sum(bool(few(found)) for found in system.slices.values())
    if slices:
        warnings.append(
            f"in {slices} of {len(system.slices)} slices a main metric rests on fewer than {least} "
            f"{what}, which makes its interval rough; units in summary.json has the numbers"
        )
    return warnings


def worst_first(benchmark: Benchmark[Any, Any, Any]) -> Callable[[tuple[float, str, str]], tuple[float, str, str]]:
    """Returns the key that sorts (value, sample_id, status) by the main per-sample metric, the worst first."""
    return partial(_order_of, benchmark.main_sample_metric())


def _order_of(spec: MetricSpec, sample: tuple[float, str, str]) -> tuple[float, str, str]:
    value, sample_id, status = sample
    return spec.goodness(value), sample_id, status


def _no_samples(system: int, values: dict[str, float | None]) -> SliceResult:
    none = PackedReplicates.of(BootstrapSums(Bootstrap(replicates=0)))
    return SliceResult(
        SliceKey(system),
        {},
        values,
        dict.fromkeys(values),
        [],
        Sums(),
        none,
        dict.fromkeys(values, 0.0),
        Sums(),
        errors=dict.fromkeys(values),
    )


def _cause_order(cause: CauseCount) -> tuple[int, str, str, str]:
    example = cause.example
    return (-cause.count, example.side, example.stage, example.cause) if example else (0, "", "", "")


def _coverage(counted: Mapping[str, int], truths: Sums, predictions: Sums) -> Coverage:
    """Returns the coverage of a system. truths, predictions: what was counted of each side before scoring."""
    counts = dict(counted)
    for side, outcomes in (("ground_truth", truths), ("predictions", predictions)):
        for status in ("read", *STATUSES[side]):
            name = f"{side}.{status}"
            counts[name] = counts.get(name, 0) + round(outcomes[status])
    return coverage_document(counts)


def slice_coverage(counted: Mapping[str, int]) -> Coverage:
    """Returns the coverage of a slice, which knows of no record that could not be read."""
    sides: Coverage = {"ground_truth": {}, "predictions": {}}
    for name in sorted(counted):
        side, dot, status = name.partition(".")
        if dot:
            sides[side][status] = counted[name]
    return {**sides, **extra_counts(counted)}


def rank(values: Mapping[str, Mapping[str, float | None]], ranking: Sequence[MetricSpec]) -> list[str]:
    """Returns the systems from best to worst: by the first metric of `ranking` in its direction, then by the next.

    A metric that was not measured ranks last; full ties keep the order of the names.
    """

    def order(name: str) -> tuple[Any, ...]:
        measured = [(spec, values[name].get(spec.name)) for spec in ranking]
        return (*((value is None, -spec.goodness(value or 0.0)) for spec, value in measured), name)

    return sorted(values, key=order)


def summary(result: RunResult) -> dict[str, Any]:
    """Returns the document of summary.json."""
    return {
        "benchmark": result.configuration.benchmark.name,
        "version": VERSION,
        "config": result.configuration.resolved(),
        **({"intervals_method": METHODS} if result.configuration.settings.bootstrap.replicates else {}),
        **({"warnings": result.warnings} if result.warnings else {}),
        "fingerprint": fingerprint(result),
        **({"gates": msgspec.to_builtins(result.verdicts)} if result.verdicts else {}),
        "ranking": result.ranking,
        **({"ranking_by": result.places.document()} if result.places else {}),
        "systems": {name: _system_summary(result.configuration, system) for name, system in result.systems.items()},
    }


def signature(result: RunResult) -> Signature:
    """Returns with what a run that is about to be written scored, and what."""
    return Signature.of(result.configuration, fingerprint=msgspec.convert(fingerprint(result), Fingerprint))


def fingerprint(result: RunResult) -> dict[str, Any]:
    """Returns what tells whether two runs had the same ground truth: how many samples, and the sum of their hashes."""
    overall = next(iter(result.systems.values())).overall
    samples = sum(count for name, count in overall.coverage.items() if name.startswith("ground_truth."))
    return {"samples": samples, "hash": fingerprint_text(overall.fingerprint)}


def _system_summary(configuration: Configuration, system: SystemResult) -> dict[str, Any]:
    warnings = few_units(configuration, system)
    return {
        "coverage": system.coverage,
        "predictions_fingerprint": fingerprint_text(system.overall.predictions),
        "values": system.overall.values,
        "intervals": system.overall.intervals,
        "errors": system.overall.errors,
        "units": _units(system.overall),
        "tables": msgspec.to_builtins(system.overall.tables),
        "slices": {
            label: {
                "coverage": slice_coverage(found.coverage),
                "predictions_fingerprint": fingerprint_text(found.predictions),
                "values": found.values,
                "intervals": found.intervals,
                "errors": found.errors,
                "units": _units(found),
            }
            for label, found in system.slices.items()
        },
        **({"warnings": warnings} if warnings else {}),
    }


def _units(found: SliceResult) -> dict[str, int]:
    """Returns how many units each metric rests on, as whole numbers: some are estimated."""
    return {metric: round(units) for metric, units in found.units.items()}


def sums_document(result: RunResult) -> dict[str, Any]:
    """Returns the document of sums.json: exact integers in units of 2**-unit_bits, with their replicates.

    The replicates of a slice are those of `metrics.statistics.replicates.PackedReplicates`, with the data in base64.
    """
    bootstrap = result.configuration.settings.bootstrap
    return {
        "format": SUMS_FORMAT,
        "unit_bits": FRACTION_BITS,
        "benchmark": result.configuration.benchmark.name,
        "config": result.configuration.resolved(),
        "bootstrap": {"replicates": bootstrap.replicates, "seed": bootstrap.seed},
        "fingerprint": fingerprint(result),
        "systems": {
            name: {
                "coverage": system.coverage,
                **_sums(system.overall),
                "slices": {label: _sums(found) for label, found in system.slices.items()},
            }
            for name, system in result.systems.items()
        },
    }


def _sums(found: SliceResult) -> dict[str, Any]:
    return {
        "sums": found.sums.units(),
        "counts": {name: found.coverage[name] for name in sorted(found.coverage)},
        "replicates": {
            "names": list(found.replicates.names),
            "data": base64.b64encode(found.replicates.data).decode(),
        },
    }


def unpack_replicates(document: Mapping[str, Any], count: int) -> list[Sums]:
    """Returns the `count` replicates that a `replicates` entry of sums.json holds.

    Raises ValueError where the data do not fit the names.
    """
    return PackedReplicates(tuple(document["names"]), base64.b64decode(document["data"])).unpack(count)
