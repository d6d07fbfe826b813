"""Which samples that changed are kept, in bounded memory: those that changed most, whatever else there is."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from beamscore.metrics.benchmark import MetricSpec
from beamscore.transforms import sample_changes
from beamscore.transforms.rows import SampleRow
from beamscore.transforms.sample_changes import ChangeCounter, ChangePlan, changed_sample

SPEC = MetricSpec("score", "", main=1)


@given(st.lists(st.sampled_from([0.1, 0.2, 0.5, 0.9]), min_size=1, max_size=60), st.integers(1, 9))
def test_those_that_changed_most_are_kept_in_blocks(values: list[float], most: int) -> None:
    plan = ChangePlan((SPEC,), 0, 0.1, most)
    rows = [
        [SampleRow(f"{number}", "scored", "", (), (each,), "{}", "h") for each in (0.0, value)]
        for number, value in enumerate(values)
    ]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(sample_changes, "SAMPLES_PER_BLOCK", 3)
        patched.setattr(sample_changes, "SAMPLES_BETWEEN_CUTS", 2)
        counter = ChangeCounter(plan)
        for before, after in rows:
            counter.add(before, after)
        kept = [each for block in counter.blocks() for each in block]
    every = sorted(changed_sample(plan, before, after) for before, after in rows)
    assert kept == every[:most]


def counted(old: float | None, new: float | None, higher_is_better: bool = True) -> set[str]:
    """The ways in which one sample changed, with a threshold of 0.1."""
    spec = MetricSpec("score", "", higher_is_better, main=1)
    counter = ChangeCounter(ChangePlan((spec,), 0, 0.1, 9))
    before, after = (SampleRow("a", "scored", "a", (), (value,), "{}", "h") for value in (old, new))
    counter.add(before, after)
    ((_, counts),) = counter.counts()
    return {kind for kind, count in counts.items() if count}


@pytest.mark.parametrize("tenths", range(1, 9))
def test_a_change_of_exactly_the_threshold_is_not_beyond_it(tenths: int) -> None:
    """Whatever floats make of it: 0.4 - 0.3 > 0.1 > 0.9 - 0.8."""
    assert counted(tenths / 10, (tenths + 1) / 10) == {"better"}
    assert counted((tenths + 1) / 10, tenths / 10) == {"worse"}
    assert counted(tenths / 10, math.nextafter((tenths + 1) / 10, 2) + 1e-9) == {"better", "better_beyond"}


def test_right_is_the_best_value_in_the_direction_of_the_metric() -> None:
    assert counted(0.0, 1.0) == {"better", "wrong_to_right", "better_beyond"}
    assert counted(0.0, 1.0, higher_is_better=False) == {"worse", "right_to_wrong", "worse_beyond"}
    assert counted(None, 1.0) == {"appeared"}
    assert counted(1.0, None) == {"vanished"}
    assert counted(0.5, 0.5) == counted(None, None) == set()
