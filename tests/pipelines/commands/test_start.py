"""How a command begins and ends: what it imports, and that Python then searches no objects for garbage."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.runs import command

ROOT = Path(__file__).parents[3]
HEAVY = ("apache_beam", "scipy", "pyarrow", "PIL")
"""What takes long to import, and what telling the options of a command, or what is wrong with them, can do without."""

IMPORTED = """
import atexit, gc, sys
# What is registered first runs last.
atexit.register(lambda: print("objects left to look at:", len(gc.get_objects())))
from beamscore.pipelines.commands.main import main

for arguments in {all_arguments}:
    try:
        code = main(arguments)
    except SystemExit as end:
        code = end.code
    print("\\n", code, *[name for name in {packages} if name in sys.modules])
"""


def imported_by(all_arguments: Sequence[Sequence[str]], *packages: str) -> list[list[str]]:
    """Returns the exit code of each command, one after the other, and which of some packages were imported by then."""
    text = IMPORTED.format(all_arguments=[list(each) for each in all_arguments], packages=packages)
    done = subprocess.run([sys.executable, "-c", text], cwd=ROOT, capture_output=True, text=True, check=True)
    assert int(done.stdout.rpartition(":")[2]) < 1000, "hundreds of thousands of objects take half a second"
    # Nothing that is imported says anything: a line in another format would break the reader of JSON.
    assert all(line.startswith(("beamscore: ", '{"time": ')) for line in done.stderr.splitlines())
    return [line.split() for line in done.stdout.splitlines() if line.startswith(" ")]


def test_help_imports_no_library_that_takes_long() -> None:
    given = [["--help"], ["--version"], ["evaluate", "--help"], ["export", "--help"], ["benchmarks", "--names"]]
    lines = imported_by(given, *HEAVY, "shapely", "numpy", "mlflow", "wandb")
    assert [line for line in lines if line[0].isdigit()] == [["0"]] * 5


def test_neither_the_list_of_benchmarks_nor_wrong_usage_imports_beam_or_scipy() -> None:
    wrong = [
        [],
        ["no-such-command"],
        ["evaluate"],
        ["evaluate", "no-such-benchmark"],
        ["evaluate", "chart", "stray"],
        ["evaluate", "chart", "--processes", "0"],
        ["evaluate", "chart", "--set", "no-such-key=1"],
        ["split", "chart", "--set", "protocol=none"],
        ["draw", "chart", "--output", "x.svg", "--set", "slices"],
        ["benchmarks", "no-such-benchmark"],
        ["export", "run", "--to", "nowhere"],
    ]
    lines = imported_by([*wrong, ["benchmarks"], ["compare", "no-such-run", "other", "--log-format", "json"]], *HEAVY)
    assert lines[: len(wrong)] == [["2"]] * len(wrong)
    assert ["0"] in lines
    # The check finds what is imported.
    assert lines[-1][:2] == ["2", "apache_beam"]


def test_gates_history_and_blessing_of_runs_on_a_disk_need_no_beam(tmp_path: Path) -> None:
    corpus, runs = ROOT / "tests/corpora/traffic_rules", str(tmp_path / "runs")
    inputs = ("--ground-truth", f"{corpus}/ground_truth.jsonl", "--predictions", f"{corpus}/predictions.jsonl")
    for run in ("first", "second"):
        command("evaluate", "traffic_rules", *inputs, "--output", f"{runs}/{run}", "--no-html", "--quiet")
    gates = ["--set", "gates={overall.f1: {minimum: 0, not_worse_than: baseline}}"]
    judged = ["gate", f"{runs}/second", "--baseline", f"{runs}/first", *gates]
    found = imported_by([judged, ["history", runs], ["bless", runs]], "apache_beam")
    assert [line for line in found if line[0].isdigit()][1:] == [["0"], ["0"]]
    assert not any("apache_beam" in line for line in found)
