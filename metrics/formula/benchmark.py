"""The formula benchmark: Character Detection Matching (CDM), BLEU, edit distance, exact match, image differences.

Source: B. Wang et al., "Image Over Text: Transforming Formula Recognition Evaluation with Character Detection
Matching", CVPR 2025, with its supplement and its released tool.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from metrics.benchmark import Benchmark, Pair, RejectedRecord, SampleScore, Side, Table
from metrics.formula.bleu import ORDER, BleuCounts, bleu
from metrics.formula.draw import draw_pair
from metrics.formula.records import FormulaOptions, FormulaPrediction, FormulaTruth
from metrics.formula.scoring import PairScore, Reading, TooLarge, read, render, score_pair
from metrics.formula.typeset import Typesetter
from metrics.ratios import mean, ratio
from metrics.sums import Sums

RANGES = 10
"""The histogram of CDM has this many ranges of equal width below 1, and 1 itself."""

FormulaPair = Pair[FormulaTruth, FormulaPrediction]


@dataclass(frozen=True, slots=True)
class _Read:
    """A sample as read: its pairs of formulas, and whether it has a prediction at all."""

    pairs: tuple[tuple[Reading | None, Reading | None], ...]
    predicted: bool


class FormulaBenchmark(Benchmark[FormulaTruth, FormulaPrediction, FormulaOptions]):
    """Scores formulas and tables in LaTeX against ground truth by what they look like when typeset."""

    name: ClassVar[str] = "formula"
    summary: ClassVar[str] = "formula recognition: CDM and ExpRate@CDM, BLEU, edit distance, exact match"
    truth_type = FormulaTruth
    prediction_type = FormulaPrediction
    options_type = FormulaOptions
    value_meanings: ClassVar = {
        "cdm": "mean over formulas of the F1 of matched tokens",
        "cdm_precision": "mean share of predicted tokens that are matched",
        "cdm_recall": "mean share of ground-truth tokens that are matched",
        "exp_rate_cdm": "share of formulas whose CDM is 1 to three decimals",
        "exp_rate": "share of formulas with the same normal form as the ground truth",
        "bleu": "corpus BLEU over the tokens of the normal form, in [0, 1]",
        "edit_distance": "mean edit distance of the tokens of the normal form over the longer length; lower is better",
        "render_failure_rate": "share of predicted formulas that cannot be typeset; lower is better",
        "image_edit_distance": "column edit distance of the images over their columns; lower is better",
        "image_mse": "mean squared difference of the images' grey values; lower is better",
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

        Raises metrics.formula.typeset.MissingTool where TeX, a package or a font is not on this machine.
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

    def score(self, pairs: Sequence[FormulaPair]) -> list[SampleScore | RejectedRecord]:
        """Scores a batch; all its formulas are typeset together, equal ones once."""
        samples: list[_Read | RejectedRecord] = []
        readings: dict[str, Reading] = {}
        for pair in pairs:
            try:
                samples.append(self._read(pair, readings))
            except RejectedRecord as rejected:
                samples.append(rejected)
        typesetter = self._ready()
        renderings = render(readings.values(), typesetter)
        images = typesetter if self.options.images else None
        results: list[SampleScore | RejectedRecord] = []
        for sample in samples:
            if isinstance(sample, RejectedRecord):
                results.append(sample)
            else:
                scores = [score_pair(left, right, renderings, images) for left, right in sample.pairs]
                results.append(_sample_score(sample, scores))
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

    def _read(self, pair: FormulaPair, readings: dict[str, Reading]) -> _Read:
        texts = formula_pairs(pair.truth, pair.prediction)
        read_pairs = tuple(
            (self._reading(truth, "ground_truth", readings), self._reading(prediction, "prediction", readings))
            for truth, prediction in texts
        )
        return _Read(read_pairs, pair.prediction is not None)

    def _reading(self, text: str | None, side: Side, readings: dict[str, Reading]) -> Reading | None:
        if text is None:
            return None
        if text not in readings:
            limit = self.options.max_characters
            if len(text) > limit:
                raise RejectedRecord(side, f"latex has {len(text)} characters; max_characters is {limit}")
            try:
                readings[text] = read(text, self.options.max_tokens)
            except TooLarge as large:
                raise RejectedRecord(side, str(large)) from None
        return readings[text]

    def values(self, sums: Sums) -> dict[str, float | None]:
        """Returns the figures; those of CDM are over formulas whose ground truth can be typeset."""
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
        }

    def tables(self, sums: Sums) -> list[Table]:
        """Returns the histogram of CDM over ten ranges and 1 itself (figure 8 of the supplement)."""
        rendered = sums["rendered"]
        rows = [
            (label, int(sums[f"cdm_range[{label}]"]), ratio(sums[f"cdm_range[{label}]"], rendered))
            for label in map(_range_label, range(RANGES + 1))
        ]
        return [Table("Formulas by CDM", ("CDM", "formulas", "share"), rows)]

    def draw(self, truth: FormulaTruth, prediction: FormulaPrediction | None) -> str:
        """Returns both formulas with the boxes of their tokens, matched and unmatched, as SVG."""
        readings: dict[str, Reading] = {}
        sample = self._read(Pair("", truth, prediction), readings)
        typesetter = self._ready()
        renderings = render(readings.values(), typesetter)
        return draw_pair(sample.pairs, renderings, typesetter)


def formula_pairs(truth: FormulaTruth, prediction: FormulaPrediction | None) -> list[tuple[str | None, str | None]]:
    """Returns the pairs of formulas of a sample: (ground truth or None, prediction or None).

    Raises RejectedRecord where a record has neither a formula nor a document, or the two sides differ in kind.
    """
    if truth.document is not None:
        raise RejectedRecord("ground_truth", "a record with `document` cannot be scored; give `latex`")
    if truth.latex is None or not truth.latex.strip():
        raise RejectedRecord("ground_truth", "the ground truth has no `latex`")
    if prediction is None:
        return [(truth.latex, None)]
    if prediction.latex is None:
        raise RejectedRecord("prediction", "the prediction has no `latex`")
    return [(truth.latex, prediction.latex)]


def _range_label(index: int) -> str:
    if index == RANGES:
        return "1"
    return f"{index / RANGES:.1f} to {(index + 1) / RANGES:.1f}"


def _sample_score(sample: _Read, scores: Sequence[PairScore]) -> SampleScore:
    """Adds up the scores of a sample's formulas; its columns are their means."""
    totals: Counter[str] = Counter()
    columns: dict[str, list[float]] = {}
    for (_, prediction), score in zip(sample.pairs, scores, strict=True):
        _add(totals, columns, score, predicted=prediction is not None)
    unrendered = sum(score.matches is None for score in scores)
    return SampleScore(
        {name: total for name, total in totals.items() if total},
        {name: mean(values) for name, values in columns.items()},
        details=[_details(score) for score in scores],
        coverage={"ground_truth_not_rendered": unrendered} if unrendered else {},
    )


