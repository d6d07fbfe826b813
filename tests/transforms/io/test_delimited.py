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
from beamscore.transforms.io.files import match_files, split_file
from beamscore.transforms.io.readers import RecordLimits, Row, header_of, read_delimited, read_records
from beamscore.transforms.records import InputProblem

HEAD = b"sample_id,text\n"


def read(
    path: Path,
    content: bytes,
    limit: int = 1000,
    wanted: set[str] | None = None,
    texts: dict[str, bool] | None = None,
) -> list[Row]:
    path.write_bytes(content)
    (file,) = match_files(0, [str(path)], "--x")
    (part,) = split_file(file, 1)
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
            expected.append((start + 1, taken - start, raw, fields or [], problem))
    found = []
    with pytest.raises(ValueError, match="is not closed") if is_open else contextlib.nullcontext():
        for each in read_records(io.BytesIO(text.encode()), ",", 1000):
            found.append((each.line, each.lines, each.text, each.fields, each.problem))
            assert text.encode()[each.position :].startswith(each.text)
    assert found == expected


@pytest.mark.parametrize("line", [b"x,y\n", b'x,""y""\n', b"x" * 1000])
def test_a_quote_or_a_line_without_end_takes_no_memory_and_ends_the_run_in_one_line(
    tmp_path: Path, line: bytes
) -> None:
    content = HEAD + b'a,"x\n' + line * ((24 << 20) // len(line))
    csv.field_size_limit(1 << 17)
    tracemalloc.start()
    with pytest.raises(InputProblem) as problem:
        read(tmp_path / "a.csv", content)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    said = "line 3 is longer than 2000 bytes" if b"\n" not in line else "the quote that opens in line 2 is not closed"
    assert problem.value.message == f"{tmp_path}/a.csv: cannot be read as csv: {said}"
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
    text = io.StringIO()
    writer = csv.writer(text, delimiter={"csv": ",", "tsv": "\t"}[ending], quoting=quoting, lineterminator=line_end)
    writer.writerow(["sample_id", "text"])
    writer.writerows(rows)
    content = text.getvalue().encode("utf-8", "replace")
    found = read(tmp_path_factory.mktemp("csv") / f"a.{ending}", content)
    expected = [
        {"sample_id": first, "text": second}
        for first, second in csv.reader(io.StringIO(content.decode(), newline=""), delimiter=writer.dialect.delimiter)
    ]
    assert records(found) == expected[1:]


def test_values_are_text_but_of_fields_that_never_are(tmp_path: Path) -> None:
    content = b'sample_id,text,words,n\n007,,"[""a"", 1]",1\nb, x ,,null\n'
    assert records(read(tmp_path / "a.csv", content)) == [
        {"sample_id": "007", "text": "", "words": ["a", 1], "n": "1"},
        {"sample_id": "b", "text": " x ", "n": "null"},
    ]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        # A text that every record must have is empty text; any other column has no value.
        (b"sample_id,text,kind\na,,\nb,x,y\n", [{"text": ""}, {"text": "x", "kind": "y"}]),
        # Of texts of which a record has one, the empty ones have no value.
        (
            b"sample_id,latex,dialect,document\na,x,,\nb,,nougat,y\n",
            [{"latex": "x"}, {"dialect": "nougat", "document": "y"}],
        ),
        # A system that read nothing answers with empty text, in its first field, whatever the order in the file.
        (b"sample_id,latex\na,\n", [{"latex": ""}]),
        (b"sample_id,dialect,latex,kind\na,,,k\n", [{"latex": "", "kind": "k"}]),
        (b"sample_id,document\na,\n", [{"document": ""}]),
        # A field that is never text counts as one.
        (b'sample_id,latex,words\na,,"[""a""]"\nb,,\n', [{"words": ["a"]}, {"latex": ""}]),
        # Without any field of the benchmark there is none.
        (b"sample_id,kind\na,\n", [{}]),
    ],
)
def test_an_empty_value_is_absent_but_for_text_that_a_record_must_have(
    tmp_path: Path, content: bytes, expected: list[dict[str, Any]]
) -> None:
    texts = {"text": True, "latex": False, "document": False, "dialect": False}
    found = records(read(tmp_path / "a.csv", content, texts=texts))
    assert [{name: value for name, value in record.items() if name != "sample_id"} for record in found] == expected


def test_an_empty_sample_id_stays_what_it_is(tmp_path: Path) -> None:
    (row,) = read(tmp_path / "a.csv", HEAD + b",x\n")
    assert row.sample_id == ""


