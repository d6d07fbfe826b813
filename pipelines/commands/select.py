"""`beamscore select`: the hard cases of a finished run, below a threshold or in a list, with both records."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import apache_beam as beam
import msgspec
import pyarrow.compute as pc
from apache_beam.options.pipeline_options import PipelineOptions

from ...metrics.benchmark import AnyBenchmark
from ...transforms.blocks import bucket_count
from ...transforms.io.record_files import Kind
from ...transforms.pair import PairBySample
from ...transforms.read import ReadRowBlocks, sample_ids
from ...transforms.records import JSON, EncodedRecord, Encoding, InputProblem, Quarantined
from ...transforms.repeats import hashes_of, prediction_of, worst_of
from ...transforms.rows import RowSource, is_one_of
from ...transforms.scored import PairedSample, hash_of
from ..config import settings
from ..config.errors import UsageError, as_input_errors
from ..inputs.inputs import Inputs, find_inputs
from ..runners import launch
from ..runs.named import split_system
from ..runs.run import Run
from .common import require_rows, write_records


def run(parsed: argparse.Namespace, options: PipelineOptions) -> int:
    """Selects; the inputs are those of the run's summary, unless the command line says where they have moved."""
    path, named = split_system(parsed.run)
    run = Run.read(path)
    summary = run.summary
    kind = type(run.configuration.benchmark)
    specs = {spec.name: spec for spec in kind.sample_metrics}
    value, system = parsed.value or kind.main_sample_metric().name, named or summary.ranking[0]
    if value not in specs:
        raise UsageError(f"--value {value}: no such metric; there are {', '.join(specs)}")
    if system not in summary.systems:
        raise UsageError(f"{parsed.run}: not in this run; there are {', '.join(summary.systems)}")
    inputs = _inputs(parsed, summary.config, system)
    require_rows(run)
    files = tuple(launch.path_for_workers(options, path) for path in run.rows)
    below, above, listed, wanted = parsed.below, None, None, 0
    if parsed.samples is not None:
        listed = launch.path_for_workers(options, parsed.samples)
        # Errors in the list are reported before anything is read.
        with as_input_errors("--samples"):
            ids = set(sample_ids(listed))
            wanted = len(ids) if below is None else 0
    elif below is None:
        below, above = (1.0, None) if specs[value].higher_is_better else (None, 0.0)
    selection = SelectedRows(files, system, tuple(specs), value, below, listed, above)
    read = [*(file.path for file in inputs.files), *files, *([listed] if listed else [])]
    conditions = [f"has {value} below {below:g}"] if below is not None else []
    conditions += [f"has {value} above {above:g}"] if above is not None else []
    conditions += [f"is in {parsed.samples}"] if listed else []
    nothing = f"{parsed.run}: no sample of {system} {' and '.join(conditions)}; nothing is written"
    columns = dict.fromkeys(["sample_id", "system", "status"], Kind.TEXT)
    columns |= dict.fromkeys(specs, Kind.NUMBER)
    columns |= dict.fromkeys(["details", "ground_truth", "prediction"], Kind.JSON)
    build = partial(build_selection, inputs=inputs, selection=selection)
    return write_records(parsed, options, build, read, columns, nothing, wanted)


def _inputs(parsed: argparse.Namespace, config: Mapping[str, Any], system: str) -> Inputs:
    """Returns the records that the run scored."""
    predictions = parsed.predictions or config.get("predictions", {}).get(system)
    changed = {"ground_truth": parsed.ground_truth or config.get("ground_truth"), "predictions": {system: predictions}}
    # Only scores of samples are needed, which have neither slices nor metrics made of them.
    fields = config.get("fields", {}).items()
    changed["fields"] = {side: each for side, each in fields if side in ("ground_truth", "predictions", system)}
    configuration = settings.check({**config, **changed, "slices": [], "derived": {}, "gates": {}}, parsed.run)
    try:
        return find_inputs(configuration, (), whole=True)
    except UsageError as error:
        hint = "if the inputs of the run have moved, give --ground-truth and --predictions"
        raise UsageError(f"{error}; {hint}") from error


