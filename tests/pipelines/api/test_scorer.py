"""A Scorer adds all of an update, or nothing of it if it raises."""

import copy
import dataclasses
import itertools
import pickle
import time
from collections import Counter, namedtuple
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from unittest.mock import Mock

import pyarrow as pa
import pytest

import beamscore
from beamscore.transforms.records import UNMATCHED
from beamscore.transforms.totals import SliceTotals
from tests.toy import ToyBenchmark

TRUTHS = [{"sample_id": f"s{n}", "text": "x" * (n % 5), "kind": n % 3} for n in range(30)]
PREDICTIONS = [{"sample_id": f"s{n}", "text": "x" * (n % 4)} for n in range(30)]


def scorer_of(records: slice) -> beamscore.Scorer:
    derived = {"half": f"exact_match /{' ' * records.start}2"}
    scorer = beamscore.Scorer("toy", slices=["kind"], replicates=20, derived=derived)
    scorer.update(TRUTHS[records], PREDICTIONS[records])
    return scorer


def state(scorer: beamscore.Scorer) -> Any:
    """All that can be seen of a scorer."""
    return repr(scorer), scorer.compute()


def test_an_error_in_the_middle_of_the_records_adds_nothing() -> None:
    def broken() -> Iterator[dict[str, Any]]:
        yield from TRUTHS[3:6]
        raise OSError("the source is gone")

    scorer = scorer_of(slice(0, 3))
    before = state(scorer)
    with pytest.raises(OSError, match="the source is gone"):
        scorer.update(broken(), PREDICTIONS)
    with pytest.raises(TypeError, match=r"^predictions: record 4: a record must be a mapping, not int$"):
        scorer.update(TRUTHS[3:6], [*PREDICTIONS[3:6], 7])
    assert state(scorer) == before
    scorer.update(TRUTHS[3:], PREDICTIONS[3:])
    assert scorer.compute().sums == scorer_of(slice(0, 30)).compute().sums
    # A sample counts once, in whichever update it comes again.
    scorer.update(TRUTHS[:2], [])
    told = r"ground truth: 2 records with .*s1 at memory:2 \(the sample was in an earlier update, .*; `rejected` lists"
    with pytest.warns(UserWarning, match=told):
        found = scorer.compute()
    assert (found.sums, found.coverage["ground_truth"]["duplicate"]) == (scorer_of(slice(0, 30)).compute().sums, 2)


def test_a_prediction_that_comes_after_its_sample_is_told_from_one_without_a_sample() -> None:
    late = "its ground truth was in an earlier update; give both records of a sample to the same update"
    scorer = beamscore.Scorer("toy", replicates=0)
    scorer.update([{"sample_id": "x", "text": "a"}, {"sample_id": "y", "text": "a"}], [])
    scorer.update([], [{"sample_id": "y", "text": "a"}, {"sample_id": "z", "text": "a"}])
    with pytest.warns(UserWarning, match=f"^the predictions: nothing was scored: y, for example: {late}$"):
        found = scorer.compute()
    errors = {each.sample_id: each.message for each in found.rejected}
    assert errors == {"y": late, "z": UNMATCHED}
    # One that has its prediction needs no other.
    for _ in range(2):
        scorer.update([{"sample_id": "w", "text": "a"}] * (_ == 0), [{"sample_id": "w", "text": "a"}])
    rejected = scorer.compute().rejected
    told = "its sample was scored in an earlier update, with another prediction"
    assert [each.message for each in rejected if each.sample_id == "w"] == [told]


@pytest.mark.parametrize(("kind", "name"), [(SliceTotals, "merge"), (Counter, "__add__")])
def test_an_interrupt_of_an_addition_leaves_the_sums(monkeypatch: pytest.MonkeyPatch, kind: type, name: str) -> None:
    add = getattr(kind, name)

    def interrupted(self: Any, other: Any) -> None:
        add(self, other)
        raise KeyboardInterrupt

    scorer = scorer_of(slice(0, 3))
    before = state(scorer)
    with monkeypatch.context() as patched:
        patched.setattr(kind, name, interrupted)
        with pytest.raises(KeyboardInterrupt):
            scorer.update(TRUTHS[3:5], PREDICTIONS[3:5])
    assert state(scorer) == before


def test_a_merge_leaves_the_other_alone() -> None:
    # The second one alone has the slice kind=2.
    first, second = scorer_of(slice(0, 2)), scorer_of(slice(2, 6))
    before, whole = state(second), scorer_of(slice(0, 6)).compute()
    first.merge(second)
    second.update(TRUTHS[6:9], PREDICTIONS[6:9])
    second.reset()
    second.update(TRUTHS[2:6], PREDICTIONS[2:6])
    assert state(second) == before
    assert (first.compute().sums, first.compute().slices) == (whole.sums, whole.slices)
    assert first.compute().samples.num_rows == 6
    with pytest.raises(ValueError, match=r"^1 sample was scored by both, such as 's5'"):
        first.merge(scorer_of(slice(5, 7)))
    assert state(pickle.loads(pickle.dumps(first))) == state(first)


