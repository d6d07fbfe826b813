"""From globs to numbered files and their parts."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from beamscore.transforms.io import files
from beamscore.transforms.io.files import Part, SourceFile, match_files, split_file
from beamscore.transforms.records import InputProblem


def touch(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("{}\n")


def test_files_are_numbered_by_glob_and_then_by_path_each_once(tmp_path: Path) -> None:
    touch(tmp_path, "b.jsonl", "a.jsonl", "c.parquet", "deep/d.jsonl.gz", "notes.txt")
    found = match_files(
        1, [f"{tmp_path}/c.*", f"{tmp_path}/*.jsonl", f"{tmp_path}/a.jsonl", f"{tmp_path}/**.gz"], "--x "
    )
    assert [(file.number, Path(file.path).name, file.format) for file in found] == [
        (0, "c.parquet", "parquet"),
        (1, "a.jsonl", "jsonl"),
        (2, "b.jsonl", "jsonl"),
        (3, "d.jsonl.gz", "jsonl"),
    ]
    assert {(file.side, file.size) for file in found} == {(1, 3)}


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("a.jsonl", "jsonl"),
        ("a.ndjson.zst", "jsonl"),
        ("a.json.bz2", "jsonl"),
        ("A.JSONL.GZ", "jsonl"),
        ("a.pq", "parquet"),
        ("a.Parquet", "parquet"),
        ("parquet.jsonl", "jsonl"),
        ("a.csv", "csv"),
        ("a.TSV.zst", "tsv"),
        ("data-00000-of-00001.arrow", "arrow"),
    ],
)
def test_the_end_of_the_name_tells_the_format(tmp_path: Path, name: str, kind: str) -> None:
    touch(tmp_path, name)
    assert [file.format for file in match_files(0, [str(tmp_path / name)], "--x ")] == [kind]


@pytest.mark.parametrize(
    "glob", ["*.jsonl", "a*.jsonl", "[a]?.jsonl", "**.jsonl", "a1.jsonl", "./a*.jsonl", "../*/a1.jsonl"]
)
def test_relative_globs_start_in_the_current_folder(tmp_path: Path, glob: str, monkeypatch: pytest.MonkeyPatch) -> None:
    touch(tmp_path, "here/a1.jsonl")
    monkeypatch.chdir(tmp_path / "here")
    (file,) = match_files(0, [glob], "--x ")
    assert Path(file.path).resolve() == tmp_path / "here" / "a1.jsonl"
    assert file.path.startswith("./") == glob.startswith("./")


@pytest.mark.parametrize("glob", ["par*/a.jsonl", "*/*.jsonl", "**/a.jsonl"])
def test_relative_globs_may_begin_with_a_pattern_for_a_folder(
    tmp_path: Path, glob: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    touch(tmp_path, "part/a.jsonl")
    monkeypatch.chdir(tmp_path)
    assert [file.path for file in match_files(0, [glob], "--x ")] == ["part/a.jsonl"]


@pytest.mark.parametrize(
    "name", ["a.txt", "a", "a.xlsx", "a.arrow.gz", "a.jsonl.7z", "a.parquet.gz", "jsonl", "a.jsonl~"]
)
def test_an_unknown_name_is_refused_with_what_is_known(tmp_path: Path, name: str) -> None:
    touch(tmp_path, name)
    with pytest.raises(InputProblem) as problem:
        match_files(0, [str(tmp_path / name)], "--predictions a=")
    assert problem.value.message == (
        f"--predictions a={tmp_path / name}: the format is unknown; "
        "the name must end with .jsonl, .csv or .tsv, also with .gz, .zst or .bz2, or with .parquet or .arrow"
    )


@pytest.mark.parametrize("glob", ["missing.jsonl", "*.jsonl", "no/such/folder/*.jsonl"])
def test_a_glob_that_matches_nothing_is_refused(tmp_path: Path, glob: str) -> None:
    with pytest.raises(InputProblem, match=r"--ground-truth .*: no file matches"):
        match_files(-1, [str(tmp_path / glob)], "--ground-truth ")


def test_a_file_whose_name_is_not_utf8_is_refused_before_anything_is_read(tmp_path: Path) -> None:
    touch(tmp_path, os.fsdecode(b"\xff.jsonl"))
    for given in ("*.jsonl", os.fsdecode(b"\xff.jsonl")):
        with pytest.raises(InputProblem, match=r"--x .*: the name is not UTF-8"):
            match_files(0, [str(tmp_path / given)], "--x ")
    touch(tmp_path, "é.jsonl")
    assert [file.path for file in match_files(0, [str(tmp_path / "é.jsonl")], "--x ")] == [str(tmp_path / "é.jsonl")]


@pytest.mark.parametrize("given", ["", " "])
def test_an_empty_path_is_not_the_current_folder(given: str) -> None:
    with pytest.raises(InputProblem, match=r"--ground-truth: the path is empty"):
        match_files(-1, [given], "--ground-truth ")


def test_a_folder_is_not_taken_for_a_file(tmp_path: Path) -> None:
    touch(tmp_path, "corpus/a.jsonl")
    with pytest.raises(InputProblem, match="--ground-truth ") as problem:
        match_files(-1, [str(tmp_path / "corpus")], "--ground-truth ")
    assert "\n" not in problem.value.message


def test_one_glob_that_matches_nothing_is_enough_to_refuse(tmp_path: Path) -> None:
    touch(tmp_path, "a.jsonl")
    with pytest.raises(InputProblem, match=r"b\.jsonl"):
        match_files(0, [f"{tmp_path}/a.jsonl", f"{tmp_path}/b.jsonl"], "--x ")


def test_compressed_files_are_read_in_one_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "BYTES_PER_PART", 1)
    touch(tmp_path, "a.jsonl.zst")
    (file,) = match_files(0, [f"{tmp_path}/a.jsonl.zst"], "--x ")
    assert list(split_file(file, files.part_size([file]))) == [Part(file, 0, None)]


def test_parts_follow_from_the_size_of_the_input_alone(tmp_path: Path) -> None:
    def size(*sizes: int) -> int:
        return files.part_size([SourceFile(0, number, "a.jsonl", each, "jsonl") for number, each in enumerate(sizes)])

    mebi = 1 << 20
    assert size() == size(1) == size(100 * mebi, 156 * mebi) == 4 * mebi
    assert size(256 * mebi, 256 * mebi) == 512 * mebi // 64
    assert size(10_000 * mebi) == 32 * mebi


def test_only_large_files_of_lines_are_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "BYTES_PER_PART", 100)
    small, large = (SourceFile(0, number, "a.jsonl", size, "jsonl") for number, size in enumerate((100, 101)))
    assert list(split_file(small, 30)) == [Part(small, 0, 100)]
    starts = (0, 30, 60, 90)
    assert list(split_file(large, 30)) == [Part(large, start, min(start + 30, 101)) for start in starts]


def test_parquet_is_cut_between_row_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"sample_id": [f"s{i}" for i in range(10)]}), path, row_group_size=3)
    (file,) = match_files(0, [str(path)], "--x ")

    def parts() -> list[tuple[int, int | None, int]]:
        found = list(split_file(file, files.part_size([file])))
        assert sum(part.size for part in found) == file.size
        return [(part.start, part.stop, part.first_row) for part in found]

    assert parts() == [(0, 4, 0)]
    monkeypatch.setattr(files, "BYTES_PER_PART", 1)
    assert parts() == [(group, group + 1, 3 * group) for group in range(4)]
    monkeypatch.setattr(files, "BYTES_PER_PART", 2 * pq.ParquetFile(path).metadata.row_group(0).total_byte_size)
    assert parts() == [(0, 2, 0), (2, 4, 6)]


def test_many_small_row_groups_are_read_together(tmp_path: Path) -> None:
    """Each part reads the footer again, so that a part for each row group would take the square of their number."""
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"sample_id": [str(number) for number in range(500)]}), path, row_group_size=1)
    (file,) = match_files(0, [str(path)], "--x ")
    parts = list(split_file(file, files.LEAST_STORED_PER_PART + 1))
    assert len(parts) <= 1 + file.size // files.LEAST_STORED_PER_PART


def test_the_size_of_a_part_is_what_it_takes_of_its_file(tmp_path: Path) -> None:
    plain, packed = SourceFile(0, 0, "a.jsonl", 100, "jsonl"), SourceFile(0, 0, "a.jsonl.gz", 100, "jsonl")
    assert (Part(plain, 30, 80).size, Part(packed, 0, None).size) == (50, 100)


def test_parquet_without_rows_has_at_most_an_empty_part(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"sample_id": pa.array([], pa.string())}), path)
    (file,) = match_files(0, [str(path)], "--x ")
    assert (
        sum(
            pq.ParquetFile(path).metadata.row_group(g).num_rows
            for p in split_file(file, files.part_size([file]))
            for g in range(p.start, p.stop or 0)
        )
        == 0
    )


@pytest.mark.parametrize("content", [b"", b"PAR1", b"PAR1" + b"\0" * 50 + b"PAR1", b"{}\n"])
def test_what_is_no_parquet_is_a_problem_of_the_input(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.parquet"
    path.write_bytes(content)
    (file,) = match_files(0, [str(path)], "--x ")
    with pytest.raises(InputProblem, match=r"a\.parquet: cannot be read as parquet: ") as problem:
        list(split_file(file, files.part_size([file])))
    assert "\n" not in problem.value.message


def test_a_folder_of_lines_is_told_with_a_pattern_of_its_files(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(b"")
    with pytest.raises(InputProblem) as problem:
        match_files(0, [f"{tmp_path}/"], "--x ")
    assert problem.value.message == (
        f"--x {tmp_path}/: this is a folder; give a pattern of its files, such as '{tmp_path}/*.jsonl'"
    )
