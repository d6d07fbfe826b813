"""What an evaluation would do, from scoring the first records of its inputs: `evaluate --check`."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field
from typing import Any

import msgspec

from ...metrics.benchmark import record_fields
from ...transforms.io.publication import Layout, check_not_replaced, find_published
from ...transforms.io.storage import list_folder, output_problem, write_probe
from ...transforms.records import GROUND_TRUTH, InputProblem
from ..api.scorer import Scorer
from ..config.settings import Configuration, of_system, predictions_of
from .inputs import Inputs
from .mismatch import FirstRecords, listed, other_ids, other_records, record_type, shown, side_label

SAMPLES_SCORED = 64


@dataclass
class Findings:
    """The result of a check: lines to show, and the problems that would spoil the run."""

    lines: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def check_inputs(inputs: Inputs, layout: Layout) -> Findings:
    """Reads the first records of each side, scores some, and returns what the run would do.

    A problem is anything that would keep the run from scoring. Nothing is written except a probe in an existing output
    folder.
    """
    configuration = inputs.configuration
    settings, benchmark = configuration.settings, configuration.benchmark
    protocol = getattr(benchmark.options, "protocol", None)
    findings = Findings([f"benchmark: {benchmark.name}" + (f", protocol {protocol}" if protocol else "")])
    first = {side: inputs.first_records(side) for side in (GROUND_TRUTH, *range(len(inputs.systems)))}
    for side, records in first.items():
        _side(inputs, side, records, findings)
    for system, name in enumerate(inputs.systems):
        if first[GROUND_TRUTH].by_id and first[system].by_id:
            _score(configuration, name, first[GROUND_TRUTH], first[system], findings)
    if settings.output:
        _output(settings.output, layout, inputs, findings)
    return findings


def _side(inputs: Inputs, side: int, first: FirstRecords, findings: Findings) -> None:
    """Adds the content of a side to the findings."""
    label, files = side_label(inputs, side), inputs.files_of(side)
    size, count = sum(file.size for file in files), max(first.records, first.rejected)
    plural, more = "" if len(files) == 1 else "s", "" if first.whole else " and more"
    findings.lines.append(f"{label}: {len(files)} file{plural}, {size:,} bytes, {count:,}{more} records")
    if not first.records:
        reason = f": {first.problem}" if first.problem else ""
        findings.problems.append(f"{label}: none of the first records can be read{reason}")
        return
    fields = list(record_fields(record_type(inputs, side)))
    present = {name: first.fields[name] for name in fields if first.fields.get(name)}
    counts = ", ".join(f"{name} in {number} of {first.records}" for name, number in present.items())
    others = [name for name in first.fields if name not in {*fields, "sample_id"}]
    for what, names in (
        ("fields found", counts or "none"),
        ("fields missing", ", ".join(name for name in fields if name not in present)),
        ("other columns", listed(others)),
    ):
        if names:
            findings.lines.append(f"  {what}: {names}")
    if first.rejected:
        findings.lines.append(f"  {first.rejected} of the first records would be rejected, such as {first.problem}")
    if not first.by_id:
        findings.problems.append(f"{label}: no record has a sample_id that can be used: {first.problem}")
    if (mismatch := other_records(inputs, side, first)) is not None:
        findings.problems.append(mismatch)
    elif not present and side == GROUND_TRUTH:
        findings.problems.append(f"{label}: the fields {', '.join(fields)} have no value in any of the first records")


def _score(
    configuration: Configuration, name: str, truths: FirstRecords, predictions: FirstRecords, findings: Findings
) -> None:
    """Adds the scores of the first samples of a system that have a prediction."""
    common = [sample_id for sample_id in predictions.by_id if sample_id in truths.by_id]
    whole = truths.whole and predictions.whole
    among = "all" if whole else "the first"
    findings.lines.append(
        f"pairs{of_system(name)}: {len(common):,} of {among} {len(predictions.by_id):,} sample_ids are in {among} "
        f"{len(truths.by_id):,} records of the ground truth"
    )
    if not common:
        reason = other_ids(truths.sample_id, predictions.sample_id)
        if whole:
            findings.problems.append(f"{predictions_of(name)}: {reason}")
        else:
            findings.lines.append(f"  among the first records, {reason}; the order may differ")
        return
    pairs = []
    for each in common[:SAMPLES_SCORED]:
        with contextlib.suppress(msgspec.MsgspecError, ValueError, RecursionError):
            pairs.append([records.by_id[each].decode(dict[str, Any]) for records in (truths, predictions)])
    # The records already have the field names of the benchmark; replicates are not shown.
    bootstrap = msgspec.structs.replace(configuration.settings.bootstrap, replicates=0)
    settings = msgspec.structs.replace(configuration.settings, fields={}, bootstrap=bootstrap)
    with Scorer(Configuration(settings, configuration.benchmark)) as scorer:
        scorer.update([truth for truth, _ in pairs], [prediction for _, prediction in pairs])
        result = scorer.compute()
    known = [f"{name} {result.values[name]:.4g}" for name in result.main_metrics if result.values[name] is not None]
    findings.lines.append(f"  the first {len(pairs)}: {', '.join(known) or 'no value'}")
    if result.slices:
        findings.lines.append(f"  slices so far: {listed(result.slices)}")
    if result.rejected:
        first = result.rejected[0]
        example = shown(first.sample_id or "")
        count = len({each.sample_id for each in result.rejected})
        findings.lines.append(f"  {count} of them would be rejected, such as {example}: {first.message}")


def _output(output: str, layout: Layout, inputs: Inputs, findings: Findings) -> None:
    """Adds what the output folder contains, if it exists, and whether it can be written."""
    try:
        check_not_replaced(output, layout, (file.path for file in inputs.files))
        published = find_published(output, layout)
        names = list_folder(output)
        if names:
            write_probe(output)
    except InputProblem as problem:
        findings.problems.append(problem.message)
        return
    except (OSError, ValueError) as error:
        findings.problems.append(output_problem(output, error).message)
        return
    state = f"holds the result of run {published.run_id or 'unknown'}, which it would replace" if published else ""
    findings.lines.append(f"output: {output} {state or ('has other files' if names else 'would be created')}")
