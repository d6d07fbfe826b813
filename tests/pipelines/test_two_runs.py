"""Two commands into one folder at the same time, one killed while it publishes, and a reader who looks all the time."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from beamscore.pipelines.runs.run import open_result
from tests import toy
from tests.runs import evaluate, write_lines

pytestmark = pytest.mark.attacks

ROOT = Path(__file__).parents[2]
COUNT = 40
TRUTHS = [truth for truth, _ in (toy.sample(index, 0) for index in range(COUNT))]

COMMAND = """
import os, signal, sys
from beamscore.transforms.process import quiet_root_logger
with quiet_root_logger:
    from beamscore.pipelines.commands import main
    from tests import toy

def killed(call, last):
    def step(source, target, **options):
        if target.endswith(last):
            os.kill(os.getpid(), signal.SIGKILL)
        call(source, target, **options)
    return step

toy.register()
if sys.argv[1]:
    os.rename = killed(os.rename, sys.argv[1])
sys.exit(main.main(sys.argv[2:]))
"""


def start(step: str, output: Path, predictions: Path) -> subprocess.Popen[str]:
    """Starts a command that is killed before the step that gives a file the name `step`, if at any."""
    flags = [f"--ground-truth={predictions.parent}/truth.jsonl", f"--predictions={predictions}", f"--output={output}"]
    return subprocess.Popen(
        [sys.executable, "-c", COMMAND, step, "evaluate", "toy", *flags, "--set", "bootstrap.replicates=5"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def similarity(summary: bytes, samples: list[bytes | Path]) -> float:
    """Returns the value of a result, after a look whether the rows of its samples have the same."""
    value = json.loads(summary)["systems"]["predictions"]["values"]["similarity"]
    rows = [row["similarity"] for path in samples for row in pq.ParquetFile(path).read().to_pylist()]
    assert len(rows) == COUNT
    assert sum(rows) / COUNT == pytest.approx(value)
    return float(value)


def by_open_result(output: Path) -> float:
    """Reads the result that counts; a file that is gone means that there is another one now."""
    while True:
        found = open_result(str(output))
        try:
            return similarity(found.read("summary.json"), [Path(path) for path in found.folder("samples")])
        except FileNotFoundError:
            assert open_result(str(output)).run_id != found.run_id


def looked_at(output: Path, is_over: Callable[[], bool]) -> list[float]:
    """Returns what a reader has seen from now until something is over, without repetitions."""
    seen: list[float] = []
    over = False
    while not over:
        over = is_over()
        value = by_open_result(output)
        if not seen or seen[-1] != value:
            seen.append(value)
        time.sleep(0.02)
    return seen


@pytest.mark.parametrize("step", ["/run.json", "out/report.md"])
def test_a_reader_sees_one_run_whole_whatever_two_runs_do(tmp_path: Path, step: str) -> None:
    """Predictions whose texts are 0, 1, 2 and 3 characters longer than the ground truth score 1/(1 + difference)."""
    write_lines(tmp_path / "truth.jsonl", TRUTHS)
    predictions = [
        write_lines(
            tmp_path / f"{number}.jsonl",
            [{"sample_id": truth["sample_id"], "text": truth["text"] + "x" * number} for truth in TRUTHS],
        )
        for number in range(4)
    ]
    output = tmp_path / "out"
    assert evaluate(output, tmp_path / "truth.jsonl", predictions[0], "--set", "bootstrap.replicates=5").code == 0
    both = [start(step, output, predictions[number]) for number in (1, 2)]
    seen = looked_at(output, lambda: all(process.poll() is not None for process in both))
    said = {process.returncode: (process.communicate()[1], number) for number, process in enumerate(both, 1)}
    assert set(said) in ({-signal.SIGKILL, 2}, {-signal.SIGKILL})
    if 2 in said:
        assert "is writing there; wait until it ends" in said[2][0]
        published = 1 / (1 + said[-signal.SIGKILL][1])
    replaced = step == "out/report.md"
    assert seen[0] == 1.0
    assert len(seen) == 1 or replaced
    if 2 in said:
        assert seen == pytest.approx([1.0, published] if replaced else [1.0])
    last = start("", output, predictions[3])
    assert looked_at(output, lambda: last.poll() is not None) == [seen[-1], 0.25]
    assert (last.returncode, last.communicate()[1]) == (0, "")
    assert {path.name for path in output.iterdir()} == {
        *("summary.json", "run.json", "sums.json", "report.md", "report.html", "samples", "quarantine", ".runs")
    }
    assert similarity((output / "summary.json").read_bytes(), sorted((output / "samples").iterdir())) == 0.25
    assert len(list((output / ".runs").iterdir())) == 1
