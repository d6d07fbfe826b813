"""One result of the results of runs over disjoint samples, from their stored sums."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ...metrics.statistics.bootstrap import Bootstrap, BootstrapSums
from ...metrics.statistics.sums import FRACTION_BITS, Sums
from ...transforms.combine import SliceTotals
from ...transforms.finalize import slice_result
from ...transforms.quarantine import CauseCount
from ...transforms.slice import SliceKey
from ..config import settings
from ..config.errors import UsageError, one_line
from ..config.settings import Configuration
from .coverage import STATUSES
from .differences import SCORED_ALIKE, differences
from .run import RunResult, SystemResult, worst_first
from .stored import Run
from .stored_documents import SliceSums

Worst = tuple[float, str, str]


def merged_configuration(runs: Sequence[Run], output: str) -> Configuration:
    """Returns the configuration of one evaluation of all inputs of the runs: that of the first, with those of all.

    Raises UsageError where the runs do not fit together: benchmark, version, options, systems, slices, or one lacks a
    fingerprint, so that all of them together would have a wrong one.
    """
    first = runs[0]
    for run in runs:
        if run.summary.fingerprint is None:
            raise UsageError(f"{run.path}: cannot be merged: its ground truth has no fingerprint; evaluate it again")
        for system in run.summary.systems.values():
            if any(each.predictions_fingerprint is None for each in (system, *system.slices.values())):
                raise UsageError(
                    f"{run.path}: cannot be merged: its predictions have no fingerprint; evaluate it again"
                )
    for run in runs[1:]:
        reasons = differences(first.signature, run.signature, SCORED_ALIKE)
        if reasons:
            raise UsageError(f"{run.path}: cannot be merged with {first.path}: {reasons[0]}; evaluate it again")
        if set(run.summary.systems) != set(first.summary.systems):
            raise UsageError(
                f"{run.path}: cannot be merged with {first.path}: it has the systems {', '.join(run.summary.systems)}, "
                f"not {', '.join(first.summary.systems)}"
            )
        if run.summary.config.get("slices") != first.summary.config.get("slices"):
            raise UsageError(f"{run.path}: cannot be merged with {first.path}: it was sliced by other columns")
    config = dict(first.summary.config)
    config["ground_truth"] = _all(run.configuration.settings.ground_truth for run in runs)
    config["predictions"] = {
        name: _all(run.configuration.settings.predictions.get(name, []) for run in runs)
        for name in first.summary.systems
    }
    return settings.check({**config, "output": output}, first.path)


def _all(globs: Any) -> list[str]:
    return list(dict.fromkeys(glob for each in globs for glob in each))


def merged_result(
    configuration: Configuration,
    runs: Sequence[Run],
    worst: Mapping[str, Sequence[Worst]],
    causes: Sequence[CauseCount],
) -> RunResult:
    """Returns the result of one evaluation of all samples of the runs; worst, causes: of all their rows and entries.

    Raises UsageError where stored sums are damaged, or there are more slices than the configuration allows.
    """
    order = worst_first(configuration.benchmark)
    systems = {}
    for number, name in enumerate(runs[0].summary.systems):
        totals = _totals(runs, name)
        if len(totals) - 1 > configuration.settings.limits.slices:
            raise UsageError(
                f"{name}: together the runs have {len(totals) - 1} slices, more than the "
                f"{configuration.settings.limits.slices} of limits.slices"
            )
        corpus = totals[""].sums.sums()
        found = {label: _finalised(configuration, number, label, totals[label], corpus) for label in sorted(totals)}
        overall = found.pop("")
        systems[name] = SystemResult(
            name,
            overall,
            found,
            _coverage([run.summary.systems[name].coverage for run in runs]),
            sorted(worst.get(name, []), key=order)[: configuration.settings.worst_samples],
        )
    return RunResult.ranked(configuration, systems, causes, _warnings(runs))


def _finalised(configuration: Configuration, number: int, label: str, totals: SliceTotals, corpus: Sums) -> Any:
    bootstrap, clustered = configuration.settings.bootstrap, configuration.settings.cluster is not None
    found = slice_result(configuration.benchmark, bootstrap.confidence, SliceKey(number), totals, corpus, clustered)
    return replace(found, tables=[]) if label else found


def _totals(runs: Sequence[Run], system: str) -> dict[str, SliceTotals]:
    """Returns the sums of each slice of a system over all runs, by label."""
    totals: dict[str, SliceTotals] = {}
    for run in runs:
        bootstrap = Bootstrap(run.sums.bootstrap.replicates, run.sums.bootstrap.seed)
        for label, stored in run.sums.systems[system].labelled():
            try:
                more = SliceTotals(_bootstrap_sums(bootstrap, stored), dict(stored.counts))
                if not label and run.summary.fingerprint is not None:
                    more.fingerprint = int(run.summary.fingerprint.hash, 16)
                found = run.slice(system, label)
                if found is not None and found.predictions_fingerprint is not None:
                    more.predictions = int(found.predictions_fingerprint, 16)
                totals.setdefault(label, SliceTotals(BootstrapSums(bootstrap))).merge(more)
            except (ValueError, OverflowError) as error:
                raise UsageError(
                    f"{run.path}/sums.json: the sums of {system} are damaged: {one_line(error)}"
                ) from error
    return totals


def _bootstrap_sums(bootstrap: Bootstrap, stored: SliceSums) -> BootstrapSums:
    """Returns the sums of a slice as they were before they were written."""
    rows = [each.units() for each in stored.all_sums(bootstrap.replicates)]
    names = sorted({name for row in rows for name in row})
    units = [[row.get(name, 0) for name in names] for row in rows]
    shape = (len(rows), len(names))
    wholes = np.array([[unit >> FRACTION_BITS for unit in row] for row in units], dtype=np.int64).reshape(shape)
    fractions = np.array(
        [[unit & ((1 << FRACTION_BITS) - 1) for unit in row] for row in units], dtype=np.int64
    ).reshape(shape)
    return BootstrapSums.from_arrays(bootstrap, names, wholes, fractions)


def _coverage(parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Returns the coverage of all records of the runs: each count is a sum."""
    merged: dict[str, Any] = {}
    for side, statuses in STATUSES.items():
        merged[side] = {name: sum(part[side][name] for part in parts) for name in ("read", *statuses)}
    extra = sorted({name for part in parts for name in part} - {*STATUSES, "balanced"})
    merged |= {name: sum(part.get(name, 0) for part in parts) for name in extra}
    return {**merged, "balanced": all(part["balanced"] for part in parts)}


def _warnings(runs: Sequence[Run]) -> list[str]:
    """Returns the warnings that all runs have: a column that one of them has is not missing from all."""
    first, *others = [run.summary.warnings for run in runs]
    return [warning for warning in first if all(warning in each for each in others)]
