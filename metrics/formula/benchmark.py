"""The formula benchmark: Character Detection Matching (CDM), BLEU, edit distance, exact match, image differences.

Source: B. Wang et al., "Image Over Text: Transforming Formula Recognition Evaluation with Character Detection
Matching", CVPR 2025, with its supplement and its released tool.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

from ..benchmark import Benchmark, DrawnPair, Pair, RejectedRecord, ResultT, SampleScore, Table
from ..common.budget import Budget
from ..common.text import FENCE_WARNINGS, normalized
from ..statistics.sums import Sums
from .cdm.scoring import NormalizedFormula, Rendering, matching_cost, normalize, render, score_pair
from .converter import FormulaConverter
from .draw import MAX_PAIRS, draw_pairs
from .limits import SIDES, SampleAllowances
from .metrics import METRICS, SAMPLE_METRICS, cdm_histogram, matches_in_words, sample_score, values
from .pairs import FormulaPair, formula_pairs
from .records import FormulaOptions, FormulaPrediction, FormulaTruth
from .render.boxes import drawing_steps
from .render.tex import latex_version
from .render.typeset import Typesetter

GROUP = 1500
"""A batch is split into groups of about this many distinct formulas; each group is typeset together."""

SamplePair = Pair[FormulaTruth, FormulaPrediction]
PairT = TypeVar("PairT", bound=SamplePair)
FormulasOfPair = tuple[NormalizedFormula | None, NormalizedFormula | None]


class _Sample(NamedTuple):
    """A sample as read: its pairs of formulas, as text and normalized, what is left of its budget, and its prediction.

    predicted: the text of the prediction, or of its first page.
    """

    pairs: list[FormulaPair]
    normalized: list[FormulasOfPair]
    budget: Budget
    predicted: str

    def formulas(self) -> list[list[NormalizedFormula]]:
        """Returns the formulas of the ground truth and those of the prediction."""
        return [[formula for formula in side if formula] for side in zip(*self.normalized, strict=True)] or [[], []]


class FormulaBenchmark(Benchmark[FormulaTruth, FormulaPrediction, FormulaOptions]):
    """Scores formulas, tables and whole documents in LaTeX by what their formulas look like when typeset."""

    name = "formula"
    summary = "formula recognition: CDM and ExpRate@CDM, BLEU, edit distance, exact match"
    truth_type = FormulaTruth
    prediction_type = FormulaPrediction
    options_type = FormulaOptions
    metrics = METRICS
    sample_metrics = SAMPLE_METRICS
    coverage_warnings = FENCE_WARNINGS
    takes_columns = True
    batch_size = 512
    timed = ("tex",)
    converter = FormulaConverter()

    def __init__(self, options: FormulaOptions) -> None:
        super().__init__(options)
        self.typesetter = Typesetter(options.time_limit)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "typesetter": Typesetter(self.options.time_limit)}

    def setup(self) -> None:
        """Makes the scratch folder and TeX's format.

        Raises MissingTool if TeX, a package or a font is not on this machine.
        """
        self.typesetter.open()

    def teardown(self) -> None:
        """Removes the scratch folder."""
        self.typesetter.close()

    def tool_versions(self) -> dict[str, str]:
        """Returns the version of LaTeX."""
        return latex_version()

    def score_sample(self, truth: FormulaTruth, prediction: FormulaPrediction | None) -> SampleScore:
        """Scores one sample as a batch of one."""
        return _only(self.score([Pair("", truth, prediction)]))

    def score(self, pairs: Sequence[SamplePair]) -> list[SampleScore | RejectedRecord]:
        """Scores a batch; its formulas are typeset together, equal ones once."""
        return [result for group in self._groups(pairs) for result in self._score_group([each for _, each in group])]

    def _groups(self, pairs: Iterable[PairT]) -> Iterator[list[tuple[PairT, _Sample | RejectedRecord]]]:
        """Yields the pairs of a batch with their samples as read, in groups of not many more than GROUP formulas."""
        group: list[tuple[PairT, _Sample | RejectedRecord]] = []
        formulas: dict[str, NormalizedFormula] = {}
        for pair in pairs:
            try:
                group.append((pair, self._read(pair, formulas)))
            except RejectedRecord as rejected:
                group.append((pair, rejected))
            if len(formulas) >= GROUP:
                yield group
                group, formulas = [], {}
        yield group

    def _score_group(self, group: Sequence[_Sample | RejectedRecord]) -> list[SampleScore | RejectedRecord]:
        self.setup()
        allowances = SampleAllowances(self.options.max_steps)
        formulas: list[NormalizedFormula] = []
        for number, sample in enumerate(group):
            if isinstance(sample, _Sample):
                sides = sample.formulas()
                formulas += [*sides[0], *sides[1]]
                allowances.add(number, sample.budget.left, *([each.marked for each in side] for side in sides))
        renderings = render(formulas, self.typesetter, allowances)
        return [
            sample if isinstance(sample, RejectedRecord) else self._scored(sample, renderings, allowances, number)
            for number, sample in enumerate(group)
        ]

    def _scored(
        self, sample: _Sample, renderings: dict[NormalizedFormula, Rendering], allowances: SampleAllowances, number: int
    ) -> SampleScore | RejectedRecord:
        try:
            allowances.check(number)
            if self.options.images:
                for sides in sample.normalized:
                    drawn = [renderings[side].typeset for side in sides if side]
                    if drawn[0]:  # if a ground truth is not rendered, no image is drawn
                        sample.budget.spend(drawing_steps([each for each in drawn if each]))
            scores = [score_pair(*formulas, renderings, self.options) for formulas in sample.normalized]
            return sample_score(sample.pairs, scores, sample.predicted)
        except RejectedRecord as rejected:
            return rejected

    def take_timings(self) -> dict[str, int]:
        """Returns the microseconds that TeX took since the last call."""
        microseconds, self.typesetter.nanoseconds = self.typesetter.nanoseconds // 1000, 0
        return {"tex": microseconds}

    def _read(self, sample: SamplePair, formulas: dict[str, NormalizedFormula]) -> _Sample:
        """Reads a sample; `formulas` caches normalized formulas by text."""
        budget = Budget(self.options.max_steps)
        comparable = normalized if self.options.protocol == "published" else str
        pairs = formula_pairs(sample.truth, sample.prediction, self.options.max_formulas, budget, comparable)
        result = _Sample(pairs, [], budget, _first_text(sample.prediction))
        for pair in result.pairs:
            sides: list[NormalizedFormula | None] = [None, None]
            for index, text in enumerate((pair.truth, pair.prediction)):
                if text is not None:
                    sides[index] = formula = formulas.get(text) or normalize(text, self.options)
                    formulas[text] = formula
                    with budget.reading(SIDES[index]):
                        budget.spend(formula.steps)
            budget.spend(matching_cost(*sides))
            result.normalized.append((sides[0], sides[1]))
        for side, given in zip(SIDES, result.formulas(), strict=True):
            if given and all(formula.too_large for formula in given):
                raise RejectedRecord(side, given[0].problem)
        return result

    def values(self, sums: Sums) -> dict[str, float | None]:
        """Returns the metrics."""
        return values(sums)

    def tables(self, sums: Sums) -> list[Table]:
        """Returns the histogram of CDM."""
        return [cdm_histogram(sums)]

    def explain(self, details: Any) -> list[str]:
        """Returns a line per typeset formula with the number of matched tokens; empty for documents."""
        return matches_in_words(details)

    def draw(
        self,
        truth: FormulaTruth,
        prediction: FormulaPrediction | None,
        details: Any = None,
        image: tuple[int, int] | None = None,
    ) -> str:
        """Returns both formulas with the boxes of their tokens, matched and unmatched, as SVG."""
        return _only(self.draw_batch([DrawnPair("", truth, prediction, details, image)]))

    def draw_batch(self, pairs: Sequence[DrawnPair[FormulaTruth, FormulaPrediction]]) -> list[str | RejectedRecord]:
        """Draws a batch; its formulas are typeset together, equal ones once."""
        pictures: list[str | RejectedRecord] = []
        for group in self._groups(pairs):
            self.setup()
            samples = [each for _, each in group if isinstance(each, _Sample)]
            shown = (side for each in samples for pair in each.normalized[:MAX_PAIRS] for side in pair if side)
            renderings = render(shown, self.typesetter)
            released = self.options.protocol == "released"
            pictures += [
                each
                if isinstance(each, RejectedRecord)
                else draw_pairs(each.normalized, renderings, released, pair.prediction is not None, pair.image)
                for pair, each in group
            ]
        return pictures


def _first_text(prediction: FormulaPrediction | None) -> str:
    """Returns the formula or the document of a prediction, of pages the first; an empty text if there is none."""
    given = prediction and (prediction.latex if prediction.document is None else prediction.document)
    return (given if isinstance(given, str) else given[0]) if given else ""


def _only(results: Sequence[ResultT | RejectedRecord]) -> ResultT:
    """Returns the result of a batch of one; raises it if it is a RejectedRecord."""
    [result] = results
    if isinstance(result, RejectedRecord):
        raise result
    return result
