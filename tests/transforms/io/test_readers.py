"""The records of files of lines, CSV, TSV, Parquet and Arrow: any cut into parts, any damage, bounded memory."""

import bz2
import contextlib
import csv
import gzip
import io
import itertools
import json
import math
import random
import re
import struct
import tracemalloc
from collections.abc import Collection, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given, strategies as st

from beamscore.metrics.registry import benchmark_class
from beamscore.transforms.hashes import record_hash
from beamscore.transforms.io import files, readers
from beamscore.transforms.io.field_map import FieldMap, SideColumns, record_json
from beamscore.transforms.io.files import FilePart
from beamscore.transforms.io.readers import Line, RecordLimits, Row, read_lines, read_table
from beamscore.transforms.records import JSON, InputProblem, decode_record, with_integers, zstd
from tests.abuse.readers import FILES as ABUSES
from tests.laws import tries
from tests.transforms.samples import counted_reads, parts_of, problem_of, store

COMPRESSIONS: dict[str, Any] = {"": bytes, ".gz": gzip.compress, ".bz2": bz2.compress, ".zst": zstd.compress}
BOM = b"\xef\xbb\xbf"
HEAD = b"sample_id,text\n"
LIMIT = 1 << 20


def lines_of(path: Path, limit: int = LIMIT) -> list[Line]:
    return [line for part in parts_of(path) for line in read_lines(part, limit)]


def expected_lines(content: bytes, limit: int) -> list[tuple[int, bytes, int]]:
    """Position, text and length of lines, cut at the limit; a blank one is none, a long one keeps its end."""
    found, position = [], 0
    for raw in re.findall(rb"[^\n]*\n|[^\n]+", content):
        text = (raw if len(raw) > limit + 5 else raw.rstrip(b"\r\n")).removeprefix(b"" if position else BOM)
        if text.strip() or len(raw) > limit + 5:
            found.append((position, text[:limit], len(text)))
        position += len(raw)
    return found


# Four bytes of 0xFF would be the beginning of an Arrow stream.
CONTENTS = st.lists(
    st.sampled_from([b"a", b"bb", b"\n", b"\n", b"\r\n", b" ", b'{"x":1}', b"\xfe", BOM, b"\x00", b"\xe2\x80\xa8"]),
    max_size=40,
).map(b"".join)


@tries(200)
@given(
    CONTENTS,
    st.tuples(st.integers(1, 50), st.integers(1, 20), st.integers(1, 30)),
    st.tuples(st.sampled_from([*[""] * 4, ".GZ", ".Bz2", ".zst"]), st.integers(0, 40)),
)
@example(b"a\nb\nc\nd\n", (4, 9, 1), ("", 0))
@example(b"a" * 30 + b"\nb\n", (3, 2, 30), ("", 0))
@example(BOM + b"a\r\n" + BOM + b"b" + b" " * 9, (4, 3, 3), ("", 0))
def test_parts_of_any_size_hold_each_line_exactly_once(
    tmp_path_factory: pytest.TempPathFactory, content: bytes, sizes: tuple[int, int, int], stored: tuple[str, int]
) -> None:
    """A compressed file of one stream or two is a single part."""
    (part_size, read_size, limit), (suffix, cut) = sizes, stored
    path, compress = tmp_path_factory.getbasetemp() / f"lines.Json{suffix}", COMPRESSIONS[suffix.lower()]
    path.write_bytes(b"".join(compress(each) for each in (content[:cut], content[cut:]) if each or not content))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(files, "BYTES_PER_PART", part_size)
        patch.setattr(readers, "BYTES_PER_READ", read_size)
        parts = parts_of(path)
        found = [(part.start, line) for part in parts for line in read_lines(part, limit)]
    starts = range(0, len(content), part_size)
    cuts: list[Any] = [(at, min(at + part_size, len(content))) for at in starts]
    assert [(part.start, part.stop) for part in parts] == ([(0, None)] if suffix else cuts)
    assert [(line.position, line.text, line.length) for _, line in found] == expected_lines(content, limit)
    for start, line in found:
        # Later parts do not know line numbers.
        assert line.line == (0 if start else 1 + content[: line.position].count(b"\n"))


