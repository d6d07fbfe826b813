"""Worst cases in processes of their own: what is measured of them, and which harm is noticed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unittest.mock import Mock, patch

import msgspec

from beamscore.metrics.traffic_rules.benchmark import TrafficRulesBenchmark
from tests.abuse.run import Case, run_case, score_among
from tests.generate.traffic_rules import sample

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
    for harm, verdict in HARMS:

        def score(self: Any, pairs: Any, harm: Any = harm) -> Any:
            return harm(plain(self, pairs)) if len(pairs) > len(NEIGHBOURS) else plain(self, pairs)

        with patch.object(TrafficRulesBenchmark, "score", score):
            outcome = score_among("traffic_rules", {}, (truth, "{}"), texts)
        assert (outcome.verdict.startswith(verdict), outcome.failed) == (True, True)
