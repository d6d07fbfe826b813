"""The Python API: records in memory get the sums of the pipeline, whatever form they have."""

from __future__ import annotations

import doctest
import json
import math
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import beamscore
from tests.runs import evaluate, write_lines

ROOT = Path(__file__).parents[1]
CORPORA = ROOT / "tests" / "corpora"
SIDES = ("ground_truth", "predictions")
SIGNS = tuple(CORPORA / "traffic_rules" / f"{side}.jsonl" for side in SIDES)


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.mark.parametrize("name", ["chart", "formula"])
def test_records_in_memory_have_the_sums_of_the_pipeline(name: str, tmp_path: Path) -> None:
    files = [CORPORA / name / f"{side}.jsonl" for side in SIDES]
    run = evaluate(tmp_path, files[0], files[1], "--slice", "source", config=name)
    assert run.code == 0, run.stderr
    truths, predictions = map(read, files)
    found = beamscore.evaluate(name, truths[::-1], iter(predictions), slices=["source"])
    loaded = beamscore.load(run.output)
    assert found.sums == run.sums["systems"]["predictions"]["sums"]
    summary = run.summary["systems"]["predictions"]
    assert loaded.values == summary["values"]
    assert {metric: ends and list(ends) for metric, ends in loaded.intervals.items()} == summary["intervals"]
    values = {label: each.values for label, each in loaded.slices.items()}
    assert values == {label: each["values"] for label, each in summary["slices"].items()}
    table = pq.read_table(run.output / "samples").sort_by("sample_id")
    from_files = beamscore.evaluate(name, str(files[0]), [str(files[1])], slices=["source"])
    for result in (found, loaded, from_files):
        assert result.samples.sort_by("sample_id").equals(table)
        for part in ("values", "intervals", "slices", "coverage", "sums", "warnings", "main_metrics"):
            assert getattr(result, part) == getattr(found, part), part


def test_systems_are_loaded_by_name_and_sides_are_both_files_or_neither(tmp_path: Path) -> None:
    run = evaluate(tmp_path, SIGNS[0], SIGNS[1], "--predictions", f"perfect={SIGNS[0]}", config="traffic_rules")
    found = beamscore.load(f"{run.output}:predictions")
    assert set(found.samples["system"].to_pylist()) == {"predictions"}
    assert found.values == run.summary["systems"]["predictions"]["values"]
    with pytest.raises(ValueError, match="it holds 2 systems; give one of "):
        beamscore.load(run.output)
    with pytest.raises(ValueError, match="nowhere"):
        beamscore.evaluate("traffic_rules", "nowhere.jsonl", str(SIGNS[1]))
    with pytest.raises(TypeError, match="both be files"):
        beamscore.evaluate("traffic_rules", str(SIGNS[0]), read(SIGNS[1]))


def records(*pairs: tuple[Any, Any]) -> list[dict[str, Any]]:
    return [{"sample_id": sample_id, "text": text} for sample_id, text in pairs]


TRUTHS = [
    {"sample_id": "a", "text": "one", "words": ["x", "y"], "kind": "k"},
    *records(("b", "two"), ("c", "truth is bad"), ("d", "four"), ("e", 5), (7, "seven"), ("f", "\ud800")),
]
PREDICTIONS = [
    *records(("a", "one"), ("a", "again"), ("b", "prediction is bad"), ("c", "three"), ("e", "five")),
    *records(("z", "nobody"), ("7", 7), (7.5, "no id")),
]


def test_every_record_is_counted_with_what_became_of_it(tmp_path: Path) -> None:
    found = beamscore.evaluate("toy", TRUTHS, PREDICTIONS, slices=["words"])
    assert found.coverage == {
        "ground_truth": {"read": 7, "scored": 1, "missing_prediction": 3, "rejected": 3, "duplicate": 0},
        "predictions": {"read": 8, "scored": 1, "unmatched": 3, "duplicate": 1, "rejected": 3},
        "balanced": True,
    }
    rejected = sorted(f"{each.side} {each.sample_id} {each.cause}" for each in found.rejected)
    assert rejected == [
        "ground_truth None unreadable",
        *("ground_truth c invalid", "ground_truth e invalid"),
        *("predictions 7 invalid", "predictions None no_sample_id", "predictions a duplicate", "predictions b invalid"),
        *("predictions c unmatched", "predictions e unmatched", "predictions z unmatched"),
    ]
    slices = {label: each.samples for label, each in found.slices.items()}
    assert slices == {"words=null": 4, "words=x": 1, "words=y": 1}
    assert found.slices["words=x"].values["exact_match"] == 1.0
    files = [str(write_lines(tmp_path / f"{len(side)}.jsonl", side)) for side in (TRUTHS, PREDICTIONS)]
    from_files = beamscore.evaluate("toy", *files, slices=["words"])
    assert list(from_files.coverage.items()) == list(found.coverage.items())
    assert from_files.samples.sort_by("sample_id").equals(found.samples.sort_by("sample_id"))
    assert sorted(f"{each.side} {each.sample_id} {each.cause}" for each in from_files.rejected) == rejected


