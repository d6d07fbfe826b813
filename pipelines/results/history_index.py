"""All finished runs below a folder as one table, history.parquet, which is its own index.

A run is read again only where the stamp of its folder has changed, so thousands of runs cost a listing.
"""

from __future__ import annotations

import concurrent.futures
import hashlib
import os
import posixpath
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ...transforms.io.published import CURRENT
from ...transforms.io.storage import STORAGE_ERRORS, has_folders, is_on_disk, list_tree, read_bytes
from ..config.errors import UsageError, one_line
from .differences import scoring_keys
from .run import LAYOUT, SUMMARY
from .stored import Run
from .stored_documents import StoredSlice

HISTORY = "history.parquet"
FORMAT = b"3"
READERS = 16

SCHEMA = pa.schema(
    [
        *((name, pa.string()) for name in ("run", "stamp", "run_id", "started", "benchmark", "version", "scoring")),
        *(("ground_truth", pa.string()), ("system", pa.string()), ("slice", pa.string()), ("metric", pa.string())),
        *((name, pa.float64()) for name in ("value", "low", "high", "error", "units")),
        *((name, pa.int64()) for name in ("samples", "scored", "missing", "rejected")),
        *(("verdict", pa.string()), ("gates", pa.string())),
    ],
    {"beamscore_history": FORMAT},
)
"""A row for each run, system, slice and metric. run: its folder, below the folder of the history. scoring: a hash of
the options by which samples are scored. ground_truth: the fingerprint. slice: empty for all samples. error: the
standard error; null in a run that was made before it was written. samples: of the slice; scored, missing, rejected:
what became of them, missing those without a prediction. verdict: the worst of the gates on this metric, else null.
gates: what all gates of the run come to, the worst of those that change its exit code, else pass; null where it has
none."""

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
    except (*STORAGE_ERRORS, ValueError) as error:
        raise UsageError(f"{folder}: cannot be listed: {one_line(error)}") from error
    tables, kept = _kept(known, stamps)
    due = [run for run in stamps if run not in kept]
    unreadable = []
    with concurrent.futures.ThreadPoolExecutor(READERS) as threads:
        for found in threads.map(lambda run: _read(folder, run, stamps[run]), due):
            if isinstance(found, str):
                unreadable.append(found)
            else:
                tables.append(found)
    table = pa.concat_tables(tables) if tables else SCHEMA.empty_table()
    table, doubled = _once(table)
    return Index(_sorted(table), [*unreadable, *doubled], len(due))


def find_runs(folder: str) -> dict[str, str]:
    """Returns the run folders below a folder, by their path in it, each with a stamp that changes with its result."""
    return _runs_on_disk(folder) if is_on_disk(folder) else _runs_of_store(folder)


def _runs_on_disk(folder: str) -> dict[str, str]:
    if not os.path.isdir(folder):
        raise NotADirectoryError(f"{folder} is no folder")
    found = {}
    for path, folders, files in os.walk(folder):
        current = posixpath.join(path, LAYOUT.hidden, CURRENT)
        if os.path.islink(current):
            stamp = os.readlink(current)
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
    """Finds the runs of an object store by one listing: by their manifests, else by a summary under its plain name."""
    if has_folders(folder):
        raise ValueError("history reads disks and object stores; copy the runs to one")
    start = folder.rstrip("/") + "/"
    manifests: dict[str, str] = {}
    summaries: dict[str, str] = {}
    for path, (size, changed) in list_tree(folder).items():
        name = path.removeprefix(start)
        parent, _, last = name.rpartition("/")
        if posixpath.basename(parent) == LAYOUT.hidden and last.endswith(".json"):
            run = posixpath.dirname(parent) or "."
            manifests[run] = max(last, manifests.get(run, ""))
        elif last == SUMMARY and LAYOUT.hidden not in parent.split("/"):
            summaries[parent or "."] = f"{size}-{changed}"
    return {run: manifests.get(run) or summaries[run] for run in sorted({**summaries, **manifests})}


def _kept(known: Any | None, stamps: Mapping[str, str]) -> tuple[list[Any], set[str]]:
    """Returns the rows of an earlier table that are still true, and the runs that they are of."""
    if known is None:
        return [], set()
    pairs = {(row["run"], row["stamp"]) for row in known.select(["run", "stamp"]).group_by(["run", "stamp"])
             .aggregate([]).to_pylist()}  # fmt: skip
    kept = {run for run, stamp in pairs if stamps.get(run) == stamp}
    return [known.filter(pc.is_in(known.column("run"), pa.array(sorted(kept), pa.string())))], kept


def read_table(content: bytes) -> Any | None:
    """Returns the table of a history.parquet; None where it is damaged or of another version, and made anew."""
    try:
        table = pq.read_table(BytesIO(content))
    except (pa.ArrowException, OSError, ValueError):
        return None
    return table if table.schema.equals(SCHEMA) and table.schema.metadata == SCHEMA.metadata else None


