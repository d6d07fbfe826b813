"""Scores pairs of formulas: normalizes them, typesets each distinct one once, and compares the two sides."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from rapidfuzz.distance import Levenshtein

from ...common.text import normalized
from ..latex.normal_form import Unbalanced, normal_form
from ..latex.parser import plain_text, visible_tokens
from ..latex.token_markup import Marked, marked
from ..limits import SampleAllowances, matching_steps, reading_steps
from ..records import FormulaOptions
from ..render.boxes import Boxes, ImageScores, image_scores, token_boxes
from ..render.typeset import Failure, Typeset, Typesetter
from .bleu import bleu_counts
from .matching import Matches, match


@dataclass(frozen=True, slots=True)
class NormalizedFormula:
    """A normalized formula: the tokens for comparing texts, and its LaTeX with marks, or the problem if it has none.

    too_large: whether it exceeds a limit of the run, named in `problem`; it then has no tokens.
    steps: the work of reading and typesetting it.
    """

    tokens: tuple[str, ...]
    marked: Marked | None
    problem: str = ""
    too_large: bool = False
    steps: int = 0


@dataclass(frozen=True, slots=True)
class Rendering:
    """A typeset formula: the boxes of its tokens, or the problem if there are none."""

    boxes: Boxes | None
    typeset: Typeset | None = None
    problem: str = ""


@dataclass(frozen=True, slots=True)
class FormulaScore:
    """The results for one pair of formulas; a missing side (None) counts as an empty formula.

    matches: None if the ground truth is not rendered. images: None if not measured. bleu: the counts of `bleu_counts`.
    left_out: whether the ground truth exceeds a limit of the run, so that the pair has no score.
    """

    matches: Matches | None
    truth_problem: str
    prediction_problem: str
    exact: bool
    edits: int
    length: int
    bleu: tuple[int, ...]
    images: ImageScores | None = None
    left_out: bool = False


def normalize(text: str, options: FormulaOptions) -> NormalizedFormula:
    """Normalizes one formula; a formula that is too large has neither tokens nor LaTeX to typeset.

    Under the protocol `published`, the text is first converted to Unicode normalization form C.
    """
    if options.protocol == "published":
        text = normalized(text)
    tokens = tuple(visible_tokens(plain_text(text[: options.max_characters])))
    steps = reading_steps(min(len(tokens), 2 * options.max_tokens))

    def too_large(what: str, limit: str) -> NormalizedFormula:
        problem = f"the formula {what}; {limit} is {getattr(options, limit)}"
        return NormalizedFormula((), None, problem, too_large=True, steps=steps)

    if len(text) > options.max_characters:
        return too_large(f"has {len(text)} characters", "max_characters")
    if len(tokens) > 2 * options.max_tokens:
        return too_large(f"has {len(tokens)} LaTeX tokens", "max_tokens")
    try:
        form = normal_form(text, options.protocol == "released")
        source = marked(form, options.protocol == "released")
    except Unbalanced as unbalanced:
        return NormalizedFormula(tokens, None, str(unbalanced), steps=steps)
    if len(source.labels) > options.max_tokens:
        return too_large(f"has {len(source.labels)} tokens", "max_tokens")
    if source.steps > options.max_steps:
        return too_large(f"takes {source.steps} steps to typeset", "max_steps")
    return NormalizedFormula(form.tokens, source, steps=steps + source.steps)


def matching_cost(truth: NormalizedFormula | None, prediction: NormalizedFormula | None) -> int:
    """Returns the steps of matching the boxes of a pair of typeset formulas.

    Returns 0 if a side is missing, or if both are the same object, since each token then matches itself.
    """
    if truth is None or prediction is None or truth is prediction:
        return 0
    return matching_steps(*(len(side.marked.labels) if side.marked else 0 for side in (truth, prediction)))


def render(
    formulas: Iterable[NormalizedFormula], typesetter: Typesetter, allowances: SampleAllowances | None = None
) -> dict[NormalizedFormula, Rendering]:
    """Typesets formulas together and finds the boxes of their tokens; omits those that `allowances` cannot pay for."""
    unique = dict.fromkeys(formulas)
    results = typesetter.typeset((formula.marked for formula in unique if formula.marked), allowances)
    renderings: dict[NormalizedFormula, Rendering] = {}
    for formula in unique:
        if formula.marked is None:
            renderings[formula] = Rendering(None, problem=formula.problem)
        elif isinstance(result := results.get(formula.marked), Failure):
            renderings[formula] = Rendering(None, problem=result.reason)
        elif result is not None:
            boxes = token_boxes(result, formula.marked.labels)
            renderings[formula] = (
                Rendering(boxes, result) if len(boxes) else Rendering(None, problem="it leaves no ink")
            )
    return renderings


def score_pair(
    truth: NormalizedFormula | None,
    prediction: NormalizedFormula | None,
    renderings: dict[NormalizedFormula, Rendering],
    options: FormulaOptions,
) -> FormulaScore:
    """Scores one pair, with the images if the options say so.

    Without a ground truth (None), every predicted token is redundant. A prediction that is too large counts as empty
    text, and is never an exact match.
    """
    left, right = (renderings[side] if side else Rendering(None) for side in (truth, prediction))
    if left.boxes is not None and right.boxes is not None:
        matches: Matches | None = match(left.boxes, right.boxes, options.protocol == "released")
    elif truth is not None and left.boxes is None:
        matches = None
    else:
        matches = Matches((), len(left.boxes or ()), len(right.boxes or ()))
    truth_tokens, prediction_tokens = (side.tokens if side else () for side in (truth, prediction))
    compared = truth is not None and prediction is not None and not prediction.too_large
    return FormulaScore(
        matches,
        left.problem,
        right.problem,
        exact=compared and truth_tokens == prediction_tokens,
        edits=Levenshtein.distance(truth_tokens, prediction_tokens),
        length=max(len(truth_tokens), len(prediction_tokens)),
        bleu=bleu_counts(truth_tokens, prediction_tokens),
        images=image_scores(left.typeset, right.typeset) if options.images and matches is not None else None,
        left_out=truth is not None and truth.too_large,
    )
