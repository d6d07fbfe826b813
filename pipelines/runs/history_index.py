"""All finished runs below a folder as one table, history.parquet."""

from __future__ import annotations

import concurrent.futures
import math
import os
import posixpath
from collections.abc import Iterator
from typing import Any

import msgspec
import pyarrow as pa

from ...metrics.registry import BrokenBenchmark, benchmark_class, is_benchmark
from ...transforms.io.publication import RUNS
from ...transforms.io.storage import has_folders, is_on_disk, list_folder, list_tree, reason_of
from ...transforms.repeats import COUNTED_REPEATS, MISSING_REPEATS
from ..config.errors import UsageError
from .causes import unscored_of
from .differences import code_versions, scoring_hash
from .documents import WORST_LAST, gate_word, worst_verdict
from .provenance import seconds
from .run import RUN, SUMMARY, Run

HISTORY = "history.parquet"
READERS = 16

SCHEMA = pa.schema(
    [
        *((name, pa.string()) for name in ("run", "run_id", "started", "benchmark", "version", "scoring", "drawn")),
        *(("ground_truth", pa.string()), ("system", pa.string()), ("slice", pa.string()), ("metric", pa.string())),
        *((name, pa.float64()) for name in ("value", "low", "high", "error", "units")),
        *((name, pa.int64()) for name in ("samples", "scored", "missing", "rejected")),
        *((name, pa.int64()) for name in (COUNTED_REPEATS, MISSING_REPEATS)),
        *(("verdict", pa.string()), ("gates", pa.string()), ("derived", pa.string())),
    ]
)
"""A row for each run, system, slice and metric. run: its folder, below the folder of the history. scoring: a hash of
the options of scoring, but those of the bootstrap, and of the `code_version` behind a blank. drawn: of all that
paired runs share, with those of the bootstrap. ground_truth: the fingerprint. slice: empty for all samples. value: null
too if nothing of the system was scored. error: the standard error; null in a run of a version that did not write it.
samples: of the slice; scored, missing, rejected: how many of them are so, missing without a prediction. repeats: of the
samples that are not rejected; missing_repeats: how many of them have no prediction; null without any. verdict: the
`gate_word` of the worst gate on this metric, else null. gates: the worst verdict of the gates that change the exit
code, else pass; null if the run has no gates. derived: the formulas of the derived metrics of the run by name, as JSON;
null if it has none."""


def index_runs(folder: str) -> tuple[Any, list[str]]:
    """Returns the table of the runs below a folder, in order of time, and a line for each that cannot be read.

    Raises UsageError if the folder cannot be listed.
    """
    try:
        runs = find_runs(folder)
    except (OSError, ValueError) as error:
        raise UsageError(f"{folder}: cannot be listed: {reason_of(error)}") from error
    unreadable, copies, tables = list[str](), list[str](), dict[tuple[str, str], Any]()
    by_id: dict[str, list[tuple[str, str, Any]]] = {}
    with concurrent.futures.ThreadPoolExecutor(READERS) as threads:
        for run, entry in zip(runs, threads.map(lambda run: _read(folder, run), runs), strict=True):
            if isinstance(entry, str):
                unreadable.append(entry)
                continue
            started, run_id, rows = entry
            by_id.setdefault(run_id or run, []).append((run, started, rows))
    for same in by_id.values():
        if len(same) > 1:
            same.sort(key=lambda each: _written(folder, each[0]))
        (original, started, rows), *others = same
        tables[started, original] = rows
        copies += [f"{run}: a copy of {original}; left out" for run, *_ in others]
    order = [tables[key] for key in sorted(tables)]
    return pa.concat_tables([SCHEMA.empty_table(), *order]).combine_chunks(), [*unreadable, *copies]


def find_runs(folder: str) -> list[str]:
    """Returns the paths of the runs below a folder, relative to it: folders with a commit or a summary.json."""
    folders = set()
    for name in _files(folder):
        parent, _, last = name.rpartition("/")
        grandparent = posixpath.dirname(parent)
        if last == SUMMARY and RUNS not in parent.split("/"):
            folders.add(parent or ".")
        elif last == RUN and posixpath.basename(grandparent) == RUNS:
            folders.add(posixpath.dirname(grandparent) or ".")
    return sorted(folders)


