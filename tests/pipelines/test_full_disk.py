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

pytestmark = pytest.mark.attacks

TRUTHS = [toy.sample(index, 0)[0] for index in range(40)]


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


def files(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def kibibytes(folder: Path) -> int:
    """Returns what the files below a folder take of a disk, in whole pages."""
    return sum(-(-len(content) // 4096) * 4 for path, content in files(folder).items() if not path.is_symlink())


def test_a_repeat_that_does_not_fit_leaves_the_result(tmp_path: Path) -> None:
    """Whether there is room for a fifth of the repeat, a half, or most of it."""
    truths = write_lines(tmp_path / "t.jsonl", TRUTHS)
    predictions = write_lines(tmp_path / "p.jsonl", [{**each, "text": "x" * n} for n, each in enumerate(TRUTHS)])
    few, many = (("--no-html", "--set", f"bootstrap.replicates={count}") for count in (20, 5000))
    for name, flags in (("few", few), ("many", many)):
        assert evaluate(tmp_path / name, truths, predictions, *flags).code == 0
    for share in (0.2, 0.5, 0.8):
        # Four pages are for claims and the like.
        size = kibibytes(tmp_path / "few") + 16 + int(share * kibibytes(tmp_path / "many" / ".runs"))
        with small_disk(tmp_path / "disk", size) as disk:
            output = disk / "out"
            shutil.copytree(tmp_path / "few", output, symlinks=True)
            before = files(output)
            repeat = evaluate(output, truths, predictions, *many)
            assert (repeat.code, repeat.stdout) == (2, "")
            assert repeat.stderr == (
                f"beamscore: --output {output}: cannot be written: [Errno 28] No space left on device; "
                "fix that, or give another --output\n"
            )
            assert files(output) == before


@pytest.mark.parametrize("processes", ["1", "2"])
def test_a_temporary_folder_without_room_leaves_the_result(
    processes: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    draw = random.Random(0)
    small = write_lines(tmp_path / "s.jsonl", TRUTHS)
    # Text of random letters can hardly be packed.
    large = write_lines(
        tmp_path / "l.jsonl", [{"sample_id": str(n), "text": draw.randbytes(500).hex()} for n in range(400)]
    )
    output = tmp_path / "out"
    assert evaluate(output, small, small).code == 0
    before = files(output)
    with small_disk(tmp_path / "disk", 200) as disk:
        monkeypatch.setattr("tempfile.tempdir", str(disk))
        found = evaluate(output, large, large, "--processes", processes)
        assert (found.code, found.stdout) == (2, "")
        assert re.fullmatch(
            rf"beamscore: {disk}/[^ ]+: temporary files cannot be written and read there: No space left on device; "
            "fix that, or set the environment variable TMPDIR to a folder on another disk\n",
            found.stderr,
        )
        assert list(disk.iterdir()) == []
    assert files(output) == before


def test_of_a_command_that_does_not_fit_no_file_is_left(tmp_path: Path) -> None:
    """At no size: a disk may have room for a file, but not for what is in it."""
    truths = write_lines(tmp_path / "t.jsonl", TRUTHS)
    assert evaluate(tmp_path / "run", truths, truths, "--quiet", "--no-html").code == 0
    commands: list[tuple[str | Path, ...]] = [
        ("evaluate", "toy", "--ground-truth", truths, "--predictions", truths, "--quiet", "--output", "out"),
        ("split", "toy", "--ground-truth", truths, "--output", "o.jsonl"),
        ("select", tmp_path / "run", "--below", "2", "--output", "x/o.parquet"),
        ("compare", tmp_path / "run", tmp_path / "run", "--quiet", "--output", "compared"),
    ]
    # In a page there is room for the records of split.
    for pages, fit in ((0, []), (1, ["split"])):
        done = []
        for *arguments, output in commands:
            with small_disk(tmp_path / "disk", 4 * (pages + 1)) as disk:
                (disk / "filler").write_bytes(b"x" * 4096)
                code, _, stderr = command(*arguments, disk / output)
                assert code in (0, 2), stderr
                if code == 2:
                    assert [path.name for path in disk.rglob("*") if path.is_file()] == ["filler"], arguments[0]
                else:
                    done.append(arguments[0])
        assert done == fit