def test_all_forms_of_records_are_read_alike() -> None:
    truths = [{"sample_id": str(n), "text": "x" * n, "words": ["a", "b"][: n % 3]} for n in range(9)]
    predictions = [{"sample_id": str(n), "text": "x" * (n + n % 2)} for n in range(8)]
    expected = beamscore.evaluate("toy", truths, predictions).sums
    table = pa.Table.from_pylist(truths)
    as_text = table.set_column(2, "words", pa.array([json.dumps(each["words"]) for each in truths]))

    # What pandas, Polars and others are: an object with the Arrow C stream interface.
    frame = type("Frame", (), {"__arrow_c_stream__": lambda _, schema=None: table.__arrow_c_stream__(schema)})()
    for form in (tuple(truths), iter(truths), table, as_text, table.to_batches()[0], frame):
        assert beamscore.evaluate("toy", form, pa.Table.from_pylist(predictions)).sums == expected
    within = table.select([0, 1]).append_column(
        "x", pa.array([{"words": each} for each in as_text["words"].to_pylist()])
    )
    found = beamscore.evaluate("toy", within, predictions, fields={"ground_truth": {"words": "x.words"}})
    assert found.sums == expected
    for bad in (3, {"sample_id": "a"}, b"x", [[1]], None):
        with pytest.raises(TypeError):
            beamscore.evaluate("toy", bad, [])


def test_a_column_that_is_not_needed_is_not_looked_at_and_one_of_two_is_refused() -> None:
    table = pa.table({"sample_id": ["a", "b"], "text": ["x"] * 2, "year": pa.array([10**15, 0], pa.timestamp("s"))})
    assert beamscore.evaluate("toy", table, table).values["exact_match"] == 1
    found = beamscore.evaluate("toy", table, table, slices=["year"])
    assert list(found.slices) == ["year=1970-01-01T00:00:00"]
    assert [each.cause for each in found.rejected] == ["unreadable", "unreadable"]
    doubled = pa.Table.from_arrays([pa.array(["a"])] * 3, ["sample_id", "text", "text"])
    with pytest.raises(ValueError, match=r"^predictions: two columns are called 'text'; rename one$"):
        beamscore.evaluate("toy", table, doubled)


def test_a_field_that_is_not_needed_may_hold_anything_and_is_named_in_messages() -> None:
    images = [object(), 1]
    records = [{"sample_id": str(number), "text": "x", "image": image} for number, image in enumerate(images)]
    misspelled = [{"texts" if name == "text" else name: each[name] for name in each} for each in records]
    assert beamscore.score("toy", records[0], records[0]).metrics["exact_match"] == 1
    frame = pa.table({"sample_id": ["0", "1"], "text": ["x", "x"]}).to_pandas().assign(image=images)
    for right, wrong in ((records, misspelled), (frame, frame.rename(columns={"text": "texts"}))):
        assert beamscore.evaluate("toy", right, right).values["exact_match"] == 1
        with pytest.warns(UserWarning, match=r"they have texts, image \(did you mean text\?\)$"):
            beamscore.evaluate("toy", right, wrong)


def test_a_scorer_adds_up_what_a_loop_gives_it_and_travels_to_other_processes() -> None:
    truths, predictions = map(read, SIGNS)
    answers = {each["sample_id"]: each for each in predictions}
    whole, shared = (beamscore.evaluate("traffic_rules", truths, predictions, processes=n) for n in (1, 2))
    assert (shared.sums, shared.coverage, shared.intervals) == (whole.sums, whole.coverage, whole.intervals)
    assert shared.samples.equals(whole.samples)
    low, high = whole.intervals[whole.main_metrics[0]] or (0, 0)
    assert f" [{low:.4g}, {high:.4g}]" in repr(whole)
    first, second = beamscore.Scorer("traffic_rules"), beamscore.Scorer("traffic_rules")
    for start in range(0, len(truths), 7):
        part = truths[start : start + 7]
        given = [answers[each["sample_id"]] for each in part if each["sample_id"] in answers]
        (first if start % 2 else second).update(part, given)
    first.merge(pickle.loads(pickle.dumps(second)))
    assert (first.compute().sums, first.compute().values) == (whole.sums, whole.values)
    one = beamscore.Scorer("traffic_rules")
    one.update(truths[:1], [])
    for other, said in (
        (second, r"^\d\d samples were scored by both, such as "),
        (one, "^1 sample was scored by both, such as "),
        (beamscore.Scorer("toy"), "other benchmarks, options or settings"),
    ):
        with pytest.raises(ValueError, match=said):
            first.merge(other)


