"""What tells of a run without a terminal."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from beamscore.pipelines.commands import console
from beamscore.pipelines.runners import launch
from tests import toy
from tests.runs import command, write_lines

SAMPLES = [toy.sample(index, 0) for index in range(40)]
ROOT = Path(__file__).parents[3]
LINE = re.compile(r'([a-z_]+)\{((?:[a-z]+="(?:[^"\\]|\\.)*",?)+)\} ([-+0-9.e]+)')


@pytest.fixture
def given(tmp_path: Path) -> tuple[str, ...]:
    write_lines(tmp_path / "t.jsonl", [truth for truth, _ in SAMPLES])
    write_lines(tmp_path / "p.jsonl", [prediction for _, prediction in SAMPLES if prediction])
    return (
        *("evaluate", "toy", "--ground-truth", f"{tmp_path}/t.jsonl", "--predictions", f"{tmp_path}/p.jsonl"),
        *("--output", f"{tmp_path}/out", "--set", "bootstrap.replicates=20"),
    )


def values(path: Path) -> dict[str, float]:
    """Returns the metrics of a textfile; those with labels of their own by their last one."""
    found = {}
    for line in path.read_text().splitlines():
        if not line.startswith("# "):
            match = LINE.fullmatch(line)
            assert match, line
            metric = re.search(r'metric="(.*?)"', match[2])
            found[f"{match[1]} {metric[1]}" if metric else match[1]] = float(match[3])
    return found


def test_the_metrics_of_a_run_are_kept_in_a_file(given: tuple[str, ...], tmp_path: Path) -> None:
    path = tmp_path / "node" / "beamscore.prom"
    assert command(*given, "--metrics-file", path)[0] == 0
    found = values(path)
    assert (found["beamscore_run_running"], found["beamscore_run_exit_code"]) == (0, 0)
    summary = json.loads((tmp_path / "out" / "summary.json").read_bytes())
    assert found["beamscore_value exact_match"] == summary["systems"]["predictions"]["values"]["exact_match"]
    assert [each.name for each in path.parent.iterdir()] == ["beamscore.prom"]


def test_a_run_that_fails_says_so_in_the_file(given: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "p.jsonl").rename(tmp_path / "p.jsonl.gz")
    flags = ["--predictions", f"{tmp_path}/p.jsonl.gz", "--metrics-file", f"{tmp_path}/m.prom"]
    code, _, _ = command(*given[:4], *flags, *given[6:])
    found = values(tmp_path / "m.prom")
    assert (code, found["beamscore_run_exit_code"], found["beamscore_run_running"]) == (2, 2, 0)


def test_a_file_that_cannot_be_written_ends_the_run_at_its_start(given: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    code, _, stderr = command(*given, "--metrics-file", f"{tmp_path}/file/m.prom")
    assert (code, stderr.count("\n")) == (2, 1)
    assert stderr.startswith(f"beamscore: --metrics-file {tmp_path}/file/m.prom: cannot be written: ")


def test_lines_of_progress_and_errors_are_json_where_that_is_wanted(
    given: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(console, "LINE_INTERVAL_S", 0.05)
    write_lines(tmp_path / "p.jsonl", [prediction for _, prediction in SAMPLES if prediction] + [b"broken"])
    code, _, stderr = command(*given, "--log-format", "json")
    *progress, last = (json.loads(line) for line in stderr.splitlines())
    assert code == 1
    assert last["level"] == "ERROR"
    assert "1 of 37 predictions were rejected" in last["message"]
    assert {each["level"] for each in progress} == {"INFO"}
    assert [each["records_read"] for each in progress] == sorted(each["records_read"] for each in progress)
    assert all(set(each) >= {"time", "seconds", "samples_scored"} for each in progress)
    code, _, stderr = command(*given, "--quiet")
    assert stderr.count("\n") == 1
    code, _, stderr = command(*given)
    assert re.search(r"^beamscore: [0-9,]+ (records read|of [0-9,]+ samples scored) after \d+ s$", stderr, re.MULTILINE)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("split", "nothing"), "nothing"),
        (("evaluate",), "the following arguments are required: CONFIG"),
        (("evaluate", "--output"), "argument --output: expected one argument"),
    ],
)
def test_a_command_line_that_is_wrong_is_json_where_that_is_wanted(arguments: tuple[str, ...], said: str) -> None:
    """Nothing that is imported may say anything in another format before."""
    given = [sys.executable, "-m", "beamscore.pipelines.commands", *arguments, "--log-format", "json"]
    found = subprocess.run(given, cwd=ROOT, capture_output=True, text=True, check=False)
    (line,) = found.stderr.splitlines()
    assert (found.returncode, found.stdout, json.loads(line)["level"]) == (2, "", "ERROR")
    assert said in json.loads(line)["message"]


def test_a_defect_is_one_line_of_json_where_that_is_wanted(
    given: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError("no luck")

    monkeypatch.setattr(launch, "beam_options", fail)
    code, _, stderr = command(*given, "--log-format=json")
    (line,) = map(json.loads, stderr.splitlines())
    assert (code, line["level"], line["message"]) == (3, "ERROR", "ZeroDivisionError: no luck")
    assert "in fail\n" in line["traceback"]


def test_beam_says_nothing_while_it_is_imported() -> None:
    code = """
import logging
from beamscore.transforms.process import quiet_root_logger
with quiet_root_logger:
    import beamscore.pipelines.commands.main
assert not logging.getLogger().handlers
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
