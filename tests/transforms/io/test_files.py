"""From globs and folders, also those of Hugging Face `datasets`, to numbered files and their parts."""

import os
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from beamscore.transforms.io import files
from beamscore.transforms.io.files import SourceFile, match_files, name_format, split_file
from tests.memory_files import ObjectStore
from tests.tables import save_dataset, write_arrow
from tests.transforms.samples import parts_of, problem_of, store

ROWS = [{"sample_id": f"s{index}", "text": "x"} for index in range(30)]


def touch(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("{}\n")


def names(*globs: Path | str) -> list[str]:
    return [Path(file.path).name for file in match_files(0, list(map(str, globs)), "--x ")]


def problem(*globs: Path | str) -> str:
    return problem_of(lambda: match_files(0, list(map(str, globs)), "--x "))


def test_files_are_numbered_by_glob_and_then_by_path_each_once(tmp_path: Path) -> None:
    touch(tmp_path, "b.jsonl", "é.jsonl", "c.parquet", "deep/d.jsonl.gz", "notes.txt")
    globs = [f"{tmp_path}/c.*", f"{tmp_path}/*.jsonl", f"{tmp_path}/b.jsonl", f"{tmp_path}/**.gz"]
    found = match_files(1, globs, "--x ")
    expected = {"c.parquet": "parquet", "b.jsonl": "jsonl", "é.jsonl": "jsonl", "d.jsonl.gz": "jsonl"}
    assert {Path(file.path).name: file.format for file in found} == expected
    assert [(file.number, Path(file.path).name) for file in found] == list(enumerate(expected))
    assert {(file.side, file.size) for file in found} == {(1, 3)}
    assert [file.modified for file in found] == [Path(file.path).stat().st_mtime for file in found]
    assert names(tmp_path / "b.jsonl", f"{tmp_path}/./b.jsonl") == ["b.jsonl"]
    touch(tmp_path, "run[1].jsonl", "run1.jsonl")
    assert names(tmp_path / "run[1].jsonl") == ["run[1].jsonl"]
    assert names(tmp_path / "run[12].jsonl") == ["run1.jsonl"]
    assert "no.jsonl: no file matches" in problem(*globs, tmp_path / "no.jsonl"), "one is enough to refuse"


def test_the_end_of_the_name_tells_the_format() -> None:
    formats = {
        "jsonl": ["a.jsonl", "a.ndjson.zst", "a.json.bz2", "A.JSONL.GZ", "parquet.jsonl"],
        "parquet": ["a.pq", "a.Parquet"],
        "csv": ["a.csv"],
        "tsv": ["a.TSV.zst"],
        "arrow": ["data-00000-of-00001.arrow"],
        None: ["a.txt", "a", "a.arrow.gz", "a.jsonl.7z", "a.parquet.gz", "jsonl", "a.jsonl~"],
    }
    assert {kind: [name for name in names if name_format(name) == kind] for kind, names in formats.items()} == formats


def test_relative_globs_start_in_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    touch(tmp_path, "here/a1.jsonl", "here/part/b.jsonl")
    monkeypatch.chdir(tmp_path / "here")
    globs = dict.fromkeys(("*.jsonl", "a*.jsonl", "[a]?.jsonl", "**.jsonl", "a1.jsonl"), "a1.jsonl")
    globs |= {"./a*.jsonl": "./a1.jsonl", "../*/a1.jsonl": "../here/a1.jsonl"}
    # A pattern may be that of a folder.
    globs |= dict.fromkeys(("par*/b.jsonl", "*/*.jsonl", "**/b.jsonl"), "part/b.jsonl")
    for glob, path in globs.items():
        assert path in [file.path for file in match_files(0, [glob], "--x ")]


def test_a_double_star_is_any_number_of_folders_and_no_wildcard_a_hidden_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown, hidden = ["p.jsonl", "sub/p.jsonl", "sub/x/p.jsonl", "sub/x/q.jsonl"], [".h/._p.jsonl", ".h/p.jsonl"]
    paths = [*hidden, "._p.jsonl", "sub/.h/x/p.jsonl", *shown]
    touch(tmp_path, *paths)
    monkeypatch.chdir(tmp_path)
    # Consoles of object stores make an empty object for a folder.
    ObjectStore.FILES.update({f"mem://stars/{path}": b"" for path in (*paths, "sub/", "sub/x/")})
    for glob, found in {
        "**/p.jsonl": shown[:3],
        "s*/**/p.jsonl": shown[1:3],
        "**/x/**/p.jsonl": shown[2:3],
        **dict.fromkeys(("**", "**/", "**/**/*"), shown),
        ".*/*.jsonl": hidden[1:],
        ".?/.*.jsonl": hidden[:1],
        "*/.h/*/p.jsonl": ["sub/.h/x/p.jsonl"],
    }.items():
        for base in ("", f"{tmp_path}/", "mem://stars/"):
            assert [each.path for each in match_files(0, [base + glob], "")] == [base + path for path in found]


def test_linked_folders_are_entered_and_a_link_to_no_file_is_an_error(tmp_path: Path) -> None:
    touch(tmp_path, "real/clip/a.jsonl", "real/b.jsonl", "set/other/a.jsonl")
    (tmp_path / "set" / "clip").symlink_to(tmp_path / "real" / "clip")
    (tmp_path / "set" / "same.jsonl").symlink_to(tmp_path / "real" / "b.jsonl")
    found = match_files(0, [f"{tmp_path}/set/*/a.jsonl", f"{tmp_path}/set/*.jsonl"], "")
    assert [file.path for file in found] == [f"{tmp_path}/set/{n}.jsonl" for n in ("clip/a", "other/a", "same")]
    (tmp_path / "set" / "gone.jsonl").symlink_to(tmp_path / "gone")
    for glob in ("set/*.jsonl", "set/gone.jsonl"):
        assert problem(f"{tmp_path}/{glob}") == f"--x {tmp_path}/set/gone.jsonl: this link leads to no file"


def test_what_cannot_be_an_input_is_told_in_one_line(tmp_path: Path) -> None:
    touch(tmp_path, "a.xlsx", "train-00000-of-00001.parquet")
    endings = ".jsonl, .csv or .tsv, also with .gz, .zst or .bz2, or with .parquet or .arrow"
    is_missing = "no file matches; check the path and quote the pattern in the shell"
    is_folder = f"this is a folder; give a pattern of its files, such as '{tmp_path}/*.jsonl'"
    for path, said in {
        f"{tmp_path}/a.xlsx": f"the format is unknown; the name must end with {endings}",
        **dict.fromkeys((f"{tmp_path}/missing.jsonl", f"{tmp_path}/no/such/folder/*.jsonl"), is_missing),
        **dict.fromkeys((f"{tmp_path}", f"{tmp_path}/"), is_folder),
        "mem://bucket/": "this is a bucket; give a pattern of files, such as 'mem://bucket/*.jsonl'",
    }.items():
        assert problem(path) == f"--x {path}: {said}"
    for empty in ("", " "):
        assert problem(empty) == "--x: the path is empty; is a variable of the shell unset?"
    touch(tmp_path, os.fsdecode(b"\xff.jsonl"))
    assert "the name is not UTF-8" in problem(f"{tmp_path}/*.jsonl")


def test_parts_follow_from_the_size_of_the_input_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def size(*sizes: int) -> int:
        return files.part_size([SourceFile(0, number, "a.jsonl", each, "jsonl") for number, each in enumerate(sizes)])

    mebi = 1 << 20
    assert size() == size(1) == size(100 * mebi, 156 * mebi) == 4 * mebi
    assert (size(256 * mebi, 256 * mebi), size(10_000 * mebi)) == (512 * mebi // 64, 32 * mebi)
    # Only large files of lines are cut.
    monkeypatch.setattr(files, "BYTES_PER_PART", 100)
    for name, count, parts in (
        ("a.jsonl", 100, [(0, 100, 100)]),
        ("a.JSON", 101, [(0, 30, 30), (30, 60, 30), (60, 90, 30), (90, 101, 11)]),
        ("a.jsonl.zst", 1000, [(0, None, 1000)]),
        ("a.csv", 1000, [(0, None, 1000)]),
        ("a.jsonl", 0, []),
    ):
        file = SourceFile(0, 0, name, count, "jsonl")
        assert [(part.start, part.stop, part.size) for part in split_file(file, 30)] == parts
        assert all(part.file == file for part in split_file(file, 30))


def test_parquet_is_cut_between_row_groups_unless_they_are_small(tmp_path: Path) -> None:
    path = store(tmp_path / "a.parquet", ROWS[:10], 3)
    group = pq.ParquetFile(path).metadata.row_group(0).total_byte_size
    for size, starts in (
        (1 << 20, [(0, 4, 0)]),
        (1, [(n, n + 1, 3 * n) for n in range(4)]),
        (2 * group, [(0, 2, 0), (2, 4, 6)]),
    ):
        parts = parts_of(path, size=size)
        assert [(part.start, part.stop, part.first_row) for part in parts] == starts
        assert sum(part.size for part in parts) == pytest.approx(path.stat().st_size, abs=len(parts))
    assert len(parts_of(store(path, []))) <= 1


def test_a_saved_data_set_is_its_shards_of_one_split(tmp_path: Path) -> None:
    save_dataset(tmp_path / "set", ROWS, 3)
    write_arrow(tmp_path / "set" / "cache-0123.arrow", ROWS)
    ObjectStore.FILES.update({f"mem://bucket/set/{each.name}": each.read_bytes() for each in tmp_path.glob("set/*")})
    for path in (f"{tmp_path}/set", f"{tmp_path}/set/", "mem://bucket/set"):
        assert names(path) == [f"data-0000{number}-of-00003.arrow" for number in range(3)]
    (tmp_path / "set" / "data-00001-of-00003.arrow").unlink()
    assert "data-00001-of-00003.arrow: no file matches" in problem(tmp_path / "set")
    save_dataset(tmp_path / "both" / "test", ROWS)
    assert problem(tmp_path / "both").endswith(f"folder of splits; name one, such as '{tmp_path}/both/test'")
    assert names(tmp_path / "both" / "test") == ["data-00000-of-00001.arrow"]
    mapped = '{"_data_files": [], "_indices_data_files": [{"filename": "indices.arrow"}]}'
    for state in ("{", "[]", "{}", '{"_data_files": [{"name": "a"}]}', mapped):
        (tmp_path / "set" / "state.json").write_text(state)
        assert problem(tmp_path / "set").startswith(f"--x {tmp_path}/set/state.json: cannot be read: ")
