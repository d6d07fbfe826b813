"""Compares two lines: their regions in order, and the text around them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

import msgspec

from ..benchmark import RejectedRecord
from ..common.budget import Budget
from ..common.text import quoted
from .limits import check_length
from .line import Line, comparable_line
from .matcher import Match, match_molecules
from .records import ChemistryOptions, ChemistryPrediction, ChemistryTruth
from .regions import Region, read_line

DETAIL_CHARACTERS = 200


class LineComparison(msgspec.Struct, frozen=True):
    """Both lines in comparable form, their regions paired in order with the results, and how the texts differ.

    prediction: None if there is no prediction. text_difference: None if the texts around the molecules are equal.
    problems: why regions of the prediction cannot be read.
    """

    truth: Line
    prediction: Line | None
    pairs: list[tuple[Region | None, Region | None, Match]]
    text_difference: str | None
    problems: Sequence[str] = ()


def compare_lines(
    truth: ChemistryTruth, prediction: ChemistryPrediction | None, options: ChemistryOptions, budget: Budget
) -> LineComparison:
    """Reads both lines and compares their regions in order, and their texts.

    Atoms are numbered consecutively across both sides, the prediction first, as in the competition's tool.

    Raises RejectedRecord if a line is too long or a molecule of the truth cannot be read.
    """
    released, max_characters = options.protocol == "released", options.max_characters
    check_length("ground_truth", truth.text, max_characters)
    predicted = line = None
    if prediction is not None:
        check_length("prediction", prediction.text, max_characters)
        with budget.reading("prediction"):
            predicted = read_line(prediction.text, released, budget)
    with budget.reading("ground_truth"):
        true = read_line(truth.text, released, budget)
    if true.problems:
        raise RejectedRecord("ground_truth", f"a \\chemfig region cannot be read: {true.problems[0]}")
    is_chemfig = true.is_chemfig or (predicted is not None and predicted.is_chemfig)
    normalizes = options.normalize_text or is_chemfig
    with budget.reading("ground_truth"):
        first_number = 0 if predicted is None else predicted.atoms_made
        truth_line = comparable_line(true, released, normalizes, budget, first_number)
    if predicted is not None:
        with budget.reading("prediction"):
            line = comparable_line(predicted, released, normalizes, budget)
    regions = zip_longest(truth_line.regions, line.regions if line else ())
    return LineComparison(
        truth_line,
        line,
        [(first, second, compare_regions(first, second, options, budget)) for first, second in regions],
        _text_difference(truth_line.tokens, line.tokens, options) if line else "there is no prediction",
        predicted.problems if predicted else (),
    )


def compare_regions(
    truth: Region | None, prediction: Region | None, options: ChemistryOptions, budget: Budget
) -> Match:
    """Compares two regions; as text if one has no molecule, because it is empty or cannot be read."""
    if truth is None:
        return Match({}, "the ground truth has no such molecule")
    if prediction is None:
        return Match({}, "the prediction has no such molecule")
    if truth.molecule is not None and prediction.molecule is not None:
        released = options.protocol == "released"
        limit = None if released else options.max_angle_deviation
        return match_molecules(truth.molecule, prediction.molecule, released, budget, limit)
    true, predicted = truth.content, prediction.content
    if true is not None and predicted is not None and options.compared(true) == options.compared(predicted):
        return Match({})
    if prediction.problem is not None:
        return Match({}, f"the prediction cannot be read: {prediction.problem}")
    return Match({}, f"the {'prediction' if prediction.molecule is None else 'ground truth'} draws nothing")


def _text_difference(true: tuple[str, ...], predicted: tuple[str, ...], options: ChemistryOptions) -> str | None:
    """Returns the first difference between the texts around the molecules, in words; None if they are equal."""
    # A character and its combining accent are two tokens, which NFC composes once the tokens are joined.
    if true == predicted or options.compared("".join(true)) == options.compared("".join(predicted)):
        return None
    place = next(number for number, (a, b) in enumerate(zip_longest(true, predicted)) if a != b)
    return f"{_excerpt(true, place)} in the ground truth, {_excerpt(predicted, place)} in the prediction"


def _excerpt(tokens: tuple[str, ...], place: int) -> str:
    text = quoted(" ".join(tokens[max(0, place - 3) : place + 5])[:DETAIL_CHARACTERS])
    return text if place < len(tokens) else f"the end after {text}"