RECORD = '{"sample_id": "a"}'
OTHER_FORMATS = [
    *((COMPRESSIONS[each](RECORD.encode()), f"name it .jsonl{each}") for each in (".gz", ".bz2", ".zst")),
    (b"ARROW1\0\0", "Arrow; name it .arrow"),
    (b"PK\x03\x04\x14\0", "it is a zip archive; unpack it"),
    *((("\ufeff" + RECORD).encode(f"utf-{end}"), "write it as UTF-8") for end in ("16-le", "16-be", "32-le", "32-be")),
    *(
        (text.encode(), "it is a JSON array; write one object per line")
        for text in (f"[{RECORD}]", f"\ufeff[{RECORD}]\n", f"\n \r\n [ \n{RECORD}\n]", f"[ {RECORD},\n{RECORD}]")
    ),
]


@pytest.mark.parametrize("ending", ["", ".gz"])
def test_a_file_of_another_format_is_a_problem_but_a_damaged_line_is_a_record(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"a.jsonl{ending}"
    tables = [
        (write(tmp_path / "a.parquet", TABLE).read_bytes(), "it is Parquet; name it .parquet"),
        (write(tmp_path / "a.arrow", TABLE).read_bytes(), "Arrow; name it .arrow"),
    ]
    for content, told in [*OTHER_FORMATS, *tables]:
        path.write_bytes(COMPRESSIONS[ending](content))
        problem = problem_of(lambda: lines_of(path))
        assert problem.startswith(f"{path}: cannot be read as jsonl: it is ")
        assert problem.endswith(told)
    for first in ("[1]", '["sample_id"]', "PAR", "sample_id,text", "{", "\ufeff" + RECORD):
        assert len(lines_of(store(path, [first, f"[{RECORD}]", "BZh9"]))) == 3, first


@contextlib.contextmanager
def in_bounded_memory(mebibytes: int = 8) -> Iterator[None]:
    """Checks that what runs within takes no more; what it reads takes more."""
    tracemalloc.start()
    try:
        yield
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < mebibytes << 20


def test_a_huge_line_is_cut_in_bounded_memory(tmp_path: Path) -> None:
    path, megabytes = tmp_path / "a.jsonl.gz", 16
    with gzip.open(path, "wb", compresslevel=1) as stream:
        stream.write(b"before\n" + b" " * (megabytes << 20) + b"\nafter\n")
    with in_bounded_memory():
        found = lines_of(path, limit=1000)
    assert [(line.line, line.text) for line in found] == [(1, b"before"), (2, b" " * 1000), (3, b"after")]


def test_a_part_inside_a_huge_line_reads_no_further(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = store(tmp_path / "a.jsonl", ["x" * 10_000])
    monkeypatch.setattr(readers, "BYTES_PER_READ", 100)
    (part,) = parts_of(path)
    with counted_reads() as sizes:
        assert list(read_lines(FilePart(part.file, 1000, 2000), LIMIT)) == []
    assert sum(sizes) <= 1000 + 200


@pytest.mark.parametrize("suffix", COMPRESSIONS)
def test_a_file_that_is_damaged_or_gone_is_a_problem_of_the_input(tmp_path: Path, suffix: str) -> None:
    """It was cut off at any place, a byte is another, or it is not compressed at all."""
    path = tmp_path / f"a.jsonl{suffix}"
    whole = COMPRESSIONS[suffix](b"".join(b"%d\n" % (i * i) for i in range(5000)))
    path.write_bytes(whole)
    assert len(lines_of(path)) == 5000
    middle = len(whole) // 2
    damaged = [*(whole[:stop] for stop in (len(whole) - 1, len(whole) - 9, middle, 5, 0)), b'{"sample_id": "a"}\n' * 10]
    flipped = whole[:middle] + bytes([whole[middle] ^ 0xFF]) + whole[middle + 1 :]
    # Files of several streams, of which the second is damaged in its head, or none.
    later = whole + bytes([whole[0] ^ 0xFF]) + whole[1:], whole + b'{"sample_id": "a"}\n', whole + whole[:-9]
    path.write_bytes(whole + whole)
    assert len(lines_of(path)) == 10_000
    for content in [*damaged, flipped, *later] if suffix else []:
        path.write_bytes(content)
        assert problem_of(lambda: lines_of(path)).startswith(f"{path}: cannot be read as jsonl: ")
    (part,) = parts_of(path)
    path.unlink()
    assert problem_of(lambda: list(read_lines(part, LIMIT))).startswith(f"{path}: cannot be read as jsonl: ")


# Where records of CSV and TSV end, and what they hold.


def read(path: Path, content: bytes, limit: int = 1000, wanted: set[str] | None = None, texts: Any = None) -> list[Row]:
    path.write_bytes(content)
    (part,) = parts_of(path, size=1)
    names = None if wanted is None else frozenset(wanted)
    columns = SideColumns(names, frozenset({"words"}), texts={"text": True} if texts is None else texts)
    return list(readers.read_delimited(part, columns, RecordLimits(limit, 5)))


def records(rows: list[Row]) -> list[Any]:
    assert [row.error for row in rows] == [None] * len(rows)
    return [msgspec.msgpack.decode(row.payload) for row in rows]


@given(st.text('a,"\n\u00e9', max_size=30))
def test_records_are_those_of_python(text: str) -> None:
    content, found, expected, problem = text.encode(), list[Any](), list[list[str]](), ""
    try:
        expected += filter(None, csv.reader(io.StringIO(text, newline=""), strict=True))
    except csv.Error as error:
        problem = str(error)
    is_open = "unexpected end" in problem
    with pytest.raises(ValueError, match="is not closed") if is_open else contextlib.suppress(ValueError):
        found += readers.read_records(io.BytesIO(content), ",", 1000)
    if is_open:
        return
    # Where a record has a problem Python stops.
    assert [each.fields for each in itertools.takewhile(lambda each: not each.problem, found)] == expected
    assert next((each.problem for each in found if each.problem), "") == problem
    for each in found:
        before, rest = content[: each.position], content[each.position :].removeprefix(each.text)
        assert (before + each.text + rest, each.line) == (content, 1 + before.count(b"\n"))
        assert (rest[:1], before[-1:]) in {(end, start) for end in (b"", b"\n") for start in (b"", b"\n")}


@pytest.mark.parametrize("line", [b"x,y" * 30 + b"\n", b'x,""y""' * 20 + b"\n", b"x" * 1000])
def test_a_quote_or_a_line_without_end_takes_no_memory_and_ends_the_run(tmp_path: Path, line: bytes) -> None:
    content = HEAD + b'a,"x\n' + line * ((12 << 20) // len(line))
    with in_bounded_memory():
        problem = problem_of(lambda: read(tmp_path / "a.csv", content))
    said = "the record in line 2 is longer than 2000 bytes, 2 times the 1000 of limits.record_bytes"
    assert problem == f"{tmp_path}/a.csv: cannot be read as csv: {said}; its quote may not be closed"


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        # Values are text, but of fields that never are.
        (
            b'sample_id,text,words,n\n007,,"[""a"", 1]",1\n, x ,,null\n',
            [("007", {"text": "", "words": ["a", 1], "n": "1"}), ("", {"text": " x ", "n": "null"})],
        ),
        # A text that every record must have is empty text; any other column has no value.
        (b"sample_id,text,kind\na,,\nb,x,y\n", [("a", {"text": ""}), ("b", {"text": "x", "kind": "y"})]),
        # Of texts of which a record has one, the empty ones have no value.
        (
            b"sample_id,latex,dialect,document\na,x,,\nb,,nougat,y\n",
            [("a", {"latex": "x"}), ("b", {"dialect": "nougat", "document": "y"})],
        ),
        # A system that read nothing answers with empty text, in its first field, whatever the order in the file.
        (b"sample_id,dialect,latex,kind\na,,,k\n", [("a", {"latex": "", "kind": "k"})]),
        # A field that is never text counts as one.
        (b'sample_id,latex,words\na,,"[""a""]"\nb,,\n', [("a", {"words": ["a"]}), ("b", {"latex": ""})]),
        # Without any field of the benchmark there is none.
        (b"sample_id,kind\na,\n", [("a", {})]),
        (HEAD, []),
        (b"", []),
    ],
)
def test_what_the_values_of_a_row_are(tmp_path: Path, content: bytes, expected: list[tuple[str, Any]]) -> None:
    texts = {"text": True, "latex": False, "document": False, "dialect": False}
    for ending, compress in COMPRESSIONS.items():
        rows = read(tmp_path / f"a.csv{ending}", compress(content), texts=texts)
        assert [(row.sample_id, row.error, msgspec.msgpack.decode(row.payload)) for row in rows] == [
            (name, None, {"sample_id": name, **values}) for name, values in expected
        ]


def test_a_mark_blank_lines_a_missing_line_end_a_long_value_and_a_column_that_nobody_wants(tmp_path: Path) -> None:
    content = BOM + b'text,more,sample_id\r\n\r\n"1\r\n\r\n2",,a\r\n\n%s,1,b' % (b"x" * 300_000)
    rows = read(tmp_path / "a.csv", content, 1 << 20, {"text"})
    assert records(rows) == [{"text": "1\r\n\r\n2", "sample_id": "a"}, {"text": "x" * 300_000, "sample_id": "b"}]
    # The mark 3, the names 21, a blank line 2; then a record of 3 lines and 13 bytes, and another blank line.
    assert [(row.number, row.line) for row in rows] == [(26, 3), (40, 7)]


def test_a_record_that_makes_none_is_told_with_its_line_and_the_others_are_read(tmp_path: Path) -> None:
    for line, said in {
        b"a": "the record has 1 fields, but the first line names 2 columns",
        b'a,"b"c': "',' expected after '\"'",
        b"a,\xff": "this is not UTF-8, at byte 2 of the record",
        b"a,x\ry": "a value has a line end (CR) without quotes; quote it, or write the file as JSONL",
        b'a,"x\ny",c': "the record has 3 fields, but the first line names 2 columns",
        b"b," + b"y" * 998: "the record has 1000 bytes, more than the 500 of limits.record_bytes",
        b'a,"' + b'""x\n' * 200 + b'"': "the record has 804 bytes, more than the 500 of limits.record_bytes",
    }.items():
        cause = "too_large" if "limits" in said else "unreadable"
        for end in (b"\n", b"\r\n"):
            before, bad, after = read(tmp_path / "a.csv", HEAD + b"b,1\n" + line + end + b"c,2" + end, limit=500)
            assert (bad.error, bad.cause, bad.line, bad.number) == (said, cause, 3, len(HEAD) + 4)
            assert (bad.payload, bad.encoding) == (line, JSON)
            assert records([before, after]) == [{"sample_id": "b", "text": "1"}, {"sample_id": "c", "text": "2"}]
            assert after.line == 4 + line.count(b"\n")
    (bad,) = read(tmp_path / "a.csv", b"sample_id,words\na,[\n")
    assert (bad.sample_id, bad.line, bad.payload) == ("a", 2, b"a,[")


def test_a_first_line_that_names_no_columns_ends_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readers, "MAX_HEADER_BYTES", 4000)
    for content, said in {
        b"id,text\na,b\n": ".csv:1: there is no column sample_id, only id, text",
        b"sample_id,text,text\n": "a.csv:1: two columns are called 'text'; rename one",
        b'sample_id,"text\n': "a.csv: cannot be read as csv: the quote that opens in line 1 is not closed",
        b"sample_id,text\ra,x\r": "a.csv:1: the names of the columns: a CR is not in quotes; write LF at the end of",
        b"sample_id,text\r" * 300: "the record in line 1 is longer than 4000 bytes; lines end with LF, not with CR",
        b'sample_id,"text"x\n': "a.csv:1: the names of the columns: ',' expected after",
        "sample_id,text\n".encode("utf-16"): "a.csv:1: the names of the columns: this is not UTF-8, at byte 0 ",
        b"\x1f\x8b\x08\x00": "a.csv:1: ",
        b"x" * 3999 + b"\r" * 3: "the record in line 1 is longer than 4000 bytes\n",
        ",".join(map(str, range(22))).encode(): f"sample_id, only {', '.join(map(str, range(20)))} and 2 more",
    }.items():
        assert said in problem_of(read, tmp_path / "a.csv", content) + "\n"
    (tmp_path / "a.csv").write_bytes(b"")
    assert readers.header_of(parts_of(tmp_path / "a.csv", size=1)[0].file, FieldMap()) == []


