"""What an evaluation would do, told by the first records of its inputs: `evaluate --check`."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from ..metrics.benchmark import Pair
from ..metrics.record_fields import record_fields
from ..transforms.io.files import SourceFile, open_parquet
from ..transforms.io.published import Layout, check_not_replaced, find_published
from ..transforms.io.storage import STORAGE_ERRORS, list_folder, output_problem, write_probe
from ..transforms.records import GROUND_TRUTH, ColumnsReader, EncodedRecord, InputProblem
from ..transforms.slice_labels import value_text
from .config.inputs import Inputs
from .config.mismatch import listed, other_ids, other_records, record_type, shown, side_label
from .config.seen import FirstRecords
from .config.systems import of_system, predictions_of
from .runtime.needs import LocalNeeds

MAX_PAIRS_SCORED = 64
MAX_SECONDS_SCORING = 5.0

READ_SECONDS_PER_RECORD = 3e-5
"""About what a record costs beside its score: read, paired and written. An estimate; machines differ by a few times."""


@dataclass
class Findings:
    """What a check says: lines for a person, and the problems, each of which would spoil the run."""

    lines: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def check_inputs(inputs: Inputs, layout: Layout, processes: int) -> Findings:
    """Looks at the first records of each side, scores some, and says what the run would do.

    A problem is what would keep the run from scoring anything. Nothing is written but a probe in an output folder that
    is there already.
    """
    configuration = inputs.configuration
    settings, benchmark = configuration.settings, configuration.benchmark
    protocol = getattr(benchmark.options, "protocol", None)
    found = Findings([f"benchmark: {benchmark.name}" + (f", protocol {protocol}" if protocol else "")])
    looks = {GROUND_TRUTH: inputs.first_records(GROUND_TRUTH)}
    counts = {GROUND_TRUTH: _side(inputs, GROUND_TRUTH, looks[GROUND_TRUTH], found)}
    for system in range(len(inputs.systems)):
        looks[system] = inputs.first_records(system)
        counts[system] = _side(inputs, system, looks[system], found)
    for system, name in enumerate(inputs.systems):
        _pairs(looks[GROUND_TRUTH], looks[system], name, found)
    columns = configuration.columns()
    for label, line in _slices(looks[GROUND_TRUTH], columns):
        found.lines.append(f"slices by {shown(label)}: {line}")
    _cost(inputs, looks, counts, processes, found)
    if settings.output:
        _output(settings.output, layout, inputs, found)
    return found


def _side(inputs: Inputs, side: int, look: FirstRecords, found: Findings) -> int:
    """Says what a side holds; returns how many records it has, or may have."""
    label, files = side_label(inputs, side), inputs.files_of(side)
    size = sum(file.size for file in files)
    count, is_exact = _record_count(files, look, size)
    amount = f"{count:,}" if is_exact else f"about {count:,}"
    plural = "" if len(files) == 1 else "s"
    found.lines.append(f"{label}: {len(files)} file{plural}, {_bytes(size)}, {amount} records")
    if not look.records:
        reason = f": {look.problem}" if look.problem else ""
        found.problems.append(f"{label}: none of the first records can be read{reason}")
        return count
    fields = list(record_fields(record_type(inputs, side)))
    there = {name: look.fields[name] for name in fields if look.fields.get(name)}
    told = [f"{name} in {number} of {look.records}" for name, number in there.items()]
    missing = [name for name in fields if name not in there]
    others = [name for name in look.fields if name not in {*fields, "sample_id"}]
    found.lines.append(f"  fields found: {', '.join(told) or 'none'}")
    if missing:
        found.lines.append(f"  fields missing: {', '.join(missing)}")
    if others:
        found.lines.append(f"  other columns: {listed(others)}")
    if look.rejected:
        found.lines.append(f"  {look.rejected} of the first records would be rejected, such as {look.problem}")
    if not look.by_id:
        found.problems.append(f"{label}: no record has a sample_id that can be used: {look.problem}")
    if (mismatch := other_records(inputs, side, look)) is not None:
        found.problems.append(mismatch)
    elif not there and side == GROUND_TRUTH:
        found.problems.append(f"{label}: the fields {', '.join(fields)} have no value in any of the first records")
    return count


def _record_count(files: Sequence[SourceFile], look: FirstRecords, size: int) -> tuple[int, bool]:
    """Returns how many records a side has, and whether that is certain."""
    if all(file.format == "parquet" for file in files):
        rows = 0
        for file in files:
            try:
                with open_parquet(file) as parquet:
                    rows += parquet.metadata.num_rows
            except InputProblem:
                continue
        return rows, True
    looked_at = max(look.records, look.rejected)
    if look.whole or not look.stored_bytes:
        return looked_at, look.whole
    return max(looked_at, round(looked_at * size / look.stored_bytes)), False


def _pairs(truths: FirstRecords, predictions: FirstRecords, name: str, found: Findings) -> None:
    """Says how many of the first records of a system have a ground truth among the first ones."""
    if not truths.by_id or not predictions.by_id:
        return
    common = sum(sample_id in truths.by_id for sample_id in predictions.by_id)
    all_seen = truths.whole and predictions.whole
    among = "all" if all_seen else "the first"
    found.lines.append(
        f"pairs{of_system(name)}: {common:,} of {among} {len(predictions.by_id):,} sample_ids are among {among} "
        f"{len(truths.by_id):,} of the ground truth"
    )
    if common:
        return
    reason = other_ids(truths.sample_id, predictions.sample_id)
    if all_seen:
        found.problems.append(f"{predictions_of(name)}: {reason}")
    else:
        found.lines.append(f"  among the first records, {reason}; the order may differ")


def _slices(truths: FirstRecords, columns: Sequence[str]) -> Iterator[tuple[str, str]]:
    reader = ColumnsReader(columns)
    values: dict[str, dict[str, None]] = {column: {} for column in columns}
    for record in truths.by_id.values() if columns else ():
        try:
            found = reader.read(record)
        except (msgspec.MsgspecError, ValueError, RecursionError):
            continue
        for column, value in zip(columns, found, strict=True):
            for each in value if isinstance(value, list) else [value]:
                values[column].setdefault(value_text(each))
    for column, texts in values.items():
        yield column, f"{len(texts)} value{'' if len(texts) == 1 else 's'} so far: {listed(texts)}"


def _cost(
    inputs: Inputs, looks: dict[int, FirstRecords], counts: dict[int, int], processes: int, found: Findings
) -> None:
    """Says about how much memory, space and time the run takes, by scoring some pairs."""
    pairs = list(_first_pairs(inputs, looks))
    size = sum(file.size for file in inputs.files)
    held = 0
    for side, look in looks.items():
        payload = sum(len(record.payload) for record in look.by_id.values())
        held += round(counts[side] * payload / max(1, len(look.by_id)))
    found.lines.append(f"size: {_bytes(size)} stored, about {_bytes(held)} of records")
    needs = LocalNeeds.of(inputs.files, processes)
    found.lines.append(
        f"on this machine: about {_bytes(needs.memory)} of memory, {_bytes(needs.space)} in the temporary folder "
        f"{needs.folder}"
    )
    if not pairs:
        return
    seconds, scored = _score_some(inputs.configuration.benchmark, pairs)
    samples = counts[GROUND_TRUTH] * max(1, len(inputs.systems))
    total = (samples * seconds / scored + sum(counts.values()) * READ_SECONDS_PER_RECORD) / processes
    plural = "" if processes == 1 else "es"
    found.lines.append(
        f"time: about {_duration(total)} in {processes} process{plural}; {scored} samples took "
        f"{1000 * seconds / scored:.3g} ms each"
    )


def _first_pairs(inputs: Inputs, looks: dict[int, FirstRecords]) -> Iterator[Pair[Any, Any]]:
    benchmark = inputs.configuration.benchmark
    truths = looks[GROUND_TRUTH].by_id
    for system in range(len(inputs.systems)):
        common = [each for each in looks[system].by_id if each in truths]
        for sample_id in common[: max(1, MAX_PAIRS_SCORED // len(inputs.systems))]:
            truth = _decoded(truths[sample_id], benchmark.truth_type)
            prediction = _decoded(looks[system].by_id[sample_id], benchmark.prediction_type)
            if truth is not None and prediction is not None:
                yield Pair(sample_id, truth, prediction)


def _decoded(record: EncodedRecord, kind: type[Any]) -> Any:
    try:
        return record.decode(kind)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None


def _score_some(benchmark: Any, pairs: Sequence[Pair[Any, Any]]) -> tuple[float, int]:
    """Returns the seconds that some pairs took, and how many they were."""
    started, scored = time.monotonic(), 0
    benchmark.setup()
    try:
        for start in range(0, len(pairs), benchmark.batch_size):
            batch = pairs[start : start + benchmark.batch_size]
            benchmark.score(batch)
            scored += len(batch)
            if time.monotonic() - started > MAX_SECONDS_SCORING:
                break
    finally:
        benchmark.teardown()
    return time.monotonic() - started, scored


def _output(output: str, layout: Layout, inputs: Inputs, found: Findings) -> None:
    """Says what is in the output folder, where there is one, and whether it can be written."""
    try:
        check_not_replaced(output, layout, (file.path for file in inputs.files))
        published = find_published(output, layout)
        there = list_folder(output)
        if there:
            write_probe(output)
    except InputProblem as problem:
        found.problems.append(problem.message)
        return
    except (*STORAGE_ERRORS, ValueError) as error:
        found.problems.append(output_problem(output, error).message)
        return
    held = f"holds the result of run {published.run_id or 'unknown'}, which it would replace" if published else ""
    found.lines.append(f"output: {output} {held or ('has other files' if there else 'would be made')}")


def _bytes(size: float) -> str:
    for unit in ("B", "kB", "MB", "GB"):
        if size < 1000:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:.3g} TB"


def _duration(seconds: float) -> str:
    if seconds < 1:
        return "a second"
    if seconds < 120:
        return f"{seconds:.0f} s"
    minutes = seconds / 60
    return f"{minutes:.0f} min" if minutes < 120 else f"{minutes / 60:.1f} h"
