"""A benchmark of a single file, as docs/how-to/new_benchmark.md shows it, and what is said of one that is broken."""

from __future__ import annotations

import json
import pickle
import re
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import EntryPoint
from pathlib import Path

import apache_beam as beam
import numpy as np
import pytest

import beamscore
from beamscore.metrics import registry
from beamscore.metrics.benchmark import Pair
from beamscore.metrics.registry import BrokenBenchmark, benchmark_class, usable_benchmarks
from beamscore.metrics.scoring import score_pairs
from beamscore.pipelines.commands.main import main
from tests.runs import write_lines
from tests.test_docs_examples import DOCS, blocks

EXAMPLE = next(block for block in blocks(DOCS / "how-to" / "new_benchmark.md") if "class WER" in block)
TRUTHS = [{"sample_id": str(number), "text": f"Go left {number % 3}"} for number in range(150)]
HEARD = [{"sample_id": str(number), "text": f"go left {number % 2}"} for number in range(138)]
EXACT = 'ratio(sums["exact"], sums["samples"])'
# Of each 6 readings 4 have a wrong last word: 0 1 2 0 1 2 against 0 1 0 1 0 1; 138 are 23 times 6. 12 samples lack a
# reading of 3 words.
EDITS = 23 * 4 + 12 * 3


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the file of the docs, where the commands are run."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my_metric.py").write_text(EXAMPLE)
    write_lines(tmp_path / "truth.jsonl", TRUTHS)
    return tmp_path


TRUTH = ("--ground-truth", "truth.jsonl", "--no-html")
PERFECT = (*TRUTH, "--predictions", "truth.jsonl", "--quiet", "--output")


def test_the_file_of_the_docs_is_evaluated_by_worker_processes(folder: Path) -> None:
    assert len(EXAMPLE.strip().splitlines()) < 45
    write_lines(folder / "heard.jsonl", HEARD)
    (folder / "config.yaml").write_text("benchmark: my_metric.py:WER\ncase_sensitive: false\n")
    inputs = [*TRUTH, "--predictions", "heard.jsonl", "--quiet", "--output"]
    assert main(["evaluate", "my_metric.py:WER", *inputs, "run", "--processes", "2"]) == 0
    assert main(["evaluate", "config.yaml", *inputs, "again", "--reuse", "run"]) == 0
    assert (folder / "run/summary.json").read_bytes() == (folder / "again/summary.json").read_bytes()
    values = json.loads((folder / "run/summary.json").read_text())["systems"]["predictions"]["values"]
    assert values["word_error_rate"] == pytest.approx(EDITS / 450)
    result = beamscore.evaluate("my_metric.py:WER", TRUTHS, HEARD, processes=2)
    assert result.values == values


