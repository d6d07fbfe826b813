"""Blocks travel as they are, or are on the disk: what is read is what was written."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from transforms.stored_blocks import BlockFolder, read_block

BLOCKS = [b"one", b"", b"x" * 100_000, b"\0\1"]


@pytest.mark.parametrize("on_disk", [False, True])
def test_what_is_read_is_what_was_written(tmp_path: Path, on_disk: bool) -> None:
    folder = pickle.loads(pickle.dumps(BlockFolder(str(tmp_path) if on_disk else None)))
    writers = [folder.writer(), folder.writer()]
    written = []
    for number, block in enumerate(BLOCKS):
        stored = writers[number % 2].write(block)
        # It can be read at once, before the writer ends.
        assert read_block(stored) == block
        assert len(pickle.dumps(stored)) < 400 or not on_disk
        written.append(stored)
    for writer in writers:
        writer.close()
    assert [read_block(each) for each in written] == BLOCKS
    assert len(list(tmp_path.iterdir())) == 2 * on_disk


def test_a_writer_of_nothing_leaves_nothing(tmp_path: Path) -> None:
    BlockFolder(str(tmp_path)).writer().close()
    assert list(tmp_path.iterdir()) == []
