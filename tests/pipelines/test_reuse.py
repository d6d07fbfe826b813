"""Rows of an earlier run, finished or interrupted, are taken: the same bytes, and only what has changed is scored."""

import json
import shutil
import signal
from pathlib import Path
from unittest.mock import Mock

import pyarrow.parquet as pq
import pytest

from beamscore.metrics.registry import benchmark_class
from beamscore.pipelines import evaluate as evaluation
from beamscore.transforms import pair
from tests import resumption, toy
from tests.attacks import corpora
from tests.resumption import BATCH, WRITTEN_BEFORE
from tests.runs import Record, Run, assert_same, evaluate, write_lines

CORPUS = [toy.sample(index, 0) for index in range(120)]
BAD_TEXTS = {"truth": "truth is bad", "prediction": "x", "fails": "x"}
BAD: list[Record] = [{"sample_id": name, "text": text} for name, text in BAD_TEXTS.items()]
ANSWERS = [prediction for _, prediction in CORPUS if prediction and prediction["sample_id"] != "s16"]
ANSWERS += [{"sample_id": "truth", "text": "x"}, {"sample_id": "prediction", "text": "prediction is bad"}]
ANSWERS += [{"sample_id": "fails", "text": "score fails"}, {"sample_id": "s16", "text": 7}]
FLAGS = ("--slice", "kind", "--set", "max_rejected_fraction=1", "--set", "bootstrap.replicates=20", "--quiet")

Texts = list[tuple[str, str]]


@pytest.fixture
def scored(monkeypatch: pytest.MonkeyPatch) -> Texts:
    """The texts of each pair that is scored, in this process."""
    return toy.scored_pairs(monkeypatch)