# The rows of Parquet and Arrow files as records.

RECORDS = [
    {"sample_id": f"s{index}", "text": "x" * index, "words": ["a", "b"][: index % 3], "inner": {"n": index}}
    for index in range(150)
]
TABLE = pa.Table.from_pylist(RECORDS)
BOTH = pytest.mark.parametrize("ending", ["parquet", "arrow"])


def write(path: Path, table: Any, rows: int = 7, **options: Any) -> Path:
    """Writes a table in row groups, or batches, of so many rows."""
    if path.suffix == ".parquet":
        try:
            pq.write_table(table, path, row_group_size=rows, **options)
        except pa.ArrowNotImplementedError as error:
            pytest.skip(f"pyarrow {pa.__version__}: {error}")
    else:
        with pa.ipc.new_stream(path, table.schema) as writer:
            writer.write_table(table, max_chunksize=rows)
    return path


def rows_of(path: Path, columns: Collection[str] | None = None, structured: Collection[str] = ()) -> list[Row]:
    side = SideColumns(None if columns is None else frozenset(columns), frozenset(structured))
    return [row for part in parts_of(path) for row in read_table(part, side, RecordLimits())]


def records_of(path: Path, columns: Collection[str] | None = None, structured: Collection[str] = ()) -> list[Any]:
    return records(rows_of(path, columns, structured))


