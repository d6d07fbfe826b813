"""The interface of benchmarks.

A benchmark is two pure functions, `score_sample` (truth, prediction -> named statistics that add up) and `values`
(sums -> the metrics that people read), and the types of its records. It does not depend on the pipeline.
"""

from __future__ import annotations

import abc
import math
import multiprocessing
import os
import re
import subprocess
import traceback
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import BrokenExecutor
from dataclasses import dataclass
from functools import cache, partial
from itertools import chain
from numbers import Integral, Real
from typing import Any, ClassVar, Generic, Literal, TypeVar, get_args

import msgspec

from .converter import Converter
from .statistics.sums import Sums

TruthT = TypeVar("TruthT", bound=msgspec.Struct)
PredictionT = TypeVar("PredictionT", bound=msgspec.Struct)
OptionsT = TypeVar("OptionsT", bound=msgspec.Struct)
ResultT = TypeVar("ResultT")

Side = Literal["ground_truth", "prediction", "sample"]
Ability = Literal["convert", "draw"]
_SIDES = get_args(Side)


class MissingTool(Exception):
    """A program that a benchmark needs is not installed; the one-line message says what to install."""


ENVIRONMENT_FAULTS = (
    OSError,
    MemoryError,
    ImportError,
    MissingTool,
    BrokenExecutor,
    subprocess.SubprocessError,
    multiprocessing.ProcessError,
)
"""Errors caused by the machine (a disk, memory, a program or one of our processes), never by a record.

Code that catches all errors of a record re-raises these: the run fails, or its runner retries the bundle. All other
errors of scoring, including RecursionError, are attributed to the record.
"""


def error_text(error: BaseException) -> str:
    """Returns the message of an error, or its type if the message is empty."""
    if isinstance(error, RecursionError):
        return "nested deeper than can be read"
    try:
        text = str(error)
    except Exception:  # noqa: BLE001 - the error is of a class of the user
        text = ""
    # msgspec 0.22 raises the error of Python, later ones an error of their own without the place.
    if isinstance(error, UnicodeDecodeError) or text == "Invalid UTF-8 encoded string":
        return "a text is not UTF-8"
    return text or type(error).__name__


