"""What comparison.html needs beside the comparison: what each run was, and the samples that changed with records."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Any

import apache_beam as beam
import msgspec

from ..metrics.benchmark import Benchmark
from ..metrics.common.errors import explain
from ..transforms.blas import one_blas_thread
from ..transforms.changed_records import ChangedRecords, GatherChanged, PickChanged
from ..transforms.faults import faults_end_the_bundle
from ..transforms.io.storage import STORAGE_ERRORS
from ..transforms.records import GROUND_TRUTH, InputProblem
from ..transforms.sample_rows import SampleTable
from .config.errors import UsageError, one_line
from .config.inputs import Inputs, find_inputs
from .config.settings import GROUND_TRUTH_FIELDS, PREDICTION_FIELDS, Configuration
from .results.page.changed import ChangeOrder, make_changed, worst_first
from .results.page.comparison import ComparedRuns
from .results.page.comparison_document import Changed
from .results.provenance import input_sides
from .results.stored import StoredRun

MAX_INPUT_BYTES = 16 << 30
"""Larger inputs are not read again for the few samples of a page."""

Source = tuple[str, str]
"""The folder of a run, and the system."""


@dataclass(frozen=True)
class ComparisonPagePlan:
    """What the page shows beside the comparison. count: how many samples that lost most, and how many that won most.

    inputs: of both runs, read again for the records of these samples; None: they are not, and `runs` says why.
    """

    count: int
    runs: ComparedRuns
    inputs: Inputs | None


def plan_page(baseline: Source, candidate: Source, count: int, command: Sequence[str]) -> ComparisonPagePlan:
    """Returns the plan of the page of a comparison of two systems."""
    sources = (baseline, candidate)
    stored = [StoredRun(run) for run, _ in sources]
    systems = [run.summary.systems[system] for run, (_, system) in zip(stored, sources, strict=True)]
    runs = ComparedRuns(
        (stored[0].provenance, stored[1].provenance),
        (systems[0].intervals, systems[1].intervals if _same_confidence(stored) else {}),
        (_compared(stored[0], baseline[1]), _compared(stored[1], candidate[1])),
        tuple(command),
    )
    if not count:
        return ComparisonPagePlan(0, runs, None)
    try:
        return ComparisonPagePlan(count, runs, _inputs(stored, sources))
    except (UsageError, InputProblem, *STORAGE_ERRORS, ValueError) as error:
        return ComparisonPagePlan(count, replace(runs, no_records=f"The inputs are not read: {one_line(error)}"), None)


def _same_confidence(stored: Sequence[StoredRun]) -> bool:
    """Tells whether intervals of both runs may stand beside each other: all others are at that of the baseline."""
    return len({run.configuration.settings.bootstrap.confidence for run in stored}) == 1


def _compared(run: StoredRun, system: str) -> int:
    """Returns how many samples of a system have a score."""
    counts = run.summary.systems[system].counts("ground_truth")
    missing = run.configuration.settings.missing
    return int(counts["scored"]) + (int(counts["missing_prediction"]) if missing == "wrong" else 0)


def _inputs(stored: Sequence[StoredRun], sources: Sequence[Source]) -> Inputs:
    """Returns the ground truth of the baseline, and the predictions of both as its systems `baseline`, `candidate`.

    Raises UsageError where files are gone or are no more what the runs read.
    """
    before, after = (run.configuration for run in stored)
    predictions, fields = {}, {}
    for name, configuration, (_, system) in zip(("baseline", "candidate"), (before, after), sources, strict=True):
        predictions[name] = configuration.settings.predictions.get(system, [])
        given = configuration.settings.fields
        fields[name] = {**given.get(PREDICTION_FIELDS, {}), **given.get(system, {})}
    if GROUND_TRUTH_FIELDS in before.settings.fields:
        fields[GROUND_TRUTH_FIELDS] = before.settings.fields[GROUND_TRUTH_FIELDS]
    merged = msgspec.structs.replace(before.settings, predictions=predictions, fields=fields, slices=[], gates={})
    inputs = find_inputs(Configuration(merged, before.benchmark), ())
    size = sum(file.size for file in inputs.files)
    if size > MAX_INPUT_BYTES:
        raise UsageError(f"they have {size:,} bytes, more than the {MAX_INPUT_BYTES:,} that are read for a page")
    _check_unchanged(inputs, stored, sources)
    return inputs


def _check_unchanged(inputs: Inputs, stored: Sequence[StoredRun], sources: Sequence[Source]) -> None:
    found = dict(input_sides(inputs.files))
    known: list[tuple[int, str, Any]] = [(GROUND_TRUTH, sources[0][0], ("ground_truth",))]
    known += [(number, run, ("predictions", system)) for number, (run, system) in enumerate(sources)]
    for side, run, keys in known:
        of_run = stored[max(side, 0)].provenance.get("inputs")
        for key in keys:
            of_run = of_run.get(key) if isinstance(of_run, dict) else None
        digest = of_run.get("digest") if isinstance(of_run, dict) else None
        if digest is None:
            raise UsageError(f"{run} does not say which {keys[0].replace('_', ' ')} it read")
        if side not in found or digest != found[side].digest:
            raise UsageError(f"the {keys[0].replace('_', ' ')} of {run} have changed since that run")


class ChangedSamples(beam.PTransform):
    """Makes what the page shows of the samples that changed most: from ChangedSample to (its place in order, Changed).

    benchmark: under the options of the baseline. tables: the rows of both runs.
    """

    def __init__(
        self, plan: ComparisonPagePlan, benchmark: Benchmark[Any, Any, Any], tables: Sequence[SampleTable]
    ) -> None:
        super().__init__()
        self._plan = plan
        self._benchmark = benchmark
        self._tables = tuple(tables)

    def expand(self, changed: beam.PCollection) -> beam.PCollection:
        """Reads the inputs again, where the plan has any."""
        plan = self._plan
        if not plan.count:
            return changed.pipeline | "None" >> beam.Create([])
        records = None if plan.inputs is None else plan.inputs.read(changed.pipeline).records
        return (
            changed
            | "Pick" >> PickChanged(plan.count)
            | "Gather" >> GatherChanged(self._tables, records)
            | "Draw" >> beam.ParDo(DrawChanged(self._benchmark, plan.runs.no_records))
        )


class DrawChanged(beam.DoFn):
    """Draws samples that changed: from ChangedRecords to (its place in order, Changed)."""

    def __init__(self, benchmark: Benchmark[Any, Any, Any], no_records: str) -> None:
        self._benchmark = benchmark
        self._no_records = no_records

    def setup(self) -> None:
        """Makes what the benchmark needs in this worker; without it, drawings say what is missing."""
        one_blas_thread()
        self._problem = ""
        try:
            self._benchmark.setup()
        except Exception as error:  # noqa: BLE001 - a program that is missing must not end a comparison
            self._problem = explain(error)

    def teardown(self) -> None:
        """Removes what `setup` made."""
        if not self._problem:
            self._benchmark.teardown()

    def process(self, found: ChangedRecords) -> Iterator[tuple[ChangeOrder, Changed]]:
        """Yields what the page shows of a sample."""
        if self._problem:
            found = msgspec.structs.replace(found, truth=None)
        with faults_end_the_bundle("drawing"):
            changed = make_changed(self._benchmark, found, self._problem or self._no_records)
        yield worst_first(found.row), changed


def in_order(changed: Sequence[tuple[ChangeOrder, Changed]]) -> list[Changed]:
    """Returns samples in the order of the page, whatever the order in which they came."""
    return [each for _, each in sorted(changed, key=itemgetter(0))]
