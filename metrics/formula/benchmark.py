"""The formula benchmark: Character Detection Matching (CDM), BLEU, edit distance, exact match, image differences.

Source: B. Wang et al., "Image Over Text: Transforming Formula Recognition Evaluation with Character Detection
Matching", CVPR 2025, with its supplement and its released tool.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from ..benchmark import Benchmark, Pair, RejectedRecord, SampleScore
from ..common.budget import Budget
from ..common.text import normalized
from ..statistics.sums import Sums
from ..table import Table
from .cdm.scoring import NormalizedFormula, drawing_cost, matching_cost, normalize, render, score_pair
from .draw import draw_pairs
from .limits import SIDES, SampleAllowances
from .metrics import METRICS, SAMPLE_METRICS, cdm_histogram, matches_in_words, sample_score, values
from .pairs import FormulaPair, formula_pairs
from .records import FormulaOptions, FormulaPrediction, FormulaTruth
from .render.tex import latex_version
from .render.typeset import Typesetter

GROUP = 1500
"""Formulas that are typeset together; the batch of documents that has more is scored in parts."""

SamplePair = Pair[FormulaTruth, FormulaPrediction]


@dataclass(frozen=True, slots=True)
class _Sample:
    """A sample as read: its pairs of formulas, as text and normalized, and whether it is a document."""

    pairs: tuple[FormulaPair, ...]
    normalized: tuple[tuple[NormalizedFormula | None, NormalizedFormula | None], ...]
    document: bool
    budget: Budget

    def formulas(self) -> tuple[list[NormalizedFormula], list[NormalizedFormula]]:
        """Returns those of the ground truth and those of the prediction."""
        return [left for left, _ in self.normalized if left], [right for _, right in self.normalized if right]


class FormulaBenchmark(Benchmark[FormulaTruth, FormulaPrediction, FormulaOptions]):
    """Scores formulas, tables and whole documents in LaTeX by what their formulas look like when typeset."""

    name: ClassVar[str] = "formula"
    summary: ClassVar[str] = "formula recognition: CDM and ExpRate@CDM, BLEU, edit distance, exact match"
    truth_type = FormulaTruth
    prediction_type = FormulaPrediction
    options_type = FormulaOptions
    metrics = METRICS
    sample_metrics = SAMPLE_METRICS
    takes_columns = True
    batch_size = 512
    timed = ("tex",)

    def __init__(self, options: FormulaOptions) -> None:
        super().__init__(options)
        self._typesetter: Typesetter | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_typesetter": None}

    def setup(self) -> None:
        """Makes the scratch folder and TeX's format.

        Raises MissingTool where TeX, a package or a font is not on this machine.
        """
        if self._typesetter is None:
            typesetter = Typesetter(self.options.time_limit)
            typesetter.open()
            self._typesetter = typesetter

    def teardown(self) -> None:
        """Removes the scratch folder."""
        if self._typesetter is not None:
            self._typesetter.close()
            self._typesetter = None

    def tool_versions(self) -> dict[str, str]:
        """Returns the version of LaTeX."""
        return latex_version()

    def score_sample(self, truth: FormulaTruth, prediction: FormulaPrediction | None) -> SampleScore:
        """Scores one sample as a batch of one."""
        result = self.score([Pair("", truth, prediction)])[0]
        if isinstance(result, RejectedRecord):
            raise result
        return result

    def score(self, pairs: Sequence[SamplePair]) -> list[SampleScore | RejectedRecord]:
        """Scores a batch; its formulas are typeset together, equal ones once."""
        results: list[SampleScore | RejectedRecord] = []
        group: list[_Sample | RejectedRecord] = []
        formulas: dict[str, NormalizedFormula] = {}
        for pair in pairs:
            try:
                group.append(self._normalized(pair, formulas))
            except RejectedRecord as rejected:
                group.append(rejected)
            if len(formulas) >= GROUP:
                results += self._score_group(group)
                group, formulas = [], {}
        return results + self._score_group(group)

    def _score_group(self, group: Sequence[_Sample | RejectedRecord]) -> list[SampleScore | RejectedRecord]:
        typesetter = self._ready()
        allowances = SampleAllowances()
        formulas: list[NormalizedFormula] = []
        for number, sample in enumerate(group):
            if isinstance(sample, _Sample):
                truths, predictions = sample.formulas()
                formulas += truths + predictions
                marked = ([each.marked for each in side if each.marked] for side in (truths, predictions))
                allowances.add(number, sample.budget.left, *marked)
        renderings = render(formulas, typesetter, allowances)
        images = typesetter if self.options.images else None
        results: list[SampleScore | RejectedRecord] = []
        for number, sample in enumerate(group):
            if isinstance(sample, RejectedRecord):
                results.append(sample)
            elif rejection := allowances.rejection(number, self.options.max_steps):
                results.append(rejection)
            else:
                try:
                    if images:
                        for truth, prediction in sample.normalized:
                            sample.budget.spend(drawing_cost(truth, prediction, renderings))
                    scores = [score_pair(left, right, renderings, images) for left, right in sample.normalized]
                    results.append(sample_score(sample.pairs, scores, sample.document))
                except RejectedRecord as rejected:
                    results.append(rejected)
        return results

    def take_timings(self) -> dict[str, int]:
        """Returns the microseconds that TeX took since the last call."""
        typesetter = self._ready()
        microseconds, typesetter.nanoseconds = typesetter.nanoseconds // 1000, 0
        return {"tex": microseconds}

    def _ready(self) -> Typesetter:
        self.setup()
        if self._typesetter is None:
            raise RuntimeError("setup made no typesetter")
        return self._typesetter

    def _normalized(self, sample: SamplePair, formulas: dict[str, NormalizedFormula]) -> _Sample:
        """Reads a sample; `formulas` holds what was normalized for the samples before."""
        budget = Budget(self.options.max_steps)
        comparable = normalized if self.options.protocol == "published" else str
        pairs = formula_pairs(sample.truth, sample.prediction, self.options.max_formulas, budget, comparable)
        normalized_pairs = []
        for pair in pairs:
            sides: list[NormalizedFormula | None] = []
            for side, text in zip(SIDES, (pair.truth, pair.prediction), strict=True):
                with budget.reading(side):
                    sides.append(None if text is None else self._normalize(text, formulas, budget))
            for side, formula in zip(SIDES, sides, strict=True):
                with budget.reading(side):
                    budget.spend(formula.marked.steps if formula and formula.marked else 0)
            budget.spend(matching_cost(*sides))
            normalized_pairs.append((sides[0], sides[1]))
        result = _Sample(tuple(pairs), tuple(normalized_pairs), sample.truth.document is not None, budget)
        for side, given in zip(SIDES, result.formulas(), strict=True):
            if given and all(formula.too_large for formula in given):
                raise RejectedRecord(side, given[0].problem)
        return result

    def _normalize(self, text: str, formulas: dict[str, NormalizedFormula], budget: Budget) -> NormalizedFormula:
        if text in formulas:
            budget.spend(formulas[text].steps)
        else:
            formulas[text] = normalize(text, self.options, budget)
        return formulas[text]

    def values(self, sums: Sums) -> dict[str, float | None]:
        """Returns the metrics."""
        return values(sums)

    def tables(self, sums: Sums) -> list[Table]:
        """Returns the histogram of CDM."""
        return [cdm_histogram(sums)]

    def explain(self, details: Any) -> list[str]:
        """Returns for each formula how many tokens match, or why there are none."""
        return matches_in_words(details)

    def draw(self, truth: FormulaTruth, prediction: FormulaPrediction | None) -> str:
        """Returns both formulas with the boxes of their tokens, matched and unmatched, as SVG."""
        formulas: dict[str, NormalizedFormula] = {}
        sample = self._normalized(Pair("", truth, prediction), formulas)
        typesetter = self._ready()
        renderings = render(formulas.values(), typesetter)
        return draw_pairs(sample.normalized, renderings, typesetter)
