"""Places of systems: ties, and systems that scored other samples."""

from __future__ import annotations

from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from beamscore.pipelines.config.settings import check
from beamscore.pipelines.runs.documents import coverage_document
from beamscore.pipelines.runs.run import Run
from tests.pipelines.runs.test_gates import slice_of


def run_of(systems: Mapping[str, tuple[int, ...]], replicates: int = 100) -> Run:
    """Returns a run of systems, each a `slice_of` its numbers."""
    configuration = check({"benchmark": "toy", "bootstrap": {"replicates": replicates}}, "test")
    slices = {name: {"": slice_of(*each, replicates=replicates)} for name, each in systems.items()}
    coverages = {name: coverage_document(each[""].coverage) for name, each in slices.items()}
    return Run.finalised(configuration, slices, coverages, {}, [], [])


def test_systems_that_cannot_be_told_apart_share_a_place() -> None:
    """Each is compared with the first one of the place above, or of its own."""
    right = {"best": 50, "close": 49, "far": 20, "further": 19}
    found = run_of({name: (count, 60) for name, count in right.items()}).places
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
    found = run_of({"one": (30, 60), "same": (29, 60), "other": (29, 60, 10)}).places
    assert found is not None
    (warning,) = found.document()["warnings"]
    assert warning.startswith("other scored other samples than one: their places rest on different data")


@given(st.lists(st.sampled_from([None, 0, 2, 4]), min_size=1, max_size=8))
def test_without_intervals_only_systems_without_a_value_are_behind(values: list[int | None]) -> None:
    """Without replicates; values: how many of four samples are right, None: nothing was scored."""
    systems = {f"s{n}": (0, 0) if right is None else (right, 4) for n, right in enumerate(values)}
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
    run = run_of({"few": (2, 19), "enough": (2, 20)})
    rough = "the interval of a metric that rests on fewer than 20 samples is rough: exact_match on 19, similarity on 19"
    assert [run.systems[name].warnings for name in ("few", "enough")] == [[rough], []]