def _add(totals: Counter[str], columns: dict[str, list[float]], score: PairScore, predicted: bool) -> None:
    def measure(name: str, value: float) -> None:
        totals[name] += value  # type: ignore[assignment]
        columns.setdefault(name, []).append(value)

    totals["formulas"] += 1
    measure("exp_rate", int(score.exact))
    measure("edit_distance", score.edits / score.length if score.length else 0.0)
    for order in range(ORDER):
        totals[f"bleu_matches_{order + 1}"] += int(score.bleu.matches[order])
        totals[f"bleu_totals_{order + 1}"] += int(score.bleu.totals[order])
    totals["bleu_prediction_length"] += int(score.bleu.prediction_length)
    totals["bleu_truth_length"] += int(score.bleu.truth_length)
    columns.setdefault("bleu", []).append(bleu(score.bleu, every_order=False))
    if predicted:
        totals["predicted"] += 1
        totals["render_failures"] += int(bool(score.prediction_problem))
        columns.setdefault("render_failure", []).append(int(bool(score.prediction_problem)))
    if score.matches is not None:
        true, truth, prediction = len(score.matches.pairs), score.matches.truth_count, score.matches.prediction_count
        cdm = 2 * true / (truth + prediction) if true else 0.0
        totals["rendered"] += 1
        totals[f"cdm_range[{_range_label(int(cdm * RANGES))}]"] += 1
        measure("cdm", cdm)
        measure("cdm_precision", true / prediction if true else 0.0)
        measure("cdm_recall", true / truth if true else 0.0)
        measure("exp_rate_cdm", int(round(cdm, 3) == 1))
    if score.images is not None:
        totals["imaged"] += 1
        totals["image_edits"] += score.images.edits
        totals["image_columns"] += score.images.columns
        totals["image_squared_error"] += score.images.squared_error  # type: ignore[assignment]
        columns.setdefault("image_edit_distance", []).append(score.images.edits / score.images.columns)
        columns.setdefault("image_mse", []).append(score.images.squared_error)


def _details(score: PairScore) -> dict[str, Any]:
    """The counts of a pair and why a side could not be typeset."""
    details: dict[str, Any] = {}
    if score.matches is not None:
        details["tokens"] = {
            "ground_truth": score.matches.truth_count,
            "prediction": score.matches.prediction_count,
            "matched": len(score.matches.pairs),
        }
    if score.truth_problem:
        details["ground_truth_problem"] = score.truth_problem
    if score.prediction_problem:
        details["prediction_problem"] = score.prediction_problem
    return details
