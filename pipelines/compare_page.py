"""What comparison.html needs in addition to the comparison: details of the runs, and records of changed samples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import apache_beam as beam
import msgspec

from ..metrics.benchmark import Benchmark, explain
from ..transforms.draw import draw_together
from ..transforms.process import faults_end_the_bundle
from ..transforms.records import GROUND_TRUTH, InputProblem
from ..transforms.rows import SampleTable
from ..transforms.sample_changes import ChangedRecords, GatherChanged
from .config.errors import UsageError, one_line
from .config.settings import GROUND_TRUTH_FIELDS, PREDICTION_FIELDS, Configuration
from .inputs.inputs import Inputs, find_inputs
from .reports.against import page_link
from .reports.cards import make_changed
from .reports.comparison import ComparedRuns
from .reports.document import Card
from .runs.named import SystemRun
from .runs.provenance import input_sides
from .runs.run import Run

MAX_INPUT_BYTES = 16 << 30
"""Larger inputs are not read again only for the few samples of a page."""


@dataclass(frozen=True)
class ComparisonPagePlan:
    """What the page shows in addition to the comparison. count: of samples that lost most, and of those that won most.

    inputs: of both runs, read again for the records of these samples; None: not read, and `runs` says why. output: the
    folder of the comparison, as the user calls it.
    """

    count: int
    runs: ComparedRuns
    inputs: Inputs | None
    output: str = ""


def plan_page(
    baseline: SystemRun, candidate: SystemRun, count: int, command: Sequence[str], output: str
) -> ComparisonPagePlan:
    """Returns the plan of the page that a comparison of two systems writes to `output`."""
    sides = (baseline, candidate)
    runs = ComparedRuns(
        (baseline.run.provenance, candidate.run.provenance),
        (page_link(baseline.run.path, output, "."), page_link(candidate.run.path, output, ".")),
        tuple(command),
    )
    inputs = None
    try:
        inputs = _inputs(sides) if count else None
    except (UsageError, InputProblem, OSError, ValueError) as error:
        runs = replace(runs, no_records=f"The inputs are not read: {one_line(error)}")
    return ComparisonPagePlan(count, runs, inputs, output)


def _inputs(sides: Sequence[SystemRun]) -> Inputs:
    """Returns the ground truth of the baseline, with the predictions of both as its systems `baseline`, `candidate`.

    Raises UsageError if files are missing or have changed since the runs read them.
    """
    before = sides[0].run.configuration
    predictions, fields = {}, {}
    for name, (run, system) in zip(("baseline", "candidate"), sides, strict=True):
        settings = run.configuration.settings
        predictions[name] = settings.predictions.get(system, [])
        fields[name] = {**settings.fields.get(PREDICTION_FIELDS, {}), **settings.fields.get(system, {})}
    if GROUND_TRUTH_FIELDS in before.settings.fields:
        fields[GROUND_TRUTH_FIELDS] = before.settings.fields[GROUND_TRUTH_FIELDS]
    merged = msgspec.structs.replace(before.settings, predictions=predictions, fields=fields, slices=[], gates={})
    inputs = find_inputs(Configuration(merged, before.benchmark), ())
    size = sum(file.size for file in inputs.files)
    if size > MAX_INPUT_BYTES:
        raise UsageError(f"they have {size:,} bytes, more than the {MAX_INPUT_BYTES:,} that are read for a page")
    _check_unchanged(inputs, sides)
    return inputs


def _check_unchanged(inputs: Inputs, sides: Sequence[SystemRun]) -> None:
    current = dict(input_sides(inputs.files))
    expected: list[tuple[int, Run, tuple[str, ...]]] = [(GROUND_TRUTH, sides[0].run, ("ground_truth",))]
    expected += [(number, run, ("predictions", system)) for number, (run, system) in enumerate(sides)]
    for side, run, keys in expected:
        what, recorded = keys[0].replace("_", " "), run.provenance.get("inputs")
        for key in (*keys, "digest"):
            recorded = recorded.get(key) if isinstance(recorded, dict) else None
        if recorded is None:
            raise UsageError(f"{run.path} does not say which {what} it read")
        if side not in current or recorded != current[side].digest:
            raise UsageError(f"the {what} of {run.path} have changed since that run")


class ChangedSamples(beam.PTransform):
    """A transform that takes ChangedSample and returns a Card for each of the samples that changed most.

    benchmark: with the options of the baseline. tables: the rows of both runs.
    """

    def __init__(
        self, plan: ComparisonPagePlan, benchmark: Benchmark[Any, Any, Any], tables: Sequence[SampleTable]
    ) -> None:
        super().__init__()
        self._plan = plan
        self._benchmark = benchmark
        self._tables = tuple(tables)

    def expand(self, changed: beam.PCollection) -> beam.PCollection:
        """Reads the inputs again, if the plan has any."""
        plan, pictures, records = self._plan, None, None
        if not plan.count:
            return changed.pipeline | "None" >> beam.Create([])
        if plan.inputs is not None:
            # The baseline says where the real pictures of the samples are.
            pictures = plan.inputs.configuration.settings.pictures
            records = plan.inputs.read(changed.pipeline).records
        return (
            changed
            | "Gather" >> GatherChanged(plan.count, self._tables, records)
            | "Draw" >> draw_together(DrawChanged(self._benchmark, plan.runs.no_records, pictures))
        )


class DrawChanged(beam.DoFn):
    """Draws changed samples: takes lists of ChangedRecords and returns Cards."""

    def __init__(self, benchmark: Benchmark[Any, Any, Any], no_records: str, places: str | None = None) -> None:
        self._benchmark = benchmark
        self._no_records = no_records
        self._places = places

    def setup(self) -> None:
        """Sets up the benchmark in this worker. If that fails, the cards say why instead of showing drawings."""
        self._problem = ""
        try:
            self._benchmark.setup()
        except Exception as error:  # noqa: BLE001 - a missing program must not end a comparison
            self._problem = explain(error)

    def teardown(self) -> None:
        """Tears down the benchmark, if `setup` succeeded."""
        if not self._problem:
            self._benchmark.teardown()

    def process(self, changed: Sequence[ChangedRecords]) -> Sequence[Card]:
        """Returns the cards of a batch of samples."""
        if self._problem:
            changed = [msgspec.structs.replace(each, truth=None) for each in changed]
        with faults_end_the_bundle("drawing"):
            return make_changed(self._benchmark, changed, self._problem or self._no_records, self._places)


def in_order(changed: Sequence[Card]) -> list[Card]:
    """Returns the cards sorted by change: the largest losses first, the largest gains last; ties by sample_id."""
    return sorted(changed, key=lambda card: (card.change or 0.0, card.sample_id))
