"""The Python API: records in memory get the sums of the pipeline, whatever form they have."""

from __future__ import annotations

import doctest
import json
import pickle
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import beamscore
from beamscore.metrics.registry import benchmark_names
from tests.runs import evaluate

ROOT = Path(__file__).parents[1]
CORPORA = ROOT / "tests" / "corpora"
SHIPPED = [name for name in benchmark_names() if name != "toy"]

TRUTHS: list[dict[str, Any]] = [
    {"sample_id": "a", "text": "one", "words": ["x", "y"], "kind": "k"},
    {"sample_id": "b", "text": "two"},
    {"sample_id": "c", "text": "truth is bad"},
    {"sample_id": "d", "text": "four"},
    {"sample_id": "e", "text": 5},
    {"sample_id": 7, "text": "seven"},
]
PREDICTIONS: list[dict[str, Any]] = [
    {"sample_id": "a", "text": "one"},
    {"sample_id": "a", "text": "again"},
    {"sample_id": "b", "text": "prediction is bad"},
    {"sample_id": "c", "text": "three"},
    {"sample_id": "e", "text": "five"},
    {"sample_id": "z", "text": "nobody"},
    {"sample_id": "7", "text": 7},
    {"sample_id": 7.5, "text": "no id"},
]


def records(name: str, side: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (CORPORA / name / f"{side}.jsonl").read_text().splitlines()]


@pytest.mark.parametrize("name", SHIPPED)
def test_records_in_memory_have_the_sums_of_the_pipeline(name: str, tmp_path: Path) -> None:
    files = [CORPORA / name / f"{side}.jsonl" for side in ("ground_truth", "predictions")]
    run = evaluate(tmp_path, files[0], files[1], "--slice", "source", config=name)
    assert run.code == 0, run.stderr
    summary = json.loads((run.output / "summary.json").read_text())["systems"]["predictions"]
    sums = json.loads((run.output / "sums.json").read_text())["systems"]["predictions"]
    truths, predictions = (records(name, side) for side in ("ground_truth", "predictions"))
    found = beamscore.evaluate(name, truths[::-1], iter(predictions), slices=["source"])
    assert found.sums == sums["sums"]
    assert found.values == summary["values"]
    assert {metric: ends and list(ends) for metric, ends in found.intervals.items()} == summary["intervals"]
    assert {label: each.values for label, each in found.slices.items()} == {
        label: each["values"] for label, each in summary["slices"].items()
    }
    table = pq.read_table(run.output / "samples").sort_by("sample_id")
    assert found.samples.sort_by("sample_id").equals(table)
    loaded = beamscore.load(run.output)
    assert loaded.samples.sort_by("sample_id").equals(table)
    for part in ("values", "intervals", "slices", "coverage", "sums", "warnings", "main_metrics"):
        assert getattr(loaded, part) == getattr(found, part), part


def test_a_run_of_several_systems_is_loaded_by_the_name_of_one(tmp_path: Path) -> None:
    files = [CORPORA / "traffic_rules" / f"{side}.jsonl" for side in ("ground_truth", "predictions")]
    run = evaluate(tmp_path, files[0], files[1], "--predictions", f"perfect={files[0]}", config="traffic_rules")
    found = beamscore.load(f"{run.output}:predictions")
    assert set(found.samples["system"].to_pylist()) == {"predictions"}
    assert found.values == beamscore.evaluate("traffic_rules", *map(str, files)).values
    with pytest.raises(ValueError, match="it holds 2 systems; give one of "):
        beamscore.load(run.output)
    with pytest.raises(ValueError, match="no finished run is here"):
        beamscore.load(tmp_path / "nowhere")


@pytest.fixture(scope="module")
def toy_result() -> beamscore.Result:
    return beamscore.evaluate("toy", TRUTHS, PREDICTIONS, slices=["words"])


