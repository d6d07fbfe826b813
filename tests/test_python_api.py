"""The Python API: records in memory get the sums of the pipeline, whatever form they have."""

import dataclasses
import json
import math
import pickle
import subprocess
import sys
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import msgspec
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import beamscore
from beamscore.pipelines.api import workers
from tests.runs import evaluate, write_lines

ROOT = Path(__file__).parents[1]
CORPORA = ROOT / "tests" / "corpora"
SIDES = ("ground_truth", "predictions")


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def records(*pairs: tuple[Any, Any]) -> list[dict[str, Any]]:
    return [{"sample_id": sample_id, "text": text} for sample_id, text in pairs]


BROKEN = (
    [
        {"sample_id": "a", "text": "one", "words": ["x", "y"], "kind": "k"},
        *records(("b", "two"), ("c", "truth is bad"), ("d", "four"), ("e", 5), (7, "seven"), ("f", "\ud800")),
    ],
    [
        *records(("a", "one"), ("a", "again"), ("b", "prediction is bad"), ("c", "three"), ("e", "five")),
        *records(("z", "nobody"), ("7", 7), (7.5, "no id")),
    ],
)


@pytest.mark.filterwarnings("ignore:.*(duplicate sample_id|were rejected)")
@pytest.mark.parametrize(("name", "column"), [("chart", "source"), ("formula", "source"), ("toy", "words")])
def test_memory_and_files_score_alike(name: str, column: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also those that cannot be scored; in this process, and in two others."""
    monkeypatch.setattr(workers, "MIN_PAIRS", 3)
    given = BROKEN if name == "toy" else [read(CORPORA / name / f"{side}.jsonl") for side in SIDES]
    truths, predictions = given
    files = [write_lines(tmp_path / f"{side}.jsonl", each) for side, each in zip(SIDES, given, strict=True)]
    flags = ("--slice", column, "--set", "max_rejected_fraction=1")
    run = evaluate(tmp_path / "run", files[0], files[1], *flags, config=name)
    assert run.code == 0, run.stderr
    found = beamscore.evaluate(name, truths[::-1], iter(predictions), slices=[column])
    shared = beamscore.evaluate(name, truths, predictions, slices=[column], processes=2)
    summary = run.summary["systems"]["predictions"]
    assert (found.sums, found.values) == (run.sums["systems"]["predictions"]["sums"], summary["values"])
    assert {metric: ends and list(ends) for metric, ends in found.intervals.items()} == summary["intervals"]
    table = pq.read_table(run.output / "samples").sort_by("sample_id")
    from_files = beamscore.evaluate(name, str(files[0]), [str(files[1])], slices=[column])
    for result in (found, shared, from_files, beamscore.load(run.output)):
        assert result.samples.sort_by("sample_id").equals(table)
        assert len(result.warnings) == len(found.warnings), "they name different places"
        for part in ("values", "intervals", "slices", "coverage", "sums", "main_metrics"):
            assert getattr(result, part) == getattr(found, part), part
        rejected = sorted(f"{each.side} {each.sample_id} {each.cause}" for each in result.rejected)
        assert rejected == sorted(f"{e['side']} {e['sample_id']} {e['cause']}" for e in run.quarantine)


@pytest.mark.filterwarnings("ignore:(1 of 9 .* were rejected|no ground-truth record has a value)")
def test_all_forms_of_records_are_read_alike() -> None:
    truths = [{"sample_id": str(n), "text": "x" * n, "words": ["a", "b"][: n % 3]} for n in range(9)]
    predictions = [{"sample_id": str(n), "text": "x" * (n + n % 2)} for n in range(8)]
    expected = beamscore.evaluate("toy", truths, predictions).sums
    table = pa.Table.from_pylist(truths)
    as_text = table.set_column(2, "words", pa.array([json.dumps(each["words"]) for each in truths]))

    # What pandas, Polars and others are: an object with the Arrow C stream interface.
    frame = type("Frame", (), {"__arrow_c_stream__": lambda _, schema=None: table.__arrow_c_stream__(schema)})()
    # Polars exports the addresses of objects, but its rows have no nanoseconds: they are only of objects that are read.
    polars = type("Polars", (), {"schema": {"z": "Object", "words": "Object"}, "__arrow_c_stream__": None})()
    polars.to_dicts, polars.with_columns = None, lambda z, words: table.set_column(2, "words", pa.nulls(9))
    polars.select = lambda names: Mock(**{"to_dicts.return_value": table.select(names).to_pylist()})
    # A column of pandas may mix types.
    mixed = table.to_pandas().assign(sample_id=[0, *"12345678"], words=math.nan)
    # An index is a column, also if it is a range.
    indexed = mixed.set_index("sample_id")
    ranged = table.to_pandas().drop(columns="sample_id").rename_axis("sample_id")
    tables = table, as_text, table.to_batches()[0], frame, polars, mixed, indexed, ranged
    texts = as_text.to_pandas().assign(words=lambda frame: frame["words"].map(type("Text", (str,), {})))
    for form in (tuple(truths), iter(truths), *tables, texts.assign(sample_id=mixed["sample_id"])):
        assert beamscore.evaluate("toy", form, pa.Table.from_pylist(predictions)).sums == expected
    texts.loc[1, "words"] = '["\ud800"]'
    with pytest.warns(UserWarning, match="^1 of 9 ground-truth records were rejected; .*half of a character"):
        beamscore.evaluate("toy", texts, predictions)
    with pytest.warns(UserWarning, match="no ground-truth record has a value in the column words"):
        assert list(beamscore.evaluate("toy", mixed, predictions, slices=["words"]).slices) == ["words=null"]
    # Arrow has one type for all mappings of a column, with the keys of all.
    mappings = table.to_pandas().assign(z=[{str(n % 2): n and pd.NA} for n in range(9)])
    labels = list(beamscore.evaluate("toy", mappings, predictions, slices=["z"]).slices)
    assert labels == ['z={"0": 0}', 'z={"0": null}', 'z={"1": null}']
    # Nor has it these, or it has them as other values; a period and an interval are refused in any form.
    day, ids, one = pd.Series(pd.to_datetime(["2020-01-03", *[None] * 8])), [[uuid.UUID(int=1)]] * 9, np.longdouble(0.5)
    refused = day.dt.to_period("M"), day.dt.to_period("M").astype("category"), pd.cut(day, 1)
    kept = (2**65, str(2**65)), (one, "0.5"), ([[one]] * 9, "0.5"), (ids, str(ids[0][0]))
    for z, label in (*kept, *((each, "null") for each in refused)):
        for form in (changed := mappings.assign(z=z), changed.to_dict("records")):
            assert list(beamscore.evaluate("toy", form, predictions, slices=["z"]).slices) == [f"z={label}"]
    deep = table.select([0, 1]).append_column("x", pa.array([{"words": each} for each in as_text["words"].to_pylist()]))
    for form in (deep, deep.to_pandas().assign(sample_id=mixed["sample_id"])):
        found = beamscore.evaluate("toy", form, predictions, fields={"ground_truth": {"words": "x.words"}})
        assert found.sums == expected


@pytest.mark.filterwarnings("ignore:1 of 2 .* were rejected")
def test_a_column_that_is_not_needed_may_hold_anything_and_is_named_in_messages() -> None:
    table = pa.table({"sample_id": ["a", "b"], "text": ["x"] * 2, "year": pa.array([10**15, 0], pa.timestamp("s"))})
    assert beamscore.evaluate("toy", table, table).values["exact_match"] == 1
    found = beamscore.evaluate("toy", table, table, slices=["year"])
    assert list(found.slices) == ["year=1970-01-01T00:00:00"]
    assert [each.cause for each in found.rejected] == ["unreadable", "unmatched"]
    images = [object(), object()]
    objects = [{"sample_id": str(number), "text": "x", "image": image} for number, image in enumerate(images)]
    misspelled = [{"texts" if name == "text" else name: each[name] for name in each} for each in objects]
    assert beamscore.score("toy", objects[0], objects[0]).metrics["exact_match"] == 1
    makers: tuple[Callable[..., Any], ...] = (dataclasses.make_dataclass, msgspec.defstruct)
    classes = [make("Record", each)(**each) for make, each in zip(makers, objects, strict=True)]
    frame = pa.table({"sample_id": ["0", "1"], "text": ["x", "x"]}).to_pandas().assign(image=images)
    renamed = frame.rename(columns={"text": "texts"})
    for right, wrong in ((objects, misspelled), (classes, misspelled), (frame, renamed)):
        assert beamscore.evaluate("toy", right, right).values["exact_match"] == 1
        with pytest.warns(UserWarning, match=r"they have texts, image \(did you mean text\?\)$"):
            beamscore.evaluate("toy", right, wrong)
    # One that is needed rejects its record. JSON would hold bytes as base64, which a metric would compare.
    time = np.datetime64(0, "ns")
    for form, bad, why in (
        *((form, b"x", "must be a string, not bytes") for form in (list, pd.DataFrame)),
        (list, time, "times of NumPy finer"),
        (list, 10**5000, "Exceeds"),
        (list, Mock(tolist=Mock(side_effect=RuntimeError("no data"))), "Mock cannot be written as JSON: no data"),
    ):
        found = beamscore.evaluate("toy", objects, form([objects[0], {**objects[1], "text": bad}]))
        ((side, sample_id, message),) = ((each.side, each.sample_id, each.message) for each in found.rejected)
        assert (side, sample_id, message.startswith(f"text: {why}")) == ("predictions", "1", True)
        assert found.values["exact_match"] == 1 / 2
    with pytest.warns(UserWarning, match="nothing was scored: 2 ground-truth records rejected"):
        beamscore.evaluate("toy", frame.assign(z=[{"t": time}] * 2), objects, slices=["z"])


def test_one_pair_has_its_metrics_and_details() -> None:
    found = beamscore.score("toy", {"text": "one"}, {"text": "one"}, options={"batch": np.int64(3)})
    metrics: dict[str, Any] = {"exact_match": 1.0, "similarity": 1.0}
    assert found == beamscore.PairScore(metrics, {"samples": 1, "equal": 1, "similarity": 1.0}, {"read": "one"})
    assert beamscore.score("toy", {"text": "one"}).metrics["exact_match"] == 0


def pair(truth: Any, prediction: Any, benchmark: Any = "toy", **options: Any) -> Callable[[], Any]:
    return lambda: beamscore.score(benchmark, {"text": truth}, {"text": prediction}, options=options)


def whole(truths: Any, predictions: Any = (), **more: Any) -> Callable[[], Any]:
    return lambda: beamscore.evaluate("toy", truths, predictions, **more)


def merged(count: int, benchmark: str = "toy", **more: Any) -> Callable[[], Any]:
    def merge() -> None:
        scorers = beamscore.Scorer("toy"), beamscore.Scorer(benchmark, **more)
        for scorer in scorers:
            scorer.update(records(("a", "x"), ("b", "y"))[:count], [])
        scorers[0].merge(scorers[1])

    return merge


ONE, FILE = records(("a", "x")), str(CORPORA / "chart" / "predictions.jsonl")
DOUBLED = pa.Table.from_arrays([pa.array(["a"])] * 3, ["sample_id", "text", "text"])
WRONG: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (pair("truth is bad", "x"), beamscore.RejectedRecord, "the truth is bad"),
    (pair("one", "prediction is bad"), beamscore.RejectedRecord, "the prediction is bad"),
    (pair("one", 1), beamscore.RejectedRecord, "text"),
    (pair("one", Path("x")), beamscore.RejectedRecord, "^prediction: text: PosixPath cannot be written as JSON$"),
    (pair("one", Mock(tolist=Mock(side_effect=MemoryError("full")))), MemoryError, "^full$"),
    (pair("one", "\ud800"), beamscore.RejectedRecord, r"^prediction: "),
    (pair("", "", "charts"), ValueError, r"there is no benchmark charts \(did you mean chart\?\); there are "),
    (pair("", "", Path("own.py")), ValueError, r"the benchmark must be a name or FILE\.py:CLASS, not PosixPath"),
    (pair("", "", unknown=1), ValueError, "^toy: unknown: unknown key; allowed for toy: batch, protocol$"),
    (pair("", "", batch={3}), ValueError, r"^toy: batch: found \[3\]; "),
    (whole("nowhere.jsonl", FILE), ValueError, "nowhere"),
    (whole(FILE, ONE), TypeError, "both be files"),
    *((whole(bad), TypeError, "must be a") for bad in (3, {"sample_id": "a"}, b"x", [[1]], None)),
    *((whole(ONE, processes=bad), ValueError, "^processes: must be a whole") for bad in (0, -1, 1.5, True, "2", None)),
    (whole(ONE, DOUBLED), ValueError, r"^predictions: two columns are called 'text'; rename one$"),
    (merged(2), ValueError, "^2 samples were scored by both, such as 'a'$"),
    (merged(0, "chemistry"), ValueError, "other benchmarks, options or settings"),
    (merged(0, derived={"half": "exact_match / 2"}), ValueError, "other benchmarks"),
]


@pytest.mark.parametrize(("call", "error", "said"), WRONG, ids=[said for *_, said in WRONG])
def test_an_error_says_what_is_wrong_and_travels(call: Callable[[], Any], error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said) as raised:
        call()
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
        _ = beamscore.evaluat  # type: ignore[attr-defined]  # a checker refuses it, too


def test_values_that_json_does_not_have_slice_alike_in_files_and_in_memory(tmp_path: Path) -> None:
    """Times are among the types of transforms/io/test_readers.py."""
    columns: dict[str, tuple[Any, list[str]]] = {
        "nan": (pa.array([math.nan, 1.0]), ["1", "null"]),
        "bytes": (pa.array([b"x", None]), ["eA==", "null"]),
        "map": (pa.array([[(1, math.nan)], []], pa.map_(pa.int64(), pa.float64())), ['{"1": null}', "{}"]),
    }
    table = pa.table({"sample_id": ["a", "b"], "text": ["x", "y"], **{key: each[0] for key, each in columns.items()}})
    pq.write_table(table, tmp_path / "t.parquet")
    for data in (table, str(tmp_path / "t.parquet")):
        found = beamscore.evaluate("toy", data, data, slices=list(columns)).slices
        assert found.keys() == {f"{name}={label}" for name, (_, labels) in columns.items() for label in labels}
