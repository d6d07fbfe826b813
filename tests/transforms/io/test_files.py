"""From globs and folders, also those of Hugging Face `datasets`, to numbered files and their parts."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from beamscore.transforms.io import files
from beamscore.transforms.io.files import Part, SourceFile, match_files, split_file
from beamscore.transforms.records import InputProblem
from tests.tables import save_dataset, write_arrow


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
    ("glob", "path"),
    [
        *((glob, "a1.jsonl") for glob in ("*.jsonl", "a*.jsonl", "[a]?.jsonl", "**.jsonl", "a1.jsonl")),
        ("./a*.jsonl", "./a1.jsonl"),
        ("../*/a1.jsonl", "../here/a1.jsonl"),
        # A pattern may be that of a folder.
        *((glob, "part/b.jsonl") for glob in ("par*/b.jsonl", "*/*.jsonl", "**/b.jsonl")),
    ],
)
def test_relative_globs_start_in_the_current_folder(
    tmp_path: Path, glob: str, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    touch(tmp_path, "here/a1.jsonl", "here/part/b.jsonl")
    monkeypatch.chdir(tmp_path / "here")
    assert path in [file.path for file in match_files(0, [glob], "--x ")]


ENDINGS = ".jsonl, .csv or .tsv, also with .gz, .zst or .bz2, or with .parquet or .arrow"
BAD_BYTES = os.fsdecode(b"\xff.jsonl")


@pytest.mark.parametrize(
    ("files", "glob", "message"),
    [
        *(
            ([name], f"HERE/{name}", f"--x HERE/{name}: the format is unknown; the name must end with {ENDINGS}")
            for name in ("a.txt", "a", "a.xlsx", "a.arrow.gz", "a.jsonl.7z", "a.parquet.gz", "jsonl", "a.jsonl~")
        ),
        *(
            ([], glob, f"--x {glob}: no file matches; check the path and quote the pattern in the shell")
            for glob in ("HERE/missing.jsonl", "HERE/*.jsonl", "HERE/no/such/folder/*.jsonl")
        ),
        ([], "", "--x: the path is empty; is a variable of the shell unset?"),
        ([], " ", "--x: the path is empty; is a variable of the shell unset?"),
        *(([BAD_BYTES], f"HERE/{glob}", "the name is not UTF-8") for glob in ("*.jsonl", BAD_BYTES)),
        *(
            (
                ["a.jsonl"],
                folder,
                f"--x {folder}: this is a folder; give a pattern of its files, such as 'HERE/*.jsonl'",
            )
            for folder in ("HERE", "HERE/")
        ),
    ],
)
def test_what_cannot_be_an_input_is_told_in_one_line(tmp_path: Path, files: list[str], glob: str, message: str) -> None:
    touch(tmp_path, *files)
    with pytest.raises(InputProblem) as problem:
        match_files(0, [glob.replace("HERE", str(tmp_path))], "--x ")
    assert message.replace("HERE", str(tmp_path)) in problem.value.message
    assert "\n" not in problem.value.message


def test_one_glob_that_matches_nothing_is_enough_to_refuse(tmp_path: Path) -> None:
    touch(tmp_path, "a.jsonl", "é.jsonl")
    assert len(match_files(0, [f"{tmp_path}/a.jsonl", f"{tmp_path}/é.jsonl"], "--x ")) == 2
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


ROWS = [{"sample_id": f"s{index}", "text": "x"} for index in range(30)]


def names(folder: Path | str) -> list[str]:
    return [Path(file.path).name for file in match_files(0, [str(folder)], "--x ")]


def problem(folder: Path | str) -> str:
    with pytest.raises(InputProblem) as found:
        match_files(0, [str(folder)], "--x ")
    assert "\n" not in found.value.message
    return found.value.message


def parquet(folder: Path, *files: str) -> Path:
    folder.mkdir(exist_ok=True)
    for name in files:
        pq.write_table(pa.Table.from_pylist(ROWS), folder / name)
    return folder


@pytest.mark.parametrize("slash", ["", "/"])
def test_a_saved_data_set_is_its_shards(tmp_path: Path, slash: str) -> None:
    save_dataset(tmp_path / "set", ROWS, 3)
    write_arrow(tmp_path / "set" / "cache-0123.arrow", ROWS)
    assert names(f"{tmp_path}/set{slash}") == [f"data-0000{number}-of-00003.arrow" for number in range(3)]


def test_of_several_splits_one_must_be_given(tmp_path: Path) -> None:
    for split in ("train", "test"):
        save_dataset(tmp_path / "set" / split, ROWS)
    (tmp_path / "set" / "dataset_dict.json").write_text('{"splits": ["train", "test"]}')
    said = problem(tmp_path / "set")
    assert (
        said == f"--x {tmp_path}/set: this folder holds the splits train, test; give one of them, {tmp_path}/set/SPLIT"
    )
    assert names(tmp_path / "set" / "test") == ["data-00000-of-00001.arrow"]


def test_a_shard_that_is_missing_is_told(tmp_path: Path) -> None:
    save_dataset(tmp_path / "set", ROWS, 3)
    (tmp_path / "set" / "data-00001-of-00003.arrow").unlink()
    assert problem(tmp_path / "set").endswith("set: data-00001-of-00003.arrow is missing, which state.json names")
    parquet(tmp_path / "hub", "train-00000-of-00002.parquet")
    assert problem(tmp_path / "hub").endswith("hub: only 1 of the 2 shards of train are there")


@pytest.mark.parametrize(
    ("state", "said"),
    [
        ("{", "cannot be read: "),
        ("[]", "cannot be read: "),
        ("{}", "_data_files does not name the files beside it"),
        ('{"_data_files": [{"name": "a"}]}', "_data_files does not name the files beside it"),
        ('{"_data_files": [{"filename": "../../etc/a.arrow"}]}', "_data_files names files outside of the folder"),
        ('{"_data_files": [], "_indices_data_files": [{"filename": "a"}]}', "was saved with indices"),
    ],
)
def test_a_damaged_state_is_told(tmp_path: Path, state: str, said: str) -> None:
    save_dataset(tmp_path / "set", ROWS)
    (tmp_path / "set" / "state.json").write_text(state)
    assert f"{tmp_path}/set/state.json: {said}" in problem(tmp_path / "set") or said in problem(tmp_path / "set")


def test_a_folder_of_shards_is_all_of_them(tmp_path: Path) -> None:
    shards = [f"train-0000{number}-of-00003.parquet" for number in range(3)]
    parquet(tmp_path / "hub", *shards)
    (tmp_path / "hub" / "README.md").write_text("about")
    (tmp_path / "hub" / "dataset_infos.json").write_text("{}")
    assert names(tmp_path / "hub") == shards


def test_a_folder_may_be_named_like_a_file(tmp_path: Path) -> None:
    parquet(tmp_path / "out.parquet", "part-00000-1a2b-c000.snappy.parquet", "part-00001-1a2b-c000.snappy.parquet")
    (tmp_path / "out.parquet" / "_SUCCESS").write_text("")
    assert len(names(tmp_path / "out.parquet")) == 2


def test_what_does_not_belong_together_is_told(tmp_path: Path) -> None:
    parquet(tmp_path / "splits", "train-00000-of-00001.parquet", "test-00000-of-00001.parquet")
    assert problem(tmp_path / "splits").endswith(
        f"this folder holds several splits, test, train; give one of them, such as '{tmp_path}/splits/test*'"
    )
    parquet(tmp_path / "mixed", "a.parquet")
    (tmp_path / "mixed" / "b.csv").write_text("sample_id,text\n")
    assert "this folder holds files of several formats, csv, parquet" in problem(tmp_path / "mixed")


def test_a_pattern_that_matches_the_description_too_is_told(tmp_path: Path) -> None:
    save_dataset(tmp_path / "set", ROWS)
    said = "dataset_info.json: this file holds no records; give its folder, or a pattern without it"
    assert said in problem(tmp_path / "set" / "*")
    with pytest.raises(InputProblem, match="this file holds no records"):
        match_files(0, [str(path) for path in sorted((tmp_path / "set").iterdir())], "--x ")
    assert names(tmp_path / "set" / "*.arrow") == ["data-00000-of-00001.arrow"]
    (tmp_path / "alone").mkdir()
    (tmp_path / "alone" / "state.json").write_text(json.dumps(ROWS[0]))
    assert names(tmp_path / "alone" / "*.json") == ["state.json"]
