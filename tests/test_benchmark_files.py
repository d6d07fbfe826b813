"""A benchmark of a single file, as docs/how-to/new_benchmark.md shows it, and what is said of one that is broken."""

import json
import pickle
import re
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from enum import Enum
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

import apache_beam as beam
import numpy as np
import pytest

import beamscore
from beamscore.metrics import registry
from beamscore.metrics.registry import BrokenBenchmark, benchmark_class, code_version, usable_benchmarks
from beamscore.pipelines.config.settings import check
from beamscore.pipelines.runs.run import Run
from tests.runs import command, refused, write_lines
from tests.test_docs_examples import DOCS, blocks

EXAMPLE = next(block for block in blocks(DOCS / "how-to" / "new_benchmark.md") if "class WER" in block)
TRUTHS = [{"sample_id": str(number), "text": f"Go left {number % 3}"} for number in range(150)]
HEARD = [{"sample_id": str(number), "text": f"go left {number % 2}"} for number in range(138)]
EXACT = 'ratio(sums["exact"], sums["samples"])'


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with the file of the docs, where the commands are run, and from where modules are imported."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    # A file that changes twice in a second would be taken from its old bytecode.
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    edit()
    write_lines(tmp_path / "truth.jsonl", TRUTHS)
    yield tmp_path
    registry._installed.cache_clear()


TRUTH = ("--ground-truth", "truth.jsonl", "--no-html")
PERFECT = ("evaluate", "my_metric.py:WER", *TRUTH, "--predictions", "truth.jsonl", "--quiet", "--output")


def edit(given: str = "", instead: str = "", imports: str = "") -> None:
    """Writes the file of the docs with another text in the place of one."""
    assert given in EXAMPLE
    Path("my_metric.py").write_text(imports + (EXAMPLE.replace(given, instead) if given else EXAMPLE))


def install(version: str) -> None:
    """Makes the file the module of a package of this version, which provides its class; empty: of no version."""
    metadata = Path("one-wer.dist-info")
    metadata.mkdir(exist_ok=True)
    (metadata / "METADATA").write_text(f"Name: One.wer\nVersion: {version}\n" if version else "")
    (metadata / "entry_points.txt").write_text(f"[{registry.ENTRY_POINTS}]\nword_error_rate = my_metric:WER\n")
    sys.modules.pop("my_metric", None)
    registry._installed.cache_clear()


def done(*arguments: str, code: int = 0) -> str:
    found, stdout, stderr = command(*arguments)
    assert found == code, stderr
    return stdout + stderr


def summary(run: str = "run") -> Any:
    return json.loads(Path(run, "summary.json").read_bytes())["systems"]["predictions"]


def test_the_file_of_the_docs_is_evaluated_by_worker_processes(
    folder: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert len(EXAMPLE.strip().splitlines()) < 45
    write_lines(folder / "heard.jsonl", HEARD)
    (folder / "config.yaml").write_text("benchmark: my_metric.py:WER\ncase_sensitive: false\n")
    inputs = [*TRUTH, "--predictions", "heard.jsonl", "--quiet", "--output"]
    done("evaluate", "my_metric.py:WER", *inputs, "run", "--processes", "2")
    done("evaluate", "config.yaml", *inputs, "again", "--reuse", "run")
    assert (folder / "run/summary.json").read_bytes() == (folder / "again/summary.json").read_bytes()
    # Of each 6 readings 4 have a wrong last word: 0 1 2 0 1 2 against 0 1 0 1 0 1; 12 samples of 3 words lack one.
    assert summary()["values"]["word_error_rate"] == pytest.approx((138 / 6 * 4 + 12 * 3) / 450)
    # What it and a program that it runs print comes at once, and apart from the results.
    edit("edits = Leven", "print('first'); os.system('echo then'); edits = Leven", "import os\n")
    capfd.readouterr()
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)
    assert beamscore.evaluate("my_metric.py:WER", TRUTHS, HEARD, processes=2).values == summary()["values"]
    stdout, stderr = capfd.readouterr()
    counts = [stderr.count(each) for each in ("first", "then")]
    assert (stdout, stderr[:5], counts) == ("", "first", [len(TRUTHS)] * 2)


