"""Finished runs that are copied, packed, replaced or read-only say the same, whoever reads them."""

from __future__ import annotations

import contextlib
import json
import os
import pickle
import shutil
import subprocess
import sys
import threading
import zipfile
from collections.abc import Callable
from functools import reduce
from pathlib import Path
from typing import Any, NoReturn

import pytest

from tests.attacks.corpora import corpus, to_line, written
from tests.runs import command, evaluate

pytestmark = pytest.mark.attacks

FLAGS = ("--quiet", "--no-html", "--set", "max_rejected_fraction=1", "--set", "bootstrap.replicates=20")
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def nights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs over the same ground truth, the second with a prediction less."""
    folder = tmp_path_factory.mktemp("nights")
    truths, predictions = written(folder / "in", "traffic_rules", 40, 0)
    fewer = folder / "in" / "fewer.jsonl"
    fewer.write_bytes(b"".join(predictions.read_bytes().splitlines(keepends=True)[:-9]))
    (folder / "gates.yaml").write_text(
        "benchmark: traffic_rules\nbootstrap: {replicates: 20}\nmax_rejected_fraction: 1\n"
        "gates: {overall.f1: {not_worse_than: baseline, margin: 0.01}}\n"
    )
    for name, given in (("monday", predictions), ("tuesday", fewer)):
        assert evaluate(folder / name, truths, given, *FLAGS, config="traffic_rules").code == 0
    return folder


def said(folder: Path, monday: Path, tuesday: Path, output: Path) -> list[tuple[int, str]]:
    """Returns what gate, compare and history say of two runs, without the paths."""
    runs: list[list[str | Path]] = [["gate", tuesday, "--config", folder / "gates.yaml", "--baseline", monday]]
    runs += [["compare", monday, tuesday, "--output", output / "compare", "--no-html"]]
    done = [command(*run) for run in runs]
    found = [(code, stdout + stderr) for code, stdout, stderr in done]
    found.append((0, (output / "compare" / "comparison.json").read_text()))
    names = ((monday, "MONDAY"), (tuesday, "TUESDAY"), (output, "OUTPUT"))
    return [(code, reduce(lambda text, each: text.replace(str(each[0]), each[1]), names, text)) for code, text in found]


@pytest.fixture(scope="module")
def whole(nights: Path, tmp_path_factory: pytest.TempPathFactory) -> list[tuple[int, str]]:
    """What the commands say of the runs themselves."""
    found = said(nights, nights / "monday", nights / "tuesday", tmp_path_factory.mktemp("of runs"))
    assert [code for code, _ in found] == [1, 0, 0], found
    return found


def read_only(run: Path, to: Path) -> None:
    shutil.copytree(run, to, symlinks=True)
    for each in [to, *to.rglob("*")]:
        each.chmod(0o555 if each.is_dir() else 0o444)


def by_zip(run: Path, to: Path) -> None:
    """Packs what a file manager shows, without hidden folders."""
    with zipfile.ZipFile(to.with_suffix(".zip"), "w") as archive:
        for path in sorted(run.rglob("*")):
            if path.is_file() and not any(part.startswith(".") for part in path.relative_to(run).parts):
                archive.write(path, path.relative_to(run))
    with zipfile.ZipFile(to.with_suffix(".zip")) as archive:
        archive.extractall(to)


@pytest.mark.parametrize("copy", [read_only, by_zip])
def test_a_copy_says_what_the_run_says(
    nights: Path, whole: list[tuple[int, str]], tmp_path: Path, copy: Callable[[Path, Path], None]
) -> None:
    copies = tmp_path / "monday", tmp_path / "tuesday"
    for path in copies:
        copy(nights / path.name, path)
    before = {path: path.stat().st_mtime_ns for copy in copies for path in copy.rglob("*")}
    assert said(nights, *copies, tmp_path / "of copies") == whole
    assert {path: path.stat().st_mtime_ns for copy in copies for path in copy.rglob("*")} == before


def plain_summary(run: Path) -> bytes:
    """Reads a summary under its plain name, which is absent for a moment while a run is replaced."""
    while True:
        with contextlib.suppress(FileNotFoundError):
            return (run / "summary.json").read_bytes()


def test_a_run_that_is_replaced_is_read_as_the_old_or_the_new_one(nights: Path, tmp_path: Path) -> None:
    inputs = nights / "in"
    run, stop = tmp_path / "run", threading.Event()
    predictions = [inputs / "predictions.jsonl", inputs / "fewer.jsonl"]
    evaluate(run, inputs / "truths.jsonl", predictions[0], *FLAGS, config="traffic_rules")
    known = {(nights / name / "summary.json").read_bytes() for name in ("monday", "tuesday")}
    allowed = {json.dumps(json.loads(each)["systems"]) for each in known}
    command_line = [sys.executable, "-m", "beamscore.pipelines.commands", "evaluate", "traffic_rules", *FLAGS]
    command_line.append(f"--output={run}")

    def replace() -> None:
        given = [f"--ground-truth={inputs / 'truths.jsonl'}", f"--predictions={predictions[1]}"]
        subprocess.run([*command_line, *given], cwd=ROOT, check=True, capture_output=True)
        stop.set()

    writer = threading.Thread(target=replace)
    writer.start()
    looks = 0
    while not stop.is_set() or not looks:
        code, _, stderr = command("gate", run, "--config", nights / "gates.yaml", "--baseline", nights / "monday")
        assert code in (0, 1, 4), stderr
        assert json.dumps(json.loads(plain_summary(run))["systems"]) in allowed
        looks += 1
    writer.join()


def test_nothing_of_a_run_is_unpickled(nights: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> NoReturn:
        raise AssertionError("a run is data, not code")

    for name in ("load", "loads", "Unpickler"):
        monkeypatch.setattr(pickle, name, refuse)
    code, _, stderr = command(
        "gate", nights / "tuesday", "--config", nights / "gates.yaml", "--baseline", nights / "monday"
    )
    assert code in (0, 1, 4), stderr
    assert command("history", nights, "--output", tmp_path, "--no-html")[0] == 0


def test_many_small_files_need_few_descriptors(tmp_path: Path) -> None:
    for side, records in zip(("t", "p"), corpus("traffic_rules", 200, 1), strict=True):
        (tmp_path / side).mkdir()
        for number, record in enumerate(records):
            (tmp_path / side / f"{number}.jsonl").write_bytes(to_line(record))
    given = [f"--ground-truth={tmp_path}/t/*", f"--predictions={tmp_path}/p/*", f"--output={tmp_path}/out"]
    script = 'ulimit -n 64; exec "$@"'
    evaluating = [sys.executable, "-m", "beamscore.pipelines.commands", "evaluate", "traffic_rules", *given, *FLAGS]
    done = subprocess.run(
        ["sh", "-c", script, "sh", *evaluating], cwd=ROOT, capture_output=True, text=True, check=False, env=os.environ
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
