"""What a benchmark is, and the registry of benchmarks by name.

A benchmark is two pure functions, `score_sample` (truth, prediction -> named numbers that add up) and `values`
(sums -> the figures that people read), and the types of its records. It knows nothing of how samples travel.
"""

from __future__ import annotations

import abc
import importlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, Literal, TypeVar

import msgspec

from metrics.convert import Converter
from metrics.sums import Sums

TruthT = TypeVar("TruthT", bound=msgspec.Struct)
PredictionT = TypeVar("PredictionT", bound=msgspec.Struct)
OptionsT = TypeVar("OptionsT", bound=msgspec.Struct)

Side = Literal["ground_truth", "prediction", "sample"]


class MissingTool(Exception):
    """A program that a benchmark needs is not installed; the one line says what to install."""


class RejectedRecord(Exception):
    """A record that cannot be scored, with the reason in words that a person can act on.

    `side` says whose fault it is: a rejected `prediction` leaves its sample without a prediction, a rejected
    `ground_truth` takes the sample out of the score, and `sample` rejects both (a time limit, say).
    """

    def __init__(self, side: Side, message: str) -> None:
        super().__init__(side, message)
        self.side: Side = side
        self.message = message


@dataclass(frozen=True, slots=True)
class Pair(Generic[TruthT, PredictionT]):
    """One sample: its ground truth and what a system predicted for it, if anything."""

    sample_id: str
    truth: TruthT
    prediction: PredictionT | None


@dataclass(frozen=True, slots=True)
class SampleScore:
    """What is known of one scored sample.

    statistics: numbers that add up over samples, by name; finite, at most 2**32 in magnitude.
    columns: the per-sample figures, by the names in `Benchmark.sample_columns`; None or absent: not measured.
    details: what matched what, anything that msgspec can write as JSON.
    coverage: extra counts for the coverage of the run, such as {"ground_truth_not_rendered": 1}.
    """

    statistics: Mapping[str, float]
    columns: Mapping[str, float | None]
    details: Any = None
    coverage: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Table:
    """A table for the report and the summary, such as a confusion matrix."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str | float | None]]


class Benchmark(abc.ABC, Generic[TruthT, PredictionT, OptionsT]):
    """One published benchmark under the options of one run.

    Class attributes describe it; an instance holds the options and scores. Instances are pickled to the
    workers, so whatever cannot be pickled (processes, scratch folders) is made in `setup`.

    Record types are frozen msgspec structs without `sample_id`; unknown fields of a record are ignored, since
    any column may be there to slice by. Options are a frozen struct that forbids unknown fields.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    """One line for `beamscore benchmarks`."""
    truth_type: ClassVar[type[msgspec.Struct]]
    prediction_type: ClassVar[type[msgspec.Struct]]
    options_type: ClassVar[type[msgspec.Struct]]
    value_meanings: ClassVar[Mapping[str, str]]
    """Every figure of `values` with its meaning; a family is written once, as `task1.f1[CLASS]`."""
    sample_columns: ClassVar[Mapping[str, str]]
    """Every per-sample figure with its meaning."""
    headline: ClassVar[tuple[str, ...]]
    """The main figures, in the order in which a person reads them."""
    ranking: ClassVar[tuple[str, ...]]
    """Systems are ranked by the first of these figures, then by the next, higher first."""
    worst_by: ClassVar[str]
    """The per-sample column by which the report lists the worst samples, lowest first."""
    batch_size: ClassVar[int] = 1
    """How many pairs `score` likes to get at once."""
    timed: ClassVar[tuple[str, ...]] = ()
    """What `take_timings` tells of, such as a program that scoring runs; a distribution NAME_microseconds of each."""
    converter: ClassVar[Converter | None] = None
    """Reads the benchmark's own layout; None where it has none."""

    def __init__(self, options: OptionsT) -> None:
        self.options = options

    def setup(self) -> None:
        """Makes what scoring needs in a worker: scratch folders, processes."""

    def teardown(self) -> None:
        """Removes what `setup` made."""

    @abc.abstractmethod
    def score_sample(self, truth: TruthT, prediction: PredictionT | None) -> SampleScore:
        """Scores one sample; a missing prediction (None) is scored as wrong.

        Raises RejectedRecord where a record cannot be scored.
        """

    def score(self, pairs: Sequence[Pair[TruthT, PredictionT]]) -> list[SampleScore | RejectedRecord]:
        """Scores a batch, one result for each pair, in order; a result depends on its own pair alone.

        The default scores one pair at a time. A benchmark with a fixed cost overrides it to share the cost.
        """
        results: list[SampleScore | RejectedRecord] = []
        for pair in pairs:
            try:
                results.append(self.score_sample(pair.truth, pair.prediction))
            except RejectedRecord as rejected:
                results.append(rejected)
        return results

    def take_timings(self) -> Mapping[str, int]:
        """Returns the microseconds on the clock that each of `timed` took in this process since the last call."""
        return dict.fromkeys(self.timed, 0)

    @abc.abstractmethod
    def values(self, sums: Sums) -> dict[str, float | None]:
        """Returns the figures of a set of samples from their sums; None where there is nothing to measure.

        It is called for the corpus, for each slice and for each bootstrap replicate, where sums are weighted.
        """

    def tables(self, sums: Sums) -> list[Table]:
        """Returns further tables of a set of samples, such as confusion matrices."""
        return []

    def draw(self, truth: TruthT, prediction: PredictionT | None) -> str:
        """Returns a picture of one sample as an SVG document.

        Raises NotImplementedError where the benchmark has no picture.
        """
        raise NotImplementedError(f"{self.name} has no picture")


REGISTRY: dict[str, str] = {
    "chart": "metrics.chart.benchmark:ChartBenchmark",
    "chemistry": "metrics.chemistry.benchmark:ChemistryBenchmark",
    "figure_text": "metrics.figure_text.benchmark:FigureTextBenchmark",
    "formula": "metrics.formula.benchmark:FormulaBenchmark",
    "traffic_rules": "metrics.traffic_rules.benchmark:TrafficRulesBenchmark",
}


def benchmark_names() -> list[str]:
    """The names of all benchmarks, in order."""
    return sorted(REGISTRY)


def benchmark_class(name: str) -> type[Benchmark[Any, Any, Any]]:
    """Returns the benchmark called `name`.

    Raises KeyError where there is none.
    """
    module, _, attribute = REGISTRY[name].partition(":")
    loaded: type[Benchmark[Any, Any, Any]] = getattr(importlib.import_module(module), attribute)
    return loaded
