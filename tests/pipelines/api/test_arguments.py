"""The Python API judges its arguments, and what is odd about the records, as the command does, in the same words."""

import math
import warnings
from collections.abc import Mapping
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import beamscore
from tests.runs import command, write_lines
from tests.tables import write_delimited
from tests.transforms.samples import store

TRUTHS: list[dict[str, Any]] = [{"sample_id": n, "text": "x" * n, "kind": n % 2} for n in range(4)]
PREDICTIONS: list[dict[str, Any]] = [{"sample_id": str(n), "text": "x" * n} for n in range(4)]
FILES = ("t.jsonl", "p.jsonl")


def write(*sides: list[dict[str, Any]]) -> None:
    for name, records in zip(FILES, sides, strict=True):
        write_lines(Path(name), records)


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write(TRUTHS, PREDICTIONS)


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"missing": "ignore"}, "--set missing=ignore"),
    ({"confidence": 95}, "--set bootstrap.confidence=95"),
    ({"replicates": 1.5}, "--set bootstrap.replicates=1.5"),
    ({"seed": "x"}, "--set bootstrap.seed=x"),
    ({"slices": "kind"}, "--set slices=kind"),
    ({"slices": ["kind,"]}, "--slice kind,"),
    ({"cluster": 3}, "--set cluster=3"),
    ({"cluster": ""}, "--set cluster=''"),
    ({"sample_id_type": "int"}, "--set sample_id_type=int"),
    ({"fields": {"truth": {"text": "label"}}}, "--set fields.truth.text=label"),
    ({"fields": {"predictions": {"text": "a..b"}}}, "--set fields.predictions.text=a..b"),
    ({"fields": {"predictions": {"txt": "label"}}}, "--set fields.predictions.txt=label"),
    ({"fields": {"ground_truth": {"texts": "n"}}}, "--set fields.ground_truth.texts=n"),
    ({"options": {"batch": "x"}}, "--set batch=x"),
]


@pytest.mark.parametrize(("arguments", "flags"), WRONG, ids=lambda value: str(value))
def test_a_wrong_argument_is_refused_in_the_words_of_the_command(arguments: Mapping[str, Any], flags: str) -> None:
    inputs = ("--ground-truth", "t.jsonl", "--predictions", "p.jsonl", "--output", "o")
    code, _, stderr = command("evaluate", "toy", *inputs, *flags.split())
    assert code == 2
    for call in (
        lambda: beamscore.evaluate("toy", TRUTHS, PREDICTIONS, **arguments),
        lambda: beamscore.evaluate("toy", *FILES, **arguments),
        lambda: beamscore.Scorer("toy", **arguments),
    ):
        with pytest.raises(ValueError, match=r".") as raised:
            call()
        assert f"beamscore: {raised.value}\n" == stderr


def test_numbers_of_numpy_are_numbers_and_a_setting_is_no_option() -> None:
    plain = beamscore.evaluate("toy", TRUTHS, PREDICTIONS, seed=3, confidence=0.9, replicates=50)
    of_numpy = {"seed": np.int64(3), "confidence": np.float64(0.9), "replicates": np.int32(50), "processes": 1}
    assert beamscore.evaluate("toy", TRUTHS, PREDICTIONS, **of_numpy).intervals == plain.intervals
    calls: list[Any] = [partial(beamscore.evaluate, "toy", TRUTHS, PREDICTIONS), partial(beamscore.Scorer, "toy")]
    for call in calls:
        with pytest.raises(TypeError, match="there is no argument limits"):
            call(limits={"depth": 1})
    with pytest.raises(ValueError, match="missing is a setting of every benchmark"):
        beamscore.evaluate("toy", TRUTHS, PREDICTIONS, options={"missing": "exclude"})