def test_one_pair_has_its_metrics_and_details() -> None:
    found = beamscore.score("toy", {"text": "one"}, {"text": "one"})
    assert found == beamscore.PairScore(
        {"exact_match": 1.0, "similarity": 1.0}, {"samples": 1, "equal": 1, "similarity": 1.0}, {"read": "one"}
    )
    assert beamscore.score("toy", {"text": "one"}).metrics["exact_match"] == 0
    wrong: list[tuple[type[Exception], str, str, Any, Any, dict[str, Any]]] = [
        (beamscore.RejectedRecord, "the truth is bad", "toy", "truth is bad", "x", {}),
        (beamscore.RejectedRecord, "text", "toy", "one", 1, {}),
        (beamscore.RejectedRecord, r"^prediction: ", "toy", "one", "\ud800", {}),
        (ValueError, r"there is no benchmark charts \(did you mean chart\?\); there are ", "charts", "", "", {}),
        (ValueError, "toy: unknown: unknown key; allowed for toy: ", "toy", "one", "", {"unknown": 1}),
    ]
    for error, message, benchmark, truth, prediction, options in wrong:
        with pytest.raises(error, match=message) as raised:
            beamscore.score(benchmark, {"text": truth}, {"text": prediction}, options=options)
        assert str(pickle.loads(pickle.dumps(raised.value))) == str(raised.value)


def test_importing_it_does_not_import_beam(tmp_path: Path) -> None:
    heavy = ("apache_beam", "scipy", "pyarrow", "numpy", "shapely", "PIL")
    code = (
        f"import sys; sys.path.insert(1, {str(ROOT)!r}); import beamscore\n"
        f"print([name for name in {heavy} if name in sys.modules])\n"
        "beamscore.score('chart', {}); print('apache_beam' in sys.modules)"
    )
    assert subprocess.check_output([sys.executable, "-c", code], cwd=tmp_path, text=True) == "[]\nFalse\n"


def test_public_names_are_there_though_none_is_imported_before_it_is_used() -> None:
    assert set(beamscore.__all__) <= set(dir(beamscore))
    assert all(getattr(beamscore, name) is not None for name in beamscore.__all__)
    with pytest.raises(AttributeError, match="module 'beamscore' has no attribute 'evaluat'"):
        _ = beamscore.evaluat


def test_the_examples_of_the_docs_are_true() -> None:
    done = doctest.testfile(str(ROOT / "docs" / "how-to" / "python.md"), module_relative=False)
    assert done.attempted > 15
    assert done.failed == 0


def test_values_that_json_does_not_have_slice_alike_in_files_and_in_memory(tmp_path: Path) -> None:
    columns: dict[str, tuple[Any, list[str]]] = {
        "nan": (pa.array([math.nan, 1.0]), ["1.0", "null"]),
        "ns": (pa.array([10**18, 1], pa.timestamp("ns")), ["1970-01-01T00:00:00.000000001", "2001-09-09T01:46:40"]),
        "utc": (pa.array([10**15, None], pa.timestamp("us", "UTC")), ["2001-09-09T01:46:40Z", "null"]),
        "zone": (pa.array([0, None], pa.timestamp("us", "Europe/Berlin")), ["1970-01-01T01:00:00+01:00", "null"]),
        "time": (pa.array([10**10, 10**10 + 1], pa.duration("ns")), ["P0DT0H0M10.000000001S", "PT10S"]),
        "bytes": (pa.array([b"x", None]), ["eA==", "null"]),
        "map": (pa.array([[(1, math.nan)], []], pa.map_(pa.int64(), pa.float64())), ['{"1": null}', "{}"]),
    }
    table = pa.table({"sample_id": ["a", "b"], "text": ["x", "y"], **{key: each[0] for key, each in columns.items()}})
    pq.write_table(table, tmp_path / "t.parquet")
    for data in (table, str(tmp_path / "t.parquet")):
        found = beamscore.evaluate("toy", data, data, slices=list(columns)).slices
        assert found.keys() == {f"{name}={label}" for name, (_, labels) in columns.items() for label in labels}


@pytest.mark.parametrize("field", ["text", "sample_id"])
def test_bytes_are_no_text(field: str) -> None:
    """JSON would hold them as base64, which a metric would compare."""
    truth = {"sample_id": "a", "text": "x", "words": []}
    with pytest.raises(TypeError, match=f"{field} must be a string, not bytes"):
        beamscore.evaluate("toy", [truth], [{**truth, field: b"x"}])