@pytest.mark.parametrize("name", ["my_metric.py:WER", "word_error_rate"])
def test_scores_of_another_version_of_the_code_are_not_taken(folder: Path, name: str) -> None:
    evaluated = ("evaluate", name, *PERFECT[2:])
    for version, run in (("", "unknown"), ("1", "run")):
        install(version)
        done(*evaluated, run)
    assert "identical" in done("compare", "unknown", "run").casefold()
    edit("int(edits == 0)", "int(edits == 1)")
    install("2")
    said = done(*evaluated, "runs/again", "--reuse", "run")
    assert "nothing is reused from run: it used different versions of packages: " in said
    assert summary("runs/again")["values"]["exact_match"] == 0
    assert "3 runs\n" in done("history", ".", "--no-html")
    # Between the last two: the code of the first is not known, or the same.
    told = Path("history.md").read_text()
    assert (told.count("—— break ——"), "the code of the benchmark changed" in told) == (1, True)
    gate = ["--set", "gates.word_error_rate.not_worse_than=baseline", "--set", "gates.word_error_rate.margin=0.1"]
    earlier = [Run.read(each).earlier_rows(check({"benchmark": name}, ""), ["ours"]) for each in ("run", "runs/again")]
    assert [each is None for each in earlier] == [True, False]
    for judged in (["gate", "runs/again"], [*evaluated, "runs/judged"]):
        assert "was scored by a different version of the " in done(*judged, *gate, "--baseline", "run", code=1)
    # What would be computed again, by other code than that of the run, is refused.
    changed = "has changed since the run: "
    for again in (["compare", "run", "run"], ["merge", "run", "runs/again", "--output", "merged"]):
        assert changed + "one_wer 2, not 1" * (".py:" not in name) in refused(*again)
    edit('sums["edits"], ', '2 * sums["edits"] + 1, ')
    install("3")
    assert changed in refused("gate", "run", *gate, "--baseline", "runs/again")


def test_a_file_that_changes_is_loaded_again(folder: Path) -> None:
    done(*PERFECT, "runs/run")
    travelling = pickle.dumps(benchmark_class("my_metric.py:WER")(benchmark_class("my_metric.py:WER").options_type()))
    assert pickle.loads(travelling).options.case_sensitive is False
    pair = [{"text": "a"}] * 2
    assert beamscore.score("my_metric.py:WER", *pair).statistics["exact"] == 1
    edit("int(edits == 0)", "int(edits == 1)")
    assert beamscore.score("my_metric.py:WER", *pair).statistics["exact"] == 0
    with pytest.raises(BrokenBenchmark, match="has changed since the run began"):
        pickle.loads(travelling)
    (folder / "my_metric.py").unlink()
    assert "my_metric.py" in refused("history", "runs", "--no-html")


