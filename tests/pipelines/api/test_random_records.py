"""What the Python API says of random records, in random forms and batches, is what the last release said."""

import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import beamscore
from beamscore.pipelines.api.result import Result
from beamscore.pipelines.api.scorer import Scorer
from tests.metrics.samples import assert_pinned
from tests.page.corpora import plain

pandas: Any = pytest.importorskip("pandas")
SAID = ["82a014f8d75b36dc", "b33ace2506322016", "ea18cdee84d7e68e"]
TEXTS: tuple[Any, ...] = (*["x", "xx", "xxx"] * 6, "", None, 7, float("nan"), ["x"], "prediction is bad", "score fails")
RULES: tuple[Any, ...] = ([{"id": 1, "properties": {"LaneType": "bus"}, "centerlines": ["a"]}], [], None, None, 7)
IDS: tuple[Any, ...] = ("", None, 7, "s0", "x" * 1025, True, 2.0)
WRONG: list[dict[str, Any]] = [
    *({"missing": "ignore"}, {"slices": ["kind", "kind"]}, {"slices": ["nothing"]}, {"cluster": "nothing"}),
    *({"replicates": -1}, {"confidence": 1.5}, {"fields": {"ground_truth": {"text": "a..b"}}}, {"options": {"x": 1}}),
    *({"derived": {"both": "mean(x)"}}, {"sample_id_type": "number"}, {"repeats": True}, {"seed": "a"}),
]


def random_records(rng: random.Random, field: str, values: Sequence[Any]) -> list[dict[str, Any]]:
    """Returns up to 40 records with one of the values in `field`, some of them odd, doubled or without a field."""
    records: list[dict[str, Any]] = []
    for index in range(rng.choice([0, 3, *[40] * 6])):
        record: dict[str, Any] = {
            "sample_id": rng.choice([*[f"s{index}"] * 40, rng.choice(IDS)]),
            field: rng.choice(values),
            "kind": rng.choice(["a", "b", None, 3]),
            "page": index // 4,
        }
        lacking = rng.choice([*record]) if rng.random() < 0.05 else ""
        records += [{name: value for name, value in record.items() if name != lacking}] * rng.choice([1] * 30 + [2])
    return records


def in_form(rng: random.Random, records: list[dict[str, Any]]) -> Any:
    """Returns the records as a list, an iterator, an Arrow table or a pandas frame, if their values allow that."""
    texts = [{name: str(value) for name, value in each.items() if value is not None} for each in records]
    form = rng.choice(["list", "iterator", "table", "frame"])
    if form == "table":
        return pa.Table.from_pylist(texts)
    return pandas.DataFrame(records) if form == "frame" else iter(records) if form == "iterator" else records


def random_arguments(rng: random.Random) -> dict[str, Any]:
    arguments: dict[str, Any] = {
        "missing": rng.choice(["wrong", "exclude"]), "cluster": rng.choice([None, None, "page"]),
        "slices": rng.choice([[], ["kind"], ["kind", "kind,page"]]), "replicates": rng.choice([0, 50]),
        "derived": rng.choice([{}, {"macro": "mean(exact_match, similarity)"}]),
        "sample_id_type": rng.choice(["any", "string"]),
    }  # fmt: skip
    return {**arguments, **(rng.choice(WRONG) if rng.random() < 0.15 else {})}


def told(result: Result) -> list[Any]:
    slices = {name: [each.values, each.intervals, each.samples] for name, each in result.slices.items()}
    rows = [plain(str(each)) for each in (*result.samples.to_pylist(), *result.rejected)]
    return [
        repr(result),
        result._repr_html_(),
        result.values,
        result.intervals,
        slices,
        result.coverage,
        rows,
        result.warnings,
    ]


def said(rng: random.Random) -> Iterator[Any]:
    """Yields what one evaluation says, of all records at once or in batches."""
    name, field, values = rng.choice([("toy", "text", TEXTS)] * 3 + [("traffic_rules", "rules", RULES)])
    arguments = random_arguments(rng)
    if name != "toy":
        arguments["derived"] = {}
    truths = random_records(rng, field, values)
    predictions = random_records(rng, rng.choice([field, field, field, field[1:]]), values)
    half = len(truths) // 2
    try:
        if rng.random() < 0.5:
            yield told(beamscore.evaluate(name, in_form(rng, truths), in_form(rng, predictions), **arguments))
        else:
            scorer, other = (Scorer(name, **arguments) for _ in range(2))
            scorer.update(truths[:half], in_form(rng, predictions[:half]))
            other.update(truths[half:], in_form(rng, predictions[half:]))
            scorer.merge(other)
            yield told(scorer.compute())
    except (ValueError, TypeError, ZeroDivisionError) as error:
        yield f"{type(error).__name__}: {error}"


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("number", range(len(SAID)))
def test_what_is_said(number: int, tmp_path: Path) -> None:
    rng = random.Random(number)
    assert_pinned([each for _ in range(40) for each in said(rng)], SAID[number], tmp_path, digits=6)
