"""The lines of JSONL files: any cut into parts, any compression, bounded memory."""

from __future__ import annotations

import bz2
import gzip
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from beamscore.transforms.io import files, readers
from beamscore.transforms.io.files import Part, SourceFile, match_files, split_file
from beamscore.transforms.io.readers import Line, read_lines
from beamscore.transforms.records import InputProblem, zstd
from tests.transforms.counted import counted_reads

BOM = b"\xef\xbb\xbf"
COMPRESSIONS: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".zst": zstd.compress,
}
LIMIT = 1 << 20


def source(path: Path) -> SourceFile:
    return match_files(0, [str(path)], "--predictions")[0]


def lines_of(path: Path, limit: int = LIMIT) -> list[Line]:
    return [
        line for part in split_file(source(path), files.part_size([source(path)])) for line in read_lines(part, limit)
    ]


def expected_lines(content: bytes) -> list[tuple[int, bytes]]:
    r"""The oracle: (position, text) of the lines between b"\n", without blank ones, line ends and BOM."""
    found, position = [], 0
    for line in content.split(b"\n"):
        text = line.rstrip(b"\r")
        if position == 0 and text.startswith(BOM):
            text = text[3:]
        if text.strip():
            found.append((position, text))
        position += len(line) + 1
    return found


CONTENTS = st.lists(
    st.sampled_from(
        [b"a", b"bb", b"\n", b"\n", b"\r\n", b" ", b'{"x":1}', b"\xff", BOM, b"\x00", b"\xe2\x80\xa8", b"\x0b"]
    ),
    max_size=40,
).map(b"".join)


@given(content=CONTENTS, part_size=st.integers(1, 50), read_size=st.integers(1, 20))
@example(content=b"a\nb\nc", part_size=2, read_size=1)
@example(content=b"\n\n\n", part_size=1, read_size=1)
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
        parts = list(split_file(source(path), files.part_size([source(path)])))
        found = [line for part in parts for line in read_lines(part, LIMIT)]
    assert [(part.start, part.stop) for part in parts] == [
        (start, min(start + part_size, len(content))) for start in range(0, len(content), part_size)
    ]
    assert [(line.position, line.text) for line in found] == expected_lines(content)
    assert all(line.length == len(line.text) for line in found)


@pytest.mark.parametrize("suffix", COMPRESSIONS)
@pytest.mark.parametrize("name", ["a.jsonl", "a.ndjson", "a.json", "A.JSONL"])
def test_all_compressions_give_the_same_lines_with_their_numbers(tmp_path: Path, suffix: str, name: str) -> None:
    content = BOM + b'{"a": 1}\r\n\n  \r\n{"b": 2}\n\xc3\xa9\n{"c": 3}'
    for ending in {suffix, suffix.upper()}:
        path = tmp_path / (name + ending)
        path.write_bytes(COMPRESSIONS[suffix](content))
        assert [(line.line, line.position, line.text) for line in lines_of(path)] == [
            (1, 0, b'{"a": 1}'),  # BOM 3 + 8 + CRLF 2 = 13 bytes
            (4, 18, b'{"b": 2}'),  # 13 + 1 + 4
            (5, 27, b"\xc3\xa9"),
            (6, 30, b'{"c": 3}'),
        ]


@pytest.mark.parametrize("suffix", COMPRESSIONS)
def test_several_compressed_streams_in_one_file_are_read_on(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a.jsonl{suffix}"
    path.write_bytes(COMPRESSIONS[suffix](b"one\ntw") + COMPRESSIONS[suffix](b"o\nthree"))
    assert [line.text for line in lines_of(path)] == [b"one", b"two", b"three"]


def test_later_parts_do_not_know_line_numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "BYTES_PER_PART", 4)
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"a\nb\nc\nd\n")
    assert [(line.text, line.line) for line in lines_of(path)] == [(b"a", 1), (b"b", 2), (b"c", 0), (b"d", 0)]


@pytest.mark.parametrize("suffix", COMPRESSIONS)
@pytest.mark.parametrize("content", [b"", b"\n", b"\r\n \n\n", BOM, BOM + b"\n"])
def test_a_file_without_a_line_has_none(tmp_path: Path, suffix: str, content: bytes) -> None:
    path = tmp_path / f"a.jsonl{suffix}"
    path.write_bytes(COMPRESSIONS[suffix](content))
    assert lines_of(path) == []


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
    path = tmp_path / "a.jsonl.gz"
    megabytes = 64
    with gzip.open(path, "wb", compresslevel=1) as stream:
        stream.write(b"before\n")
        for _ in range(megabytes):
            stream.write(b" " * (1 << 20))
        stream.write(b"\nafter\n")
    tracemalloc.start()
    found = lines_of(path, limit=1000)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert [(line.line, line.text.strip(), len(line.text)) for line in found] == [
        (1, b"before", 6),
        (2, b"", 1000),
        (3, b"after", 5),
    ]
    assert found[1].length == pytest.approx(megabytes << 20, abs=2)
    assert peak < 8 << 20


def test_a_part_inside_a_huge_line_reads_no_further_than_its_own_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"x" * 10_000 + b"\nlast\n")
    monkeypatch.setattr(readers, "BYTES_PER_READ", 100)
    with counted_reads() as sizes:
        assert list(read_lines(Part(source(path), 1000, 2000), LIMIT)) == []
    assert sum(sizes) <= 1000 + 100


def flipped(content: bytes) -> bytes:
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 0xFF]) + content[middle + 1 :]


WHOLE = {
    suffix: compress(b"".join(b"%d\n" % (i * i) for i in range(5000))) for suffix, compress in COMPRESSIONS.items()
}


@pytest.mark.parametrize("suffix", [".gz", ".bz2", ".zst"])
def test_a_compressed_file_that_is_damaged_is_a_problem_of_the_input(tmp_path: Path, suffix: str) -> None:
    """It was cut off at any place, a byte is another, or it is not compressed at all."""
    path, whole = tmp_path / f"a.jsonl{suffix}", WHOLE[suffix]
    path.write_bytes(whole)
    assert len(lines_of(path)) == 5000
    damaged = [whole[:stop] for stop in (len(whole) - 1, len(whole) - 9, len(whole) // 2, 5)]
    for content in (*damaged, b'{"sample_id": "a"}\n' * 10, *([flipped(whole)] if suffix != ".zst" else [])):
        path.write_bytes(content)
        with pytest.raises(InputProblem) as problem:
            lines_of(path)
        assert problem.value.message.startswith(f"{path}: cannot be read as jsonl: ")
        assert "\n" not in problem.value.message


def test_a_file_that_has_gone_is_a_problem_of_the_input(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"a\n")
    file = source(path)
    path.unlink()
    with pytest.raises(InputProblem, match=r"a\.jsonl: cannot be read as jsonl"):
        list(read_lines(Part(file, 0, 2), LIMIT))
