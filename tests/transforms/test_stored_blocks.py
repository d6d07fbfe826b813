"""Blocks travel as they are, or are on the disk: what is read is what was written."""

from __future__ import annotations

import os
import pickle
import shutil
from pathlib import Path

import pytest
from apache_beam import coders
from apache_beam.typehints.native_type_compatibility import convert_to_beam_type
from hypothesis import given
from hypothesis import strategies as st

from beamscore.transforms.blocks import IN_PIPELINE, Block, BlockFolder, BlockWriter, read_block
from beamscore.transforms.records import InputProblem
from tests.pipelines.test_full_disk import small_disk

BLOCKS = [b"one", b"", b"x" * 100_000, b"\0\1"]


@pytest.mark.parametrize("on_disk", [False, True])
def test_what_is_read_is_what_was_written(tmp_path: Path, on_disk: bool) -> None:
    folder = pickle.loads(pickle.dumps(BlockFolder(str(tmp_path) if on_disk else None)))
    writers = [folder.writer(), folder.writer()]
    written = []
    for number, block in enumerate(BLOCKS):
        stored = writers[number % 2].write(block)
        # What comes next may run in the same stage, and read it at once.
        assert read_block(stored) == block
        assert len(pickle.dumps(stored)) < 400 or not on_disk
        written.append(stored)
    assert [read_block(each) for each in reversed(written)] == BLOCKS[::-1]
    assert len(list(tmp_path.iterdir())) == 2 * on_disk


@given(st.lists(st.binary(max_size=3000)))
def test_a_block_is_the_same_wherever_it_was(tmp_path_factory: pytest.TempPathFactory, contents: list[bytes]) -> None:
    for folder in (IN_PIPELINE, BlockFolder(str(tmp_path_factory.getbasetemp()))):
        writer = folder.writer()
        assert [read_block(each) for each in map(writer.write, contents)] == contents


def test_what_cannot_be_compressed_takes_hardly_more_than_its_bytes(tmp_path: Path) -> None:
    content = os.urandom(1 << 20)
    BlockFolder(str(tmp_path)).writer().write(content)
    (file,) = tmp_path.iterdir()
    assert file.stat().st_size < 1.01 * len(content)


@pytest.mark.parametrize("path", [None, "/tmp"])
def test_the_runner_codes_what_travels_without_pickle(path: str | None) -> None:
    coder = coders.registry.get_coder(convert_to_beam_type(BlockFolder(path).block_type))
    assert isinstance(coder, coders.TupleCoder if path else coders.BytesCoder)
    block: Block = ("/tmp/a", 0, 1 << 40, 7) if path else b"abc"
    assert coder.decode(coder.encode(block)) == block
    assert len(coder.encode(block)) < 20


def test_a_writer_of_nothing_leaves_nothing(tmp_path: Path) -> None:
    BlockFolder(str(tmp_path)).writer()
    assert list(tmp_path.iterdir()) == []


def open_files() -> int:
    return len(os.listdir("/proc/self/fd"))


def test_hundreds_of_bundles_keep_no_file_open(tmp_path: Path) -> None:
    before = open_files()
    writers = [BlockFolder(str(tmp_path)).writer() for _ in range(300)]
    for writer in writers * 2:
        read_block(writer.write(b"content"))
    assert open_files() == before


def test_what_a_failed_bundle_left_is_not_read(tmp_path: Path) -> None:
    """Nobody refers to the blocks of a bundle that is tried again."""
    folder = BlockFolder(str(tmp_path))
    failed = folder.writer()
    failed.write(b"lost")
    again = folder.writer()
    kept = [again.write(b"a"), again.write(b"b")]
    failed.write(b"lost, too")
    assert [read_block(each) for each in kept] == [b"a", b"b"]


def test_a_folder_that_is_gone_is_not_made_again(tmp_path: Path) -> None:
    """A worker that outlives its command for a moment leaves nothing behind."""
    folder = tmp_path / "blocks"
    folder.mkdir()
    old, new = BlockFolder(str(folder)).writer(), BlockFolder(str(folder)).writer()
    place = old.write(b"x")
    shutil.rmtree(folder)
    for writer in (old, new):
        with pytest.raises(InputProblem, match="temporary files cannot be written and read there: No such file"):
            writer.write(b"y")
    with pytest.raises(InputProblem, match="temporary files cannot be written and read there: No such file"):
        read_block(place)
    assert not folder.exists()


@pytest.mark.parametrize("left", [0, 3])
def test_a_block_that_was_cut_off_is_a_problem_and_no_records(tmp_path: Path, left: int) -> None:
    place = BlockFolder(str(tmp_path)).writer().write(b"some content" * 9)
    (file,) = tmp_path.iterdir()
    os.truncate(file, left)
    with pytest.raises(InputProblem, match="temporary files cannot be written and read there: "):
        read_block(place)


def test_a_full_disk_is_a_problem_of_one_line(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", 16) as disk:
        writer = BlockWriter(str(disk))
        kept = writer.write(b"small")
        with pytest.raises(InputProblem) as found:
            writer.write(os.urandom(1 << 20))
        assert found.value.message == (
            f"{disk}: temporary files cannot be written and read there: No space left on device; free some space, or "
            "set the environment variable TMPDIR to a folder on another disk"
        )
        assert read_block(kept) == b"small"
