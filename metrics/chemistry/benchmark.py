"""The chemistry benchmark: exact match and structure exact match of lines with Chemfig molecules (CROCS)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import zip_longest
from typing import Any

import msgspec
from rapidfuzz.distance import Levenshtein

from ..benchmark import Benchmark, RejectedRecord, SampleScore
from ..common.budget import Budget
from ..common.text import normalized, quoted
from ..statistics.ratios import ratio
from ..statistics.sums import Sums
from .converter import ChemistryConverter
from .draw import draw_lines
from .latex_text import tokenize
from .limits import EDITS_PER_STEP, check_length
from .line import Line, comparable
from .matcher import Match, match_molecules
from .metrics import METRICS, SAMPLE_METRICS, accuracy
from .records import ChemistryDetails, ChemistryOptions, ChemistryPrediction, ChemistryTruth, MoleculeVerdict
from .regions import Region, read_line

DETAIL_CHARACTERS = 200
_BETWEEN_BLANKS = re.compile(r"[^ \t\r\n\f\v]+")
"""Matches a token between blanks; an ideographic space is a character, as in the text around molecules."""


class Comparison(msgspec.Struct, frozen=True):
    """Both lines in comparable form, their regions paired in order with the results, and how the texts differ.

    prediction: None if there is no prediction. text_difference: None if the texts around the molecules are equal.
    problems: why regions of the prediction cannot be read.
    """

    truth: Line
    prediction: Line | None
    pairs: list[tuple[Region | None, Region | None, Match]]
    text_difference: str | None
    problems: Sequence[str] = ()


class ChemistryBenchmark(Benchmark[ChemistryTruth, ChemistryPrediction, ChemistryOptions]):
    """Computes exact match (EM) and structure EM as the competition's Graph Matching Tool does.

    A sample is right for structure EM if the molecules of both lines are equal in order, and for EM if the text
    around them is equal as well, ignoring blanks. Structure EM is also computed over only those samples whose ground
    truth has a molecule. Source: the CROCS task page, "Evaluation Metrics" and "Graph Matching Tool". Differences from
    the tool are listed in docs/explanation/benchmarks/chemistry.md.
    """

    name = "chemistry"
    summary = "CROCS: lines of LaTeX with Chemfig molecules, compared as graphs"
    truth_type = ChemistryTruth
    prediction_type = ChemistryPrediction
    options_type = ChemistryOptions
    metrics = METRICS
    sample_metrics = SAMPLE_METRICS
    takes_columns = True
    batch_size = 64
    converter = ChemistryConverter()

    def score_sample(self, truth: ChemistryTruth, prediction: ChemistryPrediction | None) -> SampleScore:
        """Scores one line; see the class. Raises RejectedRecord as `compared` does, or if `max_steps` is exceeded."""
        budget = Budget(self.options.max_steps)
        comparison = self.compared(truth, prediction, budget)
        structure = prediction is not None and all(match.equal for _, _, match in comparison.pairs)
        exact = structure and comparison.text_difference is None
        has_molecules = bool(comparison.truth.regions)
        label = self.label_tokens(truth.text)
        errors = len(label)
        if prediction is not None:
            predicted = self.label_tokens(prediction.text)
            budget.spend(2 * (len(label) + len(predicted)) + len(label) * len(predicted) // EDITS_PER_STEP)
            errors = Levenshtein.distance(label, predicted)
        return SampleScore(
            statistics={
                "samples": 1,
                "exact": int(exact),
                "structure": int(structure),
                "samples_with_molecules": int(has_molecules),
                "structure_with_molecules": int(has_molecules and structure),
                "token_errors": errors,
                "tokens": len(label),
            },
            metrics={
                "exact_match": int(exact),
                "structure_exact_match": int(structure),
                "structure_exact_match_molecules": int(structure) if has_molecules else None,
                "token_accuracy": accuracy(errors, len(label)),
            },
            details=ChemistryDetails(
                [
                    MoleculeVerdict(number, match.equal, match.difference)
                    for number, (_, _, match) in enumerate(comparison.pairs, start=1)
                ],
                comparison.text_difference is None,
                comparison.text_difference,
                [*comparison.problems],
            ),
        )

    def values(self, sums: Sums) -> dict[str, float | None]:
        """Returns the shares and the accuracy; None if the denominator is 0."""
        return {
            "exact_match": ratio(sums["exact"], sums["samples"]),
            "structure_exact_match": ratio(sums["structure"], sums["samples"]),
            "structure_exact_match_molecules": ratio(sums["structure_with_molecules"], sums["samples_with_molecules"]),
            "token_accuracy": accuracy(sums["token_errors"], sums["tokens"]),
        }

    def explain(self, details: Any) -> list[str]:
        """Returns the number of equal molecules, then a line for each difference and each unreadable region."""
        molecules = details["molecules"]
        lines = [f"{sum(each['equal'] for each in molecules)} of {len(molecules)} molecules are equal"]
        lines += [f"molecule {each['molecule']}: {each['difference']}" for each in molecules if each["difference"]]
        lines.append(
            "the text is equal" if details["text_equal"] else f"the text differs: {details['text_difference']}"
        )
        return lines + [str(problem) for problem in details["prediction_problems"]]

    def draw(
        self,
        truth: ChemistryTruth,
        prediction: ChemistryPrediction | None,
        details: Any = None,
        image: tuple[int, int] | None = None,
    ) -> str:
        """Returns the molecules of both lines side by side as an SVG document, with differences marked.

        Raises RejectedRecord as `score_sample` does.
        """
        comparison = self.compared(truth, prediction, Budget(self.options.max_steps))
        return draw_lines(comparison.truth, comparison.prediction, comparison.pairs, image)

    def label_tokens(self, text: str) -> list[str]:
        """Returns the tokens that `token_accuracy` counts."""
        text = self.comparable_text(text)
        return _BETWEEN_BLANKS.findall(text) if self.options.tokens == "blanks" else tokenize(text)

    def compared(self, truth: ChemistryTruth, prediction: ChemistryPrediction | None, budget: Budget) -> Comparison:
        """Reads both lines and compares their regions in order, and their texts.

        Atoms are numbered consecutively across both sides, the prediction first, as in the competition's tool.

        Raises RejectedRecord if a line is too long or a molecule of the truth cannot be read.
        """
        released, max_characters = self.options.released, self.options.max_characters
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
        normalizes = self.options.normalize_text or is_chemfig
        with budget.reading("ground_truth"):
            first_number = 0 if predicted is None else predicted.atoms_made
            truth_line = comparable(true, released, normalizes, budget, first_number)
        if predicted is not None:
            with budget.reading("prediction"):
                line = comparable(predicted, released, normalizes, budget)
        regions = zip_longest(truth_line.regions, line.regions if line else ())
        return Comparison(
            truth_line,
            line,
            [(first, second, self.compare(first, second, budget)) for first, second in regions],
            self.text_difference(truth_line.tokens, line.tokens) if line else "there is no prediction",
            predicted.problems if predicted else (),
        )

    def comparable_text(self, text: str) -> str:
        """Returns the text in the form in which the protocol compares texts."""
        return text if self.options.released else normalized(text)

    def text_difference(self, true: tuple[str, ...], predicted: tuple[str, ...]) -> str | None:
        """Returns the first difference between the texts around the molecules, in words; None if they are equal."""
        # A character and its combining accent are two tokens, which NFC composes once the tokens are joined.
        if true == predicted or self.comparable_text("".join(true)) == self.comparable_text("".join(predicted)):
            return None
        place = next(number for number, (a, b) in enumerate(zip_longest(true, predicted)) if a != b)
        return f"{_excerpt(true, place)} in the ground truth, {_excerpt(predicted, place)} in the prediction"

    def compare(self, truth: Region | None, prediction: Region | None, budget: Budget) -> Match:
        """Compares two regions; as text if one has no molecule, because it is empty or cannot be read."""
        if truth is None:
            return Match({}, "the ground truth has no such molecule")
        if prediction is None:
            return Match({}, "the prediction has no such molecule")
        if truth.molecule is not None and prediction.molecule is not None:
            limit = None if self.options.released else self.options.max_angle_deviation
            return match_molecules(truth.molecule, prediction.molecule, self.options.released, budget, limit)
        true, predicted = truth.content, prediction.content
        if true is not None and predicted is not None and self.comparable_text(true) == self.comparable_text(predicted):
            return Match({})
        if prediction.problem is not None:
            return Match({}, f"the prediction cannot be read: {prediction.problem}")
        return Match({}, f"the {'prediction' if prediction.molecule is None else 'ground truth'} draws nothing")


def _excerpt(tokens: tuple[str, ...], place: int) -> str:
    text = quoted(" ".join(tokens[max(0, place - 3) : place + 5])[:DETAIL_CHARACTERS])
    return text if place < len(tokens) else f"the end after {text}"
