"""Finished runs of the toy benchmark, in memory or in a folder, from rows, without scoring: many rows, little time."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from beamscore.pipelines.api.scorer import core_of
from beamscore.pipelines.config.settings import Configuration, check
from beamscore.pipelines.runs.documents import STATUSES, Fingerprint, coverage_document
from beamscore.pipelines.runs.run import Run
from beamscore.transforms.scored import ScoredSample
from beamscore.transforms.totals import ComputedSlice, PartialSums, SliceKey, slice_results

SYSTEM = "predictions"

Row = dict[str, Any]
Settings = Mapping[str, Any] | None


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


def finished(
    rows: Sequence[Row], settings: Settings = None, fingerprint: str | None = "ff", predictions: str | None = "aa"
) -> Run:
    """Returns a run of which these are the rows; fingerprint, predictions: those of the records of each slice."""
    config = {"benchmark": "toy", "slices": ["kind"], "bootstrap": {"replicates": 50}, **(settings or {})}
    configuration = check(config, "test")
    slices, coverages = results(configuration, rows), {}
    for name, by_label in slices.items():
        read = sum(each["system"] == name for each in rows)
        coverages[name] = coverage_document({**by_label[""].coverage, **{f"{side}.read": read for side in STATUSES}})
    run = Run.finalized(configuration, slices, coverages, {}, [], [])

    def known(part: Any) -> Any:
        return msgspec.structs.replace(part, fingerprint=fingerprint, predictions_fingerprint=predictions)

    systems = {
        name: msgspec.structs.replace(known(each), slices={label: known(part) for label, part in each.slices.items()})
        for name, each in run.systems.items()
    }
    found = run.changed(systems=systems, fingerprint=Fingerprint(len(rows), fingerprint or ""))
    found.sums = msgspec.structs.replace(run.sums, fingerprint=found.summary.fingerprint)
    return found


def results(configuration: Configuration, rows: Sequence[Row]) -> dict[str, dict[str, ComputedSlice]]:
    """Returns the results of these rows, as the pipeline has them, by system and by the label of the slice."""
    names = tuple(dict.fromkeys(each["system"] for each in rows))
    core, columns = core_of(configuration, names), configuration.columns()
    partial = PartialSums(core)
    for each in rows:
        slices = core.scoring.slicing.of([json.loads(each[f"slice.{name}"]) for name in columns])
        coverage = {f"{side}.{each['status']}": 1 for side in STATUSES}
        known = each["sample_id"], names.index(each["system"]), each["status"], each["prediction_status"], each["unit"]
        statistics = json.loads(each["statistics"] or "null")
        partial.add_samples([ScoredSample(*known, coverage, slices, statistics=statistics)])
    totals, clustered = dict(partial.flush()), configuration.settings.cluster is not None
    found = {}
    for number, name in enumerate(names):
        own = [(key, each) for key, each in totals.items() if key.system == number]
        corpus = totals[SliceKey(number)].sums.sums()
        parts = slice_results(configuration.benchmark, core.confidence, own, corpus, clustered, core.scoring.missing)
        found[name] = {each.key.label: each for each in parts}
    return found


def write_run(folder: Path, rows: Sequence[Row], settings: Settings = None, files: int = 1, **given: Any) -> Path:
    """Writes the `finished` run of these rows: summary.json, sums.json, and the rows in some files."""
    run = finished(rows, settings, **given)
    (folder / "samples").mkdir(parents=True)
    names = [name for name in row("", 0) if name != "slice.kind"]
    names += [f"slice.{name}" for name in run.configuration.columns()]
    kinds = {"exact_match": pa.float64(), "similarity": pa.float64()}
    schema = pa.schema([(name, kinds.get(name, pa.string())) for name in names])
    table = pa.Table.from_pylist(list(rows), schema)
    step = -(-len(rows) // files)
    for number in range(files):
        path = folder / "samples" / f"samples-{number}.parquet"
        pq.write_table(table.slice(number * step, step), path, row_group_size=1000)
    write(folder / "sums.json", run.sums.document())
    write(folder / "summary.json", run.summary.document())
    write(folder / "report.md", {})
    return folder


def write(path: Path, document: Any) -> None:
    path.write_text(json.dumps(document))