def error_with_place(error: Exception) -> str:
    """Returns the type and the message of an error, and the line that raised it."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    place = f"{os.path.basename(frame.filename)}:{frame.lineno} in {frame.name}"
    return f"{type(error).__name__}: {error_text(error)} at {place}"


def finite_number(what: str, name: str, value: Any) -> float:
    """Returns a number of Python or NumPy as a float, without the sign of a zero.

    Raises ValueError, with `what` it is and its name, for what is no number, NaN and infinite numbers.
    """
    # A check against an abstract class costs more than everything else here.
    if isinstance(value, (float, int, Real)):
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if math.isfinite(number):
            return number + 0.0
    raise ValueError(f"{what} {name}: found {value!r:.80}; allowed: a finite number or None")


class RejectedRecord(Exception):
    """A record that cannot be scored, with the reason in words that a person can act on.

    `side` is the side at fault: a rejected `prediction` leaves its sample without a prediction, a rejected
    `ground_truth` removes the sample from the score, and `sample` rejects both (a time limit, say).
    """

    def __init__(self, side: Side, message: str) -> None:
        self.side: Side = side if side in _SIDES else "sample"
        self.message = str(message)
        if self.side != side:
            self.message += f" (found the side {side!r:.80}; allowed: {', '.join(_SIDES)})"
        super().__init__(self.side, self.message)

    def __str__(self) -> str:
        """Returns the side and the reason."""
        return f"{self.side.replace('_', ' ')}: {self.message}"


@cache
def record_fields(kind: type[msgspec.Struct]) -> Mapping[str, bool]:
    """Returns the fields of a record type, each with whether its value may be plain text.

    Raises TypeError if `kind` is not a struct.
    """
    types = {field.encode_name: field.type for field in msgspec.structs.fields(kind)}
    return {name: _may_be_text(msgspec.inspect.type_info(each)) for name, each in types.items()}


@cache
def text_fields(kind: type[msgspec.Struct]) -> Mapping[str, bool]:
    """Returns the fields of a record type whose value may be plain text, each with whether a record must have it."""
    may_be_text = record_fields(kind)
    fields = msgspec.structs.fields(kind)
    return {field.encode_name: field.required for field in fields if may_be_text[field.encode_name]}


def _may_be_text(info: msgspec.inspect.Type) -> bool:
    inspect = msgspec.inspect
    if isinstance(info, inspect.UnionType):
        return any(map(_may_be_text, info.types))
    return isinstance(info, (inspect.StrType, inspect.AnyType, inspect.LiteralType, inspect.EnumType))


class Pair(msgspec.Struct, Generic[TruthT, PredictionT], frozen=True):
    """One sample: its ground truth and what a system predicted for it, if anything."""

    sample_id: str
    truth: TruthT
    prediction: PredictionT | None


class DrawnPair(Pair[TruthT, PredictionT], Generic[TruthT, PredictionT], frozen=True):
    """One sample to draw; see `Benchmark.draw`."""

    details: Any = None
    image: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class MetricSpec:
    """One metric of a benchmark: its name, its meaning in one line, and its use in rankings, reports and gates.

    name: as in `Benchmark.values` or `SampleScore.metrics`; a family is declared once, such as `task1.f1[CLASS]`.
    higher_is_better: the direction in which the metric improves.
    bounds: the lowest and the highest possible value; None if there is no bound.
    main: its place, from 1, among the metrics that a person reads first; None: not one of them. Of the per-sample
    metrics exactly one is: the report lists the worst samples by it.
    rank: its place, from 1, among the metrics by which systems are ranked; None: not ranked by it.
    denominator: the statistic whose sum counts what the metric of a corpus is a share or a mean of, or several with
    ` + ` or ` - ` between them; a `*` in it matches any text. For a member of a family, the word in the placeholder
    becomes that of the member: `support[CLASS]` is `support[pie]`, with its brackets. It determines how many samples,
    or clusters, the metric is based on (`metrics.statistics.measured`). Without one the metric has no interval.
    per_sample: what each sample that counts adds to the denominator, if that is always the same.
    classes: for a mean over classes with equal weights, however few samples a class has: the family whose members have
    the number of samples of each class as denominators, such as `task1.recall[CLASS]`.
    parts: of a metric made of metrics (`metrics.derived`), their names; it has as many units as the part with the
    fewest.
    sliced: of a metric made of means over slices, the metrics with the columns of these slices.
    loss: of a metric with one bound, the most that a sample alone moves it, times the number of samples. At the bound
    the interval is as wide as that allows; there is none if it is infinite.
    binary: whether a per-sample metric is 1 if the sample is right, and else 0, or the share of its parts that are
    right: with repeats there is then a pass@k, for which such a sample counts with the best share.
    spread: whether it is a standard deviation of metrics, or made of one, which may be at a bound by chance.
    """

    name: str
    meaning: str
    higher_is_better: bool = True
    bounds: tuple[float | None, float | None] = (0.0, 1.0)
    main: int | None = None
    rank: int | None = None
    denominator: str = ""
    per_sample: int | None = None
    classes: str = ""
    parts: tuple[str, ...] = ()
    sliced: tuple[tuple[str, str], ...] = ()
    loss: float = 1.0
    binary: bool = False
    spread: bool = False

    @property
    def has_units(self) -> bool:
        """Whether it is known how many samples it is based on; without them it has no interval."""
        return bool(self.denominator or self.parts)

    @property
    def width(self) -> float | None:
        """The distance between the bounds; None unless there are two."""
        low, high = self.bounds
        return None if low is None or high is None else high - low

    @property
    def reach(self) -> float:
        """The most that a sample alone moves it, times the number of samples; infinity if it is not known."""
        return self.width or (math.inf if self.bounds == (None, None) else self.loss)

    def signed_value(self, value: float) -> float:
        """Returns a number that is higher the better the value is: `value`, or `-value` if lower is better."""
        return value if self.higher_is_better else -value

    def covers(self, name: str) -> bool:
        """Returns whether `name` is this metric, or a member of this family, such as `task1.f1[pie]`."""
        parts = map(re.escape, PLACEHOLDER.split(self.name)[::2])
        return re.fullmatch(r"\[.*\]".join(parts), name, re.DOTALL) is not None


PLACEHOLDER = re.compile(r"\[([A-Z_]+)\]")


@dataclass(frozen=True, slots=True)
class Table:
    """A titled table, such as a confusion matrix: each row has a cell for each entry of `header`."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str | float | None]]

    def plain(self) -> Table:
        """Returns the table with texts and numbers of Python alone.

        Raises an error if it is no table: a row has another length, or a cell is neither text nor a finite number.
        """
        rows = [[self._cell(value) for _, value in zip(self.header, row, strict=True)] for row in self.rows]
        return Table(_plain_text(self.title), [*map(_plain_text, self.header)], rows)

    def _cell(self, value: Any) -> str | float | None:
        if value is None:
            return None
        if isinstance(value, str):
            return _plain_text(value)
        number = finite_number("table", self.title, value)
        return int(value) if isinstance(value, Integral) else number


