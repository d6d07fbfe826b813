"""CSV and TSV: where records end, what they hold, and what a damaged file gives."""

from __future__ import annotations

import contextlib
import csv
import io
import re
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from beamscore.transforms.io.field_map import SideColumns
from beamscore.transforms.io.readers import RecordLimits, Row, header_of, read_delimited, read_records
from tests.transforms.samples import parts_of, problem_of

HEAD = b"sample_id,text\n"


def read(path: Path, content: bytes, limit: int = 1000, wanted: set[str] | None = None, texts: Any = None) -> list[Row]:
    path.write_bytes(content)
    (part,) = parts_of(path, size=1)
    names = None if wanted is None else frozenset(wanted)
    columns = SideColumns(names, frozenset({"words"}), texts={"text": True} if texts is None else texts)
    return list(read_delimited(part, columns, RecordLimits(limit, 5)))


def records(rows: list[Row]) -> list[Any]:
    assert [row.error for row in rows] == [None] * len(rows)
    return [msgspec.msgpack.decode(row.payload) for row in rows]


@given(st.text('a,"\n\u00e9', max_size=30))
def test_records_are_those_of_python(text: str) -> None:
    given_lines = io.StringIO(text, newline="").readlines()
    taken = 0

    def lines() -> Iterator[str]:
        nonlocal taken
        for line in given_lines:
            taken += 1
            yield line

    expected: list[Any] = []
    parser, is_open = csv.reader(lines(), strict=True), False
    while not is_open:
        start, fields, problem = taken, None, ""
        try:
            fields = next(parser, [])
        except csv.Error as error:
            is_open, problem = "unexpected end" in str(error), str(error)
        if taken == start:
            break
        if fields != [] and not is_open:
            raw = "".join(given_lines[start:taken]).encode().removesuffix(b"\n")
            expected.append((start + 1, raw, fields or [], problem))
    found = []
    with pytest.raises(ValueError, match="is not closed") if is_open else contextlib.nullcontext():
        for each in read_records(io.BytesIO(text.encode()), ",", 1000):
            found.append((each.line, each.text, each.fields, each.problem))
            assert text.encode()[each.position :].startswith(each.text)
    assert found == expected


@pytest.mark.parametrize("line", [b"x,y" * 30 + b"\n", b'x,""y""' * 20 + b"\n", b"x" * 1000])
def test_a_quote_or_a_line_without_end_takes_no_memory_and_ends_the_run(tmp_path: Path, line: bytes) -> None:
    content = HEAD + b'a,"x\n' + line * ((12 << 20) // len(line))
    csv.field_size_limit(1 << 17)
    tracemalloc.start()
    problem = problem_of(lambda: read(tmp_path / "a.csv", content))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    said = "line 3 is longer than 2000 bytes" if b"\n" not in line else "the quote that opens in line 2 is not closed"
    assert problem == f"{tmp_path}/a.csv: cannot be read as csv: {said}"
    assert peak < 8 << 20


@given(
    rows=st.lists(st.tuples(st.text("ab,\t \"'\r\n\u00e9\U0001f600", max_size=8), st.text(max_size=8)), max_size=8),
    quoting=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC]),
    line_end=st.sampled_from(["\n", "\r\n"]),
    ending=st.sampled_from(["csv", "tsv"]),
)
def test_what_python_writes_comes_back(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str]], quoting: Any, line_end: str, ending: str
) -> None:
    # Older versions of Python cannot read a NUL, and leave a carriage return without quotes.
    rows = [(re.sub(r"[\0\r]", "", first), re.sub(r"[\0\r]", "", second)) for first, second in rows]
    text, delimiter = io.StringIO(), {"csv": ",", "tsv": "\t"}[ending]
    csv.writer(text, delimiter=delimiter, quoting=quoting, lineterminator=line_end).writerows(
        [("sample_id", "text"), *rows]
    )
    content = text.getvalue().encode("utf-8", "replace")
    found = records(read(tmp_path_factory.mktemp("csv") / f"a.{ending}", content))
    (_, *expected) = csv.reader(io.StringIO(content.decode(), newline=""), delimiter=delimiter)
    assert [[each["sample_id"], each["text"]] for each in found] == expected


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        # Values are text, but of fields that never are.
        (
            b'sample_id,text,words,n\n007,,"[""a"", 1]",1\nb, x ,,null\n',
            [{"text": "", "words": ["a", 1], "n": "1"}, {"text": " x ", "n": "null"}],
        ),
        # A text that every record must have is empty text; any other column has no value.
        (b"sample_id,text,kind\na,,\nb,x,y\n", [{"text": ""}, {"text": "x", "kind": "y"}]),
        # Of texts of which a record has one, the empty ones have no value.
        (
            b"sample_id,latex,dialect,document\na,x,,\nb,,nougat,y\n",
            [{"latex": "x"}, {"dialect": "nougat", "document": "y"}],
        ),
        # A system that read nothing answers with empty text, in its first field, whatever the order in the file.
        (b"sample_id,dialect,latex,kind\na,,,k\n", [{"latex": "", "kind": "k"}]),
        # A field that is never text counts as one.
        (b'sample_id,latex,words\na,,"[""a""]"\nb,,\n', [{"words": ["a"]}, {"latex": ""}]),
        # Without any field of the benchmark there is none.
        (b"sample_id,kind\na,\n", [{}]),
        # A mark, blank lines, and a missing line end.
        (
            b'\xef\xbb\xbfsample_id,text\r\n\r\na,x\r\n\n"b","1\r\n\r\n2"\r\nc,y',
            [{"text": "x"}, {"text": "1\r\n\r\n2"}, {"text": "y"}],
        ),
        (HEAD, []),
        (b"", []),
    ],
)
def test_what_the_values_of_a_row_are(tmp_path: Path, content: bytes, expected: list[dict[str, Any]]) -> None:
    texts = {"text": True, "latex": False, "document": False, "dialect": False}
    found = records(read(tmp_path / "a.csv", content, texts=texts))
    assert [{name: value for name, value in each.items() if name != "sample_id"} for each in found] == expected


