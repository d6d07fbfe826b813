"""All finished runs below a folder as one table, history.parquet, which is its own index.

A run is read again only where the stamp of its folder has changed, so thousands of runs cost a listing.
"""

from __future__ import annotations

import concurrent.futures
import os
import posixpath
from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from ...transforms.io.publication import RUNS, committed_runs
from ...transforms.io.storage import has_folders, is_on_disk, list_tree, read_bytes
from ..config.errors import UsageError, one_line
from .differences import scoring_hash
from .run import LAYOUT, SUMMARY, Run

HISTORY = "history.parquet"
FORMAT = b"4"
READERS = 16

SCHEMA = pa.schema(
    [
        *((name, pa.string()) for name in ("run", "stamp", "run_id", "started", "benchmark", "version", "scoring")),
        *(("ground_truth", pa.string()), ("system", pa.string()), ("slice", pa.string()), ("metric", pa.string())),
        *((name, pa.float64()) for name in ("value", "low", "high", "error", "units")),
        *((name, pa.int64()) for name in ("samples", "scored", "missing", "rejected")),
        *(("verdict", pa.string()), ("gates", pa.string()), ("derived", pa.string())),
    ],
    {"beamscore_history": FORMAT},
)
"""A row for each run, system, slice and metric. run: its folder, below the folder of the history. scoring: a hash of
the options by which samples are scored. ground_truth: the fingerprint. slice: empty for all samples. error: the
standard error; null in a run that was made before it was written. samples: of the slice; scored, missing, rejected:
what became of them, missing those without a prediction. verdict: the worst of the gates on this metric, else null.
gates: what all gates of the run come to, the worst of those that change its exit code, else pass; null where it has
none. derived: the derived metrics of the run, by name their formulas, as JSON; null where it has none."""

_WORST = ("pass", "inconclusive", "invalid", "fail")


@dataclass(frozen=True)
class Index:
    """The table of all runs, in the order of time, and a line for each folder that looks like a run and is none."""

    table: Any
    unreadable: list[str]
    read: int
    """How many runs were read, and not taken from the index."""


def index_runs(folder: str, known: Any | None) -> Index:
    """Returns the runs below a folder; those whose stamp is as in the table `known` are taken from there.

    Raises UsageError where the folder cannot be listed.
    """
    try:
        stamps = find_runs(folder)
    except (OSError, ValueError) as error:
        raise UsageError(f"{folder}: cannot be listed: {one_line(error)}") from error
    before = {} if known is None else _by_run(known)
    tables = {run: rows for run, rows in before.items() if _of(rows, "stamp") == stamps.get(run)}
    due = [run for run in stamps if run not in tables]
    unreadable = []
    with concurrent.futures.ThreadPoolExecutor(READERS) as threads:
        for run, found in zip(due, threads.map(lambda run: _read(folder, run, stamps[run]), due), strict=True):
            if isinstance(found, str):
                unreadable.append(found)
            elif len(found):
                tables[run] = found
    first: dict[str, str] = {}
    for run in sorted(tables):
        run_id = _of(tables[run], "run_id")
        if run_id and first.setdefault(run_id, run) != run:
            unreadable.append(f"{run}: a copy of {first[run_id]}; left out")
            del tables[run]
    order = sorted(tables.values(), key=lambda rows: (_of(rows, "started"), _of(rows, "run")))
    return Index(pa.concat_tables([SCHEMA.empty_table(), *order]).combine_chunks(), unreadable, len(due))


def find_runs(folder: str) -> dict[str, str]:
    """Returns the run folders below a folder, by their path in it, each with a stamp that changes with its result."""
    return _runs_on_disk(folder) if is_on_disk(folder) else _runs_of_store(folder)


def _runs_on_disk(folder: str) -> dict[str, str]:
    if not os.path.isdir(folder):
        raise NotADirectoryError(f"{folder} is no folder")
    found = {}
    for path, folders, files in os.walk(folder):
        committed = committed_runs(path, LAYOUT) if RUNS in folders else []
        if committed:
            stamp = committed[-1]
        elif SUMMARY in files:
            try:
                status = os.stat(posixpath.join(path, SUMMARY))
                stamp = f"{status.st_size}-{status.st_mtime_ns}"
            except FileNotFoundError:
                continue
        else:
            stamp = ""
        if stamp:
            found[posixpath.relpath(path, folder)] = stamp
        # Folders of a run that have the names of its own parts hold no runs.
        own = LAYOUT.folders if stamp else ()
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in own)
    return found


