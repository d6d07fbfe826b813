"""The formula benchmark: Character Detection Matching (CDM), BLEU, edit distance, exact match, image differences.

Source: B. Wang et al., "Image Over Text: Transforming Formula Recognition Evaluation with Character Detection
Matching", CVPR 2025, with its supplement and its released tool.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from metrics.benchmark import Benchmark, Pair, RejectedRecord, SampleScore, Side, Table
from metrics.budget import Budget
from metrics.formula.bleu import ORDER, BleuCounts, bleu
from metrics.formula.documents.pairs import FormulaPair
from metrics.formula.draw import draw_pairs
from metrics.formula.records import FormulaOptions, FormulaPrediction, FormulaTruth
from metrics.formula.samples import formula_pairs
from metrics.formula.scoring import Reading, read, render, score_pair
from metrics.formula.totals import RANGES, range_label, sample_score
from metrics.formula.typeset import Typesetter
from metrics.ratios import ratio
from metrics.sums import Sums

GROUP = 400
"""Formulas that are typeset together; the batch of documents that has more is scored in parts."""

SamplePair = Pair[FormulaTruth, FormulaPrediction]


@dataclass(frozen=True, slots=True)
class _Read:
    """A sample as read: its pairs of formulas, as text and as read, and whether it is a document."""

    pairs: tuple[FormulaPair, ...]
    readings: tuple[tuple[Reading | None, Reading | None], ...]
    document: bool


class FormulaBenchmark(Benchmark[FormulaTruth, FormulaPrediction, FormulaOptions]):
    """Scores formulas, tables and whole documents in LaTeX by what their formulas look like when typeset."""

    name: ClassVar[str] = "formula"
    summary: ClassVar[str] = "formula recognition: CDM and ExpRate@CDM, BLEU, edit distance, exact match"
    truth_type = FormulaTruth
    prediction_type = FormulaPrediction
    options_type = FormulaOptions
    value_meanings: ClassVar = {
        "cdm": "mean over formulas of the F1 of matched tokens; redundant predictions of documents count 0",
        "cdm_precision": "mean share of predicted tokens that are matched",
        "cdm_recall": "mean share of ground-truth tokens that are matched",
        "exp_rate_cdm": "share of formulas whose CDM is 1 to three decimals",
        "exp_rate": "share of formulas with the same normal form as the ground truth",
        "bleu": "corpus BLEU over the tokens of the normal form, in [0, 1]",
        "edit_distance": "mean edit distance of the tokens of the normal form over the longer length; lower is better",
        "render_failure_rate": "share of predicted formulas that cannot be typeset; lower is better",
        "image_edit_distance": "column edit distance of the images over their columns; lower is better",
        "image_mse": "mean squared difference of the images' grey values; lower is better",
        "document_cdm": "mean over documents of the mean CDM of their formulas",
        "document_missing_rate": "share of the documents' formulas that no prediction answers; lower is better",
        "document_redundant_rate": "share of the formulas predicted for documents that answer none; lower is better",
    }
    sample_columns: ClassVar = {
        "cdm": "F1 of matched tokens",
        "cdm_precision": "share of predicted tokens that are matched",
        "cdm_recall": "share of ground-truth tokens that are matched",
        "exp_rate_cdm": "1 where CDM is 1 to three decimals",
        "exp_rate": "1 where the normal forms are equal",
        "bleu": "BLEU of this sample, over the orders that the prediction is long enough for",
        "edit_distance": "edit distance of the tokens over the longer length",
        "render_failure": "1 where the prediction cannot be typeset",
        "image_edit_distance": "column edit distance of the images over their columns",
        "image_mse": "mean squared difference of the images' grey values",
    }
    headline = ("cdm", "exp_rate_cdm", "exp_rate", "bleu", "edit_distance", "render_failure_rate")
    ranking = ("cdm", "exp_rate_cdm")
    worst_by = "cdm"
    batch_size = 96
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
                results += self._score_group(group, readings)
                group, readings = [], {}
        return results + self._score_group(group, readings)

    def _score_group(
        self, group: Sequence[_Read | RejectedRecord], readings: Mapping[str, Reading]
    ) -> list[SampleScore | RejectedRecord]:
        typesetter = self._ready()
        renderings = render(readings.values(), typesetter)
        images = typesetter if self.options.images else None
        results: list[SampleScore | RejectedRecord] = []
        for sample in group:
            if isinstance(sample, RejectedRecord):
                results.append(sample)
            else:
                scores = [score_pair(left, right, renderings, images) for left, right in sample.readings]
                results.append(sample_score(sample.pairs, scores, sample.document))
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
        pairs = formula_pairs(sample.truth, sample.prediction, self.options.max_formulas, budget)
        document = sample.truth.document is not None
        read_pairs = []
        for pair in pairs:
            truth, prediction = self._reading(pair.truth, readings), self._reading(pair.prediction, readings)
            if not document:
                _refuse_too_large("ground_truth", truth)
                _refuse_too_large("prediction", prediction)
            read_pairs.append((truth, prediction))
        return _Read(tuple(pairs), tuple(read_pairs), document)

    def _reading(self, text: str | None, readings: dict[str, Reading]) -> Reading | None:
        if text is None:
            return None
        if text not in readings:
            readings[text] = read(
                text, self.options.max_characters, self.options.max_tokens, self.options.protocol == "released"
            )
        return readings[text]

    def values(self, sums: Sums) -> dict[str, float | None]:
        """Returns the figures.

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

    def draw(self, truth: FormulaTruth, prediction: FormulaPrediction | None) -> str:
        """Returns both formulas with the boxes of their tokens, matched and unmatched, as SVG."""
        readings: dict[str, Reading] = {}
        sample = self._read(Pair("", truth, prediction), readings)
        typesetter = self._ready()
        renderings = render(readings.values(), typesetter)
        return draw_pairs(sample.readings, renderings, typesetter)


def _refuse_too_large(side: Side, reading: Reading | None) -> None:
    if reading is not None and reading.too_large:
        raise RejectedRecord(side, reading.problem)