def test_a_benchmark_is_set_up_once_until_it_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []
    for name in ("setup", "teardown"):
        monkeypatch.setattr(ToyBenchmark, name, lambda self, name=name: done.append(name))
    scorer = beamscore.Scorer("toy")
    for _ in range(2):
        scorer.update(TRUTHS[:1], PREDICTIONS[:1])
        # Nor are the types of its records inspected again, which took most of the time of a small update.
        monkeypatch.setattr("msgspec.inspect.type_info", Mock(side_effect=AssertionError))
    for _ in range(2):
        scorer.close()
    scorer.update(TRUTHS[1:2], PREDICTIONS[1:2])
    assert done == ["setup", "teardown", "setup"]
    # A copy has none of the resources.
    for copied in (pickle.loads(pickle.dumps(scorer)), copy.deepcopy(scorer), copy.copy(scorer)):
        copied.close()
        copied.update(TRUTHS[2:3], PREDICTIONS[2:3])
    assert done[3:] == ["setup"] * 3


def test_samples_without_ids_are_paired_by_position_which_failed_updates_keep(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ids given by position are what the bootstrap draws by."""
    records = [{"text": "a"}, {"text": "bb"}]
    expected, scorer = beamscore.Scorer("toy"), beamscore.Scorer("toy")
    for each in (expected, scorer):
        each.update(records, records)
    for error in (MemoryError, KeyboardInterrupt):
        with monkeypatch.context() as patched:
            patched.setattr(ToyBenchmark, "score", Mock(side_effect=error))
            with pytest.raises(error):
                scorer.update(records, records)
    with pytest.raises(ValueError, match="2 ground-truth records and 1 predictions"):
        scorer.update(records, records[:1])
    for each in (expected, scorer):
        each.update(records, [{"text": "c"}, None])
        each.update(records[:1], records[:1])
    assert state(scorer) == state(expected)
    # Of 5 samples 3 are right, and 4 have a prediction.
    found = scorer.compute()
    assert (found.values["exact_match"], found.coverage["ground_truth"]["scored"]) == (3 / 5, 4)
    assert found.samples["sample_id"].to_pylist() == list("01234")
    # Samples with ids use no position up.
    scorer.update([{"sample_id": "named", "text": "a"}], [])
    scorer.update(records[:1], records[:1])
    assert sorted(scorer.compute().samples["sample_id"].to_pylist()) == [*"012345", "named"]


def test_threads_may_share_a_scorer(monkeypatch: pytest.MonkeyPatch) -> None:
    def score(self: ToyBenchmark, pairs: Any, score: Any = ToyBenchmark.score) -> Any:
        time.sleep(0.01)
        return score(self, pairs)

    monkeypatch.setattr(ToyBenchmark, "score", score)
    scorer, records = beamscore.Scorer("toy"), [{"text": "a"}, {"text": "bb"}]
    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(lambda _: scorer.update(records, records), range(8))) == [None] * 8
    found = scorer.compute()
    assert (found.values["exact_match"], found.coverage["ground_truth"]["scored"]) == (1, 16)


Line: Any = namedtuple("Line", ["text"])


def test_any_form_of_records_without_ids_is_paired_by_position_and_a_table_has_its_rows() -> None:
    records = [{"text": "a"}, {"text": "b"}, {"text": "c"}]
    lines, table = [Line(**each) for each in records], pa.Table.from_pylist(records)
    mixed = table.to_pandas().assign(words=["[]", "[]", []])
    for truths, predictions in itertools.product([records, lines, table, mixed], repeat=2):
        scorer = beamscore.Scorer("toy", replicates=0)
        for _ in range(2):
            scorer.update(truths, predictions)
        found = scorer.compute()
        assert (found.values["exact_match"], found.samples["sample_id"].to_pylist()) == (1, list("012345"))
    # Also where none of its columns is needed.
    other = [{"other": 1}] * 3
    for data in (other, pa.Table.from_pylist(other)):
        scorer = beamscore.Scorer("toy", replicates=0)
        scorer.update(records, data)
        with pytest.warns(UserWarning, match="they have other"):
            read = scorer.compute().coverage["predictions"]
        assert (read["read"], read["rejected"]) == (3, 3)


def test_a_result_is_a_line_a_table_in_a_notebook_and_a_frame_of_pandas() -> None:
    scorer = scorer_of(slice(0, 30))
    result = scorer.compute()
    assert repr(scorer) == "Scorer(toy: 30 samples)"
    ends = {name: "[{:.4g}, {:.4g}]".format(*each) for name, each in result.intervals.items() if each}
    shown = ", ".join(f"{name} {value:.4g} {ends[name]}" for name, value in result.values.items())
    assert repr(result) == f"Result(toy: {shown}; 30 samples)"
    hostile = dataclasses.replace(result, values={"<b>\x1b": 0.5}, intervals={"<b>\x1b": (0.25, 1.0)})
    assert hostile._repr_html_() == (
        "<table><tr><td>&lt;b&gt;&lt;U+001B&gt;</td><td>0.5000 (0.2500 to 1.0000)</td></tr>"
        "<tr><td>ground truth</td><td>30 read, 30 scored</td></tr>"
        "<tr><td>predictions</td><td>30 read, 30 scored</td></tr></table>"
    )
    parts: dict[str, Any] = {"": (result, 30), **{label: (each, 10) for label, each in result.slices.items()}}
    assert result.to_pandas().to_dict("records") == [
        dict(zip(("slice", "metric", "value", "low", "high", "samples"), row, strict=True))
        for label, (each, samples) in parts.items()
        for metric, value in each.values.items()
        for row in [(label, metric, value, *each.intervals[metric], samples)]
    ]