@pytest.mark.parametrize("compression", [None, "lz4", "zstd"])
@pytest.mark.parametrize("new", [pa.ipc.new_stream, pa.ipc.new_file])
def test_the_rows_are_those_of_the_batches(tmp_path: Path, new: Any, compression: str | None) -> None:
    with new(tmp_path / "a.arrow", TABLE.schema, options=pa.ipc.IpcWriteOptions(compression=compression)) as writer:
        writer.write_table(TABLE, max_chunksize=7)
    assert records_of(tmp_path / "a.arrow") == RECORDS


@BOTH
@pytest.mark.parametrize("name", ["chart", "chemistry", "figure_text", "formula", "traffic_rules"])
def test_equal_records_have_equal_hashes_in_all_formats(tmp_path: Path, name: str, ending: str) -> None:
    """A nested column has null for a member that others have, and one of floats 7.0 for 7."""
    benchmark = benchmark_class(name)
    for side, kind in (("ground_truth", benchmark.truth_type), ("predictions", benchmark.prediction_type)):
        kept, found = list[Any](), list[Any]()
        for line in (Path(__file__).parents[2] / f"corpora/{name}/{side}.jsonl").read_bytes().splitlines():
            # Of charts, a column cannot mix labels with numbers, nor lists of points with objects.
            with contextlib.suppress(pa.ArrowInvalid):
                record = json.loads(line)
                pa.array([*kept, record])
                kept.append(record)
        for corpus in (with_integers(kept), json.loads(json.dumps(kept), parse_int=float)):
            columns = {column: [each.get(column) for each in corpus] for column in set().union(*corpus)}
            rows = rows_of(write(tmp_path / f"{side}.{ending}", pa.table(columns)))
            texts = [msgspec.json.encode(each) for each in corpus], list(map(record_json, corpus))
            found += [decode_record(row.payload, kind, row.encoding) for row in rows]
            found += [decode_record(text, kind) for text in itertools.chain(*texts)]
        hashes = list(map(record_hash, found))
        assert (hashes, None in hashes, len({*hashes}) > 10) == (hashes[: len(kept)] * 6, False, True)