@dataclass(frozen=True)
class SelectedRows(RowSource):
    """Which samples to select: those of `system` whose metric `column` is below `below` and above `above`.

    files: the rows of the run. metrics: all per-sample metrics. below, above: None: any score. listed: a file; only
    its samples are selected.
    """

    system: str = ""
    metrics: tuple[str, ...] = ()
    column: str = ""
    below: float | None = None
    listed: str | None = None
    above: float | None = None
    encoding: ClassVar[Encoding] = JSON

    @property
    def columns(self) -> list[str]:
        """The columns of a row that its records do not have, and what it says of these."""
        return ["sample_id", "system", "status", *self.metrics, "details", *_Scored.__struct_fields__]

    def where(self) -> Any:
        """Returns the filter of the rows; also reads the list of samples."""
        where = pc.field("system") == self.system
        if self.below is not None:
            where &= pc.field(self.column) < self.below
        if self.above is not None:
            where &= pc.field(self.column) > self.above
        return where if self.listed is None else where & is_one_of("sample_id", sample_ids(self.listed))

    def records(self, batch: Any) -> Iterator[tuple[str, bytes]]:
        """Yields each row as JSON, by sample_id."""
        for row in batch.to_pylist():
            yield row["sample_id"], msgspec.json.encode({**row, "details": json.loads(row["details"])})


def build_selection(
    pipeline: beam.Pipeline, inputs: Inputs, selection: SelectedRows
) -> tuple[beam.PCollection, tuple[beam.PCollection, ...]]:
    """Wires the pipeline: the rows of the run are filtered, then paired with the records that they came from.

    The rows are paired as one more side of the samples.
    """
    folder, buckets, configuration = launch.block_folder(pipeline), bucket_count(inputs.files), inputs.configuration
    rows = pipeline | "Below" >> ReadRowBlocks({len(inputs.systems): selection}, buckets, folder)
    sides, repeats = (rows, inputs.read(pipeline).records), configuration.settings.repeats
    pair = PairBySample((*inputs.systems, ROWS), repeats=[0] if repeats else [])
    paired = sides | "Sides" >> beam.Flatten() | "Pair" >> pair
    _ = paired.quarantine | "Gone" >> beam.Map(_check_not_gone)
    selected = paired.batches | "Selected" >> beam.FlatMap(_joined, configuration.benchmark, repeats)
    return selected, (pipeline | "NoneRejected" >> beam.Create([]),)


ROWS = "rows of the run"
"""The name of the side of the rows; no system can have this name."""

_FIX = "evaluate again, or give the files of the run by --ground-truth and --predictions"


def _check_not_gone(entry: Quarantined) -> None:
    if entry.side == ROWS and entry.cause == "unmatched":
        raise InputProblem(f"sample {entry.sample_id} of the run is no longer in its ground truth; {_FIX}")


class _Scored(msgspec.Struct):
    """The records that a row was scored from, see transforms.rows.sample_schema."""

    prediction_status: str | None
    truth_hash: str | None
    prediction_hash: str | None


def _check_not_changed(
    sample: PairedSample, scored: _Scored, details: bytes, benchmark: AnyBenchmark, repeats: bool
) -> None:
    """Raises InputProblem if a record of a sample is not the one that the run scored.

    A record that the run could not read, or did not because the other one was rejected, has no score to be of another.
    """
    if scored.truth_hash not in (None, hash_of(sample.truth, benchmark.truth_type)):
        raise _changed(sample, "ground truth")
    predictions = [each for each in sample.predictions if each is not None and each.side == 0]
    had_any = scored.prediction_status is not None
    if had_any != bool(predictions):
        raise _changed(sample, "prediction")
    if had_any and scored.prediction_status != "unmatched":
        kind = benchmark.prediction_type
        hashes = hashes_of(predictions, details, kind) if repeats else {hash_of(predictions[0], kind)}
        if hashes and scored.prediction_hash not in hashes:
            raise _changed(sample, "prediction")


def _changed(sample: PairedSample, side: str) -> InputProblem:
    return InputProblem(f"the {side} of sample {sample.sample_id} is not as the run read it; {_FIX}")


def _joined(samples: Sequence[PairedSample], benchmark: AnyBenchmark, repeats: bool) -> Iterator[tuple[str, bytes]]:
    for sample in samples:
        row = prediction_of(sample, 1)  # The rows are the side after the only system.
        if row is not None:
            cells = row.decode(dict[str, msgspec.Raw])
            details = bytes(cells["details"])
            _check_not_changed(sample, row.decode(_Scored), details, benchmark, repeats)
            prediction = prediction_of(sample, 0, worst_of(details) if repeats else None)
            selected = {
                **{name: cell for name, cell in cells.items() if name not in _Scored.__struct_fields__},
                "ground_truth": _record(sample.truth),
                "prediction": None if prediction is None else _record(prediction),
            }
            yield sample.sample_id, msgspec.json.encode(selected)


def _record(encoded: EncodedRecord) -> msgspec.Raw:
    """Returns a record as JSON without decoding it: numbers may be of any size, and what is not UTF-8 is replaced."""
    return msgspec.Raw(encoded.json().decode("utf-8", "replace").encode())
