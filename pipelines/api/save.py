"""Writes a result of the Python API as a finished run, which the commands read."""

from __future__ import annotations

import contextlib
import copy
import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, BinaryIO

import msgspec
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ...transforms.io.publication import Claim, Process, heartbeat, owned_output, publish
from ...transforms.io.storage import create_file, make_folder, new_run_id, output_problems
from ...transforms.publish import ROWS_PER_GROUP, StagedFolder
from ...transforms.records import GROUND_TRUTH, Cause, CauseCount, Quarantined, Stage
from ..config.settings import DEFAULT_SYSTEM, Configuration
from ..evaluate import files_of, result_files
from ..runs.provenance import Invocation
from ..runs.run import LAYOUT, Run, Worst
from .result import Rejected, Result, Scored

if TYPE_CHECKING:
    from ..runs.documents import Coverage

_STAGES: dict[Cause, Stage] = {"no_sample_id": "read", "no_repeat": "read", "duplicate": "pair", "unmatched": "pair"}


def save_result(result: Result, folder: str) -> None:
    """Writes a result as a finished run in a folder; an earlier run there is replaced.

    Raises InputProblem if the folder cannot be written, or another run owns it.
    """
    run_id, origin = new_run_id(), result.origin
    if isinstance(origin, Scored):
        entries = [_entry(each) for each in result.rejected]
    else:
        entries = [msgspec.json.decode(line, type=Quarantined) for line in origin.quarantine]
    with (
        owned_output(folder, Claim(run_id, Process.of(os.getpid())), LAYOUT),
        heartbeat(folder, run_id),
        output_problems(folder),
    ):
        samples, quarantine = (StagedFolder(folder, run_id, name) for name in LAYOUT.folders)
        staged = {"samples": [f"samples-{run_id}.parquet"], "quarantine": list[str]()}
        with _created(samples, staged["samples"][0]) as stream:
            pq.write_table(result.samples, stream, row_group_size=ROWS_PER_GROUP, compression="zstd")
        if entries:
            staged["quarantine"].append(f"quarantine-{run_id}.jsonl")
            with _created(quarantine, staged["quarantine"][0]) as stream:
                stream.writelines(entry.to_bytes() + b"\n" for entry in entries)
        paths = [f"{samples.path}/{name}" for name in staged["samples"]]
        configuration = origin.configuration if isinstance(origin, Scored) else origin.run.configuration
        worst, causes = _worst(result, configuration), _causes(entries)
        if isinstance(origin, Scored):
            files = _scored_files(origin, run_id, result.coverage, worst, causes, paths)
        else:
            found, (system,) = copy.copy(origin.run), origin.run.systems
            found.worst, found.causes = {system: worst}, causes
            run = {**found.provenance, "run_id": run_id} if found.provenance else {}
            files = files_of(found, run, paths)
        publish(folder, run_id, LAYOUT, files, staged)


def _scored_files(
    origin: Scored,
    run_id: str,
    coverage: Coverage,
    worst: Sequence[Worst],
    causes: Sequence[CauseCount],
    samples: Sequence[str],
) -> dict[str, bytes]:
    """Returns the documents of records that were scored in memory: those that the pipeline makes of files of them."""
    found = Run.finalised(
        origin.configuration,
        {DEFAULT_SYSTEM: origin.slices},
        {DEFAULT_SYSTEM: coverage},
        {DEFAULT_SYSTEM: worst},
        causes,
        origin.warnings,
    )
    counts: Any = coverage
    records = {GROUND_TRUTH: counts["ground_truth"]["read"], 0: counts["predictions"]["read"]}
    return result_files(found, run_id, Invocation.now(["beamscore.Result.save"], ""), records, None, samples)


@contextlib.contextmanager
def _created(folder: StagedFolder, name: str) -> Iterator[BinaryIO]:
    make_folder(folder.path)
    with create_file(f"{folder.path}/{name}") as stream:
        yield stream


def _entry(rejected: Rejected) -> Quarantined:
    side = "ground_truth" if rejected.side == "ground_truth" else DEFAULT_SYSTEM
    stage, cause = _STAGES.get(rejected.cause, "score"), rejected.cause
    return Quarantined(side, rejected.sample_id, "memory", 0, None, stage, cause, rejected.message, "")


def _worst(result: Result, configuration: Configuration) -> list[Worst]:
    """Returns the worst samples of a result that have a value, as many as reports list."""
    spec = configuration.benchmark.main_sample_metric()
    order = "ascending" if spec.higher_is_better else "descending"
    rows = result.samples.select([spec.name, "sample_id", "status"]).filter(pc.field(spec.name).is_valid())
    first = rows.sort_by([(spec.name, order), ("sample_id", "ascending")]).slice(
        0, configuration.settings.worst_samples
    )
    return list(zip(*(column.to_pylist() for column in first.columns), strict=True))


def _causes(entries: Sequence[Quarantined]) -> list[CauseCount]:
    counts: dict[tuple[str, str, str], CauseCount] = {}
    for entry in entries:
        key = entry.side, entry.stage, entry.cause
        counts[key] = counts.get(key, CauseCount()).merge(CauseCount(1, (entry,)))
    return list(counts.values())