def test_a_number_that_csv_has_as_text_has_the_hash_of_the_text() -> None:
    kind = benchmark_class("figure_text").truth_type
    assert len({record_hash(kind(article=each)) for each in (7, "7")}) == 1


MAP = pa.array([[("k", 0), ("l", 2), ("k", 1)], [], None], pa.map_(pa.string(), pa.int64()))
JSON_TYPE = pa.ExtensionArray.from_storage(pa.json_(pa.string()), pa.array(['{"x": 1}', "null", None], pa.string()))
EPOCH = "1970-01-01T00:00:00"
JSON_TEXT = ['{"a": [1, 2]}', None, "[]"]
TEXT_TYPES = [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string())]


@BOTH
@pytest.mark.parametrize(
    ("column", "values"),
    [
        # A null is left out, a nested column is kept.
        (pa.array([{"x": 1, "y": 2.5}, None, {"x": None, "y": 0.0}]), [{"x": 1, "y": 2.5}, None, {"x": None, "y": 0}]),
        (pa.array([{"w": 1, "tags": ["é", ""]}] * 3), [{"w": 1, "tags": ["é", ""]}] * 3),
        (pa.array([True, None, False]), [True, None, False]),
        # The float32 nearest to 0.1; numbers keep their values, and NaN is null.
        (pa.array([0.1, math.nan, -math.inf], pa.float32()), [0.10000000149011612, None, -math.inf]),
        (pa.array([2**63 - 1, -(2**63), 0]), [2**63 - 1, -(2**63), 0]),
        # Of equal keys of a map the last counts.
        (MAP, [{"k": 1, "l": 2}, {}, None]),
        (pa.array([["a"]] * 3, pa.large_list(pa.string())), [["a"]] * 3),
        # Times are the text that JSON has, whatever their unit; so are the keys of maps.
        (pa.array([0, 1500, None], pa.timestamp("ns")), [EPOCH, f"{EPOCH}.000001500", None]),
        (pa.array([0, 1, None], pa.timestamp("us")), [EPOCH, f"{EPOCH}.000001", None]),
        (pa.array([{"t": 0}] * 3, pa.struct([("t", pa.timestamp("ns", "UTC"))])), [{"t": f"{EPOCH}Z"}] * 3),
        (pa.array([0] * 3, pa.timestamp("us", "Europe/Berlin")), ["1970-01-01T01:00:00+01:00"] * 3),
        *((pa.array([each] * 3, pa.duration(unit)), ["PT0.000005S"] * 3) for unit, each in (("ns", 5000), ("us", 5))),
        (pa.array([[(1, 2)], [], None], pa.map_(pa.int64(), pa.int64())), [{"1": 2}, {}, None]),
        # A decimal is the float of the same text, or an integer if it has no decimal places.
        (pa.array([[{"d": Decimal("0.1")}], [{"d": Decimal("40.0")}], None]), [[{"d": 0.1}], [{"d": 40}], None]),
        (pa.array([Decimal(2**62 + 1)] * 3, pa.decimal256(76, 0)).dictionary_encode(), [2**62 + 1] * 3),
        # Parquet's own JSON is JSON in any column; text is that in a column that never holds text.
        (JSON_TYPE, [{"x": 1}, None, None]),
        *((pa.array(JSON_TEXT, kind), JSON_TEXT) for kind in TEXT_TYPES),
    ],
)
def test_values_are_those_of_json_and_a_null_is_left_out(tmp_path: Path, ending: str, column: Any, values: Any) -> None:
    path = write(tmp_path / f"a.{ending}", pa.table({"sample_id": list("abc"), "x": column, "unwanted": [b"y"] * 3}))
    expected = [{"sample_id": each} | ({} if x is None else {"x": x}) for each, x in zip("abc", values, strict=True)]
    assert records_of(path, {"x", "absent"}) == expected
    assert records_of(path, ()) == [{"sample_id": each} for each in "abc"]
    if values is JSON_TEXT:
        assert [record.get("x") for record in records_of(path, {"x"}, {"x"})] == [{"a": [1, 2]}, None, []]


