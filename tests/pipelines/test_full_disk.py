"""A disk that is full: the earlier result stays, and one line says so."""

from __future__ import annotations

import contextlib
import random
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import toy
from tests.runs import command, evaluate, write_lines

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
        sizes.append(kibibytes(tmp_path / name / ".runs"))
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


@pytest.mark.parametrize("processes", ["1", "2"])
def test_a_temporary_folder_without_room_leaves_the_result(
    processes: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    draw = random.Random(0)
    small = write_lines(tmp_path / "s.jsonl", [truth for truth, _ in SAMPLES])
    # Text of random letters can hardly be packed.
    large = write_lines(
        tmp_path / "l.jsonl", [{"sample_id": str(n), "text": draw.randbytes(500).hex()} for n in range(400)]
    )
    output = tmp_path / "out"
    assert evaluate(output, small, small).code == 0
    before = {path: path.read_bytes() for path in sorted(output.rglob("*")) if path.is_file()}
    with small_disk(tmp_path / "disk", 200) as disk:
        monkeypatch.setattr("tempfile.tempdir", str(disk))
        found = evaluate(output, large, large, "--processes", processes)
        assert (found.code, found.stdout) == (2, "")
        (line,) = found.stderr.splitlines()
        assert re.fullmatch(
            rf"beamscore: {disk}/[^ ]+: temporary files cannot be written and read there: No space left on device; "
            "free some space, or set the environment variable TMPDIR to a folder on another disk",
            line,
        )
        assert list(disk.iterdir()) == []
    assert {path: path.read_bytes() for path in sorted(output.rglob("*")) if path.is_file()} == before


@pytest.mark.parametrize("pages", [0, 1])
def test_of_a_command_that_does_not_fit_no_file_is_left(tmp_path: Path, pages: int) -> None:
    """At no size: a disk may have room for a file, but not for what is in it."""
    truths = write_lines(tmp_path / "t.jsonl", [truth for truth, _ in SAMPLES])
    assert evaluate(tmp_path / "run", truths, truths, "--quiet", "--no-html").code == 0
    commands: list[tuple[str | Path, ...]] = [
        ("evaluate", "toy", "--ground-truth", truths, "--predictions", truths, "--quiet", "--output", "out"),
        ("split", "toy", "--ground-truth", truths, "--output", "o.jsonl"),
        ("select", tmp_path / "run", "--below", "2", "--output", "x/o.parquet"),
        ("compare", tmp_path / "run", tmp_path / "run", "--quiet", "--output", "compared"),
    ]
    failed = 0
    for *arguments, output in commands:
        with small_disk(tmp_path / "disk", 4 * (pages + 1)) as disk:
            (disk / "filler").write_bytes(b"x" * 4096)
            code, _, stderr = command(*arguments, disk / output)
            left = [path.name for path in disk.rglob("*") if path.is_file()]
            assert code in (0, 2), stderr
            failed += code == 2
            if code == 2:
                assert left == ["filler"], (arguments[0], left)
    assert failed >= (len(commands) if pages == 0 else 1)