def load_table(path: str) -> Any | None:
    """Returns the table in a file; None where there is none that can be used."""
    try:
        return read_table(read_bytes(path))
    except (*STORAGE_ERRORS, ValueError):
        return None


def encode_table(table: Any) -> bytes:
    """Returns a table as the bytes of a Parquet file."""
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd")
    content: bytes = sink.getvalue().to_pybytes()
    return content


def _read(folder: str, run: str, stamp: str) -> Any:
    """Returns the rows of a run, or in a line why there are none."""
    path = run_path(folder, run)
    try:
        found = Run(path)
        provenance = found.provenance
        started = provenance.get("started")
        if not isinstance(started, str):
            return f"{path}: it has no run.json that says when it was made; evaluate it again"
        return _rows(found, run, stamp, started)
    except UsageError as error:
        return str(error)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        return f"{path}: this is no run that can be read: {one_line(error)}"


def run_path(folder: str, run: str) -> str:
    """Returns the path of a run that is `run` below a folder; `.` is the folder itself."""
    if is_on_disk(folder):
        return posixpath.normpath(posixpath.join(folder, run))
    return folder.rstrip("/") if run == "." else posixpath.join(folder, run)


def _rows(found: Run, run: str, stamp: str, started: str) -> Any:
    summary = found.summary
    scoring = hashlib.blake2b(msgspec.json.encode(scoring_keys(summary.config), order="sorted"), digest_size=8)
    fingerprint = summary.fingerprint
    common = {
        "run": run,
        "stamp": stamp,
        "run_id": found.run_id,
        "started": started,
        "benchmark": summary.benchmark,
        "version": summary.version,
        "scoring": scoring.hexdigest(),
        "ground_truth": None if fingerprint is None else f"{fingerprint.samples}:{fingerprint.hash}",
        "gates": _of_all(summary.gates),
    }
    verdicts = _verdicts(summary.gates)
    rows = []
    for name, system in summary.systems.items():
        for label, part in [("", system), *system.slices.items()]:
            for metric, value in part.values.items():
                rows.append(
                    {
                        **common,
                        "system": name,
                        "slice": label,
                        "metric": metric,
                        **_numbers(part, metric, value),
                        "verdict": verdicts.get((name, label, metric)),
                    }
                )
    return pa.Table.from_pylist(rows, SCHEMA)


def _numbers(part: StoredSlice, metric: str, value: float | None) -> dict[str, Any]:
    low, high = part.intervals.get(metric) or (None, None)
    counts = part.counts("ground_truth")
    return {
        "value": value,
        "low": low,
        "high": high,
        "error": part.errors.get(metric),
        "units": part.units.get(metric, 0.0),
        "samples": part.samples,
        "scored": counts.get("scored", 0),
        "missing": counts.get("missing_prediction", 0),
        "rejected": counts.get("rejected", 0),
    }


def _verdicts(gates: Sequence[Mapping[str, Any]]) -> dict[tuple[str, str, str], str]:
    worst: dict[tuple[str, str, str], str] = {}
    for each in gates:
        key = str(each.get("system")), str(each.get("slice") or ""), str(each.get("metric"))
        word = str(each.get("verdict"))
        if word in _WORST:
            worst[key] = max(word, worst.get(key, "pass"), key=_WORST.index)
    return worst


def _of_all(gates: Sequence[Mapping[str, Any]]) -> str | None:
    """Returns what the gates of a run come to; one on a slice, or on what the run does not have, is on no other row."""
    blocking = [str(each.get("verdict")) for each in gates if each.get("blocks")]
    return max((word for word in ("pass", *blocking) if word in _WORST), key=_WORST.index) if gates else None


def _once(table: Any) -> tuple[Any, list[str]]:
    """Drops the copies of a run that is there twice: the first folder by name counts."""
    pairs = table.select(["run", "run_id"]).group_by(["run", "run_id"]).aggregate([]).to_pylist()
    first: dict[str, str] = {}
    doubled, told = set(), []
    for pair in sorted(pairs, key=lambda pair: str(pair["run"])):
        if pair["run_id"] and first.setdefault(pair["run_id"], pair["run"]) != pair["run"]:
            doubled.add(pair["run"])
            told.append(f"{pair['run']}: a copy of {first[pair['run_id']]}; left out")
    if doubled:
        table = table.filter(pc.invert(pc.is_in(table.column("run"), pa.array(sorted(doubled), pa.string()))))
    return table, told


def _sorted(table: Any) -> Any:
    # Rows of a run keep their order.
    places = pa.array(range(len(table)), pa.int64())
    order = pc.sort_indices(
        table.append_column("place", places),
        sort_keys=[("started", "ascending"), ("run", "ascending"), ("place", "ascending")],
    )
    return table.take(order)
