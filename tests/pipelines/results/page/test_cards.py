from __future__ import annotations

import json

import msgspec

from beamscore.metrics.traffic_rules.benchmark import TrafficRulesBenchmark
from beamscore.metrics.traffic_rules.records import Options
from beamscore.pipelines.results.page.cards import MAX_RECORD_LENGTH, Beginning, make_card, record_text
from beamscore.transforms.pick import MAX_RECORD_BYTES, PickedSample

TRUTH = {"sample_id": "s", "source": "web", "rules": [{"id": "r0", "properties": {"a": "1"}, "centerlines": ["4"]}]}


def picked(prediction: bytes | None, size: int = 0) -> PickedSample:
    truth = json.dumps(TRUTH).encode()
    return PickedSample(0.0, "s", 0, "scored", "worst", {"x": 1 / 3}, b"null", 4, truth, len(truth), prediction, size)


def test_a_card_has_both_records_and_the_drawing() -> None:
    card = make_card(TrafficRulesBenchmark(Options()), picked(b'{"sample_id": "s", "rules": []}', 30)).card
    assert card.truth.text.splitlines()[0] == "source: web"
    assert card.prediction is not None
    assert card.prediction.text == "rules: []"
    assert card.drawing is not None
    assert card.drawing.startswith("<svg")
    assert card.metrics == {"x": 0.3333}


def test_a_card_of_what_cannot_be_drawn_says_why() -> None:
    benchmark = TrafficRulesBenchmark(Options())
    card = make_card(benchmark, picked(b"{", MAX_RECORD_BYTES + 1)).card
    assert card.drawing is None
    assert "too large" in card.problem
    # A prediction that cannot be decoded was scored as missing, and is drawn so.
    assert make_card(benchmark, picked(b'{"rules": 3}', 12)).card.drawing is not None


def test_a_record_is_text_that_says_what_is_left_out() -> None:
    long = {"sample_id": "s", "latex": "x" * (MAX_RECORD_LENGTH + 10)}
    text = record_text(Beginning(msgspec.json.encode(long), 1))
    assert text.text == "latex: " + "x" * (MAX_RECORD_LENGTH - 7)
    assert text.left_out == 17
    assert record_text(Beginning(b'{"a": "\\u202e', 20)).text == '{"a": "\\u202e'