@BOTH
def test_an_id_and_a_number_of_any_size_in_json_are_read(tmp_path: Path, ending: str) -> None:
    ids, long = [pa.array(texts).cast(pa.json_()) for texts in (['"a"', "7"], [f"[{2**64}]", "[1e999]"])]
    first, second = rows_of(write(tmp_path / f"a.{ending}", pa.table({"sample_id": ids, "x": long})))
    assert (first.sample_id, first.encoding, msgspec.json.decode(first.payload)["x"]) == ("a", JSON, [2**64])
    assert records([second]) == [{"sample_id": "7", "x": [math.inf]}]
    (row,) = rows_of(write(tmp_path / f"a.{ending}", pa.table({"sample_id": [Decimal(7)]})))
    assert row.sample_id == "7"
    (row,) = rows_of(write(tmp_path / f"a.{ending}", pa.table({"sample_id": ["a"], "x": long[:1], "y": [math.inf]})))
    assert (row.sample_id, row.error) == ("a", "field y: NaN and Infinity are not JSON")


def test_a_value_that_python_does_not_have_rejects_its_row_alone(tmp_path: Path) -> None:
    for column, error in (
        (pa.array([b"good", b"\xff\xfe", b"fine"], pa.binary()).view(pa.string()), "'utf-8' codec can't decode byte"),
        (pa.array([0, 2**60, 1], pa.timestamp("ms")), ""),
    ):
        first, bad, last = rows_of(write(tmp_path / "a.parquet", pa.table({"sample_id": list("abc"), "x": column})))
        assert (first.sample_id, first.error, last.sample_id, last.error) == ("a", None, "c", None)
        assert (bad.number, bad.sample_id, bad.payload) == (1, None, b"\xc0")
        assert str(bad.error).startswith(error)


