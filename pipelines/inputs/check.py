"""What an evaluation would do, told by scoring the first records of its inputs: `evaluate --check`."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

import msgspec

from ...metrics.record_fields import record_fields
from ...transforms.io.publication import Layout, check_not_replaced, find_published
from ...transforms.io.storage import STORAGE_ERRORS, list_folder, output_problem, write_probe
from ...transforms.records import GROUND_TRUTH, EncodedRecord, InputProblem
from ..api.scorer import Scorer
from ..config.settings import Configuration, of_system, predictions_of
from .inputs import Inputs
from .mismatch import FirstRecords, listed, other_ids, other_records, record_type, shown, side_label

SAMPLES_SCORED = 64

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
    looks = {side: inputs.first_records(side) for side in (GROUND_TRUTH, *range(len(inputs.systems)))}
    counts = {side: _side(inputs, side, look, found) for side, look in looks.items()}
    seconds = sum(counts.values()) * READ_SECONDS_PER_RECORD
    for system, name in enumerate(inputs.systems):
        if looks[GROUND_TRUTH].by_id and looks[system].by_id:
            seconds += counts[GROUND_TRUTH] * _score(configuration, name, looks[GROUND_TRUTH], looks[system], found)
    plural = "" if processes == 1 else "es"
    found.lines.append(f"time: about {_duration(seconds / processes)} in {processes} process{plural}")
    if settings.output:
        _output(settings.output, layout, inputs, found)
    return found


def _side(inputs: Inputs, side: int, look: FirstRecords, found: Findings) -> int:
    """Says what a side holds; returns about how many records it has."""
    label, files = side_label(inputs, side), inputs.files_of(side)
    size, count = sum(file.size for file in files), max(look.records, look.rejected)
    if not look.whole and look.stored_bytes:
        count = max(count, round(count * size / look.stored_bytes))
    amount = f"{count:,}" if look.whole else f"about {count:,}"
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


def _score(
    configuration: Configuration, name: str, truths: FirstRecords, predictions: FirstRecords, found: Findings
) -> float:
    """Says how the first samples of a system that have a prediction are scored; returns the seconds of one."""
    common = [sample_id for sample_id in predictions.by_id if sample_id in truths.by_id]
    whole = truths.whole and predictions.whole
    among = "all" if whole else "the first"
    found.lines.append(
        f"pairs{of_system(name)}: {len(common):,} of {among} {len(predictions.by_id):,} sample_ids are among {among} "
        f"{len(truths.by_id):,} of the ground truth"
    )
    if not common:
        reason = other_ids(truths.sample_id, predictions.sample_id)
        if whole:
            found.problems.append(f"{predictions_of(name)}: {reason}")
        else:
            found.lines.append(f"  among the first records, {reason}; the order may differ")
        return 0.0
    pairs = [(_record(truths.by_id[each]), _record(predictions.by_id[each])) for each in common[:SAMPLES_SCORED]]
    pairs = [pair for pair in pairs if None not in pair]
    # The records have the benchmark's own names already; replicates are not told.
    bootstrap = msgspec.structs.replace(configuration.settings.bootstrap, replicates=0)
    settings = msgspec.structs.replace(configuration.settings, fields={}, bootstrap=bootstrap)
    with Scorer._of(Configuration(settings, configuration.benchmark), 1) as scorer:
        # The first one imports what scoring needs, which takes longer than it does.
        for part in (pairs[:1], pairs[1:]):
            started = time.monotonic()
            scorer.update([truth for truth, _ in part], [prediction for _, prediction in part])
            seconds = (time.monotonic() - started) / max(1, len(part))
        result = scorer.compute()
    known = [f"{name} {result.values[name]:.4g}" for name in result.main_metrics if result.values[name] is not None]
    found.lines.append(f"  the first {len(pairs)}, {1000 * seconds:.3g} ms each: {', '.join(known) or 'no value'}")
    if result.slices:
        found.lines.append(f"  slices so far: {listed(result.slices)}")
    if result.rejected:
        first = result.rejected[0]
        whose = shown(first.sample_id or "")
        found.lines.append(f"  {len(result.rejected)} of them would be rejected, such as {whose}: {first.message}")
    return seconds


def _record(encoded: EncodedRecord) -> dict[str, Any] | None:
    try:
        return encoded.decode(dict[str, Any])
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None


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