def _runs_of_store(folder: str) -> dict[str, str]:
    """Finds the runs of an object store by one listing: by their commits, else by a summary under its plain name."""
    if has_folders(folder):
        raise ValueError("history reads disks and object stores; copy the runs to one")
    start = folder.rstrip("/") + "/"
    commits: dict[str, tuple[float, str]] = {}
    summaries: dict[str, str] = {}
    for path, (size, changed) in list_tree(folder).items():
        name = path.removeprefix(start)
        parent, _, last = name.rpartition("/")
        above, run_id = posixpath.split(parent)
        if posixpath.basename(above) == RUNS and last == LAYOUT.last:
            run = posixpath.dirname(above) or "."
            commits[run] = max((changed, run_id), commits.get(run, (0.0, "")))
        elif last == SUMMARY and RUNS not in parent.split("/"):
            summaries[parent or "."] = f"{size}-{changed}"
    stamps = {**summaries, **{run: run_id for run, (_, run_id) in commits.items()}}
    return {run: stamps[run] for run in sorted(stamps)}


def _by_run(table: Any) -> dict[str, Any]:
    """Returns the rows of each run of a table, in which they follow one another."""
    places = pa.array(range(len(table)), pa.int64())
    found = table.append_column("place", places).group_by("run").aggregate([("place", "min"), ("place", "count")])
    return {row["run"]: table.slice(row["place_min"], row["place_count"]) for row in found.to_pylist()}


def _of(rows: Any, column: str) -> str:
    """Returns what a column says of a run in all of its rows."""
    return str(rows.column(column)[0].as_py() or "")


def load_table(path: str) -> Any | None:
    """Returns the table in a file; None where there is none, or it is damaged or of another version, and made anew."""
    try:
        table = pq.ParquetFile(BytesIO(read_bytes(path))).read()
    except (pa.ArrowException, OSError, ValueError):
        return None
    return table if table.schema.equals(SCHEMA, check_metadata=True) else None


def encode_table(table: Any) -> bytes:
    """Returns a table as the bytes of a Parquet file."""
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd")
    content: bytes = sink.getvalue().to_pybytes()
    return content


def _read(folder: str, run: str, stamp: str) -> Any:
    """Returns the rows of a run, or in a line why there are none."""
    try:
        found = Run.read(run_path(folder, run))
    except UsageError as error:
        return str(error)
    if not found.provenance:
        return f"{found.path}: it has no run.json that says when it was made; evaluate it again"
    try:
        return _rows(found, run, stamp)
    except (KeyError, ValueError, OverflowError) as error:
        return f"{found.path}: this is no run that can be read: {one_line(error)}"


def run_path(folder: str, run: str) -> str:
    """Returns the path of a run that is `run` below a folder; `.` is the folder itself."""
    if is_on_disk(folder):
        return posixpath.normpath(posixpath.join(folder, run))
    return folder.rstrip("/") if run == "." else posixpath.join(folder, run)


def _rows(found: Run, run: str, stamp: str) -> Any:
    summary = found.summary
    fingerprint, derived = summary.fingerprint, summary.config.get("derived")
    # Also a gate on what the run does not have, which is on no other row.
    blocking = [each["verdict"] for each in summary.gates if each["blocks"]]
    verdicts: dict[tuple[str, str, str], list[str]] = {}
    for each in summary.gates:
        verdicts.setdefault((each["system"], each["slice"] or "", each["metric"]), []).append(each["verdict"])
    common = {
        "run": run,
        "stamp": stamp,
        "run_id": found.run_id,
        "started": found.provenance["started"],
        "benchmark": summary.benchmark,
        "version": summary.version,
        "scoring": scoring_hash(summary.config),
        "ground_truth": None if fingerprint is None else f"{fingerprint.samples}:{fingerprint.hash}",
        "gates": _worst(["pass", *blocking]) if summary.gates else None,
        "derived": msgspec.json.encode(derived).decode() if derived else None,
    }
    rows = []
    for name, system in summary.systems.items():
        for label, part in {"": system, **system.slices}.items():
            counts = part.counts("ground_truth")
            for metric, value in part.values.items():
                low, high = part.intervals.get(metric) or (None, None)
                rows.append(
                    {
                        **common,
                        "system": name,
                        "slice": label,
                        "metric": metric,
                        "value": value,
                        "low": low,
                        "high": high,
                        "error": part.errors.get(metric),
                        "units": part.units.get(metric, 0.0),
                        "samples": part.samples,
                        "scored": counts.get("scored", 0),
                        "missing": counts.get("missing_prediction", 0),
                        "rejected": counts.get("rejected", 0),
                        "verdict": _worst(verdicts.get((name, label, metric), [])),
                    }
                )
    return pa.Table.from_pylist(rows, SCHEMA)


def _worst(verdicts: Sequence[str]) -> str | None:
    return max(verdicts, key=_WORST.index, default=None)
