"""Writes the folder of a finished run of the toy benchmark from rows, without scoring: large runs in little time."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from beamscore.metrics.statistics.bootstrap import Bootstrap, BootstrapSums
from beamscore.metrics.statistics.sum_table import PackedReplicates
from beamscore.metrics.version import VERSION
from beamscore.pipelines.config.settings import check
from beamscore.pipelines.runs.documents import STATUSES, SUMS_FORMAT, coverage_document
from beamscore.transforms.slice_labels import slices_of

SYSTEM = "predictions"

Row = dict[str, Any]


def row(name: str, similarity: float | None, kind: str = "a", unit: str | None = None, **more: Any) -> Row:
    """Returns what a run says of one sample: right where the similarity is 1; not scored without one."""
    equal = None if similarity is None else float(similarity == 1)
    statistics = None if similarity is None else {"samples": 1, "equal": equal, "similarity": similarity}
    return {
        "sample_id": name,
        "system": SYSTEM,
        "status": "rejected" if similarity is None else "scored",
        "prediction_status": None if similarity is None else "scored",
        "unit": unit or name,
        "slice.kind": json.dumps(kind),
        "exact_match": equal,
        "similarity": similarity,
        "statistics": None if statistics is None else json.dumps(statistics),
        "coverage": "{}",
        "truth_hash": "0f",
        "prediction_hash": "1f",
        "details": "null",
        **more,
    }


def write_run(
    folder: Path,
    rows: Sequence[Row],
    settings: Mapping[str, Any] | None = None,
    files: int = 1,
    fingerprint: str = "ff",
    predictions: str | None = "aa",
) -> Path:
    """Writes a finished run: summary.json, sums.json, and the rows of its samples in some files."""
    config = {"benchmark": "toy", "slices": ["kind"], "bootstrap": {"replicates": 50}, **(settings or {})}
    configuration = check(config, "test")
    resolved, columns = configuration.resolved(), configuration.columns()
    bootstrap = Bootstrap(resolved["bootstrap"]["replicates"], resolved["bootstrap"]["seed"])
    systems: dict[str, dict[str, BootstrapSums]] = {}
    for each in rows:
        sums = systems.setdefault(each["system"], {"": BootstrapSums(bootstrap)})
        if each["statistics"] is not None:
            values = [json.loads(each[f"slice.{name}"]) for name in columns]
            for label in ("", *(each.label for each in slices_of(columns, configuration.slice_indexes(), values))):
                added = sums.setdefault(label, BootstrapSums(bootstrap))
                added.add(bootstrap.unit_hash(each["unit"]), json.loads(each["statistics"]))
    folder.mkdir(parents=True)
    common = {"benchmark": "toy", "config": resolved, "fingerprint": {"samples": len(rows), "hash": fingerprint}}
    benchmark, summary, document = configuration.benchmark, {}, {}
    for name, sums in systems.items():
        measured = {label: benchmark.values_within(each.sums(), sums[""].sums()) for label, each in sums.items()}
        coverage, given = _coverage(name, rows), {"fingerprint": fingerprint, "predictions_fingerprint": predictions}
        slices = {label: {"coverage": {}, **given, "values": measured[label]} for label in sums if label}
        summary[name] = {"coverage": coverage, **given, "values": measured[""], "slices": slices}
        stored = {label: _stored(each) for label, each in sums.items()}
        document[name] = {"coverage": coverage, **stored.pop(""), "slices": stored}
    draws = {"replicates": bootstrap.replicates, "seed": bootstrap.seed}
    (folder / "samples").mkdir()
    table = pa.Table.from_pylist(list(rows), schema=schema(columns))
    for number in range(files):
        step = -(-len(rows) // files)
        path = folder / "samples" / f"samples-{number}.parquet"
        pq.write_table(table.slice(number * step, step), path, row_group_size=1000)
    sums_document = {"format": SUMS_FORMAT, "unit_bits": 52, **common, "bootstrap": draws, "systems": document}
    write(folder / "sums.json", sums_document)
    write(folder / "report.md", {})
    write(folder / "summary.json", {**common, "version": VERSION, "ranking": list(systems), "systems": summary})
    return folder


def schema(columns: Sequence[str]) -> Any:
    names = [name for name in row("", 0) if name != "slice.kind"]
    place = names.index("unit") + 1
    names[place:place] = [f"slice.{name}" for name in columns]
    kinds = {"exact_match": pa.float64(), "similarity": pa.float64()}
    return pa.schema([(name, kinds.get(name, pa.string())) for name in names])


def write(path: Path, document: Any) -> None:
    path.write_text(json.dumps(document))


def _coverage(system: str, rows: Sequence[Row]) -> dict[str, Any]:
    own = [each for each in rows if each["system"] == system]
    scored = sum(each["statistics"] is not None for each in own)
    counts = {"read": len(own), "scored": scored, "rejected": len(own) - scored}
    return coverage_document({f"{side}.{name}": count for side in STATUSES for name, count in counts.items()})


def _stored(sums: BootstrapSums) -> dict[str, Any]:
    replicates = msgspec.to_builtins(PackedReplicates.of(sums.table().below().without_zeros()))
    return {"sums": sums.sums().units(), "counts": {}, "replicates": replicates}
