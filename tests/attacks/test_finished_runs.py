"""Finished runs that are copied, packed, replaced or read-only say the same, whoever reads them."""

from __future__ import annotations

import contextlib
import json
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.attacks.corpora import FLAGS, corpus, written
from tests.runs import command, evaluate, write_lines

pytestmark = pytest.mark.attacks

ROOT = Path(__file__).parents[2]
EVALUATE = (sys.executable, "-m", "beamscore.pipelines.commands", "evaluate", "traffic_rules", *FLAGS)


@pytest.fixture(scope="module")
def nights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs over the same ground truth, the second with a prediction less."""
    folder = tmp_path_factory.mktemp("nights")
    truths, predictions = written(folder / "in", "traffic_rules", 40, 0)
    fewer = folder / "in" / "fewer.jsonl"
    fewer.write_bytes(b"".join(predictions.read_bytes().splitlines(keepends=True)[:-9]))
    (folder / "gates.yaml").write_text(
        "benchmark: traffic_rules\nbootstrap: {replicates: 5}\nmax_rejected_fraction: 1\n"
        "gates: {overall.f1: {not_worse_than: baseline, margin: 0.01}}\n"
    )
    for name, given in (("monday", predictions), ("tuesday", fewer)):
        assert evaluate(folder / name, truths, given, *FLAGS, config="traffic_rules").code == 0
    return folder


def answers(nights: Path, monday: Path, tuesday: Path, output: Path) -> list[tuple[int, str]]:
    """Returns what gate and compare say of two runs, without the paths."""
    done = [
        command("gate", tuesday, "--config", nights / "gates.yaml", "--baseline", monday),
        command("compare", monday, tuesday, "--output", output, "--no-html"),
        (0, "", (output / "comparison.json").read_text()),
    ]
    paths = re.compile("|".join(map(re.escape, map(str, (monday, tuesday, output)))))
    return [(code, paths.sub(lambda match: Path(match[0]).name, stdout + stderr)) for code, stdout, stderr in done]


def read_only(run: Path, to: Path) -> None:
    shutil.copytree(run, to, symlinks=True)
    subprocess.run(["chmod", "-R", "a-w", to], check=True)


def by_zip(run: Path, to: Path) -> None:
    """Packs what a file manager shows, without hidden folders."""
    with zipfile.ZipFile(to.with_suffix(".zip"), "w") as archive:
        for path in sorted(run.rglob("*")):
            if path.is_file() and not any(part.startswith(".") for part in path.relative_to(run).parts):
                archive.write(path, path.relative_to(run))
    with zipfile.ZipFile(to.with_suffix(".zip")) as archive:
        archive.extractall(to)


@pytest.mark.parametrize("copy", [read_only, by_zip])
def test_a_copy_says_what_the_run_says(nights: Path, tmp_path: Path, copy: Callable[[Path, Path], None]) -> None:
    copies = tmp_path / "monday", tmp_path / "tuesday"
    for path in copies:
        copy(nights / path.name, path)
    before = {path: path.stat().st_mtime_ns for copy in copies for path in copy.rglob("*")}
    expected = answers(nights, nights / "monday", nights / "tuesday", tmp_path / "runs" / "out")
    assert [code for code, _ in expected] == [1, 0, 0], expected
    assert answers(nights, *copies, tmp_path / "copies" / "out") == expected
    assert {path: path.stat().st_mtime_ns for copy in copies for path in copy.rglob("*")} == before


def test_a_run_that_is_replaced_is_read_as_the_old_or_the_new_one(nights: Path, tmp_path: Path) -> None:
    inputs, run = nights / "in", tmp_path / "run"
    evaluate(run, inputs / "truths.jsonl", inputs / "predictions.jsonl", *FLAGS, config="traffic_rules")
    allowed = [json.loads((nights / name / "summary.json").read_bytes())["systems"] for name in ("monday", "tuesday")]
    given = (f"--ground-truth={inputs / 'truths.jsonl'}", f"--predictions={inputs / 'fewer.jsonl'}", f"--output={run}")
    writer = subprocess.Popen([*EVALUATE, *given], cwd=ROOT)
    is_replaced = False
    while not is_replaced:
        is_replaced = writer.poll() is not None
        code, _, stderr = command("gate", run, "--config", nights / "gates.yaml", "--baseline", nights / "monday")
        assert code in (0, 1, 4), stderr
        # The plain name is absent for a moment while a run is replaced.
        with contextlib.suppress(FileNotFoundError):
            assert json.loads((run / "summary.json").read_bytes())["systems"] in allowed
    assert writer.returncode == 0


def test_many_small_files_need_few_descriptors(tmp_path: Path) -> None:
    for side, records in zip(("t", "p"), corpus("traffic_rules", 200, 1), strict=True):
        for number, record in enumerate(records):
            write_lines(tmp_path / side / f"{number}.jsonl", [record])
    given = [f"--ground-truth={tmp_path}/t/*", f"--predictions={tmp_path}/p/*", f"--output={tmp_path}/out"]
    limited = ["sh", "-c", 'ulimit -n 64; exec "$@"', "sh", *EVALUATE, *given]
    done = subprocess.run(limited, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
