"""Worst-case files for the readers, each read beside an ordinary record, in a process of its own."""

from __future__ import annotations

import base64
import bz2
import gzip
import json
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from apache_beam.pvalue import TaggedOutput
from apache_beam.runners.sdf_utils import RestrictionTrackerView, ThreadsafeRestrictionTracker
from pyarrow.parquet.encryption import CryptoFactory, EncryptionConfiguration, KmsClient, KmsConnectionConfig

from beamscore.transforms.blocks import unpack
from beamscore.transforms.io import zstd
from beamscore.transforms.io.files import match_files, split_file
from beamscore.transforms.io.restriction import UnreadOfPart
from beamscore.transforms.io.side_columns import SideColumns
from beamscore.transforms.read import Limits, ReadPart
from beamscore.transforms.records import EncodedRecord, InputProblem
from tests.abuse.run import peak_bytes

MAX_SECONDS = 5.0
MAX_BYTES = 1 << 30
BASE = {"sample_id": "base", "text": "base"}
COLUMNS = SideColumns(frozenset({"text", "words", "base\nline"}), frozenset({"words"}))


def _table(columns: dict[str, Any], path: Path, **options: Any) -> None:
    pq.write_table(pa.table(columns), path, **{"compression": "zstd", **options})


def _lists(values: Any, lengths: list[int]) -> Any:
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), values)


def _repeated(text: str, count: int) -> Any:
    return pa.DictionaryArray.from_arrays(pa.array(np.zeros(count, np.int32)), pa.array([text]))


def _one_text_many_rows(path: Path) -> None:
    _table({"sample_id": [f"s{i}" for i in range(300)], "text": _repeated("x" * 12_000_000, 300)}, path)


