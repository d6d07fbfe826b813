"""The core of an evaluation: pairs records by sample, scores them, adds up each slice, and computes the values.

It knows nothing of files and no benchmark by name: records come from `ReadRecords` or `EncodeRecords`, and what is done
with the result, such as publishing it, comes behind.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import apache_beam as beam

from .pair import PairBySample, samples_per_batch
from .repeats import labels_of
from .score import ScoreBatch
from .scored_sample import ScoredSample
from .slice import CheckSliceCount, ComputeValues, SumSlices, SumStatistics, merge_sums
from .totals import EvaluationCore, SliceTotals

RECORD_STREAMS = ("records", "quarantine", "outcomes")


class Evaluated(NamedTuple):
    """The result of an evaluation as collections.

    samples: lists of ScoredSample. slices: SliceResult, one for each system and slice. outcomes: pairs (side, Sums),
    one for each side that has records. quarantine: Quarantined. batches: pairs (list of PairedSample, list of
    ScoredSample), the samples with the records behind them.
    """

    samples: beam.PCollection
    slices: beam.PCollection
    outcomes: beam.PCollection
    quarantine: beam.PCollection
    batches: beam.PCollection


class EvaluateRecords(beam.PTransform):
    """Evaluates records.

    Input: the collections of RECORD_STREAMS by name, see `ReadRecords`. Output: Evaluated.
    """

    def __init__(self, core: EvaluationCore) -> None:
        super().__init__()
        self._core = core

    def expand(self, read: Mapping[str, beam.PCollection]) -> Evaluated:
        """Pairs, scores, slices, combines and finalises."""
        core, scoring = self._core, self._core.scoring
        benchmark, columns = scoring.benchmark, scoring.slicing.columns
        paired = read["records"] | "Pair" >> PairBySample(
            scoring.names, samples_per_batch(benchmark.batch_size), scoring.repeats
        )
        labels = []
        if scoring.repeats:
            told = read["outcomes"] | "Repeats" >> beam.FlatMapTuple(labels_of) | "EachOnce" >> beam.Distinct()
            labels = [beam.pvalue.AsList(told)]
        scored = paired.batches | "Score" >> beam.ParDo(ScoreBatch(scoring), *labels).with_output_types(
            list[ScoredSample]
        ).with_outputs("quarantine", "batches", main="samples")
        slices = (
            scored.samples
            | "Slice"
            >> beam.ParDo(
                SumSlices(columns, core.bootstrap, core.max_slices, benchmark.sliced_columns)
            ).with_output_types(tuple[bytes, SliceTotals])
            | "Combine" >> beam.CombinePerKey(SumStatistics(core.bootstrap))
            | "SliceCount" >> CheckSliceCount(columns, core.max_slices)
            | "Values" >> ComputeValues(benchmark, core.confidence, scoring.cluster is not None)
        )
        outcomes = (
            (read["outcomes"], paired.outcomes)
            | "AllOutcomes" >> beam.Flatten()
            | "Outcomes" >> beam.CombinePerKey(merge_sums)
        )
        quarantine = (read["quarantine"], paired.quarantine, scored.quarantine) | "AllQuarantined" >> beam.Flatten()
        return Evaluated(scored.samples, slices, outcomes, quarantine, scored.batches)
