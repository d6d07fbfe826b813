"""The budget of a sample: work is counted, and the verdict depends on the count alone."""

import pickle

import pytest

from beamscore.metrics.benchmark import RejectedRecord, Side
from beamscore.metrics.common.budget import Budget, OutOfBudget


def test_the_first_step_past_the_limit_rejects_the_sample_and_says_what_to_raise() -> None:
    budget = Budget(10)
    budget.spend(4)
    budget.spend(6)
    assert (budget.steps, budget.left) == (10, 0)
    with pytest.raises(RejectedRecord, match=r"max_steps=10 allows \(at least 11 steps\): raise max_steps") as rejected:
        budget.spend(1)
    again = pickle.loads(pickle.dumps(rejected.value))
    assert (type(again), again.side, again.message) == (OutOfBudget, "sample", rejected.value.message)


@pytest.mark.parametrize(
    ("truth", "prediction", "comparing", "side"),
    [
        (4, 7, 0, "prediction"),
        (7, 4, 0, "ground_truth"),
        (0, 11, 0, "prediction"),
        (11, 0, 0, "ground_truth"),
        (5, 5, 1, "sample"),
        (1, 6, 4, "sample"),
        (6, 6, 0, "sample"),
    ],
)
@pytest.mark.parametrize("first", ["ground_truth", "prediction"])
def test_the_side_that_takes_more_than_half_to_read_is_rejected(
    truth: int, prediction: int, comparing: int, side: str, first: str
) -> None:
    budget = Budget(10)
    steps: list[tuple[Side, int]] = [("ground_truth", truth), ("prediction", prediction)]

    def score() -> None:
        for each, count in steps if first == "ground_truth" else reversed(steps):
            with budget.reading(each):
                budget.spend(count)
        budget.spend(comparing)

    with pytest.raises(OutOfBudget, match="max_steps=10 allows") as rejected:
        score()
    assert rejected.value.side == side


def test_what_is_read_in_pieces_is_added_up() -> None:
    budget = Budget(10)
    for _ in range(2):
        with budget.reading("prediction"):
            budget.spend(3)
        with budget.reading("ground_truth"):
            budget.spend(2)
    expected = "; 7 of the steps are to read the prediction"
    with pytest.raises(OutOfBudget, match=expected) as rejected, budget.reading("prediction"):
        budget.spend(1)
    assert rejected.value.side == "prediction"
