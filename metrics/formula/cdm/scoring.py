"""Scores pairs of formulas together: equal texts are normalized and typeset once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from rapidfuzz.distance import Levenshtein

from ...common.budget import Budget
from ...common.text import normalized
from ..latex.normal_form import Unbalanced, normal_form
from ..latex.token_markup import Marked, marked
from ..latex.tokens import BLANK, plain_text, split
from ..limits import UNLIMITED, Allowance, matching_steps, reading_steps
from ..records import FormulaOptions
from ..render.boxes import Boxes, all_token_boxes
from ..render.raster import column_edit_distance, draw_image, drawing_steps, mean_squared_error
from ..render.typeset import Failure, Typeset, Typesetter
from .bleu import BleuCounts, bleu_counts
from .matching import Matches, match

_CELLS_AT_ONCE = 1_000_000


@dataclass(frozen=True, slots=True)
class NormalizedFormula:
    """A formula as read: the tokens that texts are compared by, and its LaTeX with marks, or why there is none.

    too_large: whether it is beyond the limits of the run; the problem says which, and it has no tokens.
    steps: the work of reading it.
    """

    tokens: tuple[str, ...]
    marked: Marked | None
    problem: str = ""
    too_large: bool = False
    steps: int = 0


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


def normalize(text: str, options: FormulaOptions, budget: Budget) -> NormalizedFormula:
    """Normalizes one formula; one that is too large is neither compared nor typeset.

    Under `published`, the text is read in Unicode normalization form C.

    Raises OutOfBudget where reading it takes the sample beyond its budget.
    """
    if options.protocol == "published":
        text = normalized(text)
    tokens = tuple(token for token in split(plain_text(text[: options.max_characters])) if token != BLANK)
    allowed = 2 * options.max_tokens
    steps = reading_steps(tokens[:allowed])
    budget.spend(steps)
    problem = ""
    if len(text) > options.max_characters:
        problem = f"the formula has {len(text)} characters; max_characters is {options.max_characters}"
    elif len(tokens) > allowed:
        problem = f"the formula has {len(tokens)} LaTeX tokens; max_tokens is {options.max_tokens}"
    if problem:
        return NormalizedFormula((), None, problem, too_large=True, steps=steps)
    try:
        form = normal_form(text, options.protocol == "released")
        source = marked(form)
    except Unbalanced as unbalanced:
        return NormalizedFormula(tokens, None, str(unbalanced), steps=steps)
    if len(source.labels) > options.max_tokens:
        problem = f"the formula has {len(source.labels)} tokens; max_tokens is {options.max_tokens}"
    elif source.steps > options.max_steps:
        problem = f"the formula takes {source.steps} steps to typeset; max_steps is {options.max_steps}"
    if problem:
        return NormalizedFormula((), None, problem, too_large=True, steps=steps)
    return NormalizedFormula(form.tokens, source, steps=steps)


def matching_cost(truth: NormalizedFormula | None, prediction: NormalizedFormula | None) -> int:
    """Returns the steps of matching a pair of formulas once they are typeset.

    0 where a side is not there, or where both are the same: each token matches itself.
    """
    if truth is None or prediction is None or truth is prediction:
        return 0
    return matching_steps(*(len(side.marked.labels) if side.marked else 0 for side in (truth, prediction)))


def render(
    formulas: Iterable[NormalizedFormula], typesetter: Typesetter, allowance: Allowance = UNLIMITED
) -> dict[NormalizedFormula, Rendering]:
    """Typesets formulas in one go and finds the boxes of their tokens; leaves out what the allowance does not want."""
    unique = list(dict.fromkeys(formulas))
    results = typesetter.typeset_within(allowance, [formula.marked for formula in unique if formula.marked])
    boxes = _boxes(results)
    renderings: dict[NormalizedFormula, Rendering] = {}
    for formula in unique:
        if formula.marked is None:
            renderings[formula] = Rendering(None, problem=formula.problem)
        elif isinstance(result := results.get(formula.marked), Failure):
            renderings[formula] = Rendering(None, problem=result.reason)
        elif result is not None:
            own = boxes[formula.marked]
            renderings[formula] = Rendering(own, result) if len(own) else Rendering(None, problem="it leaves no ink")
    return renderings


def _boxes(results: Mapping[Marked, Typeset | Failure]) -> dict[Marked, Boxes]:
    """The boxes of what could be typeset, some formulas at a time: the arrays take ten times the memory of the ink."""
    typesets = [(formula, result) for formula, result in results.items() if isinstance(result, Typeset)]
    boxes: dict[Marked, Boxes] = {}
    start = size = 0
    for number, (_, typeset) in enumerate(typesets, start=1):
        size += sum(len(page.cells) for page in typeset.pages)
        if size > _CELLS_AT_ONCE or number == len(typesets):
            formulas, inks = zip(*typesets[start:number], strict=True)
            boxes.update(zip(formulas, all_token_boxes(inks, [each.labels for each in formulas]), strict=True))
            start, size = number, 0
    return boxes


def drawing_cost(
    truth: NormalizedFormula | None,
    prediction: NormalizedFormula | None,
    renderings: dict[NormalizedFormula, Rendering],
) -> int:
    """Returns the steps of drawing a pair of formulas and comparing their images."""
    typesets = [renderings[side].typeset if side else None for side in (truth, prediction)]
    return drawing_steps([typeset for typeset in typesets if typeset]) if typesets[0] else 0


def score_pair(
    truth: NormalizedFormula | None,
    prediction: NormalizedFormula | None,
    renderings: dict[NormalizedFormula, Rendering],
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
    compared = truth is not None and prediction is not None and not prediction.too_large
    return PairScore(
        matches,
        left.problem,
        right.problem,
        exact=compared and truth_tokens == prediction_tokens,
        edits=Levenshtein.distance(truth_tokens, prediction_tokens),
        length=max(len(truth_tokens), len(prediction_tokens)),
        bleu=bleu_counts(truth_tokens, prediction_tokens),
        images=_image_scores(left.typeset, right.typeset, images) if images else None,
        left_out=truth is not None and truth.too_large,
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