def _plain_text(text: str) -> str:
    """Returns a text as one of Python; raises an error if it is no text, or not UTF-8."""
    return str.encode(text).decode()


class SampleScore(msgspec.Struct, frozen=True):
    """The score of one sample.

    statistics: numbers that add up over samples, by name; finite, at most 2**32 in magnitude.
    metrics: the per-sample metrics, by the names in `Benchmark.sample_metrics`; None or absent: not measured.
    details: what matched what; any value that msgspec can encode as JSON.
    coverage: extra counts for the coverage of the run, such as {"ground_truth_not_rendered": 1}.
    """

    statistics: Mapping[str, float]
    metrics: Mapping[str, float | None]
    details: Any = None
    coverage: Mapping[str, int] = msgspec.field(default_factory=dict)


def for_each(
    pairs: Sequence[Pair[TruthT, PredictionT]], function: Callable[[TruthT, PredictionT | None], ResultT]
) -> list[ResultT | RejectedRecord]:
    """Returns the result of `function` for each pair, in order, or the RejectedRecord that it raised.

    A RejectedRecord is returned without its traceback, whose frames would keep everything computed for the batch alive.
    """
    results: list[ResultT | RejectedRecord] = []
    for pair in pairs:
        try:
            results.append(function(pair.truth, pair.prediction))
        except RejectedRecord as rejected:
            rejected.__traceback__ = rejected.__cause__ = rejected.__context__ = None
            results.append(rejected)
    return results


