"""The chemistry benchmark: exact match and structure exact match of lines with Chemfig molecules (CROCS)."""

from __future__ import annotations

import re
from typing import Annotated, Any, ClassVar, Literal

import msgspec
from rapidfuzz.distance import Levenshtein

from ..benchmark import Benchmark, RejectedRecord, SampleScore, Side
from ..common.budget import Budget
from ..common.text import normalized
from ..converter import Converter
from ..statistics.ratios import ratio
from ..statistics.sums import Sums
from .converter import ChemistryConverter
from .draw import draw_lines
from .latex_text import tokenize
from .line import Line, Reading, Region, comparable, read_line
from .matcher import Match, match_molecules
from .metric_specs import METRICS, SAMPLE_METRICS
from .protocol import PROTOCOLS, ProtocolName
from .records import ChemistryPrediction, ChemistryTruth
from .starts import EDITS_IN_A_STEP

DETAIL_CHARACTERS = 200
_BETWEEN_BLANKS = re.compile(r"[^ \t\r\n\f\v]+")
"""Tokens by blanks; an ideographic blank is a character, as in the text around molecules."""


class ChemistryOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The options; see configs/chemistry.yaml."""

    protocol: ProtocolName = "published"
    normalize_text: bool = False
    max_angle_deviation: Annotated[float, msgspec.Meta(ge=0, le=180)] | None = 45.0
    max_steps: Annotated[int, msgspec.Meta(ge=1)] = 3_000_000
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


class PairOfRegions(msgspec.Struct, frozen=True):
    """The regions number k of both lines, where they exist, and how they compare."""

    truth: Region | None
    prediction: Region | None
    match: Match


class Comparison(msgspec.Struct, frozen=True):
    """Both lines as they are compared (the prediction's None where there is none) and their regions in pairs."""

    truth: Line
    prediction: Line | None
    pairs: list[PairOfRegions]

    @property
    def structure_equal(self) -> bool:
        """Whether the molecules are equal."""
        return self.prediction is not None and all(pair.match.equal for pair in self.pairs)

    @property
    def has_molecules(self) -> bool:
        """Whether the ground truth has a molecule; a straight chain is text."""
        return bool(self.truth.regions)


class ChemistryBenchmark(Benchmark[ChemistryTruth, ChemistryPrediction, ChemistryOptions]):
    """Exact match (EM) and structure EM as the competition's Graph Matching Tool decides them.

    A sample is right for structure EM where the molecules of both lines are equal in order, and for EM where the
    text around them is equal, too, blanks removed. Structure EM is also taken over the samples alone whose ground truth
    has a molecule. Source: the CROCS task page, "Evaluation Metrics" and "Graph Matching Tool". Differences from the
    tool are listed in docs/benchmarks/chemistry.md.
    """

    name: ClassVar[str] = "chemistry"
    summary: ClassVar[str] = "CROCS: lines of LaTeX with Chemfig molecules, compared as graphs"
    truth_type: ClassVar[type[msgspec.Struct]] = ChemistryTruth
    prediction_type: ClassVar[type[msgspec.Struct]] = ChemistryPrediction
    options_type: ClassVar[type[msgspec.Struct]] = ChemistryOptions
    metrics = METRICS
    sample_metrics = SAMPLE_METRICS
    takes_columns = True
    batch_size = 64
    converter: ClassVar[Converter | None] = ChemistryConverter()

    def score_sample(self, truth: ChemistryTruth, prediction: ChemistryPrediction | None) -> SampleScore:
        """Scores one line; see the class. Raises RejectedRecord where a molecule of the truth cannot be read."""
        budget = Budget(self.options.max_steps)
        comparison, problems = self.compared(truth, prediction, budget)
        structure, has_molecules = comparison.structure_equal, comparison.has_molecules
        text_difference = self.text_difference(comparison.truth, comparison.prediction)
        exact = structure and text_difference is None
        label = self.label_tokens(truth.text)
        errors = len(label)
        if prediction is not None:
            predicted = self.label_tokens(prediction.text)
            budget.spend(2 * (len(label) + len(predicted)) + len(label) * len(predicted) // EDITS_IN_A_STEP)
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
                "token_accuracy": _accuracy(errors, len(label)),
            },
            details=ChemistryDetails(
                [
                    MoleculeVerdict(number, pair.match.equal, pair.match.difference)
                    for number, pair in enumerate(comparison.pairs, start=1)
                ],
                text_difference is None,
                text_difference,
                problems,
            ),
        )

    def values(self, sums: Sums) -> dict[str, float | None]:
        """Returns the shares and the accuracy; None of nothing."""
        samples = sums["samples"]
        return {
            "exact_match": ratio(sums["exact"], samples),
            "structure_exact_match": ratio(sums["structure"], samples),
            "structure_exact_match_molecules": ratio(sums["structure_with_molecules"], sums["samples_with_molecules"]),
            "token_accuracy": _accuracy(sums["token_errors"], sums["tokens"]),
        }

    def explain(self, details: Any) -> list[str]:
        """Returns a line for each molecule that differs, for the text, and for what could not be read."""
        molecules = details["molecules"]
        lines = [f"{sum(each['equal'] for each in molecules)} of {len(molecules)} molecules are equal"]
        lines += [f"molecule {each['molecule']}: {each['difference']}" for each in molecules if each["difference"]]
        lines.append(
            "the text is equal" if details["text_equal"] else f"the text differs: {details['text_difference']}"
        )
        return lines + [str(problem) for problem in details["prediction_problems"]]

    def draw(self, truth: ChemistryTruth, prediction: ChemistryPrediction | None) -> str:
        """Returns both lines' molecules side by side as SVG, what differs marked.

        Raises RejectedRecord as `score_sample` does.
        """
        comparison, _ = self.compared(truth, prediction, Budget(self.options.max_steps))
        pairs = [(pair.truth, pair.prediction, pair.match) for pair in comparison.pairs]
        return draw_lines(comparison.truth, comparison.prediction, pairs)

    def label_tokens(self, text: str) -> list[str]:
        """The tokens that `token_accuracy` counts."""
        text = self.comparable_text(text)
        return _BETWEEN_BLANKS.findall(text) if self.options.tokens == "blanks" else tokenize(text)

    def compared(
        self, truth: ChemistryTruth, prediction: ChemistryPrediction | None, budget: Budget
    ) -> tuple[Comparison, list[str]]:
        """Reads both lines and compares their regions; also returns why the prediction's could not be read.

        Atoms are numbered through both sides, the prediction's first, as the competition's tool numbers them.

        Raises RejectedRecord where a line is too long or a molecule of the truth cannot be read.
        """
        protocol = PROTOCOLS[self.options.protocol]
        self.check_length("ground_truth", truth.text)
        predicted: Reading | None = None
        if prediction is not None:
            self.check_length("prediction", prediction.text)
            with budget.reading("prediction"):
                predicted = read_line(prediction.text, protocol, budget)
        with budget.reading("ground_truth"):
            true = read_line(truth.text, protocol, budget)
        if true.problems:
            raise RejectedRecord("ground_truth", f"a \\chemfig region cannot be read: {true.problems[0]}")
        beside_chemfig = (
            self.options.normalize_text or true.is_chemfig or (predicted is not None and predicted.is_chemfig)
        )
        with budget.reading("ground_truth"):
            first_number = 0 if predicted is None else predicted.atoms_made
            truth_line = comparable(true, protocol, beside_chemfig, budget, first_number)
        predicted_line = None
        if predicted is not None:
            with budget.reading("prediction"):
                predicted_line = comparable(predicted, protocol, beside_chemfig, budget)
        pairs = self.pairs(truth_line, predicted_line, budget)
        return Comparison(truth_line, predicted_line, pairs), list(predicted.problems) if predicted is not None else []

    def comparable_text(self, text: str) -> str:
        """The text in the form in which the protocol compares texts."""
        return normalized(text) if PROTOCOLS[self.options.protocol].normalizes_unicode else text

    def text_difference(self, truth: Line, prediction: Line | None) -> str | None:
        """The first place where the texts around the molecules differ, in words; None where they are equal."""
        if prediction is None:
            return "there is no prediction"
        if truth.tokens == prediction.tokens:
            return None
        # A character and its combining accent are two tokens: they are one once the tokens are joined.
        if self.comparable_text("".join(truth.tokens)) == self.comparable_text("".join(prediction.tokens)):
            return None
        place = next(
            (n for n, (a, b) in enumerate(zip(truth.tokens, prediction.tokens, strict=False)) if a != b),
            min(len(truth.tokens), len(prediction.tokens)),
        )
        true, predicted = _excerpt(truth.tokens, place), _excerpt(prediction.tokens, place)
        return f"{true} in the ground truth, {predicted} in the prediction"

    def check_length(self, side: Side, text: str) -> None:
        """Raises RejectedRecord where a line is too long."""
        if len(text) > self.options.max_characters:
            raise RejectedRecord(
                side, f"text has {len(text)} characters, above max_characters={self.options.max_characters}"
            )

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
        """Compares two regions; where one has no molecule, because it is empty or cannot be read, as text."""
        if truth is None:
            return Match({}, "the ground truth has no such molecule")
        if prediction is None:
            return Match({}, "the prediction has no such molecule")
        if truth.molecule is not None and prediction.molecule is not None:
            protocol = PROTOCOLS[self.options.protocol]
            limit = self.options.max_angle_deviation if protocol.limits_angles else None
            return match_molecules(truth.molecule, prediction.molecule, protocol, budget, limit)
        true, predicted = (
            None if side.content is None else self.comparable_text(side.content) for side in (truth, prediction)
        )
        if true is not None and true == predicted:
            return Match({})
        if prediction.problem is not None:
            return Match({}, f"the prediction cannot be read: {prediction.problem}")
        return Match({}, f"the {'prediction' if prediction.molecule is None else 'ground truth'} draws nothing")


def _accuracy(errors: Any, tokens: Any) -> Any:
    share = ratio(errors, tokens)
    return None if share is None else 1 - share


def _excerpt(tokens: tuple[str, ...], place: int) -> str:
    text = " ".join(tokens[max(0, place - 3) : place + 5])
    return repr(text[:DETAIL_CHARACTERS]) if place < len(tokens) else f"the end after {text[:DETAIL_CHARACTERS]!r}"
