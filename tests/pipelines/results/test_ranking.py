"""Places of systems: ties, and systems that scored other samples."""

from __future__ import annotations

from metrics.statistics.bootstrap import Bootstrap, BootstrapSums
from metrics.statistics.sums import Sums
from pipelines.results.ranking import Ranking, rank_with_ties
from tests.toy import Options, ToyBenchmark
from transforms.combine import SliceTotals
from transforms.finalize import SliceResult, slice_result
from transforms.slice import SliceKey

TOY = ToyBenchmark(Options())
BOOTSTRAP = Bootstrap(100)


def system(number: int, right: range, count: int = 60, first: int = 0) -> SliceResult:
    sums = BootstrapSums(BOOTSTRAP)
    for sample in range(first, first + count):
        statistics = {"samples": 1, "equal": int(sample in right), "similarity": 0.5}
        sums.add(BOOTSTRAP.unit_hash(str(sample)), statistics)
    return slice_result(TOY, 0.95, SliceKey(number), SliceTotals(sums, {"ground_truth.scored": count}), Sums())


def ranked(**systems: SliceResult) -> Ranking:
    found = rank_with_ties(TOY, list(systems), systems, 100, 0.95, clustered=False)
    assert found is not None
    return found


def test_systems_that_cannot_be_told_apart_share_a_place() -> None:
    found = ranked(best=system(0, range(50)), close=system(1, range(49)), far=system(2, range(20)))
    assert found.metric == "exact_match"
    assert [(each.system, each.place, each.tied) for each in found.places] == [
        ("best", 1, False),
        ("close", 1, True),
        ("far", 3, False),
    ]
    assert found.places[2].behind is not None
    assert found.places[2].behind.difference == 20 / 60 - 50 / 60
    assert found.warnings == []
    assert found.document()["places"][0] == {
        "system": "best",
        "place": 1,
        "tied": False,
        "difference": None,
        "interval": None,
    }


def test_other_samples_are_told_though_they_are_as_many() -> None:
    found = ranked(one=system(0, range(30)), same=system(1, range(29)), other=system(2, range(60), first=10))
    (warning,) = found.warnings
    assert warning.startswith("other scored other samples than one")


def test_a_single_system_is_not_ranked() -> None:
    assert rank_with_ties(TOY, ["one"], {"one": system(0, range(3))}, 100, 0.95, clustered=False) is None
