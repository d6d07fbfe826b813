"""The command line: exit codes, and errors of one line that say how to mend them."""

from __future__ import annotations

import gzip
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from markdown_it import MarkdownIt

from beamscore.metrics.benchmark import MissingTool
from beamscore.metrics.registry import benchmark_class, benchmark_names
from beamscore.metrics.version import VERSION
from beamscore.pipelines.commands import arguments as command_line
from beamscore.pipelines.commands import evaluate as evaluate_command
from beamscore.pipelines.commands import main
from beamscore.pipelines.config.errors import UsageError, as_usage_error
from beamscore.pipelines.runners import launch
from beamscore.transforms.records import InputProblem, zstd
from tests import toy
from tests.runs import command, evaluate, write_lines

ROOT = Path(__file__).parents[3]

RECORDS = [toy.sample(index, 0)[0] for index in range(6)]


@pytest.fixture
def corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write_lines(tmp_path / "t.jsonl", RECORDS)
    write_lines(tmp_path / "p.jsonl", RECORDS)
    (tmp_path / "bad.yaml").write_text("benchmark: toy\nmising: wrong\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def refused(*arguments: str) -> str:
    """Returns the one line of an error of usage."""
    code, stdout, stderr = command(*arguments)
    assert (code, stdout) == (2, ""), stderr
    assert stderr.startswith("beamscore: ")
    assert stderr.count("\n") == 1
    assert stderr.endswith("\n")
    return stderr.removeprefix("beamscore: ").rstrip("\n")


INPUTS = ("--ground-truth", "t.jsonl", "--predictions", "p.jsonl", "--output", "out")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "the following arguments are required: COMMAND; see beamscore --help"),
        (["evalute"], "argument COMMAND: invalid choice: 'evalute'"),
        (["evaluate"], "the following arguments are required: CONFIG; give it first, as --ground-truth"),
        (
            ["evaluate", "toy"],
            "ground_truth: nothing is given; give --ground-truth GLOB, or ground_truth in the config",
        ),
        (["evaluate", "toy", *INPUTS[:2]], "predictions: nothing is given; give --predictions [NAME=]GLOB, or "),
        (
            ["evaluate", "toy", *INPUTS[:4]],
            "output: nothing is given; give --output DIR, or output in the configuration",
        ),
        (["evaluate", "toi", *INPUTS], "toi: the configuration cannot be read ("),
        (["evaluate", "bad.yaml", *INPUTS], "bad.yaml: mising: unknown key (did you mean missing?); allowed for toy: "),
        (
            ["evaluate", "toy", *INPUTS, "--slices", "a"],
            "--slices: neither beamscore nor Beam knows this option (did you mean --slice?)",
        ),
        (
            ["evaluate", "toy", *INPUTS, "--direct_num_worker=2"],
            "--direct_num_worker=2: neither beamscore nor Beam knows this option (did you mean --direct_num_workers?)",
        ),
        (["evaluate", "toy", *INPUTS, "stray"], "stray: belongs to no option, as each but"),
        (
            ["evaluate", "toy", *INPUTS, "--direct_num_workers=many"],
            "--direct_num_workers=many: argument --direct_num_workers",
        ),
        (
            ["evaluate", "toy", *INPUTS[:2], "--predictions", "ours=gone.jsonl", *INPUTS[4:]],
            "--predictions ours=gone.jsonl: no file matches",
        ),
        (
            ["evaluate", "toy", *INPUTS[:2], "--predictions", "bad.yaml", *INPUTS[4:]],
            "--predictions bad.yaml: the format is unknown; the name must end with .jsonl, ",
        ),
        (["evaluate", "toy", "--ground-truth", ".", *INPUTS[2:]], "--ground-truth ."),
        (["benchmarks", "tox"], "there is no benchmark tox (did you mean toy?); there are "),
        (["evaluate", "toy", *INPUTS, "--runner=NoSuch"], "--runner NoSuch: Beam has no such runner; there are "),
        (
            ["evaluate", "toy", *INPUTS, "--runner=FlinkRuner"],
            "--runner FlinkRuner: Beam has no such runner (did you mean FlinkRunner?); there are ",
        ),
    ],
)
def test_wrong_usage_is_told_in_one_line_before_anything_runs(corpus: Path, arguments: list[str], message: str) -> None:
    assert refused(*arguments).startswith(message)
    assert not (corpus / "out").exists()


@pytest.mark.parametrize("runner", ["no.such.Runner", "beamscore.pipelines.commands.main.NoRunner"])
def test_a_runner_that_cannot_be_had_is_told_in_one_line(corpus: Path, runner: str) -> None:
    assert refused("evaluate", "toy", *INPUTS, f"--runner={runner}").startswith(f"--runner {runner}: ")