@BOTH
def test_a_column_of_the_id_that_is_missing_or_there_twice_ends_the_run(tmp_path: Path, ending: str) -> None:
    path = write(tmp_path / f"a.{ending}", pa.table({"id": ["a"], "text": ["t"]}))
    assert problem_of(lambda: rows_of(path, {"text"})) == f"{path}: there is no column sample_id, only id, text"
    write(path, pa.Table.from_arrays([pa.array(["a"])] * 3, ["sample_id", "text", "text"]))
    assert problem_of(lambda: rows_of(path, {"text"})) == f"{path}: two columns are called 'text'; rename one"


def test_a_small_file_of_many_equal_texts_is_read_a_few_rows_at_a_time(tmp_path: Path) -> None:
    """A legal file: many rows of one prediction of 30 kB take some kB, and 30 MB as records."""
    few = pa.DictionaryArray.from_arrays(pa.array(np.zeros(1000, np.int32)), pa.array(["x" * 30_000]))
    for texts in (few, pa.array(["x" * 1_000_000] * 30)):
        table = pa.table({"sample_id": np.arange(len(texts)), "text": texts})
        (part,) = parts_of(write(tmp_path / "a.parquet", table, len(texts)))
        with in_bounded_memory(12):
            assert sum(1 for _ in read_table(part, SideColumns(None), RecordLimits())) == len(texts)


@BOTH
def test_a_damaged_file_gives_rows_or_a_problem_and_never_ends_the_process(tmp_path: Path, ending: str) -> None:
    """A damaged length may ask for more memory than there is. What was cut off anywhere is no shorter file."""
    path = write(tmp_path / f"a.{ending}", TABLE.slice(0, 8).select(["sample_id", "text"]), 5)
    content, numbers, problems = path.read_bytes(), random.Random(7), 0
    for _ in range(200):
        damaged = bytearray(content)
        for _ in range(numbers.randint(1, 4)):
            at = numbers.randrange(len(damaged))
            length = struct.pack("<i", numbers.choice([-1, 0, 1 << 30, -(1 << 31)]))
            damaged[at : at + 4] = numbers.choice([bytes([numbers.randrange(256)]), length])
        path.write_bytes(damaged)
        with contextlib.suppress(InputProblem, MemoryError):
            rows_of(path)
            continue
        problems += 1
    assert problems > 40
    # Messages of Arrow end at multiples of 8.
    for size in [*range(0, len(content), 8), *range(1, len(content), 97)]:
        path.write_bytes(content[:size])
        assert problem_of(rows_of, path).startswith(f"{path}: cannot be read as {ending}: ")


def test_what_cannot_be_unpacked_or_does_not_match_its_checksum_is_a_problem(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    options: Any = {"compression": "none", "use_dictionary": False, "write_statistics": False}
    write(path, pa.table({"sample_id": ["abc"]}), write_page_checksum=True, **options)
    assert rows_of(path)[0].sample_id == "abc"
    path.write_bytes(path.read_bytes().replace(b"abc", b"abd"))
    assert "CRC checksum" in problem_of(rows_of, path)
    for name, problem in {
        "an encrypted file": "Could not read encrypted metadata, no decryption found in reader",
        "an encrypted column": "Cannot decrypt ColumnMetadata",
        "a codec that nobody has built in": "LZO compression",
        "a codec that does not exist": "",
    }.items():
        ABUSES[name][1](path)
        found = problem_of(rows_of, path)
        assert found.startswith(f"{path}: cannot be read as parquet: ")
        assert problem in found
