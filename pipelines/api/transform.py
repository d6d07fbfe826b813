"""`beamscore.Evaluate`: the evaluation as a transform, for use in other pipelines."""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Optional
from weakref import WeakKeyDictionary

import apache_beam as beam
from apache_beam.transforms.trigger import DefaultTrigger
from apache_beam.transforms.window import GlobalWindows
from apache_beam.typehints.row_type import RowTypeConstraint

from ...transforms.evaluate import RECORD_STREAMS, Evaluated, EvaluateRecords
from ...transforms.io.field_map import fields_of
from ...transforms.io.publication import Claim, Process, check_foreign, own_output, release
from ...transforms.io.storage import is_on_disk, new_run_id, output_problems, place_of, prepare_output
from ...transforms.publish import CountCauses, encode_json
from ...transforms.read import ReadPlan, Unpack as Unpacker, encode_records, with_block_type
from ...transforms.records import GROUND_TRUTH, CauseCount, InputProblem, Quarantined, side_name
from ...transforms.rows import exact_statistics
from ...transforms.scored import ScoredSample
from ...transforms.totals import ComputedSlice
from ..config.errors import UsageError, as_usage_error
from ..config.settings import DEFAULT_SYSTEM, GROUND_TRUTH_FIELDS, PREDICTION_FIELDS, Configuration
from ..evaluate import EvaluationPlan, PublishRun
from ..inputs.inputs import Inputs
from ..runners.reachable import check_reachable
from ..runs.causes import quarantine_causes, why_unscored
from ..runs.provenance import Invocation
from ..runs.run import LAYOUT, Run
from .arguments import Arguments, check_arguments, in_python
from .scorer import core_of, warnings_of

if TYPE_CHECKING:
    from typing_extensions import Unpack

BUCKETS = 256
"""The default, as the size of a collection is unknown. At most this many workers pair and score at once; a bucket may
have any size, as it is sorted on disk."""
MAX_BUCKETS = 10_000

_LOG = logging.getLogger(__name__)
_OUTPUTS: WeakKeyDictionary[beam.Pipeline, set[str]] = WeakKeyDictionary()
"""Where the runs of a pipeline publish."""


# Beam infers a schema only from this spelling.
OPTIONAL_FLOAT, OPTIONAL_TEXT = Optional[float], Optional[str]  # noqa: UP045


def _row_type(**fields: Any) -> Any:
    return RowTypeConstraint.from_fields(list(fields.items()))


METRIC_ROW = _row_type(
    system=str, slice=str, metric=str, value=OPTIONAL_FLOAT, low=OPTIONAL_FLOAT, high=OPTIONAL_FLOAT, units=int
)
SAMPLE_ROW = _row_type(
    sample_id=str,
    system=str,
    status=str,
    metrics=Mapping[str, Optional[float]],  # noqa: UP045
    details=str,
    prediction_status=OPTIONAL_TEXT,
    slices=Sequence[str],
    statistics=OPTIONAL_TEXT,
    unit=str,
    truth_hash=OPTIONAL_TEXT,
    prediction_hash=OPTIONAL_TEXT,
)
REJECTED_ROW = _row_type(side=str, sample_id=OPTIONAL_TEXT, cause=str, error=str, text=str)
COVERAGE_ROW = _row_type(system=str, side=str, status=str, count=int)


class Evaluation(NamedTuple):
    """The result of `Evaluate` as collections.

    metrics: Row(system, slice, metric, value, low, high, units); the slice is empty for all samples. value: None if the
    metric was not measured; low, high: the interval, None if there is none. units: the number of samples or clusters
    behind the metric.
    samples: Row(sample_id, system, status, metrics, details, prediction_status, slices, statistics, unit, truth_hash,
    prediction_hash), one for each sample and system. metrics: by name. details, statistics: JSON.
    rejected: Row(side, sample_id, cause, error, text), one for each record that was not scored.
    coverage: Row(system, side, status, count): the number of records of each side that were read, and that have each
    status; the benchmark's own counts have no side.
    sums: one element, the content of `sums.json`: the exact sums behind the metrics, with their replicates.
    """

    metrics: beam.PCollection
    samples: beam.PCollection
    rejected: beam.PCollection
    coverage: beam.PCollection
    sums: beam.PCollection