def test_a_benchmark_that_was_meant_is_named(corpus: Path) -> None:
    assert refused("evaluate", "charts", *INPUTS).endswith("(did you mean chart?)")


def test_help_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (["--help"], ["evaluate", "--help"], ["benchmarks", "--help"]):
        with pytest.raises(SystemExit) as end:
            main.main(arguments)
        assert end.value.code == 0
    shown = capsys.readouterr().out
    for text in (
        "--ground-truth GLOB",
        "--predictions [NAME=]GLOB",
        "--set KEY=VALUE",
        "example:",
        "list the benchmarks",
    ):
        assert text in shown


def test_help_fits_a_screen(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    for arguments, lines in [(["--help"], 30), *(([name, "--help"], 45) for name in ("evaluate", "convert", "split"))]:
        with pytest.raises(SystemExit):
            main.main(arguments)
        shown = capsys.readouterr().out.splitlines()
        assert len(shown) <= lines
        assert max(map(len, shown)) <= 80


def test_the_list_of_benchmarks_is_readable_and_whole() -> None:
    code, stdout, _ = command("benchmarks")
    assert code == 0
    assert max(map(len, stdout.splitlines())) <= 100
    words = " ".join(stdout.split())
    for name in benchmark_names():
        kind = benchmark_class(name)
        for value, meaning in [(spec.name, spec.meaning) for spec in (*kind.metrics, *kind.sample_metrics)]:
            assert f"{value} {' '.join(meaning.split())}" in words
    assert command("benchmarks", "toy")[1].startswith(
        "toy: Exact match of strings.\n  metrics:\n    exact_match  share"
    )


def test_empty_inputs_fail_with_a_result(corpus: Path) -> None:
    for name in ("empty.jsonl", "empty.jsonl.gz"):
        (corpus / name).write_bytes(b"")
        found = evaluate(corpus / "out", name, "p.jsonl", "--quiet")
        assert found.code == 1
        assert found.stderr == f"beamscore: the ground truth: there is no record in {name}; nothing was scored\n"
        system = found.summary["systems"]["predictions"]
        assert (system["coverage"]["ground_truth"]["read"], system["coverage"]["predictions"]["unmatched"]) == (0, 6)
        assert system["values"] == {"exact_match": None, "similarity": None}
        found = evaluate(corpus / "out", "t.jsonl", name, "--quiet")
        assert found.code == 1
        assert found.stderr.startswith("beamscore: the predictions: there is no record in ")
        system = found.summary["systems"]["predictions"]
        assert system["coverage"]["ground_truth"]["missing_prediction"] == 6
        assert system["values"]["exact_match"] == 0
    (corpus / "empty.parquet").write_bytes(b"")
    message = refused("evaluate", "toy", "--ground-truth", "empty.parquet", *INPUTS[2:])
    assert message.startswith("empty.parquet: cannot be read as parquet: ")


@pytest.mark.parametrize("output", ["t.jsonl", "t.jsonl/out", "/dev/null/out", "/proc/out"])
def test_an_output_that_cannot_be_written(corpus: Path, output: str) -> None:
    message = refused("evaluate", "toy", *INPUTS[:4], "--output", output)
    assert message.startswith(f"--output {output}: cannot be written: ")
    assert (corpus / "t.jsonl").stat().st_size > 0


def test_too_many_slices_end_the_run_with_one_line(corpus: Path) -> None:
    message = refused("evaluate", "toy", *INPUTS, "--slice", "sample_id", "--set", "limits.slices=5")
    assert message == (
        "slices by sample_id: there are more than 5; slice by columns with fewer values, or raise limits.slices"
    )
    assert not list((corpus / "out").iterdir())
    assert evaluate(corpus / "out", "t.jsonl", "p.jsonl", "--slice", "sample_id", "--set", "limits.slices=6").code == 0


# Inputs that turn out to be wrong when they are read.


def truncated_gzip(path: Path) -> None:
    path.write_bytes(gzip.compress(path.read_bytes() * 50)[:-10])


def truncated_zstd(path: Path) -> None:
    path.write_bytes(zstd.compress(path.read_bytes() * 50)[:-10])


@pytest.mark.parametrize(("suffix", "damage"), [(".gz", truncated_gzip), (".zst", truncated_zstd)])
def test_a_truncated_file_ends_the_run_with_one_line(corpus: Path, suffix: str, damage: Callable[[Path], None]) -> None:
    (corpus / "p.jsonl").rename(corpus / f"p.jsonl{suffix}")
    damage(corpus / f"p.jsonl{suffix}")
    message = refused("evaluate", "toy", *INPUTS[:2], "--predictions", f"p.jsonl{suffix}", *INPUTS[4:])
    assert message.startswith(f"p.jsonl{suffix}: cannot be read as jsonl: ")
    assert not list((corpus / "out").rglob("*")) if (corpus / "out").exists() else True


def parquet(path: Path, **columns: list[object]) -> Path:
    pq.write_table(pa.table(columns), path)
    return path


def test_a_file_that_is_no_parquet_is_told_before_anything_runs(corpus: Path) -> None:
    (corpus / "x.parquet").write_bytes(b"no parquet at all")
    found = refused("evaluate", "toy", *INPUTS[:2], "--predictions", "x.parquet", "--output", "out")
    assert found.startswith("x.parquet: cannot be read as parquet: ")


def test_a_column_may_first_appear_late(corpus: Path) -> None:
    late = [
        {"sample_id": f"s{i}", "text": "t", **({"kind": "bar", "page": 1} if i == 1200 else {})} for i in range(1201)
    ]
    write_lines(corpus / "late.jsonl", late)
    output = corpus / "late"
    run = evaluate(output, corpus / "late.jsonl", corpus / "p.jsonl", "--slice", "kind", "--set", "cluster=page")
    hints = run.stderr.splitlines()
    assert [hint.partition(",")[0] for hint in hints] == [
        "beamscore: warning: the first ground-truth records have no column kind",
        "beamscore: warning: the first ground-truth records have no column page",
    ]
    assert run.code == 0
    assert "warnings" not in run.summary
    assert sorted(run.summary["systems"]["predictions"]["slices"]) == ["kind=bar", "kind=null"]


def test_columns_that_no_record_has_are_told_at_the_end(corpus: Path) -> None:
    more = ("--slice", "kynd,text", "--set", "cluster=a|b\n")
    run = evaluate(corpus / "absent", corpus / "t.jsonl", corpus / "p.jsonl", *more, "--quiet")
    column = "no ground-truth record has a value in the column"
    warnings = [f"{column} kynd, by which the run slices", f"{column} a|b, by which the run draws clusters"]
    assert run.summary["warnings"] == warnings
    assert run.code == 0
    assert run.stderr.splitlines()[-2:] == [f"beamscore: warning: {warning}" for warning in warnings]
    assert f"**Warning:** {warnings[0]}." in run.report
    assert f"{warnings[1]}." in MarkdownIt().render(run.report).replace("<code>", "").replace("</code>", "")


def test_a_later_parquet_file_without_sample_id_ends_the_run_with_one_line(corpus: Path) -> None:
    parquet(corpus / "1.parquet", sample_id=["s1"], text=["t"])
    parquet(corpus / "2.parquet", id=["s2"], text=["t"])
    found = refused("evaluate", "toy", *INPUTS[:2], "--predictions", "*.parquet", "--output", "out")
    assert found == "2.parquet: there is no column sample_id, only id, text"


def test_a_missing_tool_is_told_in_one_line(corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def setup(_: toy.ToyBenchmark) -> None:
        raise MissingTool("pdflatex is not installed; install texlive")

    monkeypatch.setattr(toy.ToyBenchmark, "setup", setup)
    assert refused("evaluate", "toy", *INPUTS) == "pdflatex is not installed; install texlive"
    # On a cluster only the workers can tell.
    monkeypatch.setattr(evaluate_command, "check_tools", lambda *_: None)
    assert refused("evaluate", "toy", *INPUTS) == "pdflatex is not installed; install texlive"


# Ends of a run.


def test_an_interrupt_leaves_nothing_behind(corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        (corpus / "out" / ".runs" / "x").mkdir(parents=True)
        raise KeyboardInterrupt

    monkeypatch.setattr(evaluate_command, "new_run_id", lambda: "x")
    monkeypatch.setattr(launch, "run", interrupted)
    code, stdout, stderr = command("evaluate", "toy", *INPUTS)
    assert (code, stdout, stderr) == (130, "", "beamscore: interrupted; out holds no result\n")
    assert list((corpus / "out").iterdir()) == []


@pytest.mark.parametrize(
    ("is_published", "wrapped", "said"),
    [(False, True, "the earlier result, as it was"), (True, False, "the new result, whole")],
)
def test_an_interrupt_tells_which_result_is_there(
    corpus: Path, monkeypatch: pytest.MonkeyPatch, is_published: bool, said: str, wrapped: bool
) -> None:
    """Whatever a runner makes of the signal."""
    assert command("evaluate", "toy", *INPUTS, "--quiet") == (0, "", "")
    before = (corpus / "out" / "summary.json").read_bytes()
    run = launch.run

    def interrupted(*arguments: Any) -> None:
        if is_published:
            run(*arguments)
        try:
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(60)
        except KeyboardInterrupt as error:
            if wrapped:
                raise RuntimeError("a worker is gone") from error
            raise

    monkeypatch.setattr(launch, "run", interrupted)
    code, stdout, stderr = command("evaluate", "toy", *INPUTS, "--set", "missing=exclude")
    assert (code, stdout, stderr) == (130, "", f"beamscore: interrupted; out holds {said}\n")
    assert ((corpus / "out" / "summary.json").read_bytes() == before) != is_published


def test_an_interrupt_tells_what_becomes_of_records(corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    flags = ("split", "toy", "--ground-truth", INPUTS[INPUTS.index("--ground-truth") + 1], "--output", "s.jsonl")

    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(launch, "run", interrupted)
    said = "beamscore: interrupted; s.jsonl is as it was, or written as a whole\n"
    assert command(*flags) == (130, "", said)
    assert not (corpus / "s.jsonl").exists()


def test_a_defect_is_shown_whole_and_told_apart(corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise LookupError("a defect")

    monkeypatch.setattr(launch, "run", broken)
    code, stdout, stderr = command("evaluate", "toy", *INPUTS)
    assert (code, stdout) == (3, "")
    assert "Traceback" in stderr
    assert "LookupError: a defect" in stderr


def test_standard_output_holds_the_result_alone_and_nothing_when_quiet(corpus: Path) -> None:
    found = evaluate(corpus / "out", "t.jsonl", {"a": "p.jsonl", "b": "p.jsonl"})
    assert (found.code, found.stderr) == (0, "")
    lines = found.stdout.splitlines()
    assert lines[-4:-2] == ["a: 6 of 6 samples scored", "b: 6 of 6 samples scored"]
    assert lines[-2].startswith("signature: beamscore ")
    assert lines[-1] == f"report: {corpus}/out/report.html"
    assert [line.split()[1] for line in lines if line.startswith("│")] == ["place", "exact_match", "similarity"]
    found = evaluate(corpus / "out", "t.jsonl", "p.jsonl", "--quiet")
    assert (found.code, found.stdout, found.stderr) == (0, "", "")


def test_the_configuration_may_name_all_inputs(corpus: Path) -> None:
    text = "benchmark: toy\nground_truth: [t.jsonl]\npredictions: {ours: [p.jsonl]}\noutput: out\nslices: [kind]\n"
    (corpus / "c.yaml").write_text(text)
    code, _, stderr = command("evaluate", "c.yaml", "--quiet")
    assert (code, stderr) == (0, "")
    assert (corpus / "out" / "summary.json").exists()


@pytest.mark.parametrize(
    ("given", "systems"),
    [
        (["a.jsonl"], {"predictions": ["a.jsonl"]}),
        (["a.jsonl", "b.jsonl"], {"predictions": ["a.jsonl", "b.jsonl"]}),
        (["ours=a=1.jsonl", "v1.2_x-y=b", "ours=c"], {"ours": ["a=1.jsonl", "c"], "v1.2_x-y": ["b"]}),
        (["/data/day=3/a.jsonl"], {"predictions": ["/data/day=3/a.jsonl"]}),
        (["gs://bucket/a=b"], {"predictions": ["gs://bucket/a=b"]}),
    ],
)
def test_a_system_is_named_before_its_glob(given: list[str], systems: dict[str, list[str]]) -> None:
    assert command_line.systems(given) == systems


# Errors that a runner has wrapped.


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (InputProblem("a.gz: cut off"), "a.gz: cut off"),
        (UsageError("key: wrong"), "key: wrong"),
        (RuntimeError(f"Traceback ...\n{InputProblem('a.gz: cut off')}\nmore"), "a.gz: cut off"),
        (RuntimeError(f"{InputProblem('a.gz: cut off')} [while running 'Read/x']"), "a.gz: cut off"),
        (RuntimeError(repr(f"Traceback\n{InputProblem('a.gz: cut off')}\n")), "a.gz: cut off"),
        (InputProblem(f"{InputProblem('a.gz: cut off')} [while running 'Read']"), "a.gz: cut off"),
        (RuntimeError(f"InputProblem('{InputProblem('a.gz: cut off')}')"), "a.gz: cut off')"),
    ],
)
def test_a_problem_of_the_input_is_found_however_deep_it_is_wrapped(error: Exception, message: str) -> None:
    found = as_usage_error(error)
    assert found is not None
    assert str(found) == message


def test_a_defect_is_no_problem_of_the_input() -> None:
    assert as_usage_error(RuntimeError("index out of range")) is None


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """Returns what an option prints that ends the command."""
    with pytest.raises(SystemExit) as ended:
        main.main(arguments)
    assert ended.value.code == 0
    return capsys.readouterr().out


def test_the_version_is_that_of_the_distribution(capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(capsys, "--version") == f"beamscore {VERSION}\n"
    setup = subprocess.run(
        [sys.executable, "setup.py", "--version"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert setup.stdout.strip() == VERSION


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_completion_names_every_command_and_its_options(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    script = printed(capsys, "--print-completion", shell)
    for name in ("evaluate", "convert", "--ground-truth", "--predictions", "--shards"):
        assert name in script