def _files(folder: str) -> Iterator[str]:
    """Yields the files below a folder, relative to it; an object store is listed once."""
    if not is_on_disk(folder):
        if has_folders(folder):
            raise ValueError("history reads disks and object stores; copy the runs to one")
        start = folder.rstrip("/") + "/"
        yield from (path.removeprefix(start) for path in list_tree(folder))
        return
    if not os.path.isdir(folder):
        raise NotADirectoryError(f"{folder} is not a folder")
    for path, folders, files in os.walk(folder):
        folders[:] = (name for name in folders if name == RUNS or not name.startswith("."))
        below = os.path.relpath(path, folder)
        yield from files if below == "." else (f"{below}/{name}" for name in files)


def _read(folder: str, path: str) -> tuple[str, str, Any] | str:
    """Returns the start of a run, its id and its rows, or one line that says why it has none."""
    try:
        run = Run.read(run_path(folder, path))
    except UsageError as error:
        return str(error)
    if not run.provenance:
        return f"{run.path}: it has no run.json that says when it was made; evaluate it again"
    if not is_benchmark(run.benchmark):
        return f"{run.path}: its benchmark {run.benchmark} is not installed here"
    try:
        benchmark_class(run.benchmark)
    except BrokenBenchmark as error:
        return f"{run.path}: {reason_of(error)}"
    try:
        started = run.provenance["started"]
        seconds(started)
        return started, run.run_id, pa.Table.from_pylist(list(_rows(run, path)), SCHEMA)
    except (KeyError, TypeError, ValueError, OverflowError, msgspec.MsgspecError) as error:
        return f"{run.path}: this is no run that can be read: {reason_of(error)}"


def _written(folder: str, run: str) -> float:
    """Returns when the summary of a run was written, in a copy later than in the original unless it keeps the times."""
    return list_folder(run_path(folder, run)).get(SUMMARY, math.inf)


def run_path(folder: str, run: str) -> str:
    """Returns the path of `run`, relative to a folder; `.` is the folder itself."""
    if is_on_disk(folder):
        return posixpath.normpath(posixpath.join(folder, run))
    return folder.rstrip("/") if run == "." else posixpath.join(folder, run)


def _rows(run: Run, path: str) -> Iterator[dict[str, Any]]:
    summary = run.summary
    fingerprint, derived = summary.fingerprint, msgspec.convert(summary.config.get("derived") or {}, dict[str, str])
    # Includes gates on metrics that the run does not have: no other row shows them.
    blocking = [each["verdict"] for each in summary.gates if each["blocks"]]
    # The worst comes last, behind those that do not block.
    ranked = sorted(summary.gates, key=lambda each: (each["blocks"], WORST_LAST.index(each["verdict"])))
    words = {(each["system"], each["slice"] or "", each["metric"]): gate_word(each) for each in ranked}
    common = {
        "run": path,
        "run_id": run.run_id,
        "started": run.provenance["started"],
        "benchmark": run.benchmark,
        "version": summary.version,
        "scoring": " ".join([scoring_hash(summary.config, options="compared"), *code_versions(run.signature).values()]),
        "drawn": scoring_hash(summary.config),
        "ground_truth": None if fingerprint is None else f"{fingerprint.samples}:{fingerprint.hash}",
        "gates": worst_verdict(["pass", *blocking]) if summary.gates else None,
        "derived": msgspec.json.encode(derived).decode() if derived else None,
    }
    unscored = unscored_of(summary)
    for name, system in summary.systems.items():
        for label, part in {"": system, **system.slices}.items():
            counts = part.counts("ground_truth")
            # A benchmark may return no values for empty sums.
            unmeasured = dict.fromkeys(part.values or benchmark_class(run.benchmark).main_metrics())
            values = unmeasured if name in unscored else part.values
            of_slice = {
                **common,
                "system": name,
                "slice": label,
                "samples": part.samples,
                "scored": counts.get("scored", 0),
                "missing": counts.get("missing_prediction", 0),
                "rejected": counts.get("rejected", 0),
                **{name: part.coverage.get(name) for name in (COUNTED_REPEATS, MISSING_REPEATS)},
            }
            for metric, value in values.items():
                low, high = part.intervals.get(metric) or (None, None)
                yield {
                    **of_slice,
                    "metric": metric,
                    "value": value,
                    "low": low,
                    "high": high,
                    "error": part.errors.get(metric),
                    "units": part.units.get(metric, 0.0),
                    "verdict": words.get((name, label, metric)),
                }