def test_scores_of_another_version_of_the_file_are_not_taken(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluate", "my_metric.py:WER", *PERFECT, "run"]) == 0
    travelling = pickle.dumps(benchmark_class("my_metric.py:WER")(benchmark_class("my_metric.py:WER").options_type()))
    assert pickle.loads(travelling).options.case_sensitive is False
    pair = [{"text": "a"}] * 2
    assert beamscore.score("my_metric.py:WER", *pair).statistics["exact"] == 1
    (folder / "my_metric.py").write_text(EXAMPLE.replace("int(edits == 0)", "int(edits == 1)"))
    assert main(["evaluate", "my_metric.py:WER", *PERFECT, "runs/again", "--reuse", "run"]) == 0
    assert beamscore.score("my_metric.py:WER", *pair).statistics["exact"] == 0
    assert "nothing is reused from run: it used different versions of packages: my_metric" in capsys.readouterr().err
    assert main(["history", ".", "--no-html"]) == 0
    assert "2 runs\n" in capsys.readouterr().out
    assert "the file of the benchmark changed" in Path("history.md").read_text()
    gate = ["--set", "gates.word_error_rate.not_worse_than=baseline", "--set", "gates.word_error_rate.margin=0.1"]
    for judged in (["gate", "runs/again"], ["evaluate", "my_metric.py:WER", *PERFECT, "runs/judged"]):
        assert main([*judged, *gate, "--baseline", "run"]) == 1
        assert "was scored by a different version of my_metric.py:WER" in capsys.readouterr().err
    # What would be computed again, by other code than that of the run, is refused.
    for again in (["compare", "run", "run"], ["merge", "run", "runs/again", "--output", "merged"]):
        assert main(again) == 2
        assert f"{folder}/my_metric.py:WER has changed since the run; evaluate it again" in capsys.readouterr().err
    (folder / "my_metric.py").write_text(EXAMPLE.replace('sums["edits"], ', '2 * sums["edits"] + 1, '))
    assert main(["gate", "run", *gate, "--baseline", "runs/again"]) == 2
    assert f"{folder}/my_metric.py:WER has changed since the run; evaluate it again" in capsys.readouterr().err
    with pytest.raises(BrokenBenchmark, match="has changed since the run began"):
        pickle.loads(travelling)
    (folder / "my_metric.py").unlink()
    assert main(["history", "runs", "--no-html"]) == 2
    assert "my_metric.py" in capsys.readouterr().err


def test_threads_that_load_one_file_at_a_time_all_get_its_class(folder: Path) -> None:
    """A history reads runs in threads; one that saw half of the module would lose its run."""
    (folder / "slow.py").write_text("import time\n\ntime.sleep(0.1)\n" + EXAMPLE)
    with ThreadPoolExecutor(4) as threads:
        assert len(set(threads.map(benchmark_class, ["slow.py:WER"] * 4))) == 1


@pytest.mark.parametrize(
    ("given", "instead", "said"),
    [
        ("import msgspec", "import msgspeck", "it cannot be loaded: ModuleNotFoundError: No module named 'msgspeck'"),
        ("import msgspec", "import sys; sys.exit('no')", "it cannot be loaded: SystemExit: no"),
        ("class WER(", "class WERR(", "there is no WER in it (did you mean WERR?)"),
        ("(Benchmark[Transcript, Transcript, Options])", "", "it is not a class derived from"),
        ("    options_type = Options\n", "", "it lacks options_type"),
        ("def values", "def value", "it lacks the method values"),
        ("def ", "def _", "it lacks the methods score_sample, values"),
        ("options_type = Options", "options_type = dict", "options_type is not a msgspec.Struct"),
        (": bool = False", ": bool", "options_type: each option needs a default"),
        (
            "case_sensitive: bool = False",
            "cluster: int = 3",
            "options_type: cluster is a setting of every benchmark; give the option another name",
        ),
        ("None), main=1),\n    )\n", "None)),\n    )\n", "sample_metrics: exactly one of them has main=1"),
        ("    sample_metrics = (", "    sample_metrics = []; _ = (", "sample_metrics is not a tuple of MetricSpec"),
        ("    metrics = (", "    metrics = ('wer',); _ = (", "metrics is not a tuple of MetricSpec"),
        ('denominator="words"', 'denominator="word"', "metrics: word_error_rate: values does not read the denominator"),
        ('"exact_match": ratio', '"exact_mach": ratio', "values: exact_mach is not declared in metrics (did you mean"),
        ('sums["words"])', 'sums["words"]), "x": 1 / sums["edits"]', "it cannot be loaded: ZeroDivisionError"),
        (EXACT, 'float("nan")', "values: exact_match: found nan; allowed: a finite number or None (without samples)"),
        (EXACT, 'sums["exact"] > 1', "values: exact_match: found False; allowed: a finite number or None"),
        ("return {", "return None, {", "values: found (None, {'"),
    ],
)
def test_what_is_broken_is_said_in_one_line_when_it_is_loaded(
    folder: Path, capsys: pytest.CaptureFixture[str], given: str, instead: str, said: str
) -> None:
    assert given in EXAMPLE
    (folder / "my_metric.py").write_text(EXAMPLE.replace(given, instead))
    assert main(["evaluate", "my_metric.py:WER", *PERFECT, "run"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert f"the benchmark my_metric.py:WER: {said}" in line


@pytest.mark.parametrize("number", ["int", "np.float64", "np.float32", "Fraction"])
def test_values_may_be_numbers_of_any_kind(folder: Path, number: str) -> None:
    of_samples = EXAMPLE.replace(EXACT, f"{number}({EXACT} or 0)")
    (folder / "my_metric.py").write_text(f"from fractions import Fraction\nimport numpy as np\n{of_samples}")
    repeats = [{**each, "repeat": 0} for each in TRUTHS]
    write_lines(folder / "heard.jsonl", repeats)
    flags = ("--predictions", "heard.jsonl", "--quiet", "--output", "run", "--set", "repeats=true")
    assert main(["evaluate", "my_metric.py:WER", *TRUTH, *flags]) == 0
    values = json.loads((folder / "run/summary.json").read_text())["systems"]["predictions"]["values"]
    assert values["exact_match"] == 1
    assert type(beamscore.evaluate("my_metric.py:WER", TRUTHS, TRUTHS).values["exact_match"]) is float


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ("float('nan')", ": found nan"),
        ("np.float32('inf')", f": found {np.float32('inf')!r}"),
        ("n > 2", ": found True"),
        ("'0.5'", ": found '0.5'"),
        ("10**400", ": found 1000"),
        # Of the samples themselves it is a number.
        ("0.5 if n == 150 else float('inf')", " in a bootstrap replicate: found inf"),
        ("0.5 if n == 150 else 1j", ": found 1j"),
    ],
)
def test_a_value_that_is_no_number_ends_the_run_and_the_earlier_result_stays(
    folder: Path, capsys: pytest.CaptureFixture[str], value: str, found: str
) -> None:
    assert main(["evaluate", "my_metric.py:WER", *PERFECT, "run"]) == 0
    before = (folder / "run/summary.json").read_bytes()
    of_samples = f"(lambda n: {value} if n > 1 else None)(sums['samples'])"
    (folder / "my_metric.py").write_text(f"import numpy as np\n{EXAMPLE}".replace(EXACT, of_samples))
    said = f"the benchmark {folder}/my_metric.py:WER: values: exact_match{found}"
    for processes in ("1", "2") if value == "n > 2" else ("1",):
        assert main(["evaluate", "my_metric.py:WER", *PERFECT, "run", "--processes", processes]) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert said in line
        assert line.endswith("; allowed: a finite number or None")
    assert (folder / "run/summary.json").read_bytes() == before
    with pytest.raises(ValueError, match=re.escape(said)):
        beamscore.evaluate("my_metric.py:WER", TRUTHS, TRUTHS)
    with pytest.raises(ValueError, match=re.escape(said)):
        beamscore.evaluate("my_metric.py:WER", "truth.jsonl", "truth.jsonl")
    pipeline = beam.Pipeline()
    sides = pipeline | "T" >> beam.Create(TRUTHS), pipeline | "P" >> beam.Create(TRUTHS)
    _ = sides | beamscore.Evaluate("my_metric.py:WER")
    with pytest.raises(ValueError, match=re.escape(said)):
        pipeline.run()


TABLE = "tables(self, sums): return [Table('Counts', ['what', 'count'], [['words', {}]])]"


@pytest.mark.parametrize(
    ("method", "problem"),
    [
        ("tables(self, sums): return None", "TypeError: 'NoneType' object is not iterable"),
        ("tables(self, sums): return {}['t']", "KeyError: 't'"),
        ("tables(self, sums): raise ValueError('\\ud800\\nt')", "ValueError: \\ud800 t"),
        (TABLE.format("10**400"), "ValueError: table Counts: found 1000"),
        (TABLE.format("float('nan')"), "ValueError: table Counts: found nan; allowed: a finite number or None"),
        (TABLE.format("1, 2"), "ValueError: zip() argument 2 is longer than argument 1"),
        (TABLE.format("'\\ud800'"), "UnicodeEncodeError: 'utf-8' codec"),
        (TABLE.format("np.int64(7)"), ""),
        ("explain(self, details): return [1, None]", "TypeError: sequence item 0: expected str instance, int found"),
        ("draw(self, *_, **__): return None", "the benchmark returned NoneType instead of an SVG document"),
    ],
)
def test_what_only_reports_show_loses_no_run(
    folder: Path, capsys: pytest.CaptureFixture[str], method: str, problem: str
) -> None:
    head = "import numpy as np\nfrom beamscore.metrics.benchmark import Table\n"
    (folder / "my_metric.py").write_text(f"{head}{EXAMPLE}\n    def {method}\n")
    sides = "--ground-truth", "truth.jsonl", "--predictions", "truth.jsonl"
    assert main(["evaluate", "my_metric.py:WER", *sides, "--output", "run"]) == 0
    summary = json.loads((folder / "run/summary.json").read_text())
    assert summary["systems"]["predictions"]["values"]["exact_match"] == 1
    if method.startswith("tables"):
        tables = summary["systems"]["predictions"]["tables"]
        assert [table["rows"] for table in tables] == ([] if problem else [[["words", 7]]])
    elif method.startswith("explain"):
        assert main(["export", "run", "--to", "inspect"]) == 0
    else:
        assert main(["draw", "my_metric.py:WER", *sides, "--sample", "1", "--output", "1.svg"]) == 2
    said = capsys.readouterr()
    assert problem in said.out + said.err
    assert ("the tables are missing" in said.err) == (method.startswith("tables") and problem != "")


def test_a_plugin_that_is_broken_breaks_nothing_else(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = [EntryPoint("broken", "no_such_module:Broken", registry.ENTRY_POINTS)]
    monkeypatch.setattr(registry, "entry_points", lambda group: broken)
    registry._installed.cache_clear()
    try:
        assert main(["benchmarks"]) == 0
        output = capsys.readouterr()
        assert "chemistry: " in output.out
        assert "the benchmark broken (no_such_module:Broken): it cannot be loaded: ModuleNotFoundError" in output.err
        assert usable_benchmarks().keys() == {*registry.BUILT_IN}
        assert main(["benchmarks", "broken"]) == 2
    finally:
        registry._installed.cache_clear()


def test_a_defect_is_quarantined_with_the_line_that_raised_it(folder: Path) -> None:
    (folder / "my_metric.py").write_text(EXAMPLE.replace("edits = Leven", "edits = 1 / 0; edits = Leven"))
    kind = benchmark_class("my_metric.py:WER")
    (outcome,) = score_pairs(kind(kind.options_type()), [Pair("1", kind.truth_type(text="a"), None)])
    assert outcome.rejected is not None
    line = EXAMPLE.partition("edits = Leven")[0].count("\n") + 1
    said = f"scoring failed: ZeroDivisionError: division by zero at my_metric.py:{line} in score_sample"
    assert outcome.rejected.message == said


def test_a_value_outside_of_the_declared_bounds_is_warned_of(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its interval, which rests on the declaration, does not contain it."""
    (folder / "my_metric.py").write_text(EXAMPLE.replace('"samples": 1', '"samples": 0.2'))
    assert main(["evaluate", "my_metric.py:WER", *TRUTH, "--predictions", "ours=truth.jsonl", "--output", "run"]) == 0
    said = "exact_match of ours is 5, outside its bounds 0 to 1: the benchmark declares it wrongly"
    assert said in capsys.readouterr().err
    with pytest.warns(UserWarning, match=said.replace(" of ours", "")):
        assert beamscore.evaluate("my_metric.py:WER", TRUTHS, TRUTHS).values["exact_match"] == pytest.approx(5)


@pytest.mark.usefixtures("folder")
def test_a_cluster_refuses_a_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluate", "my_metric.py:WER", *PERFECT, "run", "--runner", "FlinkRunner"]) == 2
    assert "install the benchmark there as a package" in capsys.readouterr().err