class Evaluate(beam.PTransform):
    """Scores collections of predictions against a collection of ground truth.

    Input: `{"ground_truth": truths, NAME: predictions, ...}`, or a pair (truths, predictions) of one system, which is
    called `predictions`. Records are mappings, Beam Rows, NamedTuples, dataclasses, msgspec structs or models of
    pydantic, bounded and in the global window. A null is an absent field; in a field that is never plain text, text is
    JSON. If several records of one side have the same sample_id, the one with the smallest content hash counts: a
    collection has no order.

    Output: Evaluation. Duplicates, rejected records, and why nothing was scored are logged as warnings.

    Args:
        benchmark: its name.
        options: those of the benchmark's configuration.
        slices, cluster, missing, repeats, derived, fields, limits, sample_id_type: as the settings of the same name.
        replicates, confidence, seed: of the intervals; without replicates there are no intervals.
        unpack: converts an element to a record; one function for all predictions, or by side, as {"ground_truth": f,
            "predictions": f, NAME: f}. An element for which it raises is rejected. See `unpack_inference`.
        buckets: the number of groups in which samples are paired: at most this many workers score at once. The result
            does not depend on it.
        output: a folder in which the run is published as by `beamscore evaluate`, with its report.

    Raises:
        ValueError: an argument or the input is wrong; the message is that of the command.
        TypeError: the input is not a mapping or pair of collections.
    """

    def __init__(
        self,
        benchmark: str,
        *,
        limits: Mapping[str, int] | None = None,
        unpack: Unpacker | Mapping[str, Unpacker] | None = None,
        buckets: int = BUCKETS,
        output: str | None = None,
        **arguments: Unpack[Arguments],
    ) -> None:
        super().__init__()
        self._check = partial(check_arguments, benchmark, arguments, limits=limits)
        if isinstance(buckets, bool) or not isinstance(buckets, int) or not 1 <= buckets <= MAX_BUCKETS:
            raise ValueError(f"buckets: must be a whole number from 1 to {MAX_BUCKETS}, not {buckets!r}")
        by_side: Any = {PREDICTION_FIELDS: unpack} if callable(unpack) else {} if unpack is None else unpack
        if not isinstance(by_side, Mapping):
            kinds = "a function or a mapping of sides to functions"
            raise ValueError(f"unpack: must be {kinds}, not {type(unpack).__name__}")
        self._unpack = dict(by_side)
        for side, function in self._unpack.items():
            if not callable(function):
                raise ValueError(f"unpack.{side}: must be a function, not {type(function).__name__}")
        if output == "":
            raise ValueError("output: the path is empty; give a folder, or None to publish nothing")
        self._buckets = buckets
        self._output = output
        # The names of the sides are known only with the collections; all else is checked here.
        named = dict.fromkeys([*(arguments.get("fields") or {}), *self._unpack])
        self._check(systems=[name for name in named if name not in _SIDES] or [DEFAULT_SYSTEM])

    def __ror__(self, left: Any, label: str | None = None) -> Any:
        """Refuses a side that is several collections, which Beam would take for records."""
        sides = _by_name(left)
        for name, side in sides.items() if isinstance(sides, Mapping) else ():
            several = isinstance(side, (tuple, list)) and any(isinstance(each, beam.PCollection) for each in side)
            if several or isinstance(side, beam.pvalue.DoOutputsTuple):
                raise TypeError(f"{name}: these are several collections; give one of them, such as predictions.good")
        return super().__ror__(left, label)

    def expand(self, sides: Any) -> Evaluation:
        """Encodes both sides, evaluates, and converts the result to rows; publishes it if there is an output."""
        truths, predictions = _sides(sides)
        configuration = self._check(systems=list(predictions))
        for side in self._unpack:
            if side not in (*_SIDES, *predictions):
                raise ValueError(f"unpack.{side}: there is no such side; there are {', '.join(predictions)}")
        inputs = Inputs(configuration, (), tuple(predictions), configuration.truth_columns())
        plan = None if self._output is None else self._plan(configuration, inputs, truths.pipeline)
        read = self._read(inputs, [truths, *predictions.values()])
        evaluated: Evaluated = read | "Evaluate" >> EvaluateRecords(core_of(configuration, inputs.systems))
        if plan is not None:
            _ = evaluated | "Publish" >> PublishRun(plan, partial(_owned, plan)) | "Check" >> beam.Map(_published, plan)
        return _rows(evaluated, inputs)

    def _read(self, inputs: Inputs, collections: Sequence[beam.PCollection]) -> dict[str, beam.PCollection]:
        encoded, plan = [], ReadPlan(inputs.systems, inputs.columns, inputs.limits, self._buckets)
        for side, records in zip([GROUND_TRUTH, *range(len(inputs.systems))], collections, strict=True):
            name = side_name(side, inputs.systems)
            unpack = self._unpack.get(name, None if side == GROUND_TRUTH else self._unpack.get(PREDICTION_FIELDS))
            read = records | f"Read {name}" >> encode_records(plan, side, unpack)
            encoded.append(with_block_type(read, bytes))
        return {
            stream: [each[stream] for each in encoded] | f"All {stream}" >> beam.Flatten() for stream in RECORD_STREAMS
        }

    def _plan(self, configuration: Configuration, inputs: Inputs, pipeline: beam.Pipeline) -> EvaluationPlan:
        output = str(self._output)
        if is_on_disk(output):
            # Workers may have another current folder.
            output = os.path.abspath(output)
        try:
            check_reachable([output])
            prepare_output(output)
            with output_problems(output):
                check_foreign(output, LAYOUT)
        except (UsageError, InputProblem) as error:
            raise ValueError(in_python(str(as_usage_error(error)))) from None
        outputs, place = _OUTPUTS.setdefault(pipeline, set()), place_of(output)
        if place in outputs:
            raise ValueError(f"output {output}: another Evaluate of this pipeline publishes there; give another output")
        outputs.add(place)
        # The options do not name a runner that the pipeline was given. Beam's DirectRunner is an alias.
        runner = type(pipeline.runner).__name__.removeprefix("Switching")
        invocation = Invocation.now(["beamscore.Evaluate"], runner)
        return EvaluationPlan(configuration, inputs, output, new_run_id(), invocation, page=True)


