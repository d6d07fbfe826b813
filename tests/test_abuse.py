"""The runner of worst cases: what it measures, and that it notices harm."""

from __future__ import annotations

from typing import Any
from unittest.mock import Mock, patch

import msgspec

from beamscore.metrics.traffic_rules.benchmark import TrafficRulesBenchmark
from tests.abuse import Case
from tests.abuse.run import Outcome, run_case, score_among
from tests.generate.traffic_rules import sample

NEIGHBOURS = [sample(index, seed=1) for index in range(4)]
RULES = {"rules": [{"id": 1, "properties": {"a": 1}}]}


def outcome_of(prediction: str | None) -> Outcome:
    """Scores in this process, whose memory is that of all tests before it."""
    texts = [
        (msgspec.json.encode(truth).decode(), None if each is None else msgspec.json.encode(each).decode())
        for truth, each in NEIGHBOURS
    ]
    return score_among("traffic_rules", {}, (msgspec.json.encode(RULES).decode(), prediction), texts)


def test_a_case_runs_in_a_process_of_its_own_whose_memory_is_not_that_of_whoever_starts_it() -> None:
    ballast = bytearray(600 << 20)
    outcome = run_case("traffic_rules", {}, Case("plain", RULES, RULES), NEIGHBOURS)
    assert outcome.verdict.startswith("scored, ")
    assert 10 << 20 < outcome.peak_bytes < len(ballast)
    assert not outcome.failed


def test_verdicts_and_harm() -> None:
    nested = f'{{"rules": [{{"properties": {{"a": {"[" * 20 + "]" * 20}}}}}]}}'
    said = "rejected (prediction): rules[0].properties: 'a' cannot be compared: it nests more than 16 deep; "
    for prediction, verdict in (
        (None, "scored, "),
        ("[" * 300 + "]" * 300, "rejected: the record is nested deeper than the 200 levels of limits.depth"),
        (nested, f"{said}without a prediction: scored, "),
    ):
        assert outcome_of(prediction).verdict.startswith(verdict)
    plain = TrafficRulesBenchmark.score
    for harm, verdict in (
        (lambda results: [*results[:-1], results[0]], "failed: the results of its neighbours change (scored, "),
        (Mock(side_effect=MemoryError), "failed: MemoryError: MemoryError"),
    ):

        def score(self: Any, pairs: Any, harm: Any = harm) -> Any:
            return harm(plain(self, pairs)) if len(pairs) > len(NEIGHBOURS) else plain(self, pairs)

        with patch.object(TrafficRulesBenchmark, "score", score):
            outcome = outcome_of("{}")
        assert (outcome.verdict.startswith(verdict), outcome.failed) == (True, True)