def test_a_result_is_read_in_any_folder_by_the_file_that_made_it(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = beamscore.evaluate("my_metric.py:WER", TRUTHS, HEARD)
    result.save("run")
    (folder / "other").mkdir()
    monkeypatch.chdir("other")
    loaded = beamscore.load("../run")
    assert loaded.values == result.values
    loaded.save("again")
    assert json.loads(Path("again/summary.json").read_bytes())["config"]["benchmark"] == "my_metric.py:WER"
    assert beamscore.compare(result, "again").judgement == "identical"
    assert "identical" in done("compare", "../run", "again")
    beamscore.evaluate(f"{folder}/my_metric.py:WER", TRUTHS, HEARD).save("absolute")
    assert "identical" in done("compare", "../run", "absolute")
    (folder / "my_metric.py").rename(folder / "moved.py")
    assert f"No such file or directory: '{folder}/my_metric.py'" in refused("compare", "../run", "again")


@pytest.mark.parametrize(("samples", "verdict"), [(5, "inconclusive"), (6, "fail")])
def test_the_units_of_a_rate_of_words_are_samples(samples: int, verdict: str) -> None:
    """Each sample loses 2 or 3 of 9 words; fewer than six show no loss. The others are not measured."""
    readings = [["a b c d e f g h i"], ["z z c d e f g h i", "z z z d e f g h i"]]
    truths, wrong = ([{"sample_id": str(n), "text": each[n % len(each)]} for n in range(samples)] for each in readings)
    more = [{"sample_id": f"more {n}", "text": "a" * (n > 0)} for n in range(9)]
    old, new = (beamscore.evaluate("my_metric.py:WER", truths + more, of, missing="exclude") for of in (truths, wrong))
    old.save("old")
    new.save("new")
    compared = beamscore.compare(old, new).metrics["word_error_rate"]
    assert (compared["interval"][0] > 0, compared["units"]) == (verdict == "fail", samples)
    assert max(summary("new")["units"].values()) == samples
    flags = "--baseline=old", "--set=gates.word_error_rate.not_worse_than=baseline"
    assert f" {verdict} " in done("gate", "new", *flags, code={"inconclusive": 4, "fail": 1}[verdict])


def test_threads_that_load_one_file_at_a_time_all_get_its_class(folder: Path) -> None:
    """A history reads runs in threads; one that saw half of the module would lose its run."""
    (folder / "slow.py").write_text("import time\n\ntime.sleep(0.1)\n" + EXAMPLE)
    with ThreadPoolExecutor(4) as threads:
        assert len(set(threads.map(benchmark_class, ["slow.py:WER"] * 4))) == 1


MEAN_EDITS = '(ratio(sums["edits"], sums["samples"]) or 0) / 4'


@pytest.mark.parametrize(
    ("value", "verdict"),
    [
        # Flat at the sums of the candidate and of both; flat in every swap; flat when one statistic alone changes.
        (f"max(0, 1 - abs({MEAN_EDITS} - 1))", "worse"),
        (f"max(0, min(1, 3 - 2 * {MEAN_EDITS}))", "worse"),
        ('sorted([sums["samples"] <= sums[each] / 8 for each in "abc"])[1] * 1', "too few differ"),
    ],
)
def test_values_that_differ_are_never_called_identical(value: str, verdict: str) -> None:
    Path("my_metric.py").write_text(
        EXAMPLE.replace(EXACT, value).replace('"samples": 1,', '"samples": 1, **dict.fromkeys("abc", edits),')
    )
    three, many = ([{**each, "text": "x " * (least + n % least)} for n, each in enumerate(TRUTHS)] for least in (3, 20))
    one, other = (beamscore.evaluate("my_metric.py:WER", TRUTHS, each) for each in (three, many))
    assert beamscore.compare(one, other).metrics["exact_match"]["verdict"] == verdict


OF_SAMPLES = 'MetricSpec("word_error_rate", "word edits / words",'
FAMILY = """metrics = (MetricSpec("recall[C]", "", main=1, denominator="of [C]"),)

    def values(self, sums): return {"recall[a]": sums["of a"]}

    def _("""
FAMILIES = """metrics = (MetricSpec("recall", "", main=1), MetricSpec("{1}[C]", "", denominator="{0}[C]"))

    def values(self, sums): return {{"recall": None, **{{f"recall[{{each}}]": 1 for each in sums.family("n")}}}}

    def _("""


@pytest.mark.parametrize(
    ("given", "instead", "said"),
    [
        ("import msgspec", "import msgspeck", "it cannot be loaded: ModuleNotFoundError: No module named 'msgspeck'"),
        ("import msgspec", "import sys; sys.exit('no')", "it cannot be loaded: SystemExit: no"),
        ("class WER(", "class WERR(", "there is no WER in it (did you mean WERR?)"),
        ("(Benchmark[Transcript, Transcript, Options])", "", "it is not a class derived from"),
        ("    options_type = Options\n", "", "it lacks options_type"),
        ("def ", "def _", "it lacks the methods score_sample, values"),
        ("options_type = Options", "options_type = dict", "options_type is not a msgspec.Struct"),
        (": bool = False", ": bool", "options_type: each option needs a default"),
        ("case_sensitive: bool", "cluster: bool", "options_type: cluster is a setting of every benchmark; give the"),
        ("None), main=1),\n    )\n", "None)),\n    )\n", "sample_metrics: exactly one of them has main=1"),
        ("    sample_metrics = (", "    sample_metrics = []; _ = (", "sample_metrics is not a tuple of MetricSpec"),
        ("    metrics = (", "    metrics = ('wer',); _ = (", "metrics is not a tuple of MetricSpec"),
        ("name = ", "name = 3; _ = ", "name: found 3; allowed: text in UTF-8"),
        ('summary = "', "summary = '\\ud800'; _ = \"", "summary: found '\\ud800'; allowed: text in UTF-8"),
        ('"word edits / words of the references"', "None", "metrics: 'word_error_rate': meaning: found None; allowed"),
        ("per_sample=1", "per_sample='a'", "metrics: exact_match: per_sample: found 'a'; allowed: one above 0, or"),
        ("    name", "    batch_size = 0\n    name", "batch_size: found 0; allowed: a whole number of at least 1"),
        ("    name", "    corpus_statistics = ('words')\n    name", "corpus_statistics: found 'words'; allowed"),
        ("    name", "    corpus_statistics = 'word',\n    name", "corpus_statistics: values does not read word (did"),
        ("    name", "    coverage_warnings = ['a']\n    name", "coverage_warnings is not a mapping of names to texts"),
        ("    name", "    coverage_warnings = {'a': 1}\n    name", "coverage_warnings is not a mapping of names to"),
        ('="words"', '="words - word"', "metrics: word_error_rate: values does not read the denominator word (did you"),
        ('"exact_match": ratio', '"exact_mach": ratio', "values: exact_mach is not declared in metrics (did you mean"),
        ("return {", "1 / sums['edits']; return {", "values (without samples): ZeroDivisionError: float division by"),
        ("text: str", 'text: "strr"', "truth_type: NameError: name 'strr' is not defined"),
        ("    def score_", "    def __init__(self, _): ...\n\n    def score_", "__init__: it does not call super()"),
        ("    metrics = (", "    metrics = (MetricSpec('a', ''),); _ = (", "metrics: none of them has main=1"),
        ('("exact_match"', '("word_error_rate"', "metrics: word_error_rate is declared twice"),
        ("bounds=(0.0, None), main=1, ", "bounds=0, main=1, ", "metrics: word_error_rate: bounds: found 0; allowed: "),
        ("bounds=(0.0, None), main=1, ", "bounds=(0,), main=1, ", "metrics: word_error_rate: bounds: found (0,); "),
        ("(0.0, None), main=1)", "(1.0, 0.0), main=1)", "sample_metrics: word_error_rate: bounds: found (1.0, 0.0)"),
        (OF_SAMPLES, 'MetricSpec("unit", "",', "sample_metrics: unit is another column of the samples"),
        (OF_SAMPLES, 'MetricSpec("slice.a", "",', "sample_metrics: slice.a is another column of the samples"),
        ("per_sample=1", 'classes="exact[W]"', "metrics: exact_match: classes: exact[W] is not declared"),
        ("def values(", FAMILY, "metrics: recall[a]: values does not read the denominator of [a] (did you mean of a?)"),
        ("def values(", FAMILIES.format("m", "recall"), "metrics: recall[a]: values does not read the denominator m[a"),
        ("def values(", FAMILIES.format("n", "recal"), "values: recall[a] is not declared in metrics (did you mean"),
        (EXACT, 'float("nan")', "values: exact_match: found nan; allowed: a finite number or None (without samples)"),
        ("return {", "return None, {", "values: found (None, {'"),
    ],
)
def test_what_is_broken_is_said_in_one_line_when_it_is_loaded(given: str, instead: str, said: str) -> None:
    edit(given, instead)
    assert f"the benchmark my_metric.py:WER: {said}" in refused(*PERFECT, "run")


@pytest.mark.parametrize("number", ["int", "np.float64", "np.float32", "Fraction"])
def test_values_may_be_numbers_of_any_kind(folder: Path, number: str) -> None:
    edit(EXACT, f"{number}({EXACT} or 0)", "from fractions import Fraction\nimport numpy as np\n")
    write_lines(folder / "truth.jsonl", [{**each, "repeat": 0} for each in TRUTHS])
    done(*PERFECT, "run", "--set", "repeats=true")
    assert summary()["values"]["exact_match"] == 1
    assert type(beamscore.evaluate("my_metric.py:WER", TRUTHS, TRUTHS).values["exact_match"]) is float


LINE = f"my_metric.py:{EXAMPLE.partition(EXACT)[0].count(chr(10)) + 2}"
"""Where `edit` with one line of imports puts what stands in the place of EXACT."""


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ("np.float32('inf')", f"exact_match: found {np.float32('inf')!r}"),
        ("n > 2", "exact_match: found True"),
        ("10**400", "exact_match: found 1000"),
        # Of the samples themselves it is a number.
        ("0.5 if n == 150 else float('inf')", "exact_match in a bootstrap replicate: found inf"),
        ("0.5 if n == 150 else 1j", "exact_match: found 1j"),
        ("0.5 if n == 150 else n / 0", f"ZeroDivisionError: float division by zero at {LINE} in <lambda>"),
    ],
)
def test_a_value_that_is_no_number_ends_the_run_and_the_earlier_one_stays(folder: Path, value: str, found: str) -> None:
    done(*PERFECT, "run")
    before = (folder / "run/summary.json").read_bytes()
    edit(EXACT, f"(lambda n: {value} if n > 1 else None)(sums['samples'])", "import numpy as np\n")
    said = f"the benchmark {folder}/my_metric.py:WER: values: {found}"
    for processes in ("1", "2") if value == "n > 2" else ("1",):
        line = refused(*PERFECT, "run", "--processes", processes)
        assert said in line
        assert line.endswith("; allowed: a finite number or None") == ("found" in found)
    assert (folder / "run/summary.json").read_bytes() == before
    for sides in ((TRUTHS, TRUTHS), ("truth.jsonl", "truth.jsonl")):
        with pytest.raises(ValueError, match=re.escape(said)):
            beamscore.evaluate("my_metric.py:WER", *sides)
    pipeline = beam.Pipeline()
    collections = pipeline | "T" >> beam.Create(TRUTHS), pipeline | "P" >> beam.Create(TRUTHS)
    _ = collections | beamscore.Evaluate("my_metric.py:WER")
    with pytest.raises(ValueError, match=re.escape(said)):
        pipeline.run()


