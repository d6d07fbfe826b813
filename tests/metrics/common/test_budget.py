"""The budget of a sample: work is counted, and the verdict depends on the count alone."""

import pickle

import pytest

from metrics.benchmark import RejectedRecord
from metrics.common.budget import Budget, OutOfBudget


def test_work_up_to_the_limit_is_free() -> None:
    budget = Budget(10)
    budget.spend(4)
    budget.spend(6)
    assert budget.steps == 10


def test_the_first_step_past_the_limit_rejects_the_sample_and_says_what_to_raise() -> None:
    budget = Budget(10)
    budget.spend(10)
    with pytest.raises(RejectedRecord, match=r"max_steps=10 allows \(at least 11 steps\): raise max_steps") as rejected:
        budget.spend(1)
    assert rejected.value.side == "sample"


def test_a_rejection_survives_pickling() -> None:
    budget = Budget(1)
    with pytest.raises(OutOfBudget) as rejected:
        budget.spend(2)
    again = pickle.loads(pickle.dumps(rejected.value))
    assert (type(again), again.side, again.message) == (OutOfBudget, rejected.value.side, rejected.value.message)
