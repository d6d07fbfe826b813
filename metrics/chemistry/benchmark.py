"""The chemistry benchmark: exact match and structure exact match of lines with Chemfig molecules (CROCS)."""

from __future__ import annotations

import re
from typing import Any

from rapidfuzz.distance import Levenshtein

from ..benchmark import Benchmark, SampleScore
from ..common.budget import Budget
from ..common.text import FENCE_WARNINGS, in_fence
from ..statistics.ratios import ratio
from ..statistics.sums import Sums
from .comparison import compare_lines
from .converter import ChemistryConverter
from .draw import draw_lines
from .latex_text import tokenize
from .limits import EDITS_PER_STEP
from .metrics import METRICS, SAMPLE_METRICS, accuracy
from .records import ChemistryOptions, ChemistryPrediction, ChemistryTruth

_BETWEEN_BLANKS = re.compile(r"[^ \t\r\n\f\v]+")
"""Matches a token between blanks; an ideographic space is a character, as in the text around molecules."""


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
    coverage_warnings = FENCE_WARNINGS
    takes_columns = True
    batch_size = 64
    converter = ChemistryConverter()

    def score_sample(self, truth: ChemistryTruth, prediction: ChemistryPrediction | None) -> SampleScore:
        """Scores one line; see the class. Raises RejectedRecord as `compare_lines` does, or above `max_steps`."""
        budget = Budget(self.options.max_steps)
        comparison = compare_lines(truth, prediction, self.options, budget)
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
            details={
                "molecules": [
                    {"molecule": number, "equal": match.equal, "difference": match.difference}
                    for number, (_, _, match) in enumerate(comparison.pairs, start=1)
                ],
                "text_equal": comparison.text_difference is None,
                "text_difference": comparison.text_difference,
                "prediction_problems": comparison.problems,
            },
            coverage=in_fence(prediction.text) if prediction else {},
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
        comparison = compare_lines(truth, prediction, self.options, Budget(self.options.max_steps))
        return draw_lines(comparison, image)

    def label_tokens(self, text: str) -> list[str]:
        """Returns the tokens that `token_accuracy` counts."""
        text = self.options.compared(text)
        return _BETWEEN_BLANKS.findall(text) if self.options.tokens == "blanks" else tokenize(text)
