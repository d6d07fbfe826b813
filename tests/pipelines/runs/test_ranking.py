"""Places of systems: ties, and systems that scored other samples."""

from __future__ import annotations

from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from beamscore.metrics.statistics.bootstrap import Bootstrap, BootstrapSums
from beamscore.metrics.statistics.sums import Sums
from beamscore.pipelines.config.settings import check
from beamscore.pipelines.runs.documents import coverage_document
from beamscore.pipelines.runs.ranking import Ranking
from beamscore.pipelines.runs.run import Run
from beamscore.transforms.totals import SliceKey, SliceResult, SliceTotals, slice_results
from tests.toy import Options, ToyBenchmark

TOY = ToyBenchmark(Options())


def system(number: int, right: range, count: int = 60, first: int = 0, replicates: int = 100) -> SliceResult:
    bootstrap = Bootstrap(replicates)
    sums = BootstrapSums(bootstrap)
    for sample in range(first, first + count):
        statistics = {"samples": 1, "equal": int(sample in right), "similarity": 0.5}
        sums.add(bootstrap.unit_hash(str(sample)), statistics)
    totals = SliceTotals(sums, {"ground_truth.scored": count})
    return next(slice_results(TOY, 0.95, [(SliceKey(number), totals)], Sums(), clustered=False))


def places(systems: Mapping[str, SliceResult], replicates: int = 100) -> Ranking | None:
    configuration = check({"benchmark": "toy", "bootstrap": {"replicates": replicates}}, "test")
    coverages = {name: coverage_document(each.coverage) for name, each in systems.items()}
    slices = {name: {"": each} for name, each in systems.items()}
    return Run.finalised(configuration, slices, coverages, {}, [], []).places


def ranked(**systems: SliceResult) -> Ranking:
    found = places(systems)
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
    assert found.places[2].difference == 20 / 60 - 50 / 60
    assert found.warnings == []
    assert found.document()["places"][0] == {
        "system": "best",
        "place": 1,
        "tied": False,
        "difference": None,
        "interval": None,
    }


def test_other_samples_are_told_though_they_are_as_many() -> None:
    found = ranked(one=system(0, range(30)), same=system(1, range(29)), other=system(2, range(30), first=10))
    (warning,) = found.warnings
    assert warning.startswith("other scored other samples than one")


def without_replicates(**values: float | None) -> Ranking | None:
    """Each value is that of exact_match, in quarters; None: nothing was scored."""
    systems = {
        name: system(number, range(round(4 * (value or 0))), 0 if value is None else 4, replicates=0)
        for number, (name, value) in enumerate(values.items())
    }
    return places(systems, 0)


@given(st.lists(st.sampled_from([None, 0.0, 0.5, 1.0]), min_size=2, max_size=8))
def test_a_place_is_one_more_than_the_systems_that_are_better(values: list[float | None]) -> None:
    found = without_replicates(**{f"s{number}": value for number, value in enumerate(values)})
    assert found is not None
    worth = {f"s{number}": -1.0 if value is None else value for number, value in enumerate(values)}
    for each in found.places:
        assert each.place == 1 + sum(other > worth[each.system] for other in worth.values())


def test_a_single_system_is_not_ranked() -> None:
    assert places({"one": system(0, range(3))}) is None