@pytest.mark.parametrize("form", [list, pa.Table.from_pylist, "parquet"])
def test_infinity_and_nan_are_no_numbers_within_a_record_and_a_nan_field_is_absent(form: Any, tmp_path: Path) -> None:
    def rules(value: Any, **more: Any) -> list[dict[str, Any]]:
        rule = {"id": 1, "matches": 1.0, "properties": {"a": 1.0, "b": value}, "centerlines": [1]}
        return [{"sample_id": "a", "rules": [rule], **more}]

    def evaluated(truths: Any, predictions: Any, **more: Any) -> beamscore.Result:
        sides: list[Any] = [truths, predictions]
        if form == "parquet":
            sides = [store(tmp_path / f"{number}.parquet", each) for number, each in enumerate(sides)]
        else:
            sides = [form(each) for each in sides]
        return beamscore.evaluate("traffic_rules", *sides, replicates=0, **more)

    for value in (math.inf, -math.inf, np.float32("inf"), math.nan, np.float32("nan")):
        with pytest.warns(UserWarning, match="1 prediction record rejected"):
            found = evaluated(rules(None), rules(value))
        assert found.values["overall.f1"] == 0
        ((sample_id, message),) = ((each.sample_id, each.message.removeprefix("field ")) for each in found.rejected)
        assert (sample_id, message) == ("a", "rules: NaN and Infinity are not JSON")
        with pytest.raises(beamscore.RejectedRecord, match=r"^prediction: rules: NaN and Infinity are not JSON"):
            beamscore.score("traffic_rules", *rules(None), *rules(value))
    assert evaluated(rules(0.1), rules(Decimal("0.1"))).values["overall.f1"] == 1
    assert beamscore.score("traffic_rules", *rules(1), *rules(1)).metrics["unpaired_rules"] == 0
    with pytest.raises(beamscore.RejectedRecord, match="NaN and Infinity are not JSON"):
        beamscore.score("traffic_rules", *rules(None), *rules(Decimal("nan")))
    found = evaluated(rules(None, z={"within": math.nan}), rules(None), slices=["z"])
    assert (found.values["overall.f1"], list(found.slices)) == (1, ['z={"within": null}'])
    # pandas has NaN in place of a missing value.
    found = evaluated(rules(None), [{"sample_id": "a", "rules": math.nan}])
    assert found.coverage["predictions"]["scored"] == 1


