"""How a command begins and ends."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.runs import command

ROOT = Path(__file__).parents[3]

AT_THE_END = """
import atexit, gc, sys
from beamscore.pipelines.commands.main import main

# What is registered first runs last.
atexit.register(lambda: print("objects left to look at:", len(gc.get_objects())))
sys.argv[1:] = {arguments}
sys.exit(main())
"""


@pytest.mark.parametrize(("arguments", "code"), [(["--version"], 0), (["benchmarks"], 0), (["evaluate"], 2)])
def test_python_does_not_look_for_garbage_when_a_command_ends(arguments: list[str], code: int) -> None:
    """Among the objects of the libraries, several hundred thousand, it takes half a second."""
    text = AT_THE_END.format(arguments=arguments)
    done = subprocess.run([sys.executable, "-c", text], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stderr
    assert int(done.stdout.rpartition(":")[2]) < 1000


HEAVY = ("apache_beam", "scipy", "pyarrow", "PIL")
"""What takes long to import, and what telling the options of a command, or what is wrong with them, can do without."""

IMPORTED = """
import sys
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
    return [line.split() for line in done.stdout.splitlines() if line.startswith(" ")]


def imported(arguments: Sequence[str], *packages: str) -> list[str]:
    """Returns the last line of `imported_by` for one command."""
    return imported_by([arguments], *packages)[-1]


def test_help_imports_no_library_that_takes_long() -> None:
    lines = imported_by(
        [["--help"], ["--version"], ["evaluate", "--help"], ["benchmarks", "--names"]], *HEAVY, "shapely", "numpy"
    )
    assert [line for line in lines if line[0].isdigit()] == [["0"]] * 4


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
    ]
    assert imported_by(wrong, *HEAVY) == [["2"]] * len(wrong)
    assert imported(["benchmarks"], *HEAVY) == ["0"]


def test_gates_history_and_blessing_of_runs_on_a_disk_need_no_beam(tmp_path: Path) -> None:
    corpus = ROOT / "tests/corpora/traffic_rules"
    inputs = ("--ground-truth", f"{corpus}/ground_truth.jsonl", "--predictions", f"{corpus}/predictions.jsonl")
    for run in ("first", "second"):
        command("evaluate", "traffic_rules", *inputs, "--output", str(tmp_path / "runs" / run))
    gates = ["--set", "gates={overall.f1: {minimum: 0, not_worse_than: baseline}}"]
    runs = tmp_path / "runs"
    assert imported(["gate", f"{runs}/second", "--baseline", f"{runs}/first", *gates], "apache_beam")[1:] == []
    assert imported(["history", str(runs)], "apache_beam") == ["0"]
    assert imported(["bless", str(runs)], "apache_beam") == ["0"]


def test_the_check_finds_what_is_imported() -> None:
    assert imported(["compare", "no-such-run", "other"], *HEAVY)[:2] == ["2", "apache_beam"]