def test_every_record_is_counted_with_what_became_of_it(toy_result: beamscore.Result, tmp_path: Path) -> None:
    assert toy_result.coverage == {
        "ground_truth": {"read": 6, "scored": 1, "missing_prediction": 3, "rejected": 2, "duplicate": 0},
        "predictions": {"read": 8, "scored": 1, "unmatched": 3, "duplicate": 1, "rejected": 3},
        "balanced": True,
    }
    rejected = {(each.side, each.sample_id) for each in toy_result.rejected}
    assert rejected == {("predictions", "a"), ("predictions", "b"), ("ground_truth", "c"), ("ground_truth", "e"),
                        ("predictions", "z"), ("predictions", "7"), ("predictions", None)}  # fmt: skip
    for name, given in (("t", TRUTHS), ("p", PREDICTIONS)):
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(each) + "\n" for each in given))
    run = evaluate(tmp_path / "run", tmp_path / "t.jsonl", tmp_path / "p.jsonl")
    coverage = json.loads((run.output / "summary.json").read_text())["systems"]["predictions"]["coverage"]
    assert list(coverage.items()) == list(toy_result.coverage.items())
    from_files = beamscore.evaluate("toy", str(tmp_path / "t.jsonl"), str(tmp_path / "p.jsonl"))
    assert from_files.coverage == coverage
    assert from_files.samples.sort_by("sample_id").equals(
        beamscore.evaluate("toy", TRUTHS, PREDICTIONS).samples.sort_by("sample_id")
    )


def test_half_a_surrogate_pair_rejects_its_record_alone() -> None:
    truths = [{"sample_id": "a", "text": "one"}, {"sample_id": "b", "text": "two"}]
    broken = "\ud800"
    found = beamscore.evaluate("toy", truths, [{"sample_id": "a", "text": broken}, {"sample_id": "b", "text": "two"}])
    assert found.coverage["predictions"] == {"read": 2, "scored": 1, "unmatched": 0, "duplicate": 0, "rejected": 1}
    with pytest.raises(beamscore.RejectedRecord):
        beamscore.score("toy", {"text": "one"}, {"text": broken})


def test_slices_are_those_of_the_samples(toy_result: beamscore.Result) -> None:
    assert {label: each.samples for label, each in toy_result.slices.items()} == {
        "words=null": 4, "words=x": 1, "words=y": 1
    }  # fmt: skip
    assert toy_result.slices["words=x"].values["exact_match"] == 1.0


def test_all_forms_of_records_are_read_alike() -> None:
    truths = [{"sample_id": str(n), "text": "x" * n, "words": ["a", "b"][: n % 3]} for n in range(9)]
    predictions = [{"sample_id": str(n), "text": "x" * (n + n % 2)} for n in range(8)]
    expected = beamscore.evaluate("toy", truths, predictions).sums
    table = pa.Table.from_pylist(truths)
    as_text = table.set_column(2, "words", pa.array([json.dumps(each["words"]) for each in truths]))

    class Frame:
        """What pandas, Polars and others are: an object with the Arrow C stream interface."""

        def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
            return table.__arrow_c_stream__(requested_schema)

    def generated() -> Iterator[dict[str, Any]]:
        yield from truths

    for form in (tuple(truths), generated(), table, as_text, table.to_batches()[0], Frame()):
        assert beamscore.evaluate("toy", form, pa.Table.from_pylist(predictions)).sums == expected


@pytest.mark.parametrize("bad", [3, {"sample_id": "a"}, b"x", [[1]], None])
def test_what_is_no_record_is_refused(bad: Any) -> None:
    with pytest.raises(TypeError):
        beamscore.evaluate("toy", bad, [])


def test_worker_processes_give_the_same_bits() -> None:
    truths, predictions = (records("traffic_rules", side) for side in ("ground_truth", "predictions"))
    many = [{**each, "sample_id": f"{each['sample_id']}-{n}"} for n in range(3) for each in truths]
    answers = [{**each, "sample_id": f"{each['sample_id']}-{n}"} for n in range(3) for each in predictions]
    alone = beamscore.evaluate("traffic_rules", many, answers)
    shared = beamscore.evaluate("traffic_rules", many, answers, processes=2)
    assert (shared.sums, shared.coverage, shared.intervals) == (alone.sums, alone.coverage, alone.intervals)
    assert shared.samples.equals(alone.samples)


def test_files_are_evaluated_by_the_pipeline() -> None:
    files = [str(CORPORA / "traffic_rules" / f"{side}.jsonl") for side in ("ground_truth", "predictions")]
    truths, predictions = (records("traffic_rules", side) for side in ("ground_truth", "predictions"))
    from_files = beamscore.evaluate("traffic_rules", files[0], [files[1]], slices=["source"])
    in_memory = beamscore.evaluate("traffic_rules", truths, predictions, slices=["source"])
    assert (from_files.sums, from_files.values, from_files.intervals, from_files.slices) == (
        in_memory.sums, in_memory.values, in_memory.intervals, in_memory.slices
    )  # fmt: skip
    with pytest.raises(ValueError, match="nowhere"):
        beamscore.evaluate("traffic_rules", "nowhere.jsonl", files[1])
    with pytest.raises(TypeError, match="both be files"):
        beamscore.evaluate("traffic_rules", files[0], predictions)


