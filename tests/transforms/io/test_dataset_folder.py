"""Folders as inputs: those of Hugging Face `datasets`, and shards beside each other."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from beamscore.transforms.io.files import match_files
from beamscore.transforms.records import InputProblem
from tests.tables import save_dataset, write_arrow

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
    (tmp_path / "lines").mkdir()
    (tmp_path / "lines" / "a.jsonl").write_text("")
    assert problem(tmp_path / "lines").endswith(
        f"this is a folder; give a pattern of its files, such as '{tmp_path}/lines/*.jsonl'"
    )


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
