"""Scores pairs of formulas together: equal texts are read and typeset once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from rapidfuzz.distance import Levenshtein

from metrics.formula.bleu import BleuCounts, bleu_counts
from metrics.formula.boxes import Boxes, token_boxes
from metrics.formula.images import column_edit_distance, draw_image, mean_squared_error
from metrics.formula.marks import Marked, marked
from metrics.formula.matching import Matches, match
from metrics.formula.normal_form import Unbalanced, normal_form
from metrics.formula.tokens import BLANK, plain_text, split
from metrics.formula.typeset import Failure, Typeset, Typesetter


@dataclass(frozen=True, slots=True)
class Reading:
    """A formula as read: the tokens that texts are compared by, and its LaTeX with marks, or why there is none.

    too_large: whether it is beyond the limits of the run; the problem says which, and its tokens are cut.
    """

    tokens: tuple[str, ...]
    marked: Marked | None
    problem: str = ""
    too_large: bool = False


@dataclass(frozen=True, slots=True)
class Rendering:
    """A formula as typeset: its boxes, or why there are none."""

    boxes: Boxes | None
    typeset: Typeset | None = None
    problem: str = ""


@dataclass(frozen=True, slots=True)
class ImageScores:
    """Column edit distance, the larger number of columns, and the mean squared error of two images."""

    edits: int
    columns: int
    squared_error: float


@dataclass(frozen=True, slots=True)
class PairScore:
    """What is known of one pair of formulas; a side that is not there (None) is an empty formula.

    matches: None where the ground truth is not rendered. images: None where they are not measured.
    """

    matches: Matches | None
    truth_problem: str
    prediction_problem: str
    exact: bool
    edits: int
    length: int
    bleu: BleuCounts
    images: ImageScores | None = None


def read(text: str, max_characters: int, max_tokens: int, last_script: bool = False) -> Reading:
    """Reads one formula; one that is too large is cut to the first tokens of its text, and not typeset.

    `last_script` says which of two scripts of a kind are kept; see metrics.formula.parse.normal_tokens.
    """
    tokens = [token for token in split(plain_text(text[:max_characters])) if token != BLANK]
    cut = tuple(tokens[: 2 * max_tokens])
    if len(text) > max_characters:
        problem = f"the formula has {len(text)} characters; max_characters is {max_characters}"
        return Reading(cut, None, problem, too_large=True)
    if len(tokens) > 2 * max_tokens:
        problem = f"the formula has {len(tokens)} LaTeX tokens; max_tokens is {max_tokens}"
        return Reading(cut, None, problem, too_large=True)
    try:
        form = normal_form(text, last_script)
        source = marked(form)
    except Unbalanced as unbalanced:
        return Reading(tuple(tokens), None, str(unbalanced))
    if len(source.labels) > max_tokens:
        problem = f"the formula has {len(source.labels)} tokens; max_tokens is {max_tokens}"
        return Reading(cut, None, problem, too_large=True)
    return Reading(form.tokens, source)


def render(readings: Iterable[Reading], typesetter: Typesetter) -> dict[Reading, Rendering]:
    """Typesets readings in one go and finds the boxes of their tokens."""
    unique = list(dict.fromkeys(readings))
    sources = [reading.marked for reading in unique if reading.marked is not None]
    results = dict(zip(sources, typesetter.typeset(sources), strict=True))
    return {reading: _rendering(reading, results) for reading in unique}


def _rendering(reading: Reading, results: dict[Marked, Typeset | Failure]) -> Rendering:
    if reading.marked is None:
        return Rendering(None, problem=reading.problem)
    result = results[reading.marked]
    if isinstance(result, Failure):
        return Rendering(None, problem=result.reason)
    boxes = token_boxes(result, reading.marked.labels)
    return Rendering(boxes, result) if len(boxes) else Rendering(None, problem="it leaves no ink")


def score_pair(
    truth: Reading | None,
    prediction: Reading | None,
    renderings: dict[Reading, Rendering],
    images: Typesetter | None = None,
) -> PairScore:
    """Scores one pair; `images` finds the fonts where images are to be measured.

    A ground truth that is None has nothing to find: the prediction is redundant and matches nothing.
    """
    nothing = Rendering(None)
    left = renderings[truth] if truth else nothing
    right = renderings[prediction] if prediction else nothing
    if left.boxes is not None and right.boxes is not None:
        matches: Matches | None = match(left.boxes, right.boxes)
    elif truth is not None and left.boxes is None:
        matches = None
    else:
        matches = Matches((), len(left.boxes or ()), len(right.boxes or ()))
    truth_tokens = truth.tokens if truth else ()
    prediction_tokens = prediction.tokens if prediction else ()
    return PairScore(
        matches,
        left.problem,
        right.problem,
        exact=truth is not None and prediction is not None and truth_tokens == prediction_tokens,
        edits=Levenshtein.distance(truth_tokens, prediction_tokens),
        length=max(len(truth_tokens), len(prediction_tokens)),
        bleu=bleu_counts(truth_tokens, prediction_tokens),
        images=_image_scores(left.typeset, right.typeset, images) if images else None,
    )


def _image_scores(truth: Typeset | None, prediction: Typeset | None, fonts: Typesetter) -> ImageScores | None:
    if truth is None:
        return None
    drawn = draw_image(truth, fonts.outlines)
    if prediction is None:
        return ImageScores(drawn.width, drawn.width, 1.0)
    other = draw_image(prediction, fonts.outlines)
    edits, columns = column_edit_distance(drawn, other)
    return ImageScores(edits, columns, mean_squared_error(drawn, other))