def test_a_scorer_adds_up_what_a_loop_gives_it() -> None:
    truths, predictions = (records("traffic_rules", side) for side in ("ground_truth", "predictions"))
    answers = {each["sample_id"]: each for each in predictions}
    whole = beamscore.evaluate("traffic_rules", truths, predictions)
    first, second = beamscore.Scorer("traffic_rules"), beamscore.Scorer("traffic_rules")
    for start in range(0, len(truths), 7):
        part = truths[start : start + 7]
        given = [answers[each["sample_id"]] for each in part if each["sample_id"] in answers]
        (first if start % 2 else second).update(part, given)
    first.merge(second)
    assert first.compute().sums == whole.sums
    assert first.compute().values == whole.values
    with pytest.raises(ValueError, match="scored by both"):
        first.merge(second)
    with pytest.raises(ValueError, match="other benchmarks, options or settings"):
        first.merge(beamscore.Scorer("toy"))


def test_sequences_without_ids_are_paired_by_position() -> None:
    scorer = beamscore.Scorer("toy", replicates=0)
    scorer.update([{"text": "a"}, {"text": "bb"}], [{"text": "a"}, None])
    scorer.update([{"text": "c"}], [{"text": "x"}])
    assert scorer.compute().values["exact_match"] == 1 / 3
    assert scorer.compute().coverage["ground_truth"]["scored"] == 2
    with pytest.raises(ValueError, match="2 ground-truth records and 1 predictions"):
        scorer.update([{"text": "a"}, {"text": "b"}], [{"text": "a"}])


def test_one_pair_has_its_metrics_and_details() -> None:
    found = beamscore.score("toy", {"text": "one"}, {"text": "one"})
    assert found == beamscore.PairScore(
        {"exact_match": 1.0, "similarity": 1.0}, {"samples": 1, "equal": 1, "similarity": 1.0}, {"read": "one"}
    )
    assert beamscore.score("toy", {"text": "one"}).metrics["exact_match"] == 0
    with pytest.raises(beamscore.RejectedRecord, match="the truth is bad"):
        beamscore.score("toy", {"text": "truth is bad"}, {"text": "x"})
    with pytest.raises(beamscore.RejectedRecord, match="text"):
        beamscore.score("toy", {"text": "one"}, {"text": 1})
    with pytest.raises(ValueError, match=r"there is no benchmark charts \(did you mean chart\?\); there are "):
        beamscore.score("charts", {}, {})
    with pytest.raises(ValueError, match="toy: unknown: unknown key; allowed for toy: "):
        beamscore.score("toy", {"text": "one"}, None, options={"unknown": 1})


def python(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    path = f"import sys; sys.path.insert(1, {str(ROOT)!r}); "
    return subprocess.run([sys.executable, "-c", path + code], cwd=folder, capture_output=True, text=True, check=False)


def test_importing_it_does_not_import_beam(tmp_path: Path) -> None:
    heavy = ("apache_beam", "scipy", "pyarrow", "numpy", "shapely", "PIL")
    code = f"import beamscore; print([name for name in {heavy} if name in sys.modules])"
    assert python(code, tmp_path).stdout == "[]\n"
    code = "import beamscore; beamscore.score('chart', {}); print('apache_beam' in sys.modules)"
    assert python(code, tmp_path).stdout == "False\n"


def test_public_names_are_there_though_none_is_imported_before_it_is_used() -> None:
    assert set(beamscore.__all__) <= set(dir(beamscore))
    assert all(getattr(beamscore, name) is not None for name in beamscore.__all__)
    with pytest.raises(AttributeError, match="module 'beamscore' has no attribute 'evaluat'"):
        _ = beamscore.evaluat


def test_the_examples_of_the_docs_are_true() -> None:
    done = doctest.testfile(str(ROOT / "docs" / "how-to" / "python.md"), module_relative=False)
    assert done.attempted > 15
    assert done.failed == 0


def test_a_scorer_travels_to_another_process() -> None:
    scorer = beamscore.Scorer("traffic_rules")
    scorer.update(*(records("traffic_rules", side) for side in ("ground_truth", "predictions")))
    assert pickle.loads(pickle.dumps(scorer)).compute().sums == scorer.compute().sums
