"""Draws one clip: its rules on the left, the centerlines of its lanes on the right, edges between them.

Each rule lists the properties that its prediction got wrong.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..common.svg import EXTRA, LINE_HEIGHT, MATCHED, MISSED, SOFT, UNJUDGED, WIDTH, WRONG, Drawing, ImageSize, Style
from ..common.text import normalized, truncated
from .records import PredictedRule, TrafficRulesPrediction, TrafficRulesTruth, TrueRule

RULE_WIDTH, LANE_X, LANE_WIDTH, MARGIN = 400.0, 500.0, 104.0, 16.0
MAX_RULES, MAX_LANES, MAX_FAULTS = 40, 60, 6
MAX_TEXT_LENGTH = 56

LANE = Style("lane", SOFT)


def draw_rules(
    truth: TrafficRulesTruth,
    prediction: TrafficRulesPrediction | None,
    details: Mapping[str, Any],
    image: ImageSize | None,
) -> str:
    """Returns an SVG document; without a prediction, the ground truth is drawn without verdicts.

    details: of the score; they may hold fewer edges than the records. image: the size of the real image, drawn above.
    """
    alone, true, predicted = prediction is None, truth.rules, (prediction.rules if prediction else None) or []
    lanes = {normalized(str(line)) for rules in (true, predicted) for rule in rules for line in rule.centerlines or ()}
    drawing = Drawing()
    drawing.legend(MARGIN, 20, not alone)
    top = drawing.picture_above(MARGIN, 40.0, image)
    places, y = _draw_true(drawing, true, details["rules"], alone, top)
    if not alone:
        y = _draw_unpaired(drawing, predicted, details["unpaired_predictions"], y)
    edges = details["edges"]
    judged = [("missed", UNJUDGED)] if alone else [("right", MATCHED), ("missed", MISSED), ("wrong", EXTRA)]
    y = max(y, _draw_edges(drawing, [(edges[kind], style) for kind, style in judged], len(lanes), places, top, y))
    return drawing.document(WIDTH, y + MARGIN)


def _draw_true(
    drawing: Drawing, true: Sequence[TrueRule], rules: Sequence[Mapping[str, Any]], alone: bool, y: float
) -> tuple[dict[str | None, float], float]:
    """Draws the true rules; returns the y at which the edges of each begin, by id, and the y below them."""
    places: dict[str | None, float] = {}
    for record, rule in list(zip(true, rules, strict=True))[:MAX_RULES]:
        style, lines = _rule(rule, alone)
        height = LINE_HEIGHT * (2 + len(lines)) + 8
        drawing.box(MARGIN, y, MARGIN + RULE_WIDTH, y + height, style)
        drawing.text(MARGIN + 8, y + 16, f"rule {rule['id']}", style.color, limit=MAX_TEXT_LENGTH, bold=True)
        drawing.text(MARGIN + 8, y + 16 + LINE_HEIGHT, _words(record.properties), limit=MAX_TEXT_LENGTH)
        for number, line in enumerate(lines, start=2):
            drawing.text(MARGIN + 8, y + 16 + number * LINE_HEIGHT, line, style.color, limit=MAX_TEXT_LENGTH)
        places[rule["id"]] = y + height / 2
        y += height + 10
    others = [rule["id"] for rule in rules[MAX_RULES:]]
    return dict.fromkeys(others, y + 12) | places, _write_more(drawing, len(others), "rules, not drawn", y)


def _draw_unpaired(drawing: Drawing, predicted: Sequence[PredictedRule], unpaired: Sequence[int], y: float) -> float:
    """Draws the predicted rules that are paired with none; returns the y below them."""
    for number in unpaired[:MAX_RULES]:
        drawing.box(MARGIN, y, MARGIN + RULE_WIDTH, y + 2 * LINE_HEIGHT + 8, EXTRA)
        drawing.text(MARGIN + 8, y + 16, f"predicted rule {number + 1}, paired with none", EXTRA.color, bold=True)
        words = _words(predicted[number].properties)
        drawing.text(MARGIN + 8, y + 16 + LINE_HEIGHT, words, limit=MAX_TEXT_LENGTH)
        y += 2 * LINE_HEIGHT + 18
    return _write_more(drawing, len(unpaired) - MAX_RULES, "predicted rules, paired with none", y)


def _words(properties: Mapping[str, Any] | None) -> str:
    """Returns the values of properties in words, without empty ones."""
    values = [value for value in (properties or {}).values() if value not in (None, "", "None", [])]
    return ", ".join(" ".join(map(str, value)) if isinstance(value, list) else str(value) for value in values)


def _write_more(drawing: Drawing, left_out: int, words: str, y: float) -> float:
    """Writes how many are left out, if any; returns the y below."""
    if left_out <= 0:
        return y
    drawing.text(MARGIN, y + 16, f"more {words}: {left_out}", SOFT)
    return y + 24


def _rule(rule: Mapping[str, Any], alone: bool) -> tuple[Style, list[str]]:
    """Returns the style of a true rule, and one line for each thing that is wrong with it."""
    if alone:
        return UNJUDGED, []
    if rule["wrong"] is None:
        return MISSED, ["no predicted rule is paired with it"]
    lines = [_fault(fault) for fault in rule["wrong"][:MAX_FAULTS]]
    left_out = len(rule["wrong"]) - MAX_FAULTS
    if left_out > 0:
        lines.append(f"more wrong properties: {left_out}")
    return (MATCHED if rule["right"] else WRONG), lines


def _fault(fault: Mapping[str, Any]) -> str:
    name, kind = truncated(fault["name"], 24), fault["fault"]
    if kind != "different":
        return f"{name}: {truncated(fault['true' if kind == 'absent' else 'predicted'], 30)} is {kind}"
    return f"{name}: {truncated(fault['predicted'], 20)} instead of {truncated(fault['true'], 20)}"


def _draw_edges(
    drawing: Drawing,
    edges: Sequence[tuple[Sequence[tuple[str | None, str]], Style]],
    lane_count: int,
    places: Mapping[str | None, float],
    top: float,
    bottom: float,
) -> float:
    """Draws lanes and edges, those of nonexistent rules from a separate point; returns the y below them."""
    lanes = sorted({line for some, _ in edges for _, line in some}, key=lambda line: (len(line), line))
    ends = {line: top + 16 + number * 34 for number, line in enumerate(lanes[:MAX_LANES])}
    if any(name not in places for some, _ in edges for name, _ in some):
        drawing.text(MARGIN, bottom + 14, "edges of predicted rules that match no rule begin here", SOFT)
        bottom += 24
    for some, style in edges:
        for name, line in some:
            if line in ends:
                start = places.get(name, bottom - 14)
                title = f"{style.label}: {name} – {line}"
                drawing.line(MARGIN + RULE_WIDTH, start, LANE_X, ends[line], style, title)
    for line, y in ends.items():
        drawing.box(LANE_X, y - 12, LANE_X + LANE_WIDTH, y + 12, LANE)
        drawing.text(LANE_X + 8, y + 4, f"lane {line}", limit=13)
    if lane_count > len(ends):
        drawing.text(LANE_X, top + 16 + len(ends) * 34, f"more lanes: {lane_count - len(ends)}", SOFT)
    return max(bottom, max(ends.values(), default=0.0) + 34)
