"""The chemistry benchmark: exact match and structure exact match of lines with Chemfig molecules (CROCS)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import msgspec
from rapidfuzz.distance import Levenshtein

from metrics.benchmark import Benchmark, RejectedRecord, SampleScore, Side
from metrics.budget import Budget
from metrics.chemistry.convert import ChemistryConverter
from metrics.chemistry.draw import draw_lines
from metrics.chemistry.latex_text import tokenize
from metrics.chemistry.line import Line, Region, read_line
from metrics.chemistry.matcher import Match, match_molecules
from metrics.chemistry.metric_specs import METRICS, SAMPLE_METRICS
from metrics.chemistry.records import ChemistryPrediction, ChemistryTruth
from metrics.convert import Converter
from metrics.ratios import ratio
from metrics.sums import Sums

DETAIL_CHARACTERS = 200


class ChemistryOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The options; see configs/chemistry.yaml."""

    max_angle_deviation: Annotated[float, msgspec.Meta(ge=0, le=180)] | None = None
    max_steps: Annotated[int, msgspec.Meta(ge=1)] = 4_000_000
    tokens: Literal["blanks", "latex"] = "blanks"
    max_characters: Annotated[int, msgspec.Meta(ge=1, le=1_000_000)] = 100_000


class MoleculeVerdict(msgspec.Struct, frozen=True):
    """What became of one molecule, by its number in the line (from 1), and why where it is wrong."""

    molecule: int
    equal: bool
    difference: str | None = None


class ChemistryDetails(msgspec.Struct, frozen=True):
    """Which molecule failed and why, and the first place where the text around the molecules differs."""

    molecules: list[MoleculeVerdict]
    text_equal: bool
    text_difference: str | None
    prediction_problems: list[str]


@dataclass(frozen=True, slots=True)
class PairOfRegions:
    """The regions number k of both lines, where they exist, and how they compare."""

    truth: Region | None
    prediction: Region | None
    match: Match


