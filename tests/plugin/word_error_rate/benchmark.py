"""Word error rate: the word edits that turn a transcript into its reference, over the words of the reference."""

from __future__ import annotations

import msgspec
from rapidfuzz.distance import Levenshtein

from beamscore.metrics.benchmark import Benchmark, MetricSpec, RejectedRecord, SampleScore
from beamscore.metrics.common.budget import Budget
from beamscore.metrics.statistics.ratios import ratio
from beamscore.metrics.statistics.sums import Sums


class Transcript(msgspec.Struct, frozen=True):
    """A reference, or what a system heard."""

    text: str


class Options(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """case_sensitive: whether words that differ in case differ. max_steps: pairs of words compared for one sample."""

    case_sensitive: bool = False
    max_steps: int = 100_000_000


class WordErrorRate(Benchmark[Transcript, Transcript, Options]):
    """WER = (substitutions + deletions + insertions) / words of the reference, over the corpus.

    A missing prediction deletes every word. A reference without words is rejected.
    """

    name = "word_error_rate"
    summary = "transcripts: word edits over the words of the reference"
    truth_type = Transcript
    prediction_type = Transcript
    options_type = Options
    metrics = (
        MetricSpec(
            "word_error_rate",
            "word edits / words of the references",
            higher_is_better=False,
            bounds=(0.0, None),
            main=1,
            rank=1,
            denominator="words",
        ),
        MetricSpec(
            "exact_match", "share of transcripts without an error", main=2, rank=2, denominator="samples", per_sample=1
        ),
    )
    sample_metrics = (
        MetricSpec("word_error_rate", "word edits / words", higher_is_better=False, bounds=(0.0, None), main=1),
    )

    def score_sample(self, truth: Transcript, prediction: Transcript | None) -> SampleScore:
        """Counts the word edits of one transcript."""
        reference, heard = self._words(truth), self._words(prediction) if prediction else []
        if not reference:
            raise RejectedRecord("ground_truth", "the reference has no words")
        Budget(self.options.max_steps).spend(len(reference) * len(heard))
        edits = Levenshtein.distance(reference, heard)
        statistics = {"samples": 1, "words": len(reference), "edits": edits, "exact": int(edits == 0)}
        return SampleScore(statistics, {"word_error_rate": edits / len(reference)}, {"edits": edits})

    def values(self, sums: Sums) -> dict[str, float | None]:
        """Returns the rates; None of nothing."""
        return {
            "word_error_rate": ratio(sums["edits"], sums["words"]),
            "exact_match": ratio(sums["exact"], sums["samples"]),
        }

    def _words(self, transcript: Transcript) -> list[str]:
        text = transcript.text if self.options.case_sensitive else transcript.text.casefold()
        return text.split()
