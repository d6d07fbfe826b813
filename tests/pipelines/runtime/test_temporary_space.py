"""How much space blocks take on the local disk, and what is read of the system."""

from __future__ import annotations

from pathlib import Path

import pytest

from beamscore.pipelines.runtime import temporary_space
from beamscore.pipelines.runtime.temporary_space import block_bytes, free_space, is_in_memory
from beamscore.transforms.io.files import SourceFile
from beamscore.transforms.stored_blocks import Block, BlockWriter
from tests.runs import evaluate

GIB = 1 << 30
CORPUS = Path(__file__).parents[2] / "corpora" / "chart"
MOUNTS = """\
rootfs / rootfs rw 0 0
/dev/vda / ext4 rw 0 0
tmpfs /tmp tmpfs rw,size=9k 0 0
/dev/vdb /tmp/disk ext4 rw 0 0
tmpfs /with\\040space tmpfs rw 0 0
cut
"""


def test_what_blocks_take_grows_with_the_bytes_of_the_input() -> None:
    plain, packed = SourceFile(0, 0, "a.jsonl", 4 * GIB, "jsonl"), SourceFile(0, 1, "b.jsonl.gz", GIB, "jsonl")
    assert block_bytes([]) == 0
    assert block_bytes([plain]) == 2 * GIB
    assert block_bytes([plain, packed]) == 5 * GIB


def test_a_run_takes_no_more_than_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stored: list[int] = []
    write = BlockWriter.write

    def recorded(self: BlockWriter, content: bytes) -> Block:
        found = write(self, content)
        assert isinstance(found, tuple)
        stored.append(found[2])
        return found

    monkeypatch.setattr(BlockWriter, "write", recorded)
    truths, predictions = CORPUS / "ground_truth.jsonl", CORPUS / "predictions.jsonl"
    assert evaluate(tmp_path / "out", truths, predictions, "--quiet", config="chart").code == 0
    files = [SourceFile(0, 0, str(path), path.stat().st_size, "jsonl") for path in (truths, predictions)]
    assert 0 < sum(stored) <= block_bytes(files)


@pytest.mark.parametrize(
    ("folder", "found"),
    [
        ("/tmp", True),
        ("/tmp/a/b", True),
        ("/tmp/disk/a", False),
        ("/tmpfile", False),
        ("/", False),
        ("/with space/a", True),
    ],
)
def test_a_folder_in_memory_is_told_by_the_mounts(
    folder: str, found: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mounts").write_text(MOUNTS)
    monkeypatch.setattr(temporary_space, "_MOUNTS", tmp_path / "mounts")
    assert is_in_memory(folder) is found
    (tmp_path / "mounts").unlink()
    assert not is_in_memory(folder)


def test_space_is_that_of_the_disk(tmp_path: Path) -> None:
    assert (free_space(str(tmp_path)) or 0) > 0
    assert free_space(str(tmp_path / "none")) is None