TABLE = "tables(self, sums): return [Table('Counts', ['what', 'count'], [['words', {}]])]"


@pytest.mark.parametrize(
    ("method", "problem"),
    [
        ("tables(self, sums): return None", "TypeError: 'NoneType' object is not iterable"),
        ("tables(self, sums): raise ValueError('\\ud800\\nt')", "ValueError: \\ud800 t"),
        (TABLE.format("float('nan')"), "ValueError: table Counts: found nan; allowed: a finite number or None"),
        (TABLE.format("1, 2"), "ValueError: zip() argument 2 is longer than argument 1"),
        (TABLE.format("'\\ud800'"), "UnicodeEncodeError: 'utf-8' codec"),
        (TABLE.format("np.int64(7)"), ""),
        ("explain(self, details): return [1, None]", "TypeError: sequence item 0: expected str instance, int found"),
        ("draw(self, *_, **__): return None", "the benchmark returned NoneType instead of an SVG document"),
    ],
)
def test_what_only_reports_show_loses_no_run(method: str, problem: str) -> None:
    imports = "import numpy as np\nfrom beamscore.metrics.benchmark import Table\n"
    Path("my_metric.py").write_text(f"{imports}{EXAMPLE}\n    def {method}\n")
    sides = "--ground-truth", "truth.jsonl", "--predictions", "truth.jsonl"
    said = done("evaluate", "my_metric.py:WER", *sides, "--output", "run")
    assert ("the tables are missing" in said) == (method.startswith("tables") and problem != "")
    assert summary()["values"]["exact_match"] == 1
    if method.startswith("tables"):
        assert [table["rows"] for table in summary()["tables"]] == ([] if problem else [[["words", 7]]])
    elif method.startswith("explain"):
        said = done("export", "run", "--to", "inspect")
    else:
        said = refused("draw", "my_metric.py:WER", *sides, "--sample", "1", "--output", "1.svg")
    assert problem in said