class Benchmark(abc.ABC, Generic[TruthT, PredictionT, OptionsT]):
    """One published benchmark under the options of one run.

    Class attributes describe it; an instance holds the options and scores. Instances are pickled and sent
    to the workers, so `setup` creates whatever cannot be pickled (processes, scratch folders).

    Record types are frozen msgspec structs without `sample_id`; unknown fields of a record are ignored, since
    any column may be there to slice by. Options are a frozen struct that forbids unknown fields.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    """One line for `beamscore benchmarks`."""
    truth_type: ClassVar[type[msgspec.Struct]]
    prediction_type: ClassVar[type[msgspec.Struct]]
    options_type: ClassVar[type[msgspec.Struct]]
    metrics: ClassVar[tuple[MetricSpec, ...]]
    """Every metric of `values`."""
    sample_metrics: ClassVar[tuple[MetricSpec, ...]]
    """Every per-sample metric; exactly one of them is `main`."""
    corpus_statistics: ClassVar[tuple[str, ...]] = ()
    """Statistics from which `values` decides about a system as a whole, such as which tasks it attempts."""
    coverage_warnings: ClassVar[Mapping[str, str]] = {}
    """Warnings of a run, by the count in `SampleScore.coverage` that calls for it if it is not 0."""
    takes_columns: ClassVar[bool] = False
    """Whether `values` also takes columns, sums of many replicates of many slices at once, and returns columns: it uses
    only arithmetic and the functions of `metrics.statistics.ratios`. Otherwise it is called for each replicate."""
    sliced_columns: ClassVar[tuple[str, ...]] = ()
    """The columns for whose slices `values` needs separate sums (`metrics.statistics.slice_names`)."""
    batch_size: ClassVar[int] = 1
    """The preferred number of pairs in a call of `score` or `draw_batch`."""
    timed: ClassVar[tuple[str, ...]] = ()
    """The names in `take_timings`, such as a program that scoring runs; each has a distribution NAME_microseconds."""
    converter: ClassVar[Converter | None] = None
    """Reads the published file layout of the benchmark; None if there is none."""

    file: ClassVar[str] = ""
    """FILE.py:CLASS, with the absolute path, if the benchmark is a single file; see `metrics.registry`."""
    file_digest: ClassVar[str] = ""
    """A hash of the content of the file."""

    def __init__(self, options: OptionsT) -> None:
        self.options = options

    def setup(self) -> None:
        """Creates the resources of scoring in a worker: scratch folders, processes."""

    def teardown(self) -> None:
        """Removes what `setup` created."""

    def tool_versions(self) -> Mapping[str, str]:
        """Returns the versions of the programs that scoring runs, such as TeX, by name; without missing ones."""
        return {}

    @abc.abstractmethod
    def score_sample(self, truth: TruthT, prediction: PredictionT | None) -> SampleScore:
        """Scores one sample; a missing prediction (None) is scored as wrong.

        Raises RejectedRecord if a record cannot be scored.
        """

    def score(self, pairs: Sequence[Pair[TruthT, PredictionT]]) -> list[SampleScore | RejectedRecord]:
        """Scores a batch, one result for each pair, in order; a result depends on its own pair alone.

        The default scores one pair at a time. A benchmark with a fixed cost overrides it to share the cost.
        """
        return for_each(pairs, self.score_sample)

    def take_timings(self) -> Mapping[str, int]:
        """Returns the microseconds on the clock that each of `timed` took in this process since the last call.

        The default returns none.
        """
        return {}

    @abc.abstractmethod
    def values(self, sums: Sums) -> dict[str, float | None]:
        """Returns the metrics of a set of samples from their sums; None if there is nothing to measure.

        It is called for the corpus, for each slice and for each bootstrap replicate, where sums are weighted. The
        statistics named in `corpus_statistics` are then the sums of the whole corpus; see `values_within`.
        """

    def values_within(self, sums: Sums, corpus: Sums) -> dict[str, float | None]:
        """Returns the metrics of some samples of a corpus, such as a slice or a replicate.

        `corpus`, the sums of all samples, decides what applies to a system as a whole: a task that the system attempts
        on any sample scores 0 in a slice without predictions.
        """
        return self.values(sums.overridden(self.corpus_statistics, corpus) if self.corpus_statistics else sums)

    def tables(self, sums: Sums) -> list[Table]:
        """Returns further tables of a set of samples, such as confusion matrices."""
        return []

    @classmethod
    def main_metrics(cls) -> list[str]:
        """Returns the names of the metrics that a person reads first, in order."""
        places = {spec.name: spec.main for spec in cls.metrics if spec.main is not None}
        return sorted(places, key=places.__getitem__)

    @classmethod
    def ranking_metrics(cls) -> list[MetricSpec]:
        """Returns the metrics by which systems are ranked: by the first, then by the next."""
        ranked = [spec for spec in cls.metrics if spec.rank is not None]
        return sorted(ranked, key=lambda spec: spec.rank or 0)

    @classmethod
    def sample_metric_names(cls) -> tuple[str, ...]:
        """Returns the names of the per-sample metrics, in the order of their columns."""
        return tuple(spec.name for spec in cls.sample_metrics)

    @classmethod
    def main_sample_metric(cls) -> MetricSpec:
        """Returns the per-sample metric by which samples are listed, worst first."""
        return next(spec for spec in cls.sample_metrics if spec.main is not None)

    @classmethod
    def spec_of(cls, name: str) -> MetricSpec | None:
        """Returns the declaration of a metric of `values`, or of its family; None if there is none."""
        return next((spec for spec in cls.metrics if spec.covers(name)), None)

    @classmethod
    def abilities(cls) -> list[Ability]:
        """Returns the abilities in addition to scoring, sorted: the commands that accept the benchmark."""
        offered: dict[Ability, bool] = {"convert": cls.converter is not None, "draw": cls.draw is not Benchmark.draw}
        return [ability for ability, is_offered in offered.items() if is_offered]

    def explain(self, details: Any) -> list[str]:
        """Returns lines of text on what matched what, the most important first.

        details: of a `SampleScore`, decoded from JSON.
        """
        return []

    def draw(
        self, truth: TruthT, prediction: PredictionT | None, details: Any = None, image: tuple[int, int] | None = None
    ) -> str:
        """Returns a picture of one sample as an SVG document.

        details: of its `SampleScore`, decoded from JSON; None: the benchmark scores the sample again. image: the
        width and height of the real picture, for which the drawing leaves a place (`common.svg.Drawing.picture`);
        None: there is no such picture.

        Raises RejectedRecord if a record cannot be scored, NotImplementedError if the benchmark has no picture.
        """
        raise NotImplementedError(f"{self.name} has no picture")

    def draw_batch(self, pairs: Sequence[DrawnPair[TruthT, PredictionT]]) -> list[str | RejectedRecord]:
        """Draws a batch, one picture for each pair, in order; a picture depends on its own pair alone.

        The default draws one pair at a time. A benchmark with a fixed cost overrides it to share the cost.
        """
        drawings = (for_each([each], partial(self.draw, details=each.details, image=each.image)) for each in pairs)
        return list(chain.from_iterable(drawings))


AnyBenchmark = Benchmark[Any, Any, Any]


def place_of(benchmark: AnyBenchmark) -> str:
    """Returns where a benchmark is defined: FILE.py:CLASS, or its name with its module and class."""
    kind = type(benchmark)
    return benchmark.file or f"{benchmark.name} ({kind.__module__}:{kind.__qualname__})"