def test_an_empty_id_a_long_value_and_a_column_that_nobody_wants(tmp_path: Path) -> None:
    (row,) = read(tmp_path / "a.csv", HEAD + b",x\n")
    assert row.sample_id == ""
    found = read(tmp_path / "a.csv", b"more,sample_id,text\n1,a," + b"x" * 300_000, 1 << 20, {"text"})
    assert records(found) == [{"sample_id": "a", "text": "x" * 300_000}]
    assert [row.line for row in read(tmp_path / "a.csv", HEAD + b'\na,x\n"b","1\n\n2"\nc,y')] == [3, 4, 7]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (b"a", "the record has 1 fields, but the first line names 2 columns"),
        (b'a,"b"c', "',' expected after '\"'"),
        (b"a,\xff", "this is not UTF-8, at byte 2 of the record"),
        (b'a,"x\ny",c', "the record has 3 fields, but the first line names 2 columns"),
    ],
)
def test_a_record_that_makes_none_is_told_with_its_line_and_the_others_are_read(
    tmp_path: Path, line: bytes, said: str
) -> None:
    before, bad, after = read(tmp_path / "a.csv", HEAD + b"b,1\n" + line + b"\nc,2\n")
    assert (bad.error, bad.cause, bad.line) == (said, "unreadable", 3)
    assert msgspec.msgpack.decode(bad.payload) == line.decode("utf-8", "replace")
    assert records([before, after]) == [{"sample_id": "b", "text": "1"}, {"sample_id": "c", "text": "2"}]


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_a_long_record_is_rejected_and_reading_goes_on_behind_it(tmp_path: Path, end: bytes) -> None:
    content = HEAD + b'a,"' + b'""x\n' * 500 + b'"\n' + b"b," + b"y" * 990 + end + b"c,z" + end
    first, second, good = read(tmp_path / "a.csv", content, limit=500)
    assert [first.cause, second.cause] == ["too_large"] * 2
    assert second.error == "the record has 992 bytes, more than the 500 of limits.record_bytes"
    assert (records([good]), good.line) == ([{"sample_id": "c", "text": "z"}], 504)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (
            b"id,text\na,b\n",
            ".csv:1: there is no column sample_id, only id, text",
        ),
        (b"sample_id,text,text\n", "a.csv:1: two columns are called 'text'; rename one"),
        (b'sample_id,"text\n', "a.csv: cannot be read as csv: the quote that opens in line 1 is not closed"),
        (b'sample_id,"text"x\n', "a.csv:1: the names of the columns: ',' expected after"),
        ("sample_id,text\n".encode("utf-16"), "a.csv:1: the names of the columns: this is not UTF-8, at byte 0 "),
        (b"\x1f\x8b\x08\x00", "a.csv:1: "),
        (b"x" * 5000, "line 1 is longer than 4000 bytes"),
    ],
)
def test_a_first_line_that_names_no_columns_ends_the_run(
    tmp_path: Path, content: bytes, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("beamscore.transforms.io.readers.MAX_HEADER_BYTES", 4000)
    assert said in problem_of(lambda: read(tmp_path / "a.csv", content))
    (tmp_path / "a.csv").write_bytes(b"")
    assert header_of(parts_of(tmp_path / "a.csv", size=1)[0].file) == []