def test_columns_that_nobody_wants_are_left_out(tmp_path: Path) -> None:
    found = read(tmp_path / "a.csv", b"more,sample_id,text\n1,a,x\n", wanted={"text"})
    assert records(found) == [{"sample_id": "a", "text": "x"}]


def test_marks_blank_lines_and_a_missing_line_end(tmp_path: Path) -> None:
    content = b"\xef\xbb\xbf" + HEAD.replace(b"\n", b"\r\n") + b'\r\na,x\r\n\n"b","1\r\n\r\n2"\r\nc,y'
    found = read(tmp_path / "a.csv", content)
    assert records(found) == [
        {"sample_id": "a", "text": "x"},
        {"sample_id": "b", "text": "1\r\n\r\n2"},
        {"sample_id": "c", "text": "y"},
    ]
    assert [row.line for row in found] == [3, 5, 8]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (b"a", "the record has 1 fields, but the first line names 2 columns"),
        (b"a,b,c", "the record has 3 fields, but the first line names 2 columns"),
        (b'a,"b"c', "',' expected after '\"'"),
        (b"a,\xff", "this is not UTF-8, at byte 2 of the record"),
        (b'a,"x\ny",c', "the record has 3 fields, but the first line names 2 columns (lines 3 to 4)"),
    ],
)
def test_a_record_that_makes_none_is_told_with_its_line_and_the_others_are_read(
    tmp_path: Path, line: bytes, said: str
) -> None:
    before, bad, after = read(tmp_path / "a.csv", HEAD + b"b,1\n" + line + b"\nc,2\n")
    assert (bad.error, bad.cause, bad.line) == (said, "unreadable", 3)
    assert msgspec.msgpack.decode(bad.payload) == line.decode("utf-8", "replace")
    assert records([before, after]) == [{"sample_id": "b", "text": "1"}, {"sample_id": "c", "text": "2"}]


def test_a_long_record_is_rejected_and_reading_goes_on_behind_it(tmp_path: Path) -> None:
    content = HEAD + b'a,"' + b'""x\n' * 500 + b'"\n' + b"b," + b"y" * 990 + b"\nc,z\n"
    first, second, good = read(tmp_path / "a.csv", content, limit=500)
    assert [first.cause, second.cause] == ["too_large"] * 2
    assert second.error == "the record has 992 bytes, more than the 500 of limits.record_bytes"
    assert (records([good]), good.line) == ([{"sample_id": "c", "text": "z"}], 504)


def test_a_long_value_is_read_where_the_limit_allows_it(tmp_path: Path) -> None:
    (row,) = read(tmp_path / "a.csv", HEAD + b"a," + b"x" * 300_000, limit=1 << 20)
    assert len(records([row])[0]["text"]) == 300_000


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (
            b"id,text\na,b\n",
            "a.csv:1: there is no column sample_id, only id, text; the first line must name the columns",
        ),
        (b"sample_id;text\na;b\n", ", with a comma between them, not ';'"),
        (b"sample_id,text,text\n", "a.csv:1: two columns are called 'text'; rename one"),
        (b'sample_id,"text\n', "a.csv: cannot be read as csv: the quote that opens in line 1 is not closed"),
        (b'sample_id,"text"x\n', "a.csv:1: the names of the columns: ',' expected after"),
        ("sample_id,text\n".encode("utf-16"), "a.csv: cannot be read as csv: it is UTF-16; write it as UTF-8"),
        (b"\x1f\x8b\x08\x00", "a.csv:1: "),
    ],
)
def test_a_first_line_that_names_no_columns_ends_the_run(tmp_path: Path, content: bytes, said: str) -> None:
    with pytest.raises(InputProblem) as problem:
        read(tmp_path / "a.csv", content)
    assert said in problem.value.message
    assert "\n" not in problem.value.message


def test_a_first_line_without_end_takes_no_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("beamscore.transforms.io.readers.MAX_HEADER_BYTES", 100)
    with pytest.raises(InputProblem, match="line 1 is longer than 100 bytes"):
        read(tmp_path / "a.csv", b"x" * 1000)


def test_an_empty_file_has_no_records(tmp_path: Path) -> None:
    assert read(tmp_path / "a.csv", b"") == []
    assert read(tmp_path / "b.csv", HEAD) == []
    (file,) = match_files(0, [str(tmp_path / "a.csv")], "--x")
    assert header_of(file) == []
