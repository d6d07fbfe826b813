"""From the totals of a slice to its figures."""

from __future__ import annotations

from beamscore.metrics.statistics.bootstrap import Bootstrap, BootstrapSums
from beamscore.metrics.statistics.sums import Sums
from beamscore.transforms.slice_labels import Slice
from beamscore.transforms.totals import SliceKey, SliceTotals, slice_result
from tests.toy import Options, ToyBenchmark

TOY = ToyBenchmark(Options())


def totals(replicates: int) -> SliceTotals:
    sums = BootstrapSums(Bootstrap(replicates, seed=0))
    for index in range(40):
        sums.add(index * 2**57, {"samples": 1, "equal": index % 2, "similarity": index / 64})
    return SliceTotals(sums, {"ground_truth.scored": 40}, fingerprint=5)


def test_figures_of_all_samples() -> None:
    found = slice_result(TOY, 0.9, SliceKey(2), totals(100), Sums())
    assert found.key == SliceKey(2)
    assert found.coverage == {"ground_truth.scored": 40}
    assert found.fingerprint == 5
    assert found.values == {"exact_match": 20 / 40, "similarity": 780 / 64 / 40}  # 0 + 1 + ... + 39 = 780
    assert found.sums == totals(0).sums.sums()
    assert found.replicates.unpack(100).rows() == totals(100).sums.table().below().rows()
    interval = found.intervals["exact_match"]
    assert interval is not None
    assert 0.2 < interval[0] < 0.5 < interval[1] < 0.8
    assert [table.title for table in found.tables] == ["Counts"]


def test_tables_are_made_for_all_samples_alone() -> None:
    assert slice_result(TOY, 0.9, SliceKey(2, Slice(("kind",), ("1",))), totals(3), Sums()).tables == []


def test_without_replicates_there_are_no_intervals() -> None:
    found = slice_result(TOY, 0.9, SliceKey(0), totals(0), Sums())
    assert found.intervals == {}
    assert found.replicates.unpack(0).rows() == []


def test_a_slice_without_scores_has_no_figures() -> None:
    empty = SliceTotals(BootstrapSums(Bootstrap(3)), {"ground_truth.rejected": 2})
    found = slice_result(TOY, 0.9, SliceKey(0), empty, Sums())
    assert found.values == {"exact_match": None, "similarity": None}
    assert found.intervals == {"exact_match": None, "similarity": None}
    assert found.replicates.unpack(3).rows() == [Sums()] * 3