class ChemistryBenchmark(Benchmark[ChemistryTruth, ChemistryPrediction, ChemistryOptions]):
    """Exact match (EM) and structure EM as the competition's Graph Matching Tool decides them.

    A sample is right for structure EM where the molecules of both lines are equal in order, and for EM where the
    text around them is equal, too, blanks removed. Source: the CROCS task page, "Evaluation Metrics" and "Graph
    Matching Tool". Differences from the tool are listed in docs/benchmarks/chemistry.md.
    """

    name: ClassVar[str] = "chemistry"
    summary: ClassVar[str] = "CROCS: lines of LaTeX with Chemfig molecules, compared as graphs"
    truth_type: ClassVar[type[msgspec.Struct]] = ChemistryTruth
    prediction_type: ClassVar[type[msgspec.Struct]] = ChemistryPrediction
    options_type: ClassVar[type[msgspec.Struct]] = ChemistryOptions
    metrics = METRICS
    sample_metrics = SAMPLE_METRICS
    converter: ClassVar[Converter | None] = ChemistryConverter()

    def score_sample(self, truth: ChemistryTruth, prediction: ChemistryPrediction | None) -> SampleScore:
        """Scores one line; see the class. Raises RejectedRecord where a molecule of the truth cannot be read."""
        truth_line, predicted_line, pairs = self.compared(truth, prediction)
        structure = all(pair.match.equal for pair in pairs) and predicted_line is not None
        text_difference = _text_difference(truth_line, predicted_line)
        exact = structure and text_difference is None
        label = self.label_tokens(truth.text)
        errors = len(label)
        if prediction is not None:
            errors = Levenshtein.distance(label, self.label_tokens(prediction.text))
        return SampleScore(
            statistics={
                "samples": 1,
                "exact": int(exact),
                "structure": int(structure),
                "token_errors": errors,
                "tokens": len(label),
            },
            columns={
                "exact_match": int(exact),
                "structure_exact_match": int(structure),
                "token_accuracy": _accuracy(errors, len(label)),
            },
            details=ChemistryDetails(
                [
                    MoleculeVerdict(number, pair.match.equal, pair.match.difference)
                    for number, pair in enumerate(pairs, start=1)
                ],
                text_difference is None,
                text_difference,
                list(predicted_line.problems) if predicted_line is not None else [],
            ),
        )

    def values(self, sums: Sums) -> dict[str, float | None]:
        """Returns the shares and the accuracy; None of nothing."""
        samples = sums["samples"]
        return {
            "exact_match": ratio(sums["exact"], samples),
            "structure_exact_match": ratio(sums["structure"], samples),
            "token_accuracy": _accuracy(sums["token_errors"], sums["tokens"]),
        }

    def draw(self, truth: ChemistryTruth, prediction: ChemistryPrediction | None) -> str:
        """Returns both lines' molecules side by side as SVG, what differs marked.

        Raises RejectedRecord as `score_sample` does.
        """
        truth_line, predicted_line, pairs = self.compared(truth, prediction)
        return draw_lines(truth_line, predicted_line, [(p.truth, p.prediction, p.match) for p in pairs])

    def label_tokens(self, text: str) -> list[str]:
        """The tokens that `token_accuracy` counts."""
        return text.split() if self.options.tokens == "blanks" else tokenize(text)

    def compared(
        self, truth: ChemistryTruth, prediction: ChemistryPrediction | None
    ) -> tuple[Line, Line | None, list[PairOfRegions]]:
        """Reads both lines and compares their regions, within the budget of one sample."""
        budget = Budget(self.options.max_steps)
        truth_line = self.read_truth(truth, budget)
        predicted_line = None if prediction is None else self.read("prediction", prediction.text, budget)
        return truth_line, predicted_line, self.pairs(truth_line, predicted_line, budget)

    def read_truth(self, truth: ChemistryTruth, budget: Budget) -> Line:
        """Reads the truth's line; raises RejectedRecord where one of its molecules cannot be read."""
        line = self.read("ground_truth", truth.text, budget)
        if line.problems:
            raise RejectedRecord("ground_truth", f"a \\chemfig region cannot be read: {line.problems[0]}")
        return line

    def read(self, side: Side, text: str, budget: Budget) -> Line:
        """Reads a line; raises RejectedRecord where it is too long."""
        if len(text) > self.options.max_characters:
            raise RejectedRecord(
                side, f"text has {len(text)} characters, above max_characters={self.options.max_characters}"
            )
        return read_line(text, budget)

    def pairs(self, truth: Line, prediction: Line | None, budget: Budget) -> list[PairOfRegions]:
        """Compares the regions of both lines in order."""
        predicted = prediction.regions if prediction is not None else ()
        pairs = []
        for number in range(max(len(truth.regions), len(predicted))):
            region = truth.regions[number] if number < len(truth.regions) else None
            image = predicted[number] if number < len(predicted) else None
            pairs.append(PairOfRegions(region, image, self.compare(region, image, budget)))
        return pairs

    def compare(self, truth: Region | None, prediction: Region | None, budget: Budget) -> Match:
        """Compares two regions; one that is missing or cannot be read is wrong."""
        if truth is None or truth.molecule is None:
            return Match({}, "the ground truth has no such molecule")
        if prediction is None:
            return Match({}, "the prediction has no such molecule")
        if prediction.molecule is None:
            return Match({}, f"the prediction cannot be read: {prediction.problem}")
        return match_molecules(truth.molecule, prediction.molecule, budget, self.options.max_angle_deviation)


def _accuracy(errors: float, tokens: float) -> float | None:
    return 1 - errors / tokens if tokens else None


def _text_difference(truth: Line, prediction: Line | None) -> str | None:
    """The first place where the texts around the molecules differ, in words; None where they are equal."""
    if prediction is None:
        return "there is no prediction"
    if truth.tokens == prediction.tokens or "".join(truth.tokens) == "".join(prediction.tokens):
        return None
    place = next(
        (n for n, (a, b) in enumerate(zip(truth.tokens, prediction.tokens, strict=False)) if a != b),
        min(len(truth.tokens), len(prediction.tokens)),
    )
    return (
        f"{_excerpt(truth.tokens, place)} in the ground truth, {_excerpt(prediction.tokens, place)} in the prediction"
    )


def _excerpt(tokens: tuple[str, ...], place: int) -> str:
    text = " ".join(tokens[max(0, place - 3) : place + 5])
    return repr(text[:DETAIL_CHARACTERS]) if place < len(tokens) else f"the end after {text[:DETAIL_CHARACTERS]!r}"
