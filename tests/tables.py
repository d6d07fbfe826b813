"""Writes records in the formats of tables that are not JSONL."""

import csv
import gzip
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa


def write_arrow(path: Path, records: Sequence[dict[str, Any]], rows: int = 1000, **options: Any) -> Path:
    empty = pa.schema([("sample_id", pa.string()), ("text", pa.string())])
    table = pa.Table.from_pylist(list(records)) if records else empty.empty_table()
    with pa.ipc.new_stream(path, table.schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        writer.write_table(table, max_chunksize=rows)
    return path


def write_delimited(path: Path, records: Sequence[dict[str, Any]]) -> Path:
    """Writes records as CSV or TSV, compressed as the name says; lists and numbers as JSON, None as nothing."""
    text = io.StringIO()
    names = list(dict.fromkeys(name for record in records for name in record)) or ["sample_id", "text"]
    writer = csv.writer(text, delimiter="\t" if ".tsv" in path.name else ",", lineterminator="\n")
    writer.writerow(names)
    for record in records:
        values = ["" if record.get(name) is None else record[name] for name in names]
        writer.writerow([value if isinstance(value, str) else json.dumps(value) for value in values])
    content = text.getvalue().encode()
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


def save_dataset(folder: Path, records: Sequence[dict[str, Any]], shards: int = 1) -> Path:
    """Writes a folder as `Dataset.save_to_disk` of Hugging Face `datasets` lays it out."""
    folder.mkdir(parents=True)
    names = [f"data-{number:05}-of-{shards:05}.arrow" for number in range(shards)]
    size = -(-len(records) // shards)
    for number, name in enumerate(names):
        write_arrow(folder / name, records[number * size : (number + 1) * size], 10)
    state = {"_data_files": [{"filename": name} for name in names], "_indices_data_files": None, "_split": None}
    (folder / "state.json").write_text(json.dumps(state))
    (folder / "dataset_info.json").write_text('{"citation": "", "features": {}}')
    return folder
