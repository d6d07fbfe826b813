"""A search for slow inputs: whatever a sample makes a benchmark do is counted towards `max_steps`, and ends there.

A sample that costs more than its counted steps and its length explain could stall a run without meeting the limit. The
work is counted in lines of Python: what a function written in C does by itself is not seen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, Phase, given, settings, target

from beamscore.metrics.benchmark import Benchmark, Pair, RejectedRecord
from beamscore.metrics.common.budget import Budget
from beamscore.metrics.formula.pairs import formula_pairs
from tests.plain_loop import make_benchmark
from tests.slow_samples import Sample, samples
from tests.work import executed_lines

EXAMPLES = {"chart": 25, "chemistry": 80, "figure_text": 40, "formula": 40, "traffic_rules": 25}
MAX_LINES_PER_UNIT = 10
"""Lines of Python for each counted step and each byte of the input; ten lines take about a microsecond."""
LINES_OF_ANY_SAMPLE = 6_000
"""What a sample of a few regions or points costs, most of it in NumPy: half a millisecond."""
MAX_STEPS = 4_000
"""A limit that some of the samples meet: they are rejected, and what was counted last is not done."""


@contextmanager
def counted_steps() -> Iterator[Callable[[], int]]:
    """Yields what tells the steps that all budgets made since have allowed."""
    made: list[Budget] = []
    begin = Budget.__init__

    def noted(self: Budget, max_steps: int) -> None:
        made.append(self)
        begin(self, max_steps)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Budget, "__init__", noted)
        yield lambda: sum(min(budget.steps, budget.steps + budget.left) for budget in made)


def scoring(name: str, benchmark: Benchmark[Any, Any, Any], sample: Sample) -> tuple[Callable[[], object], int]:
    """Returns what scores a sample, and the bytes of its records; of a document, what pairs its formulas."""
    truth, prediction = (msgspec.json.encode(record) for record in sample)
    pair: Pair[Any, Any] = Pair(
        "s",
        msgspec.json.decode(truth, type=benchmark.truth_type),
        msgspec.json.decode(prediction, type=benchmark.prediction_type),
    )

    def score() -> object:
        if name != "formula":
            return benchmark.score([pair])
        try:
            # What TeX makes of each formula is a process of its own, with a limit of its own.
            return formula_pairs(pair.truth, pair.prediction, 1000, Budget(MAX_STEPS))
        except RejectedRecord as rejected:
            return rejected

    return score, len(truth) + len(prediction)


def search(name: str) -> None:
    """Looks for the sample with the most work in proportion to what is counted; AssertionError where it is too much."""
    benchmark = make_benchmark(name, max_steps=MAX_STEPS)

    @settings(
        max_examples=EXAMPLES[name],
        derandomize=True,
        database=None,
        deadline=None,
        phases=(Phase.generate, Phase.target),
        suppress_health_check=list(HealthCheck),
    )
    @given(samples(name))
    def costs_what_is_counted(sample: Sample) -> None:
        score, size = scoring(name, benchmark, sample)
        score()  # What is imported or made when it is first needed is no work of the sample.
        with counted_steps() as steps:
            lines = executed_lines(score)
            counted = steps()
        per_unit = (lines - LINES_OF_ANY_SAMPLE) / (counted + size)
        target(per_unit)
        assert per_unit <= MAX_LINES_PER_UNIT, f"{lines} lines for {counted} steps and {size} bytes"

    costs_what_is_counted()


@pytest.mark.parametrize("name", EXAMPLES)
def test_no_sample_costs_more_than_what_is_counted(name: str) -> None:
    search(name)


@pytest.mark.parametrize(("counted", "steps"), [(0, 0), (1, MAX_STEPS)])
def test_work_that_is_not_counted_or_goes_on_behind_the_limit_is_noticed(
    monkeypatch: pytest.MonkeyPatch, counted: int, steps: int
) -> None:
    def spend(self: Budget, steps: int) -> None:
        self.steps += counted * steps

    monkeypatch.setattr(Budget, "spend", spend)
    with pytest.raises(AssertionError, match=f"lines for {steps} steps"):
        search("formula")