_SIDES = (GROUND_TRUTH_FIELDS, PREDICTION_FIELDS)


def _by_name(sides: Any) -> Any:
    """Returns a pair of sides as a mapping, all else as it is."""
    is_pair = isinstance(sides, (tuple, list)) and len(sides) == 2
    return {GROUND_TRUTH_FIELDS: sides[0], DEFAULT_SYSTEM: sides[1]} if is_pair else sides


def _sides(sides: Any) -> tuple[beam.PCollection, dict[str, beam.PCollection]]:
    """Returns the collection of ground truth, and the collections of predictions by system."""
    sides = _by_name(sides)
    if not isinstance(sides, Mapping) or not all(isinstance(each, beam.PCollection) for each in sides.values()):
        raise TypeError(
            "Evaluate takes {'ground_truth': PCollection, NAME: PCollection, ...} or a pair (truths, predictions)"
        )
    predictions = dict(sides)
    truths = predictions.pop(GROUND_TRUTH_FIELDS, None)
    if truths is None or not predictions:
        raise ValueError(
            f"Evaluate needs ground_truth and predictions; there is {', '.join(map(str, sides)) or 'nothing'}"
        )
    for name, records in sides.items():
        if not records.is_bounded:
            raise ValueError(f"{name}: the collection is unbounded; Evaluate scores bounded collections only")
        if (records.windowing.windowfn, records.windowing.triggerfn) != (GlobalWindows(), DefaultTrigger()):
            into = "put it into beam.WindowInto(GlobalWindows()) first"
            raise ValueError(f"{name}: the collection is windowed, or has a trigger; {into}")
    return truths, predictions


@contextlib.contextmanager
def _owned(plan: EvaluationPlan) -> Iterator[None]:
    """Makes a run the owner of its output while this process publishes it; a second attempt asks again."""
    own_output(plan.output, Claim(plan.run_id, Process.of(os.getpid())), LAYOUT)
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            release(plan.output, plan.run_id)


def _published(is_published: bool, plan: EvaluationPlan) -> None:
    if not is_published:
        raise InputProblem(f"output {plan.output}: another run has published there meanwhile; run again")


