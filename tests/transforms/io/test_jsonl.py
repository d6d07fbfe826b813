"""The lines of JSONL files: any cut into parts, any compression, bounded memory."""

from __future__ import annotations

import gzip
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from beamscore.transforms.io import files, readers
from beamscore.transforms.io.files import Part
from beamscore.transforms.io.readers import Line, read_lines
from tests.transforms.samples import COMPRESSIONS, counted_reads, parts_of, problem_of

BOM = b"\xef\xbb\xbf"
LIMIT = 1 << 20


def lines_of(path: Path, limit: int = LIMIT) -> list[Line]:
    return [line for part in parts_of(path) for line in read_lines(part, limit)]


def expected_lines(content: bytes) -> list[tuple[int, bytes]]:
    r"""The oracle: (position, text) of the lines between b"\n", without blank ones, line ends and BOM."""
    found, position = [], 0
    for line in content.split(b"\n"):
        text = line.rstrip(b"\r").removeprefix(BOM if position == 0 else b"")
        if text.strip():
            found.append((position, text))
        position += len(line) + 1
    return found


CONTENTS = st.lists(
    st.sampled_from([b"a", b"bb", b"\n", b"\n", b"\r\n", b" ", b'{"x":1}', b"\xff", BOM, b"\x00", b"\xe2\x80\xa8"]),
    max_size=40,
).map(b"".join)


@given(content=CONTENTS, part_size=st.integers(1, 50), read_size=st.integers(1, 20))
@example(content=b"a\nb\nc\nd\n", part_size=4, read_size=9)
@example(content=b"a" * 30 + b"\nb\n", part_size=3, read_size=2)
@example(content=BOM + b"a\r\n" + BOM + b"b", part_size=4, read_size=3)
def test_parts_of_any_size_hold_each_line_exactly_once(
    tmp_path_factory: pytest.TempPathFactory, content: bytes, part_size: int, read_size: int
) -> None:
    path = tmp_path_factory.getbasetemp() / "lines.jsonl"
    path.write_bytes(content)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(files, "BYTES_PER_PART", part_size)
        patch.setattr(readers, "BYTES_PER_READ", read_size)
        parts = parts_of(path)
        found = [(part.start, line) for part in parts for line in read_lines(part, LIMIT)]
    starts = range(0, len(content), part_size)
    assert [(part.start, part.stop) for part in parts] == [(at, min(at + part_size, len(content))) for at in starts]
    assert [(line.position, line.text) for _, line in found] == expected_lines(content)
    for start, line in found:
        assert line.length == len(line.text)
        # Later parts do not know line numbers.
        assert line.line == (0 if start else 1 + content[: line.position].count(b"\n"))


@pytest.mark.parametrize("suffix", COMPRESSIONS)
def test_all_compressions_give_the_same_lines_with_their_numbers(tmp_path: Path, suffix: str) -> None:
    content = BOM + b'{"a": 1}\r\n\n  \r\n{"b": 2}\n\xc3\xa9\n{"c": 3}'
    compress = COMPRESSIONS[suffix]
    for name in (f"a.jsonl{suffix}", f"a.ndjson{suffix}", f"A.JSON{suffix.upper()}"):
        # Also where there are several compressed streams in a file.
        for stored in (compress(content), compress(content[:20]) + compress(content[20:])):
            (tmp_path / name).write_bytes(stored)
            assert [(line.line, line.position, line.text) for line in lines_of(tmp_path / name)] == [
                (1, 0, b'{"a": 1}'),  # BOM 3 + 8 + CRLF 2 = 13 bytes
                (4, 18, b'{"b": 2}'),  # 13 + 1 + 4
                (5, 27, b"\xc3\xa9"),
                (6, 30, b'{"c": 3}'),
            ]
    for empty in (b"", b"\n", b"\r\n \n\n", BOM, BOM + b"\n"):
        (tmp_path / name).write_bytes(compress(empty))
        assert lines_of(tmp_path / name) == []


@given(
    lengths=st.lists(st.integers(1, 30), max_size=8),
    limit=st.integers(1, 20),
    read_size=st.integers(1, 50),
    end=st.sampled_from([b"\n", b"\r\n"]),
    start=st.sampled_from([b"", BOM]),
)
def test_the_limit_counts_the_record_without_its_line_end(
    tmp_path_factory: pytest.TempPathFactory, lengths: list[int], limit: int, read_size: int, end: bytes, start: bytes
) -> None:
    path = tmp_path_factory.getbasetemp() / "limited.jsonl"
    path.write_bytes(start + b"".join(b"x" * length + end for length in lengths))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(readers, "BYTES_PER_READ", read_size)
        found = lines_of(path, limit)
    assert [line.text for line in found] == [b"x" * min(length, limit) for length in lengths]
    for line, length in zip(found, lengths, strict=True):
        assert (line.length > limit) == (length > limit)
        assert length <= line.length <= length + len(end)


def test_a_huge_line_is_cut_in_bounded_memory(tmp_path: Path) -> None:
    path, megabytes = tmp_path / "a.jsonl.gz", 16
    with gzip.open(path, "wb", compresslevel=1) as stream:
        stream.write(b"before\n" + b" " * (megabytes << 20) + b"\nafter\n")
    tracemalloc.start()
    found = lines_of(path, limit=1000)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    sizes = [(line.line, line.text.strip(), len(line.text)) for line in found]
    assert sizes == [(1, b"before", 6), (2, b"", 1000), (3, b"after", 5)]
    assert found[1].length == pytest.approx(megabytes << 20, abs=2)
    assert peak < 8 << 20


def test_a_part_inside_a_huge_line_reads_no_further_than_its_own_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"x" * 10_000 + b"\nlast\n")
    monkeypatch.setattr(readers, "BYTES_PER_READ", 100)
    (part,) = parts_of(path)
    with counted_reads() as sizes:
        assert list(read_lines(Part(part.file, 1000, 2000), LIMIT)) == []
    assert sum(sizes) <= 1000 + 100


@pytest.mark.parametrize("suffix", COMPRESSIONS)
def test_a_file_that_is_damaged_or_gone_is_a_problem_of_the_input(tmp_path: Path, suffix: str) -> None:
    """It was cut off at any place, a byte is another, or it is not compressed at all."""
    path = tmp_path / f"a.jsonl{suffix}"
    whole = COMPRESSIONS[suffix](b"".join(b"%d\n" % (i * i) for i in range(5000)))
    path.write_bytes(whole)
    assert len(lines_of(path)) == 5000
    damaged = [whole[:stop] for stop in (len(whole) - 1, len(whole) - 9, len(whole) // 2, 5)] if suffix else []
    damaged += [b'{"sample_id": "a"}\n' * 10] if suffix else []
    middle = len(whole) // 2
    flipped = whole[:middle] + bytes([whole[middle] ^ 0xFF]) + whole[middle + 1 :]
    for content in (*damaged, *([flipped] if suffix in (".gz", ".bz2") else [])):
        path.write_bytes(content)
        assert problem_of(lambda: lines_of(path)).startswith(f"{path}: cannot be read as jsonl: ")
    (part,) = parts_of(path)
    path.unlink()
    assert problem_of(lambda: list(read_lines(part, LIMIT))).startswith(f"{path}: cannot be read as jsonl: ")