@pytest.mark.parametrize(
    ("count", "unpaired", "rejected", "told"),
    [(50, 5, 0, True), (51, 5, 0, False), (9, 4, 0, False), (9, 9, 0, False), (50, 0, 9, False)],
)
def test_many_samples_and_predictions_without_the_other_are_warned_of(
    count: int, unpaired: int, rejected: int, told: bool
) -> None:
    """From 5 and a tenth on, unless no id is in both, which another line tells, or the other record is rejected."""
    truths: list[Any] = [{"sample_id": str(number), "text": 7 if number < rejected else "x"} for number in range(count)]
    names = [f"0{number}" if number < unpaired else str(number) for number in range(count)]
    predictions = [{**each, "sample_id": name} for each, name in zip(truths[::-1], names, strict=True)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = beamscore.evaluate("toy", truths, [*predictions, *[{"text": "no id"}] * 9], replicates=0)
    assert any("predictions without a sample; if they belong" in each for each in found.warnings) == told


def test_a_column_that_no_ground_truth_has_is_refused_and_one_without_values_warned_of() -> None:
    missing = r"^ground_truth: there is no column kind{}, only sample_id, text, kind{}$"
    empty = "no ground-truth record has a value in the column kind, by which the run slices"
    nulls = [{**each, "kind": None} for each in TRUTHS]
    misspelled, nested = ("s", r" \(did you mean kind\?\)"), (".of", "; name the value in kind under fields")
    arguments: list[dict[str, Any]] = [{"slices": ["kinds"]}, {"cluster": "kinds"}, {"slices": ["kind.of"]}]
    for form in (list, pa.Table.from_pylist):
        for argument, ending in zip(arguments, (misspelled, misspelled, nested), strict=True):
            with pytest.raises(ValueError, match=missing.format(*ending)):
                beamscore.evaluate("toy", form(TRUTHS), PREDICTIONS, **argument)
        dotted = form([{**each, "kind.other": 1} for each in TRUTHS])
        with pytest.raises(ValueError, match=r"kind\.other \(did you mean kind\.other\?\)$"):
            beamscore.evaluate("toy", dotted, PREDICTIONS, slices=["kind.othr"])
        with pytest.warns(UserWarning, match=empty):
            assert beamscore.evaluate("toy", form(nulls), PREDICTIONS, slices=["kind"]).warnings == [empty]
    with pytest.raises(ValueError, match=missing.format(*misspelled)):
        beamscore.evaluate("toy", *FILES, slices=["kinds"])
    write(nulls, PREDICTIONS)
    with pytest.warns(UserWarning, match=empty):
        beamscore.evaluate("toy", *FILES, slices=["kind"])
    # More samples may come that have it.
    scorer = beamscore.Scorer("toy", slices=["kind"])
    scorer.update([{"sample_id": "other", "text": "x"}], [{"sample_id": "other", "text": "x"}])
    with pytest.warns(UserWarning, match=empty):
        scorer.compute()
    scorer.update(TRUTHS, PREDICTIONS)
    assert scorer.compute().warnings == []


def test_an_empty_or_wrong_corpus_is_warned_of() -> None:
    bad, other = [{"sample_id": "a", "text": "truth is bad"}], [{"sample_id": "a", "text": "x"}]
    rejected = "the predictions: nothing was scored: 1 ground-truth record rejected, 1 prediction record unmatched; "
    half = [*TRUTHS[:2], *({**each, "text": 5} for each in TRUTHS[2:])]
    for truths, predictions, line in (
        (TRUTHS, [], "the predictions: there is no record"),
        (bad, other, f"{rejected}most often: the truth is bad"),
        (TRUTHS, half, "2 of 4 predictions were rejected; most often: Expected `str`, got `int` - at `$.text` (2 at "),
    ):
        write(truths, predictions)
        for sides in ((truths, predictions), FILES):
            with pytest.warns(UserWarning, match=r"rejected|no record") as caught:
                (found,) = beamscore.evaluate("toy", *sides, replicates=0).warnings
            assert [(str(each.message), each.filename) for each in caught] == [(found, __file__)]
            assert found.startswith(line)


def test_why_paths_lead_nowhere_is_told_alike_in_every_form(tmp_path: Path) -> None:
    rows, whole = [{"id": n, "a.id": n, "out": "```json"} for n in range(4)], {"sample_id": "id", "text": "out"}
    writers: Any = {"jsonl": write_lines, "csv": write_delimited, "parquet": store}
    files = [str(write(tmp_path / f"p.{ending}", rows)) for ending, write in writers.items()]
    told = "nothing was scored: 4 prediction records rejected; most often: best must be in a JSON object, found text"
    for form in (rows, pa.Table.from_pylist(rows), *files):
        truths: Any = FILES[0] if isinstance(form, str) else TRUTHS
        with pytest.warns(UserWarning, match=told):
            found = beamscore.evaluate("toy", truths, form, fields={"predictions": {**whole, "text": "out.best"}})
        assert [each.sample_id for each in found.rejected] == ["0", "1", "2", "3"]
        # The name of a column may have dots. The columns of JSONL are known only to warnings of the command.
        for field in ("sample_id", "text", *(["kind"] if form != files[0] else [])):
            fields = {"ground_truth": {**whole, field: "a.id"}, "predictions": whole}
            with pytest.raises((UserWarning, ValueError), match=r"; a column is called a\.id: write a\\\.id under fie"):
                beamscore.evaluate("toy", form, form, fields=fields, slices=["kind"] if field == "kind" else [])


def test_integers_and_their_text_are_one_id_which_is_there_once_and_has_a_length() -> None:
    for sides in ((TRUTHS, PREDICTIONS), FILES, (pa.Table.from_pylist(TRUTHS), PREDICTIONS)):
        found = beamscore.evaluate("toy", *sides)
        assert found.values["exact_match"] == 1
        assert sorted(found.samples["sample_id"].to_pylist()) == ["0", "1", "2", "3"]
    for sides in ((TRUTHS, PREDICTIONS), FILES):
        with pytest.warns(UserWarning, match="nothing was scored"):
            found = beamscore.evaluate("toy", *sides, sample_id_type="string")
        assert found.coverage["ground_truth"]["rejected"] == 4
        told = "sample_id must be a string; set sample_id_type: any to accept integers: "
        told += "Expected `str`, got `int` - at `$.sample_id`"
        assert {each.message for each in found.rejected if each.side == "ground_truth"} == {told}
    more = [{"sample_id": each, "text": "other"} for each in ("1", "", "x" * 1024, "x" * 1025)]
    told = r"^the ground truth: 1 record with a duplicate sample_id: 1 at memory:5|^2 of 8 .* characters, not 0 "
    with pytest.warns(UserWarning, match=told) as caught:
        found = beamscore.evaluate("toy", [*TRUTHS, *more], [*PREDICTIONS, {**more[2]}])
    assert len(caught) == 2
    counts = found.coverage["ground_truth"]
    assert (counts["duplicate"], counts["rejected"], counts["scored"]) == (1, 2, 5)
    assert found.values["exact_match"] == 1


def test_fields_have_other_names_in_memory_and_in_files() -> None:
    # No field of toy is in `meta`, so text of another kind in it rejects no record.
    metas = ["plain", *(f'{{"kind": {each["kind"]}}}' for each in TRUTHS[1:])]
    truths = [
        {"at": {"id": each["sample_id"]}, "label": each["text"], "meta": meta}
        for each, meta in zip(TRUTHS, metas, strict=True)
    ]
    predictions = [{"id": each["sample_id"], "out": each["text"], "text": "leak"} for each in PREDICTIONS]
    of_truths = {"sample_id": "at.id", "text": "label", "kind": "meta.kind", "image": "meta.image"}
    fields = {"ground_truth": of_truths, "predictions": {"sample_id": "id", "text": "out"}}
    expected = beamscore.evaluate("toy", [{**TRUTHS[0], "kind": None}, *TRUTHS[1:]], PREDICTIONS, slices=["kind"])
    write(truths, predictions)
    for sides in ((truths, predictions), map(pa.Table.from_pylist, (truths, predictions)), FILES):
        found = beamscore.evaluate("toy", *sides, fields=fields, slices=["kind"])
        assert (found.sums, found.coverage, found.slices) == (expected.sums, expected.coverage, expected.slices)