def _rows(evaluated: Evaluated, inputs: Inputs) -> Evaluation:
    """Returns the rows of a result; the totals, which fit into memory, are gathered for rows that need all of them."""
    slices, outcomes = beam.pvalue.AsList(evaluated.slices), beam.pvalue.AsDict(evaluated.outcomes)
    quarantine = evaluated.quarantine | "AllQuarantined" >> beam.Flatten()
    causes = beam.pvalue.AsList(quarantine | "Causes" >> CountCauses())
    start = evaluated.slices.pipeline | "Start" >> beam.Create([None])
    totals = start | "Gather" >> beam.Map(_gathered, inputs, slices, outcomes, causes)
    return Evaluation(
        totals | "Metrics" >> beam.FlatMap(_metric_rows).with_output_types(METRIC_ROW),
        evaluated.samples | "Samples" >> beam.FlatMap(_sample_rows, inputs.systems).with_output_types(SAMPLE_ROW),
        quarantine | "Rejected" >> beam.Map(_rejected_row).with_output_types(REJECTED_ROW),
        totals | "Coverage" >> beam.FlatMap(_coverage_rows).with_output_types(COVERAGE_ROW),
        totals | "Sums" >> beam.Map(lambda run: encode_json(run.sums.document())).with_output_types(bytes),
    )


def _gathered(
    _: None, inputs: Inputs, slices: list[ComputedSlice], outcomes: Mapping[int, Any], counted: Sequence[CauseCount]
) -> Run:
    result = Run.of(inputs.configuration, inputs.systems, slices, outcomes, {}, [])
    causes, rejected = quarantine_causes(counted), "the output `rejected`"
    unscored = why_unscored(result.summary.document(), inputs, causes, rejected)
    for warning in warnings_of(result, causes, rejected, unscored.values()):
        _LOG.warning("%s", warning)
    return result


def _metric_rows(result: Run) -> Iterator[beam.Row]:
    for name, system in result.systems.items():
        for label, slice_result in {"": system, **system.slices}.items():
            for metric, value in slice_result.values.items():
                numbers = value, *(slice_result.intervals.get(metric) or (None, None))
                value, low, high = map(_float, numbers)
                units = round(slice_result.units[metric])
                yield beam.Row(system=name, slice=label, metric=metric, value=value, low=low, high=high, units=units)


def _float(value: float | None) -> float | None:
    return None if value is None else float(value)


def _sample_rows(samples: Sequence[ScoredSample], systems: Sequence[str]) -> Iterator[beam.Row]:
    for sample in samples:
        yield beam.Row(
            sample_id=sample.sample_id,
            system=systems[sample.system],
            status=sample.status,
            metrics={name: _float(value) for name, value in sample.metrics.items()},
            details=sample.details.decode(),
            prediction_status=sample.prediction_status,
            slices=[each.label for each in sample.slices],
            statistics=None if sample.statistics is None else exact_statistics(sample.statistics).decode(),
            unit=sample.unit,
            truth_hash=sample.truth_hash,
            prediction_hash=sample.prediction_hash,
        )


def _rejected_row(entry: Quarantined) -> beam.Row:
    return beam.Row(side=entry.side, sample_id=entry.sample_id, cause=entry.cause, error=entry.error, text=entry.text)


def _coverage_rows(result: Run) -> Iterator[beam.Row]:
    for name, system in result.systems.items():
        for side, counts in system.coverage.items():
            if isinstance(counts, bool):
                continue
            for status, count in counts.items() if isinstance(counts, Mapping) else [(side, counts)]:
                named = side if isinstance(counts, Mapping) else ""
                yield beam.Row(system=name, side=named, status=status, count=count)


def unpack_inference(element: Any) -> dict[str, Any]:
    """Returns the record of a PredictionResult of Beam's RunInference: the output of the model, with the sample_id.

    The output is a record; its `sample_id`, if absent, is the key of a keyed model handler, otherwise that of the
    example, and its `repeat`, if absent, that of the example, if it has one. Raises TypeError if the output is not a
    record, and AttributeError if the element is not a PredictionResult.
    """
    key, result = element if isinstance(element, tuple) and not hasattr(element, "inference") else (None, element)
    record = fields_of(result.inference)
    if record.get("sample_id") is None:
        record["sample_id"] = _id_of_example(result.example) if key is None else key
    if record.get("repeat") is None:
        example = result.example
        repeat = example.get("repeat") if isinstance(example, Mapping) else getattr(example, "repeat", None)
        # Arrays have a method of this name.
        if repeat is not None and not callable(repeat):
            record["repeat"] = repeat
    return record


def _id_of_example(example: Any) -> Any:
    # An example without one may be right: `fields` may find it elsewhere in the output.
    with contextlib.suppress(TypeError):
        return fields_of(example).get("sample_id")
    return None