def test_a_plugin_that_is_broken_breaks_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("leaving.py").write_text("class Left(BaseException): ...\n\n\nraise Left('\\ud800')\n")
    Path("silent.py").write_text(EXAMPLE.replace("summary = ", "summary = None;"))
    targets = {"broken": "no_such_module:Broken", "left": "leaving:Left", "silent": "silent:WER"}
    targets |= {"chart": "c:C", "word_error_rate": "w:W"}
    broken = [EntryPoint(*each, registry.ENTRY_POINTS) for each in targets.items()]
    install("1")
    monkeypatch.setattr(registry, "entry_points", lambda group: [*entry_points(group=group), *broken])
    said = done("benchmarks")
    assert "chemistry: " in said
    assert "the benchmark broken (no_such_module:Broken): it cannot be loaded: ModuleNotFoundError" in said
    assert "the benchmark left (leaving:Left): it cannot be loaded: Left: " in said
    assert "the benchmark silent (silent:WER): summary: found None; allowed: text" in said
    assert "the benchmark chart is that of beamscore, not that of a package (c:C)" in said
    assert "the benchmark word_error_rate is declared by one_wer (my_metric:WER) and by a package" in said
    assert usable_benchmarks().keys() == {*registry.BUILT_IN}
    refused("benchmarks", "broken")
    # What needs no package is found without looking at any.
    registry._installed.cache_clear()
    monkeypatch.setattr(registry, "entry_points", None)
    for name, code in (("chart", set()), ("my_metric.py:WER", {"my_metric.py:WER"})):
        assert code_version(check({"benchmark": name}, "").benchmark).keys() == code


