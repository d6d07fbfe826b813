"""The command line: exit codes, errors of one line that say how to mend them, help and the list of benchmarks."""

import argparse
import errno
import functools
import importlib.metadata
import itertools
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from beamscore.metrics.benchmark import MissingTool
from beamscore.metrics.registry import BrokenBenchmark, benchmark_class, benchmark_names
from beamscore.metrics.version import VERSION
from beamscore.pipelines.commands import arguments as command_line, evaluate as evaluate_command, main
from beamscore.pipelines.commands.benchmarks import WIDTH
from beamscore.pipelines.config.errors import UsageError, as_usage_error
from beamscore.pipelines.runners import launch
from beamscore.transforms.records import InputProblem
from tests import toy
from tests.runs import command, evaluate, refused, write_lines

RECORDS = [toy.sample(index, 0)[0] for index in range(6)]
INPUTS = ("--ground-truth", "t.jsonl", "--predictions", "p.jsonl", "--output", "out")


@pytest.fixture
def corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write_lines(tmp_path / "t.jsonl", RECORDS)
    write_lines(tmp_path / "p.jsonl", RECORDS)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_problem_while_reading_ends_the_run_with_one_line(corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sliced = ("evaluate", "toy", *INPUTS, "--slice", "sample_id", "--set")
    end = "there are more than 5; slice by columns with fewer values, or raise limits.slices"
    assert refused(*sliced, "limits.slices=5") == f"slices by sample_id: {end}"
    assert not list((corpus / "out").iterdir())
    assert command(*sliced, "limits.slices=6", "--quiet", "--no-html") == (0, "", "")

    told = "pdflatex is not installed; install texlive"
    monkeypatch.setattr(toy.ToyBenchmark, "setup", Mock(side_effect=MissingTool(told)))
    assert refused("evaluate", "toy", *INPUTS) == told
    # On a cluster only the workers can tell.
    monkeypatch.setattr(evaluate_command, "check_tools", lambda *_: None)
    assert refused("evaluate", "toy", *INPUTS) == told


def test_columns_that_no_record_has_are_told_at_the_end(corpus: Path) -> None:
    late = [{"sample_id": f"s{n}", "text": "t", **({"kind": "bar"} if n == 1200 else {})} for n in range(1201)]
    write_lines(corpus / "late.jsonl", late)
    run = evaluate(corpus / "late", "late.jsonl", "p.jsonl", "--slice", "kind", "--set", "cluster=a|b\n", "--quiet")
    column = "no ground-truth record has a value in the column"
    warning = f"{column} a|b, by which the run draws clusters"
    assert (run.code, run.summary["warnings"]) == (0, [warning])
    assert sorted(run.summary["systems"]["predictions"]["slices"]) == ["kind=bar", "kind=null"]
    hints = [line.partition(",")[0].removeprefix("beamscore: warning: ") for line in run.stderr.splitlines()]
    assert hints[:1] == ["the first ground-truth records have no column kind"]
    assert run.stderr.splitlines()[-1] == f"beamscore: warning: {warning}"
    assert f"**Warning:** {column} " in run.report


def test_interrupts_leave_a_whole_result_and_defects_are_shown(corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever a runner makes of the signal."""
    run = launch.run

    def interrupted(*arguments: Any, is_published: bool = False) -> None:
        if is_published:
            run(*arguments)
        try:
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(60)
        except KeyboardInterrupt as error:
            if not is_published:
                raise RuntimeError("a worker is gone") from error
            raise

    handler = signal.getsignal(signal.SIGINT)
    summary, changed = corpus / "out" / "summary.json", ("--set", "missing=exclude")
    monkeypatch.setattr(launch, "run", interrupted)
    assert command("evaluate", "toy", *INPUTS) == (130, "", "beamscore: interrupted\n")
    assert list((corpus / "out").iterdir()) == []
    assert command("split", "toy", *INPUTS[:2], "--output", "s.jsonl") == (130, "", "beamscore: interrupted\n")
    assert not (corpus / "s.jsonl").exists()
    monkeypatch.setattr(launch, "run", run)
    assert command("evaluate", "toy", *INPUTS, "--quiet") == (0, "", "")
    before = summary.read_bytes()
    for is_published in (False, True):
        monkeypatch.setattr(launch, "run", functools.partial(interrupted, is_published=is_published))
        assert command("evaluate", "toy", *INPUTS, *changed) == (130, "", "beamscore: interrupted\n")
        assert (summary.read_bytes() == before) != is_published
    monkeypatch.setattr(launch, "run", Mock(side_effect=LookupError("a defect")))
    code, stdout, stderr = command("evaluate", "toy", *INPUTS)
    assert (code, stdout, stderr.splitlines()[-1]) == (3, "", "LookupError: a defect")
    assert stderr.startswith("Traceback")
    monkeypatch.setattr(launch, "run", Mock(side_effect=OSError(errno.ENOSPC, "no space")))
    assert "a disk is full, or standard output goes to one" in refused("evaluate", "toy", *INPUTS)
    assert signal.getsignal(signal.SIGINT) is handler


def test_a_system_is_named_before_its_globs(corpus: Path) -> None:
    named = command_line.systems(["ours=a=1.jsonl", "v1.2_x-y=b", "ours=c"])
    assert named == {"ours": ["a=1.jsonl", "c"], "v1.2_x-y": ["b"]}
    paths = ["/data/day=3/a.jsonl", "gs://b/a=b"]
    assert command_line.systems(paths) == {"predictions": paths}
    run = evaluate(corpus / "out", "t.jsonl", "a=p.jsonl", "--predictions", "b=p.jsonl", "t.jsonl", "--quiet")
    systems = run.summary["systems"]
    assert {name: each["coverage"]["predictions"]["read"] for name, each in systems.items()} == {"a": 6, "b": 12}
    text = "benchmark: toy\nground_truth: [t.jsonl]\npredictions: {ours: [p.jsonl]}\noutput: named\nslices: [kind]\n"
    (corpus / "c.yaml").write_text(text)
    assert command("evaluate", "c.yaml", "--quiet") == (0, "", "")
    assert (corpus / "named" / "summary.json").exists()


CUT = InputProblem("a.gz: cut off")


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (CUT, "a.gz: cut off"),
        (UsageError("key: wrong"), "key: wrong"),
        (RuntimeError(f"Traceback ...\n{CUT}\nmore"), "a.gz: cut off"),
        (RuntimeError(f"{CUT} [while running 'Read/x']"), "a.gz: cut off"),
        (InputProblem(f"{CUT} [while running 'Read']"), "a.gz: cut off"),
        (BrokenBenchmark("the benchmark x: no [while running 'Values']"), "the benchmark x: no"),
        (RuntimeError("Traceback ...\nmetrics.registry.BrokenBenchmark: the benchmark x: no\n"), "the benchmark x: no"),
        (RuntimeError("index out of range"), "None"),
    ],
)
def test_a_problem_of_the_input_is_found_however_deep_it_is_wrapped(error: Exception, message: str) -> None:
    assert str(as_usage_error(error)) == message


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """Returns what an option prints that ends the command."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["beamscore", *arguments])
        with pytest.raises(SystemExit) as ended:
            main.main()
    assert ended.value.code == 0
    return capsys.readouterr().out


def test_help_fits_a_screen(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    shown = {name: printed(capsys, *name.split(), "--help") for name in ("", *command_line.COMMANDS)}
    for name, text in shown.items():
        assert len(text.splitlines()) <= (30 if not name else 45)
        assert max(map(len, text.splitlines())) <= 80
    assert all(text in shown[""] for text in ("example:", *command_line.COMMANDS))
    options = "--ground-truth GLOB", "--predictions [NAME=]GLOB", "--set KEY=VALUE"
    assert all(option in shown["evaluate"] for option in options)
    # The defaults that it tells are those that hold, and no value may be empty but that of --sample, an id.
    for _, listed in command_line.COMMANDS.values():
        every = itertools.chain.from_iterable(each if isinstance(each, list) else [each] for each in listed)
        for name, details in every:
            told = re.search(r"\(default: (\d[\d.]*)\)", details["help"])
            assert told is None or details["default"] == float(told[1])
            if "metavar" in details and name != "--sample":
                with pytest.raises((argparse.ArgumentTypeError, ValueError)):
                    details["type"](" ")


def test_version_is_that_of_the_distribution_and_completion_knows_commands(capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(capsys, "--version") == f"beamscore {VERSION}\n"
    assert importlib.metadata.version("beamscore") == VERSION
    for shell in ("bash", "zsh"):
        script = printed(capsys, "--print-completion", shell)
        assert all(name in script for name in ("evaluate", "convert", "--ground-truth", "--predictions", "--folds"))


def test_the_list_of_benchmarks_explains_every_metric() -> None:
    every, listed = command("benchmarks")[1], command("benchmarks", "--names")[1]
    assert listed.split() == benchmark_names()
    for name in benchmark_names():
        code, stdout, stderr = command("benchmarks", name)
        assert (code, stderr, stdout in every) == (0, "", True)
        assert max(map(len, stdout.splitlines())) <= WIDTH
        shown, kind = " ".join(stdout.split()), benchmark_class(name)
        specs = (*kind.metrics, *kind.sample_metrics)
        assert all(f"{spec.name} {' '.join(spec.meaning.split())}" in shown for spec in specs)


# What a command imports, and that Python searches no objects for garbage at its end.

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


def imported_by(all_arguments: Iterable[Sequence[str]], *packages: str) -> list[list[str]]:
    """Returns the exit code of each command, one after the other, and which of some packages were imported by then."""
    text = IMPORTED.format(all_arguments=[*map(list, all_arguments)], packages=packages)
    done = subprocess.run([sys.executable, "-c", text], cwd=ROOT, capture_output=True, text=True, check=True)
    assert int(done.stdout.rpartition(":")[2]) < 1000, "hundreds of thousands of objects take half a second"
    # Nothing that is imported says anything.
    assert all(line.startswith("beamscore: ") for line in done.stderr.splitlines())
    return [line.split() for line in done.stdout.splitlines() if line.startswith(" ")]


WRONG = (
    "no-such-command", "evaluate", "evaluate chart stray", "evaluate chart --set no-such-key=1",
    "draw chart --output x.svg --set slices", "benchmarks no-such-benchmark", "export run --to nowhere",
    "evaluate chart --ground-truth t --output o", "evaluate chart --ground-truth t --predictions p",
    "evaluate chart --ground-truth t --predictions p --output o --replicats 5", "history . --sytem=x",
)  # fmt: skip


def test_neither_help_nor_wrong_usage_nor_the_list_of_benchmarks_imports_what_takes_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    help_texts = ("--help", "--version", "evaluate --help", "export --help", "benchmarks --names")
    lines = imported_by(map(str.split, help_texts), *HEAVY, "shapely", "numpy", "mlflow", "wandb")
    assert [line for line in lines if line[0].isdigit()] == [["0"]] * len(help_texts)
    late = ("benchmarks", "compare no-such-run other")
    lines = imported_by(map(str.split, (*WRONG, *late)), *HEAVY)
    assert lines[: len(WRONG)] == [["2"]] * len(WRONG)
    assert ["0"] in lines
    # The check finds what is imported.
    assert lines[-1][:2] == ["2", "apache_beam"]
    # Where Beam is not imported, what is misspelled is told before what is missing by it, and before a value of Beam's.
    monkeypatch.delitem(sys.modules, "apache_beam")
    assert "(did you mean --ground-truth?)" in refused("evaluate", "toy", "--job_name", "--x", "--ground-trut", "t")


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
