"""A disk that is full: the earlier result stays, and one line says so."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import toy
from tests.runs import evaluate, write_lines

SAMPLES = [toy.sample(index, 0) for index in range(40)]


@contextlib.contextmanager
def small_disk(folder: Path, kibibytes: int) -> Iterator[Path]:
    """Mounts a disk of this size; skips the test where that is not allowed."""
    folder.mkdir(exist_ok=True)
    mount = ["mount", "-t", "tmpfs", "-o", f"size={kibibytes}k", "tmpfs", str(folder)]
    if not shutil.which("mount") or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("no disk can be mounted here")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def kibibytes(folder: Path) -> int:
    """Returns what the files below a folder take of a disk, in whole pages."""
    return sum(
        -(-path.lstat().st_size // 4096) * 4 for path in folder.rglob("*") if path.is_file() and not path.is_symlink()
    )


@pytest.mark.parametrize("share", [0.2, 0.5, 0.9])
def test_a_repeat_that_does_not_fit_leaves_the_result(tmp_path: Path, share: float) -> None:
    write_lines(tmp_path / "t.jsonl", [truth for truth, _ in SAMPLES])
    write_lines(tmp_path / "p.jsonl", [prediction for _, prediction in SAMPLES if prediction])
    few, many = ("--set", "bootstrap.replicates=20"), ("--set", "bootstrap.replicates=10000")
    sizes = []
    for name, flags in (("few", few), ("many", many)):
        assert evaluate(tmp_path / name, tmp_path / "t.jsonl", tmp_path / "p.jsonl", *flags).code == 0
        sizes.append(kibibytes(tmp_path / name / ".evaluation"))
    # Four pages are for claims and the like.
    with small_disk(tmp_path / "disk", sizes[0] + 16 + int(share * sizes[1])) as disk:
        output = disk / "out"
        assert evaluate(output, tmp_path / "t.jsonl", tmp_path / "p.jsonl", *few).code == 0
        before = {path: path.read_bytes() for path in sorted(output.rglob("*")) if path.is_file()}
        repeat = evaluate(output, tmp_path / "t.jsonl", tmp_path / "p.jsonl", *many)
        assert (repeat.code, repeat.stdout) == (2, "")
        assert repeat.stderr == (
            f"beamscore: --output {output}: cannot be written: [Errno 28] No space left on device; "
            "free some space, or give another --output\n"
        )
        assert {path: path.read_bytes() for path in sorted(output.rglob("*")) if path.is_file()} == before


def test_a_worker_process_without_room_says_it_in_one_line(tmp_path: Path) -> None:
    write_lines(tmp_path / "t.jsonl", [truth for truth, _ in SAMPLES])
    with small_disk(tmp_path / "disk", 16) as disk:
        (disk / "filler").write_bytes(b"x" * 4096)
        found = evaluate(disk / "out", tmp_path / "t.jsonl", tmp_path / "t.jsonl", "--processes", "2")
        assert (found.code, found.stderr.count("\n")) == (2, 1)
        assert f"--output {disk}/out: cannot be written: " in found.stderr
        assert "No space left on device; free some space, or give another --output" in found.stderr