STATISTIC = "samples have the statistic {}, which no metric reads, and values reads one that no sample has"
FROM_EXACT = EXAMPLE[EXAMPLE.index('"exact": ') :]
AS_FAMILY = FROM_EXACT.replace('"exact', '"exact[a]', 1).replace('sums["exact"]', 'len(sums.family("exacts"))')


@pytest.mark.parametrize(
    ("given", "instead", "said", "value"),
    [
        # Its interval, which rests on the declaration, does not contain it.
        ('"samples": 1', '"samples": 0.2', "exact_match of ours is 5, outside its bounds 0 to 1: the benchmark ", 5),
        ('sums["exact"]', 'sums["exakt"]', STATISTIC.format("exact") + " (did you mean exakt?)", 0),
        (FROM_EXACT, AS_FAMILY, STATISTIC.format("exact[]") + " (did you mean exacts[]?)", 0),
    ],
)
def test_a_benchmark_that_does_not_fit_its_sums_is_warned_of(given: str, instead: str, said: str, value: int) -> None:
    edit(given, instead)
    sides = *TRUTH, "--predictions", "ours=truth.jsonl"
    assert said in done("evaluate", "my_metric.py:WER", *sides, "--output", "run")
    assert (said in done("evaluate", "my_metric.py:WER", *sides, "--check")) == said.startswith("samples")
    with pytest.warns(UserWarning, match=re.escape(said.replace(" of ours", ""))):
        found = beamscore.evaluate("my_metric.py:WER", TRUTHS, [{**each, "repeat": 0} for each in TRUTHS], repeats=True)
    assert found.values["exact_match"] == pytest.approx(value)


UNREAD = '"character_error_rate": 1, "matches_2": 0, "matches_3": 1, "tried": 0, "cat.n": 1, "samples": 1,'
BY_NAME = """corpus_statistics = ["tried", "strict"]
    batch_size = property(lambda self: 2)
    metrics = (*metrics, MetricSpec("recall[yes]", ""))

    def values(self, sums):
        own = [sums[each] for each in ("matches_2", "cut.n")] + (sums["tried"] and [sums["cat.n"]] or [])
        strict = self.options.case_sensitive and sums["strict"]
        return {"recall[yes]": None, **{f"recall[{each}s]": 1 for each in sums.family("n")}, **self.own(sums)}

    def own("""


def test_what_is_unusual_but_right_is_neither_refused_nor_warned_of() -> None:
    """Members with names of their own, statistics of a task that is not tried, of another option, or of rows alone."""
    edit('"samples": 1,', UNREAD)
    text = Path("my_metric.py").read_text().replace("def values(", BY_NAME)
    named = re.sub(r'word_error_rate(", "word edits / words", higher|": edits / len)', r"character_error_rate\1", text)
    assert text.count("word_error_rate") == named.count("word_error_rate") + 2
    Path("my_metric.py").write_text(named)
    for part in (TRUTHS[:9], TRUTHS[9:]):
        predictions = [{**each, "repeat": 0} for each in part]
        beamscore.evaluate("my_metric.py:WER", part, predictions, repeats=True).save(f"runs/{len(part)}")
    # Merged, the sums of 0 are not known.
    assert "no metric reads" not in done("merge", "runs/9", "runs/141", "--output", "merged", "--no-html")


def test_the_values_of_an_option_that_is_an_enum_are_named() -> None:
    edit("_sensitive: bool = False", "_sensitive: Case = Case.B", "from enum import Enum\nCase = Enum('C', 'A B')\n")
    assert "sensitive: found 'keep'; allowed: 1, 2" in refused(*PERFECT, "run", "--set", "case_sensitive=keep")
    case = Enum("case", "A B")
    result = beamscore.evaluate("my_metric.py:WER", TRUTHS, TRUTHS, options={"case_sensitive": case.A})
    assert result.values["exact_match"] == 1


def test_a_cluster_refuses_a_file() -> None:
    assert "install the benchmark there as a package" in refused(*PERFECT, "run", "--runner", "FlinkRunner")
