"""The formula benchmark: Character Detection Matching (CDM), BLEU, edit distance, exact match, image differences.

Source: B. Wang et al., "Image Over Text: Transforming Formula Recognition Evaluation with Character Detection
Matching", CVPR 2025, with its supplement and its released tool.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from ..benchmark import Benchmark, Pair, RejectedRecord, SampleScore, Side
from ..common.budget import Budget, OutOfBudget
from ..common.text import normalized
from ..statistics.ratios import ratio
from ..statistics.sums import Sums
from ..table import Table
from .cdm.bleu import ORDER, BleuCounts, bleu
from .cdm.scoring import (
    Reading,
    Rendering,
    drawing_cost,
    matching_cost,
    read,
    render,
    score_pair,
    typesetting_cost,
)
from .cdm.totals import RANGES, range_label, sample_score
from .draw import draw_pairs
from .formula_pair import FormulaPair
from .latex.token_markup import Marked
from .metric_specs import METRICS, SAMPLE_METRICS
from .records import FormulaOptions, FormulaPrediction, FormulaTruth
from .render.tex import latex_version
from .render.typeset import Allowance, Typesetter
from .sample_pairs import formula_pairs

GROUP = 1500
"""Formulas that are typeset together; the batch of documents that has more is scored in parts."""

SamplePair = Pair[FormulaTruth, FormulaPrediction]


@dataclass(frozen=True, slots=True)
class _Read:
    """A sample as read: its pairs of formulas, as text and as read, and whether it is a document."""

    pairs: tuple[FormulaPair, ...]
    readings: tuple[tuple[Reading | None, Reading | None], ...]
    document: bool
    budget: Budget


class _Budgets(Allowance):
    """Charges each sample of a batch for the processes of TeX that its formulas need; one may belong to many.

    Which of its formulas need one shows in an order that depends on the batch. So the ground truth may spend half of
    what the sample has left after reading, and the prediction what the ground truth leaves, and the verdict does not
    depend on that order: what is spent only grows, and a ground truth within its half is typeset to the end.
    """

    def __init__(self, samples: Sequence[_Read | RejectedRecord]) -> None:
        self._users: dict[Marked, list[tuple[int, Side]]] = {}
        self._truth_left: dict[int, int] = {}
        self._left: dict[int, int] = {}
        for number, sample in enumerate(samples):
            if isinstance(sample, _Read):
                self._left[number] = sample.budget.left
                self._truth_left[number] = sample.budget.left // 2
                for side, formulas in zip(_SIDES, _formulas(sample), strict=True):
                    for formula in formulas:
                        self._users.setdefault(formula, []).append((number, side))

    def wanted(self, formula: Marked) -> bool:
        return any(
            self._truth_left[number] >= 0 and (side == "ground_truth" or self._left[number] >= 0)
            for number, side in self._users[formula]
        )

    def charge(self, formula: Marked, steps: int) -> None:
        for number, side in self._users[formula]:
            self._left[number] -= steps
            if side == "ground_truth":
                self._truth_left[number] -= steps

    def rejection(self, number: int, max_steps: int) -> RejectedRecord | None:
        """Returns why a sample of the batch is not scored once all is typeset; None where it is."""
        side: Side = "ground_truth" if self._truth_left[number] < 0 else "prediction"
        if self._truth_left[number] >= 0 and self._left[number] >= 0:
            return None
        return OutOfBudget(
            side,
            "so many formulas have to be typeset alone, because of errors or of their size, that scoring takes more "
            f"work than max_steps={max_steps} allows: raise max_steps, or leave the sample out",
        )


_SIDES: tuple[Side, ...] = ("ground_truth", "prediction")


def _formulas(sample: _Read) -> tuple[set[Marked], set[Marked]]:
    """The formulas of the ground truth, and those of the prediction alone."""
    truths, predictions = (
        {reading.marked for pair in sample.readings if (reading := pair[side]) and reading.marked} for side in (0, 1)
    )
    return truths, predictions - truths


class FormulaBenchmark(Benchmark[FormulaTruth, FormulaPrediction, FormulaOptions]):
    """Scores formulas, tables and whole documents in LaTeX by what their formulas look like when typeset."""

    name: ClassVar[str] = "formula"
    summary: ClassVar[str] = "formula recognition: CDM and ExpRate@CDM, BLEU, edit distance, exact match"
    truth_type = FormulaTruth
    prediction_type = FormulaPrediction
    options_type = FormulaOptions
    metrics = METRICS
    sample_metrics = SAMPLE_METRICS
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
        group: list[_Read | RejectedRecord] = []
        readings: dict[str, Reading] = {}
        for pair in pairs:
            try:
                group.append(self._read(pair, readings))
            except RejectedRecord as rejected:
                group.append(rejected)
            if len(readings) >= GROUP:
                results += self._score_group(group)
                group, readings = [], {}
        return results + self._score_group(group)

    def _score_group(self, group: Sequence[_Read | RejectedRecord]) -> list[SampleScore | RejectedRecord]:
        typesetter = self._ready()
        budgets = _Budgets(group)
        wanted = [r for s in group if isinstance(s, _Read) for pair in s.readings for r in pair if r is not None]
        renderings = render(wanted, typesetter, budgets)
        images = typesetter if self.options.images else None
        results: list[SampleScore | RejectedRecord] = []
        for number, sample in enumerate(group):
            if isinstance(sample, RejectedRecord):
                results.append(sample)
            elif rejection := budgets.rejection(number, self.options.max_steps):
                results.append(rejection)
            else:
                try:
                    if images:
                        _charge_images(sample, renderings)
                    scores = [score_pair(left, right, renderings, images) for left, right in sample.readings]
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

    def _read(self, sample: SamplePair, readings: dict[str, Reading]) -> _Read:
        budget = Budget(self.options.max_steps)
        comparable = normalized if self.options.protocol == "published" else None
        pairs = formula_pairs(sample.truth, sample.prediction, self.options.max_formulas, budget, comparable)
        document = sample.truth.document is not None
        read_pairs = []
        for pair in pairs:
            with budget.reading("ground_truth"):
                truth = self._reading(pair.truth, readings, budget)
            with budget.reading("prediction"):
                prediction = self._reading(pair.prediction, readings, budget)
            with budget.reading("ground_truth"):
                budget.spend(typesetting_cost(truth))
            with budget.reading("prediction"):
                budget.spend(typesetting_cost(prediction))
            budget.spend(matching_cost(truth, prediction))
            read_pairs.append((truth, prediction))
        _refuse_too_large("ground_truth", [truth for truth, _ in read_pairs if truth])
        _refuse_too_large("prediction", [prediction for _, prediction in read_pairs if prediction])
        return _Read(tuple(pairs), tuple(read_pairs), document, budget)

    def _reading(self, text: str | None, readings: dict[str, Reading], budget: Budget) -> Reading | None:
        if text is None:
            return None
        if text in readings:
            budget.spend(readings[text].steps)
        else:
            readings[text] = read(text, self.options, budget)
        return readings[text]

    def values(self, sums: Sums) -> dict[str, float | None]:
        """Returns the metrics.

        Those of CDM are over formulas whose ground truth can be typeset, and over redundant predictions, with CDM 0.
        """
        rendered, formulas = sums["rendered"], sums["formulas"]
        counts = BleuCounts(
            tuple(sums[f"bleu_matches_{order}"] for order in range(1, ORDER + 1)),
            tuple(sums[f"bleu_totals_{order}"] for order in range(1, ORDER + 1)),
            sums["bleu_prediction_length"],
            sums["bleu_truth_length"],
        )
        return {
            "cdm": ratio(sums["cdm"], rendered),
            "cdm_precision": ratio(sums["cdm_precision"], rendered),
            "cdm_recall": ratio(sums["cdm_recall"], rendered),
            "exp_rate_cdm": ratio(sums["exp_rate_cdm"], rendered),
            "exp_rate": ratio(sums["exp_rate"], formulas),
            "bleu": bleu(counts) if counts.truth_length else None,
            "edit_distance": ratio(sums["edit_distance"], formulas),
            "render_failure_rate": ratio(sums["render_failures"], sums["predicted"]),
            "image_edit_distance": ratio(sums["image_edits"], sums["image_columns"]),
            "image_mse": ratio(sums["image_squared_error"], sums["imaged"]),
            "document_cdm": ratio(sums["document_cdm"], sums["documents"]),
            "document_missing_rate": ratio(sums["document_missing"], sums["document_truths"]),
            "document_redundant_rate": ratio(sums["document_redundant"], sums["document_predictions"]),
        }

    def tables(self, sums: Sums) -> list[Table]:
        """Returns the histogram of CDM over ten ranges and 1 itself (figure 8 of the supplement)."""
        rendered = sums["rendered"]
        rows = [
            (label, int(sums[f"cdm_range[{label}]"]), ratio(sums[f"cdm_range[{label}]"], rendered))
            for label in map(range_label, range(RANGES + 1))
        ]
        return [Table("Formulas by CDM", ("CDM", "formulas", "share"), rows)]

    def explain(self, details: Any) -> list[str]:
        """Returns for each formula how many tokens match, or why there are none."""
        lines = []
        for number, formula in enumerate(details if isinstance(details, list) else [], start=1):
            name = f"formula {number}: " if len(details) > 1 else ""
            tokens = formula.get("tokens")
            if tokens:
                lines.append(
                    f"{name}{tokens['matched']} tokens match, of {tokens['ground_truth']} true and"
                    f" {tokens['prediction']} predicted ones"
                )
        return lines

    def draw(self, truth: FormulaTruth, prediction: FormulaPrediction | None) -> str:
        """Returns both formulas with the boxes of their tokens, matched and unmatched, as SVG."""
        readings: dict[str, Reading] = {}
        sample = self._read(Pair("", truth, prediction), readings)
        typesetter = self._ready()
        renderings = render(readings.values(), typesetter)
        return draw_pairs(sample.readings, renderings, typesetter)


def _charge_images(sample: _Read, renderings: dict[Reading, Rendering]) -> None:
    for truth, prediction in sample.readings:
        sample.budget.spend(drawing_cost(truth, prediction, renderings))


def _refuse_too_large(side: Side, readings: Sequence[Reading]) -> None:
    """Raises RejectedRecord where all formulas of a side are beyond the limits, with what the first one exceeds."""
    if readings and all(reading.too_large for reading in readings):
        raise RejectedRecord(side, readings[0].problem)