@pytest.fixture(scope="module")
def nights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run of `t` and `p`, other predictions `q`, and a corpus without fault, `truths` and `answers`."""
    folder = tmp_path_factory.mktemp("reuse")
    truths = [truth for truth, _ in CORPUS]
    changed = [{**each, "text": "new"} if each["sample_id"] == "s1" else each for each in ANSWERS]
    given = {"t": [*truths, *BAD], "p": ANSWERS, "q": changed, "truths": truths}
    for name, records in {**given, "answers": [answer for _, answer in CORPUS if answer]}.items():
        write_lines(folder / f"{name}.jsonl", records)
    assert run(folder, folder / "first", "p").code == 0
    return folder


def run(folder: Path, output: Path, answers: str, *more: str, truths: str = "t") -> Run:
    return evaluate(output, folder / f"{truths}.jsonl", folder / f"{answers}.jsonl", *FLAGS, *more)


def test_the_bytes_are_the_same_and_only_what_changed_is_scored(nights: Path, tmp_path: Path, scored: Texts) -> None:
    """Of the rejected ones the quarantine must tell again, as they are tried with and without their prediction."""
    without = run(nights, tmp_path / "without", "q")
    scored.clear()
    found = run(nights, tmp_path / "with", "q", "--reuse", str(nights / "first"))
    answers = [answer for _, answer in scored]
    assert (set(answers), answers.count("new")) == ({"new", "x", "prediction is bad", "score fails", ""}, 1)
    assert len(scored) <= 8
    assert (found.code, found.stderr) == (without.code, without.stderr) == (0, "")
    assert_same(found, without)
    assert "reused" in json.loads((tmp_path / "with" / "run.json").read_bytes())
    # A row that was reused is reused again, also where it counts in other slices, clusters and draws, or not at all.
    settings = ("cluster=kind", "bootstrap={replicates: 9, seed: 7}", "limits.record_bytes=65")
    for more in ([], ["--slice=words", *(f"--set={each}" for each in settings)]):
        whole = run(nights, tmp_path / "without", "q", *more)
        scored.clear()
        found = run(nights, tmp_path / "again", "q", "--reuse", str(tmp_path / "with"), *more)
        assert_same(found, whole)
        assert "new" not in [answer for _, answer in scored]
    rejected = found.summary["systems"]["predictions"]["coverage"]["ground_truth"]["rejected"]
    assert len(BAD) < rejected < len(CORPUS)


@pytest.mark.attacks
@pytest.mark.parametrize("name", corpora.BENCHMARKS)
def test_rows_of_every_benchmark_are_reused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    inputs = corpora.written(tmp_path / "in", name, 16, 3)
    first = evaluate(tmp_path / "first", *inputs, *corpora.FLAGS, config=name)
    assert first.code == 0, first.stderr
    # What is scored again is rejected.
    for method in ("score", "score_sample"):
        monkeypatch.setattr(benchmark_class(name), method, Mock(side_effect=ZeroDivisionError))
    found = evaluate(tmp_path / "again", *inputs, *corpora.FLAGS, f"--reuse={first.output}", config=name)
    assert_same(found, first)


@pytest.mark.parametrize("change", ["packages", "rows"])
def test_what_other_packages_scored_is_not_reused(nights: Path, tmp_path: Path, scored: Texts, change: str) -> None:
    """What else may score otherwise is in runs/test_differences."""
    earlier = shutil.copytree(nights / "first", tmp_path / "earlier", ignore=shutil.ignore_patterns(".runs"))
    told = ""
    if change == "packages":
        # Of two reasons, the first is told.
        told = f"beamscore: warning: nothing is reused from {earlier}: it was made by beamscore 0.0.1, which may score"
        summary = json.loads((earlier / "summary.json").read_bytes())
        (earlier / "summary.json").write_text(json.dumps({**summary, "version": "0.0.1"}))
        document = json.loads((earlier / "run.json").read_bytes())
        document["versions"]["packages"] = {"latex": "of old"}
        (earlier / "run.json").write_text(json.dumps(document))
    else:
        (path,) = (earlier / "samples").glob("*.parquet")
        table = pq.ParquetFile(path).read()
        bad = [text and '{"samples": 1e300}' for text in table["statistics"].to_pylist()]
        pq.write_table(table.drop_columns(["statistics"]).append_column("statistics", [bad]), path)
    found = run(nights, tmp_path / "out", "p", "--reuse", str(earlier))
    assert (found.code, found.stderr.count("\n"), found.stderr.startswith(told)) == (0, bool(told), True)
    assert len(scored) >= sum(answer is not None for _, answer in CORPUS)
    assert found.bytes() == Run(0, "", "", nights / "first").bytes()


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGTERM, 130), pytest.param(signal.SIGKILL, -9, marks=pytest.mark.attacks)]
)
def test_an_interrupted_run_is_resumed_unless_its_options_differ_or_its_files_are_damaged(
    nights: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scored: Texts, number: signal.Signals, code: int
) -> None:
    """The signal comes in the middle."""
    output, resume = tmp_path / "out", ("answers", "--resume")
    sides = (f"--ground-truth={nights}/truths.jsonl", f"--predictions={nights}/answers.jsonl")
    command = ["evaluate", "toy", *sides, f"--output={output}", *FLAGS, "--resume"]
    assert resumption.interrupted(number, command)[0] == code
    assert not (output / "summary.json").exists()
    (folder,) = filter(Path.is_dir, (output / ".runs").iterdir())
    nothing = f"beamscore: warning: nothing is taken from the interrupted run {folder.name}: "
    for damage, told in (("", f"{nothing}it used"), ("start.json", nothing), ("samples/*", "")):
        other = shutil.copytree(output, tmp_path / "other")
        for path in (other / ".runs" / folder.name).glob(damage) if damage else ():
            path.write_bytes(path.read_bytes()[:-10])
        scored.clear()
        found = run(nights, other, *resume, *(() if damage else ("--set", "protocol=released")), truths="truths")
        assert (found.code, found.stderr.count("\n"), found.stderr.startswith(told)) == (0, bool(told), True)
        assert len(scored) == len(found.samples) == len(CORPUS)
        shutil.rmtree(other)
    # Only a run that can be resumed begins a file of rows after each batch that takes longer.
    monkeypatch.setattr(evaluation, "ROWS_FILE_S", 0.0)
    monkeypatch.setattr(pair, "SAMPLES_PER_BATCH", BATCH)
    scored.clear()
    found = run(nights, output, *resume, truths="truths")
    assert (found.code, found.stderr) == (0, "")
    assert len(scored) == len(CORPUS) - WRITTEN_BEFORE
    whole = run(nights, tmp_path / "whole", "answers", truths="truths")
    assert_same(found, whole)
    files = [len(list(run.output.glob("samples/*"))) for run in (found, whole)]
    assert files[0] > files[1] == 1
    assert len(list((output / ".runs").iterdir())) == 1
