"""Worst cases: which work is counted, what is measured of a case in a process of its own, and which harm is noticed."""

from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import Mock, patch

import msgspec
import pytest

from beamscore.metrics.common.budget import Budget
from beamscore.metrics.traffic_rules.benchmark import TrafficRulesBenchmark
from tests.abuse.run import Case, run_case, score_among
from tests.generate.traffic_rules import sample
from tests.plain_loop import make_benchmark, read_records, score_records

STEPS = {
    ("chart", "protocol=published"): 67_007,
    ("chart", "protocol=released"): 81_134,
    ("chemistry", "protocol=published"): 373_353,
    ("chemistry", "protocol=released"): 374_459,
    ("figure_text", "protocol=published"): 27_638,
    ("figure_text", "protocol=icdar2013"): 27_660,
    ("figure_text", "protocol=iou"): 57_410,
    ("figure_text", "geometry=polygon"): 59_933,
    ("formula", "protocol=published"): 358_812,
    ("traffic_rules", ""): 2_524,
}


@pytest.mark.parametrize(("name", "option"), STEPS)
def test_the_steps_of_the_sample_corpora(name: str, option: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work that is not counted does not end at max_steps; whoever changes a count on purpose writes it here."""
    counted: list[int] = []
    spend = Budget.spend

    def noted(self: Budget, steps: int) -> None:
        counted.append(steps)
        spend(self, steps)

    monkeypatch.setattr(Budget, "spend", noted)
    folder = Path(__file__).parent / "corpora" / name
    sides = (read_records(folder / f"{side}.jsonl") for side in ("ground_truth", "predictions"))
    score_records(make_benchmark(name, **dict([option.split("=")] if option else [])), *sides)
    assert sum(counted) == STEPS[name, option]


NEIGHBOURS = [sample(index, seed=1) for index in range(4)]
RULES = {"rules": [{"id": 1, "properties": {"a": 1}}]}


def test_a_case_runs_in_a_process_of_its_own_whose_memory_is_not_that_of_whoever_starts_it() -> None:
    ballast = bytearray(600 << 20)
    outcome = run_case("traffic_rules", {}, Case("plain", RULES, RULES), NEIGHBOURS)
    assert outcome.verdict.startswith("scored, ")
    assert 10 << 20 < outcome.peak_bytes < len(ballast)
    assert not outcome.failed


HARMS: list[tuple[Callable[[Any], Any], str]] = [
    (lambda results: [*results[:-1], results[0]], "failed: the results of its neighbours change (scored, "),
    (Mock(side_effect=MemoryError), "failed: MemoryError: MemoryError"),
]


def encoded(record: dict[str, Any]) -> str:
    return msgspec.json.encode(record).decode()


def test_harm_is_noticed_and_a_rejected_prediction_is_none() -> None:
    """In this process, whose memory is that of all tests before it."""
    texts = [(encoded(truth), None if each is None else encoded(each)) for truth, each in NEIGHBOURS]
    truth, plain = encoded(RULES), TrafficRulesBenchmark.score
    nested = f'{{"rules": [{{"properties": {{"a": {"[" * 20 + "]" * 20}}}}}]}}'
    said = "rejected (prediction): rules[0].properties: 'a' cannot be compared: it nests more than 16 deep; "
    for prediction, verdict in (
        (None, "scored, "),
        ("[" * 300 + "]" * 300, "rejected: the record is nested deeper than the 200 levels of limits.depth"),
        (nested, f"{said}without a prediction: scored, "),
    ):
        assert score_among("traffic_rules", {}, (truth, prediction), texts).verdict.startswith(verdict)
    vain = score_among("traffic_rules", {}, ('{"rules": [{}]}', nested), texts)
    assert vain.verdict.startswith("failed: no case: the ground truth alone is rejected: Object missing required field")
    for harm, verdict in HARMS:

        def score(self: Any, pairs: Any, harm: Any = harm) -> Any:
            return harm(plain(self, pairs)) if len(pairs) > len(NEIGHBOURS) else plain(self, pairs)

        with patch.object(TrafficRulesBenchmark, "score", score):
            outcome = score_among("traffic_rules", {}, (truth, "{}"), texts)
        assert (outcome.verdict.startswith(verdict), outcome.failed) == (True, True)
