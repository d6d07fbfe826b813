"""Places of systems: ties, and systems that scored other samples."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from beamscore.metrics.statistics.bootstrap import Bootstrap, BootstrapSums
from beamscore.metrics.statistics.sums import Sums
from beamscore.pipelines.config.settings import check
from beamscore.pipelines.runs.documents import coverage_document
from beamscore.pipelines.runs.run import Run
from beamscore.transforms.totals import SliceKey, SliceTotals, slice_results

ALL = range(60)


def run_of(systems: dict[str, tuple[range, range]], replicates: int = 100) -> Run:
    """Returns a run of systems, each by its right samples and all its samples."""
    configuration = check({"benchmark": "toy", "bootstrap": {"replicates": replicates}}, "test")
    bootstrap, slices, coverages = Bootstrap(replicates), {}, {}
    for number, (name, (right, samples)) in enumerate(systems.items()):
        sums = BootstrapSums(bootstrap)
        for sample in samples:
            equal = int(sample in right)
            sums.add(bootstrap.unit_hash(str(sample)), {"samples": 1, "equal": equal, "similarity": 0.5})
        totals = [(SliceKey(number), SliceTotals(sums, {"ground_truth.scored": len(samples)}))]
        (found,) = slice_results(configuration.benchmark, 0.95, totals, Sums(), clustered=False)
        slices[name], coverages[name] = {"": found}, coverage_document(found.coverage)
    return Run.finalised(configuration, slices, coverages, {}, [], [])


def test_systems_that_cannot_be_told_apart_share_a_place() -> None:
    """Each is compared with the first one of the place above, or of its own."""
    right = {"best": 50, "close": 49, "far": 20, "further": 19}
    found = run_of({name: (range(count), ALL) for name, count in right.items()}).places
    assert found is not None
    assert (found.metric, found.warnings) == ("exact_match", [])
    close, far, further = found.places[1:]
    assert found.document() == {
        "metric": "exact_match",
        "places": [
            {"system": "best", "place": 1, "tied": False, "difference": None, "interval": None},
            {"system": "close", "place": 1, "tied": True, "difference": 49 / 60 - 50 / 60, "interval": close.interval},
            {"system": "far", "place": 3, "tied": False, "difference": 20 / 60 - 50 / 60, "interval": far.interval},
            {"system": "further", "place": 3, "tied": True, "difference": 19 / 60 - 20 / 60,
             "interval": further.interval},
        ],
    }  # fmt: skip
    for each in (close, far, further):
        low, high = each.interval or (1.0, -1.0)
        assert low <= (each.difference or 0.0) <= high
        assert (high < 0) == (each is far)


def test_other_samples_are_told_though_they_are_as_many() -> None:
    systems = {"one": (range(30), ALL), "same": (range(29), ALL), "other": (range(10, 39), range(10, 70))}
    found = run_of(systems).places
    assert found is not None
    (warning,) = found.document()["warnings"]
    assert warning.startswith("other scored other samples than one: their places rest on different data")


@given(st.lists(st.sampled_from([None, 0, 2, 4]), min_size=1, max_size=8))
def test_without_intervals_only_systems_without_a_value_are_behind(values: list[int | None]) -> None:
    """Without replicates; values: how many of four samples are right, None: nothing was scored."""
    systems = {f"s{n}": (range(right or 0), range(0 if right is None else 4)) for n, right in enumerate(values)}
    found = run_of(systems, 0).places
    if len(values) == 1:
        assert found is None
        return
    scored = sum(right is not None for right in values)
    assert found is not None
    assert {each.system: each.place for each in found.places} == {
        f"s{number}": 1 if right is not None else 1 + scored for number, right in enumerate(values)
    }


def test_an_interval_on_few_samples_is_rough() -> None:
    run = run_of({"few": (range(2), range(19)), "enough": (range(2), range(20))})
    rough = "the interval of a metric that rests on fewer than 20 samples is rough: exact_match on 19, similarity on 19"
    assert [run.systems[name].warnings for name in ("few", "enough")] == [[rough], []]