def _many_truth_values(path: Path) -> None:
    count = 250_000_000
    values = pa.Array.from_buffers(pa.bool_(), count, [None, pa.py_buffer(b"\xff" * (count // 8))])
    words = _lists(values, [1, count - 2, 1])
    _table({"sample_id": ["before", "large", "behind"], "words": words}, path)


def _one_text_many_members(path: Path) -> None:
    words = _lists(_repeated("x" * 1_000_000, 3000), [1, 2998, 1])
    _table({"sample_id": ["before", "large", "behind"], "words": words}, path)


def _one_long_text(path: Path) -> None:
    _table({"sample_id": ["before", "large", "behind"], "text": ["b", "x" * 200_000_000, "b"]}, path)


def _one_endless_text(path: Path) -> None:
    text = pa.array(["b", "x" * 700_000_000, "b"], pa.large_string())
    _table({"sample_id": ["before", "large", "behind"], "text": text}, path)


def _nested_structs(path: Path) -> None:
    kind: Any = pa.int64()
    for _ in range(150):
        kind = pa.struct([("a", kind)])
    _table({"sample_id": ["s"], "words": pa.nulls(1, kind)}, path)


def _large_map(path: Path) -> None:
    count = 3_000_000
    keys, items = pa.array(np.arange(count)).cast(pa.string()), pa.array(np.zeros(count, np.int64))
    column = pa.MapArray.from_arrays(pa.array([0, 1, count - 1, count], pa.int32()), keys, items)
    _table({"sample_id": ["before", "large", "behind"], "words": column}, path)


def _many_structs(path: Path) -> None:
    members = pa.StructArray.from_arrays([pa.array(np.zeros(3_000_000, np.int8))], ["a"])
    _table({"sample_id": ["before", "large"], "words": _lists(members, [1, 2_999_999])}, path)


def _row_groups(count: int) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        _table({"sample_id": [f"s{number}" for number in range(count)]}, path, row_group_size=1)

    return write


def _columns(count: int, row_groups: int = 1) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        columns = {f"c{number}": pa.array([number] * row_groups, pa.int32()) for number in range(count)}
        ids = [f"s{number}" for number in range(row_groups)]
        _table({"sample_id": ids, **columns}, path, row_group_size=1, write_statistics=False, use_dictionary=False)

    return write


def _many_rows_of_one_text(path: Path) -> None:
    _table({"sample_id": _repeated("s", 3000), "text": _repeated("x" * 12_000_000, 3000)}, path)


def _wide_structs(path: Path) -> None:
    members = pa.StructArray.from_arrays([pa.array([1, 2])] * 20_000, [f"field {number}" for number in range(20_000)])
    _table({"sample_id": ["s", "t"], "words": members}, path)


def _deep_lists(path: Path) -> None:
    values: Any = list(range(100_000))
    kind: Any = pa.int64()
    for _ in range(40):
        values, kind = [values], pa.list_(kind)
    _table({"sample_id": ["s"], "words": pa.array(values, kind)}, path)


def _declared(stored: Any, schema: Any, path: Path) -> None:
    """Writes a table that says of itself that it has the columns of `schema`."""
    with pq.ParquetWriter(path, stored.schema, store_schema=False) as writer:
        writer.write_table(stored)
        writer.add_key_value_metadata({"ARROW:schema": base64.b64encode(schema.serialize().to_pybytes()).decode()})


def _long_fixed_lists(path: Path) -> None:
    # A null takes no room in the file, and that of all its members in memory.
    schema = pa.schema([("sample_id", pa.string()), ("words", pa.list_(pa.int8(), 300_000_000))])
    _declared(pa.table({"sample_id": ["s", "t", "u"], "words": pa.nulls(3, pa.list_(pa.int8()))}), schema, path)


def _text_views(path: Path) -> None:
    schema = pa.schema([("sample_id", pa.string()), ("text", pa.string_view())])
    stored = pa.table({"sample_id": [f"s{i}" for i in range(300)], "text": _repeated("x" * 12_000_000, 300)})
    _declared(stored, schema, path)


def _long_names(path: Path) -> None:
    names = [f"{number}" + "\u202e\n'\"" * 250_000 for number in range(4)]
    _table({"sample_id": ["s"], **{name: [1] for name in names}}, path)


def _other_codec(code: int) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        # In the metadata of each column chunk, the field before the number of its values.
        _table({"sample_id": ["s"], "text": ["x"]}, path)
        content = path.read_bytes()
        changed = content.replace(b"\x15\x0c\x16\x02", bytes([0x15, 2 * code, 0x16, 2]))
        if changed.count(bytes([0x15, 2 * code, 0x16, 2])) < 2:
            raise RuntimeError("the codec is not where it is expected")
        path.write_bytes(changed)

    return write


def _encrypted_footer(path: Path) -> None:
    _odd_values(path)
    path.write_bytes(b"PARE" + path.read_bytes()[4:-4] + b"PARE")


class _Keys(KmsClient):
    """Wraps keys by doing nothing."""

    def wrap_key(self, key_bytes: bytes, master_key_identifier: str) -> bytes:
        return base64.b64encode(key_bytes)

    def unwrap_key(self, wrapped_key: bytes, master_key_identifier: str) -> bytes:
        return base64.b64decode(wrapped_key)


def _encrypted(plaintext_footer: bool) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        table = pa.table({"sample_id": ["s"], "text": ["x"]})
        configuration = EncryptionConfiguration(
            footer_key="footer", column_keys={"text": ["text"]}, plaintext_footer=plaintext_footer
        )
        properties = CryptoFactory(lambda _: _Keys()).file_encryption_properties(KmsConnectionConfig(), configuration)
        with pq.ParquetWriter(path, table.schema, encryption_properties=properties) as writer:
            writer.write_table(table)

    return write


def _odd_values(path: Path) -> None:
    columns = {"sample_id": ["s", "t"], "text": pa.array([10**18, 2**62], pa.timestamp("ns"))}
    _table({**columns, "base\nline": pa.array([1, 2], pa.decimal128(20, 3)), 'q"': [1, 2]}, path)


def _odd_dates(path: Path) -> None:
    _table({"sample_id": ["s", "t"], "text": pa.array([2**60, 0], pa.timestamp("ms"))}, path)


def _twice(path: Path) -> None:
    pq.write_table(pa.Table.from_arrays([pa.array(["s"])] * 2, ["sample_id", "sample_id"]), path)


def _empty(path: Path) -> None:
    path.write_bytes(b"")


def _cut_off(path: Path) -> None:
    _odd_values(path)
    path.write_bytes(path.read_bytes()[:-4])


def _members(compress: Callable[[bytes], bytes], piece: bytes, times: int, count: int) -> Callable[[Path], object]:
    """Returns what writes `count` members, each of them a piece so many times."""
    return lambda path: path.write_bytes(compress(piece * times) * count)


def _record(**fields: Any) -> bytes:
    return _line_of({"sample_id": "s", **fields})


def _line_of(record: dict[str, Any]) -> bytes:
    return json.dumps(record).encode() + b"\n"


FILES: dict[str, tuple[str, Callable[[Path], object]]] = {
    "300 rows, one text of 12 MB": ("parquet", _one_text_many_rows),
    "a list of 250 million booleans": ("parquet", _many_truth_values),
    "a list of 3,000 times one text of 1 MB": ("parquet", _one_text_many_members),
    "a text of 200 MB": ("parquet", _one_long_text),
    "a text of 700 MB": ("parquet", _one_endless_text),
    "structs nested 150 deep": ("parquet", _nested_structs),
    "a map of 3 million keys": ("parquet", _large_map),
    "a list of 3 million structs": ("parquet", _many_structs),
    "3,000 rows, one text of 12 MB": ("parquet", _many_rows_of_one_text),
    "10,000 columns": ("parquet", _columns(10_000)),
    "31,000 columns": ("parquet", _columns(31_000)),
    "100,000 columns": ("parquet", _columns(100_000)),
    "9,900 columns in 10 row groups": ("parquet", _columns(9_900, 10)),
    "5,000 row groups": ("parquet", _row_groups(5_000)),
    "100,000 row groups": ("parquet", _row_groups(100_000)),
    "structs of 20,000 fields": ("parquet", _wide_structs),
    "lists nested 40 deep": ("parquet", _deep_lists),
    "nulls of a list of 300 million": ("parquet", _long_fixed_lists),
    "300 rows, one text of 12 MB, as views": ("parquet", _text_views),
    "column names of 1 MB": ("parquet", _long_names),
    "a codec that nobody has built in": ("parquet", _other_codec(3)),
    "a codec that does not exist": ("parquet", _other_codec(31)),
    "an encrypted footer, damaged": ("parquet", _encrypted_footer),
    "an encrypted file": ("parquet", _encrypted(False)),
    "an encrypted column": ("parquet", _encrypted(True)),
    "odd types and names": ("parquet", _odd_values),
    "dates that Python cannot hold": ("parquet", _odd_dates),
    "a column twice": ("parquet", _twice),
    "an empty Parquet file": ("parquet", _empty),
    "a Parquet file that breaks off": ("parquet", _cut_off),
    "an empty .gz": ("jsonl.gz", _empty),
    "1 GB of blank lines in .zst": ("jsonl.zst", _members(zstd.compress, b"\n", 1 << 24, 64)),
    "1 GB of blank lines in .gz": ("jsonl.gz", _members(gzip.compress, b"\n", 1 << 24, 64)),
    "256 MB of blank lines in .bz2": ("jsonl.bz2", _members(bz2.compress, b" \r\n", 1 << 22, 21)),
    "40 GB of blank lines in .zst": ("jsonl.zst", _members(zstd.compress, b"\n", 1 << 28, 160)),
    "40 GB of blanks in .zst": ("jsonl.zst", _members(zstd.compress, b" ", 1 << 28, 160)),
    "40 GB of blank lines in .bz2": ("jsonl.bz2", _members(bz2.compress, b"\n", 1 << 24, 2560)),
    "40 GB of one line in .zst": ("jsonl.zst", _members(zstd.compress, b"x", 1 << 28, 160)),
    "a line of 1 GB in .zst": ("jsonl.zst", _members(zstd.compress, b"x", 1 << 24, 64)),
    "a line of 256 MB in .bz2": ("jsonl.bz2", _members(bz2.compress, b"x", 1 << 24, 16)),
    "a line of 1 GB of spaces in .gz": ("jsonl.gz", _members(gzip.compress, b" ", 1 << 24, 64)),
    "100,000 empty members of .gz": ("jsonl.gz", _members(gzip.compress, b"", 1, 100_000)),
    "a record of 16 MB of brackets": ("jsonl", lambda path: path.write_bytes((b"[" * ((16 << 20) - 1) + b"\n") * 4)),
    "a record of 16 MB of keys": (
        "jsonl",
        lambda path: path.write_bytes(_record(**{f"k{i}": 1 for i in range(10**6)})),
    ),
}


def check(*names: str) -> list[tuple[str, float, int, str]]:
    """Reads each file, or those of some names, in a process of its own: name, processor seconds, peak bytes, verdict.

    The verdict is `ok` and what came of the records where the cost is within the limits and the neighbour in another
    file is as it should be. Making the files takes memory of its own, so that another process does.
    """
    rows = []
    with tempfile.TemporaryDirectory(prefix="beamscore-abuse-") as folder:
        (Path(folder) / "z.jsonl").write_bytes(_line_of(BASE))
        for name, (ending, _) in FILES.items():
            if names and name not in names:
                continue
            path = Path(folder) / f"a.{ending}"
            made = _run("write", name, str(path))
            if made.returncode:
                raise RuntimeError(f"{name} cannot be made: {made.stderr[-300:]}")
            done = _run("read", str(path), str(Path(folder) / "z.jsonl"))
            path.unlink()
            if done.returncode:
                rows.append((name, 0.0, 0, f"failed: code {done.returncode}: {done.stderr[-300:]}"))
                continue
            seconds, peak, outcome = json.loads(done.stdout)
            within = seconds <= MAX_SECONDS and peak <= MAX_BYTES
            rows.append((name, seconds, peak, f"{'ok' if within else 'TOO MUCH'}: {outcome}"))
    return rows


def _run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tests.abuse.readers", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def read(path: str) -> Iterator[Any]:
    """Yields what the reader gives for a file."""
    (file,) = match_files(0, [path], "--predictions")
    do_fn = ReadPart(["ours"], {0: COLUMNS}, Limits())
    do_fn.start_bundle()
    for part in split_file(file, 1 << 30):
        provider = UnreadOfPart()
        tracker = ThreadsafeRestrictionTracker(provider.create_tracker(provider.initial_restriction(part)))
        yield from do_fn.process(part, RestrictionTrackerView(tracker))
    for windowed in do_fn.finish_bundle():
        yield windowed if isinstance(windowed, TaggedOutput) else windowed.value


def _cost(paths: list[str]) -> list[Any]:
    started, counts = _seconds(), dict[str, int]()
    for path in paths:
        held = []
        try:
            for output in read(path):
                if not isinstance(output, TaggedOutput):
                    # A local runner holds what is read until it has all of it.
                    held.append(output)
                elif output.tag == "quarantine":
                    cause = output.value.cause
                    counts[cause] = counts.get(cause, 0) + 1
        except InputProblem as problem:
            counts[problem.message.partition(": ")[2][:80]] = 1
        for _, block in held:
            last = unpack(block)
            counts["read"] = counts.get("read", 0) + len(last)
    if not held or (last[-1][0], EncodedRecord(last[-1][1]).payload) != (b"base", _line_of(BASE).strip()):
        raise AssertionError("the neighbour is not as it should be")
    counts["read"] -= 1
    return [_seconds() - started, peak_bytes(), ", ".join(f"{count} {what}" for what, count in counts.items() if count)]


def _seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def main(arguments: list[str]) -> None:
    """Writes or reads one file, as `check` asks; else runs it, for some names or all, and prints the rows."""
    if arguments[:1] == ["write"]:
        FILES[arguments[1]][1](Path(arguments[2]))
    elif arguments[:1] == ["read"]:
        print(json.dumps(_cost(arguments[1:])))
    else:
        for name, seconds, peak, verdict in check(*arguments):
            print(f"{name:40} {seconds:6.2f} s {peak / 1e6:6.0f} MB  {verdict}")


if __name__ == "__main__":
    main(sys.argv[1:])
