"""Scores pairs of formulas together: equal texts are read and typeset once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from rapidfuzz.distance import Levenshtein

from ...common.budget import Budget
from ...common.text import normalized
from ..latex.normal_form import Unbalanced, normal_form
from ..latex.token_markup import Marked, marked
from ..latex.tokens import BLANK, plain_text, split
from ..latex.work import matching_steps, reading_steps
from ..records import FormulaOptions
from ..render.boxes import Boxes, all_token_boxes
from ..render.raster import column_edit_distance, draw_image, drawing_steps, mean_squared_error
from ..render.typeset import UNLIMITED, Allowance, Failure, Typeset, Typesetter
from .bleu import BleuCounts, bleu_counts
from .matching import Matches, match

_CELLS_AT_ONCE = 1_000_000


@dataclass(frozen=True, slots=True)
class Reading:
    """A formula as read: the tokens that texts are compared by, and its LaTeX with marks, or why there is none.

    too_large: whether it is beyond the limits of the run; the problem says which, and it has no tokens.
    steps: the work of reading it.
    """

    tokens: tuple[str, ...]
    marked: Marked | None
    problem: str = ""
    too_large: bool = False
    steps: int = 0

    @property
    def labels(self) -> int:
        """How many of its tokens may have a box."""
        return len(self.marked.labels) if self.marked else 0


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
    left_out: whether the ground truth is beyond the limits of the run, so that the pair has no score.
    """

    matches: Matches | None
    truth_problem: str
    prediction_problem: str
    exact: bool
    edits: int
    length: int
    bleu: BleuCounts
    images: ImageScores | None = None
    left_out: bool = False


def read(text: str, options: FormulaOptions, budget: Budget) -> Reading:
    """Reads one formula; one that is too large is neither compared nor typeset.

    Under `published`, the text is read in Unicode normalization form C.

    Raises OutOfBudget where reading it takes the sample beyond its budget.
    """
    if options.protocol == "published":
        text = normalized(text)
    tokens = tuple(token for token in split(plain_text(text[: options.max_characters])) if token != BLANK)
    allowed = 2 * options.max_tokens
    steps = reading_steps(tokens[:allowed])
    budget.spend(steps)
    if len(text) > options.max_characters:
        problem = f"the formula has {len(text)} characters; max_characters is {options.max_characters}"
        return Reading((), None, problem, too_large=True, steps=steps)
    if len(tokens) > allowed:
        problem = f"the formula has {len(tokens)} LaTeX tokens; max_tokens is {options.max_tokens}"
        return Reading((), None, problem, too_large=True, steps=steps)
    try:
        form = normal_form(text, options.protocol == "released")
        source = marked(form)
    except Unbalanced as unbalanced:
        return Reading(tokens, None, str(unbalanced), steps=steps)
    problem = ""
    if len(source.labels) > options.max_tokens:
        problem = f"the formula has {len(source.labels)} tokens; max_tokens is {options.max_tokens}"
    elif source.steps > options.max_steps:
        problem = f"the formula takes {source.steps} steps to typeset; max_steps is {options.max_steps}"
    if problem:
        return Reading((), None, problem, too_large=True, steps=steps)
    return Reading(form.tokens, source, steps=steps)


def typesetting_cost(reading: Reading | None) -> int:
    """Returns the steps of typesetting a formula."""
    return 0 if reading is None or reading.marked is None else reading.marked.steps


def matching_cost(truth: Reading | None, prediction: Reading | None) -> int:
    """Returns the steps of matching a pair of formulas once they are typeset.

    0 where a side is not there, or where both are the same: each token matches itself.
    """
    if truth is None or prediction is None or truth is prediction:
        return 0
    return matching_steps(truth.labels, prediction.labels)


def render(
    readings: Iterable[Reading], typesetter: Typesetter, allowance: Allowance = UNLIMITED
) -> dict[Reading, Rendering]:
    """Typesets readings in one go and finds the boxes of their tokens; what the allowance does not want is left out."""
    unique = list(dict.fromkeys(readings))
    sources = [reading.marked for reading in unique if reading.marked is not None]
    results = typesetter.typeset_within(allowance, sources)
    boxes = _boxes(results)
    return {
        reading: _rendering(reading, results, boxes)
        for reading in unique
        if reading.marked is None or reading.marked in results
    }


def _boxes(results: Mapping[Marked, Typeset | Failure]) -> dict[Marked, Boxes]:
    """The boxes of what could be typeset, some formulas at a time: the arrays take ten times the memory of the ink."""
    typesets = {formula: result for formula, result in results.items() if isinstance(result, Typeset)}
    boxes: dict[Marked, Boxes] = {}
    part: list[Marked] = []
    size = 0
    for formula, typeset in typesets.items():
        part.append(formula)
        size += sum(len(page.cells) for page in typeset.pages)
        if size > _CELLS_AT_ONCE:
            boxes.update(_boxes_of(part, typesets))
            part, size = [], 0
    boxes.update(_boxes_of(part, typesets))
    return boxes


def _boxes_of(formulas: Sequence[Marked], typesets: Mapping[Marked, Typeset]) -> Iterable[tuple[Marked, Boxes]]:
    found = all_token_boxes([typesets[formula] for formula in formulas], [formula.labels for formula in formulas])
    return zip(formulas, found, strict=True)


def _rendering(
    reading: Reading, results: Mapping[Marked, Typeset | Failure], boxes: Mapping[Marked, Boxes]
) -> Rendering:
    if reading.marked is None:
        return Rendering(None, problem=reading.problem)
    result = results[reading.marked]
    if isinstance(result, Failure):
        return Rendering(None, problem=result.reason)
    own = boxes[reading.marked]
    return Rendering(own, result) if len(own) else Rendering(None, problem="it leaves no ink")


def drawing_cost(truth: Reading | None, prediction: Reading | None, renderings: dict[Reading, Rendering]) -> int:
    """Returns the steps of drawing a pair of formulas and comparing their images."""
    found = [renderings[reading].typeset if reading else None for reading in (truth, prediction)]
    return drawing_steps([typeset for typeset in found if typeset]) if found[0] else 0


def score_pair(
    truth: Reading | None,
    prediction: Reading | None,
    renderings: dict[Reading, Rendering],
    images: Typesetter | None = None,
) -> PairScore:
    """Scores one pair; `images` finds the fonts where images are to be measured.

    A ground truth that is None has nothing to find: the prediction is redundant and matches nothing. The text of a
    prediction that is too large counts as empty, and is never an exact match.
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
        exact=truth is not None and _is_compared(prediction) and truth_tokens == prediction_tokens,
        edits=Levenshtein.distance(truth_tokens, prediction_tokens),
        length=max(len(truth_tokens), len(prediction_tokens)),
        bleu=bleu_counts(truth_tokens, prediction_tokens),
        images=_image_scores(left.typeset, right.typeset, images) if images else None,
        left_out=truth is not None and truth.too_large,
    )


def _is_compared(prediction: Reading | None) -> bool:
    return prediction is not None and not prediction.too_large


def _image_scores(truth: Typeset | None, prediction: Typeset | None, fonts: Typesetter) -> ImageScores | None:
    if truth is None:
        return None
    drawn = draw_image(truth, fonts.outlines)
    if prediction is None:
        return ImageScores(drawn.width, drawn.width, 1.0)
    other = draw_image(prediction, fonts.outlines)
    edits, columns = column_edit_distance(drawn, other)
    return ImageScores(edits, columns, mean_squared_error(drawn, other))
