"""The functions of the Python API: `evaluate`, `score` and the class `Scorer`."""

from __future__ import annotations

import atexit
import json
import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import msgspec

from ...metrics.benchmark import Benchmark, Pair, RejectedRecord
from ...metrics.registry import benchmark_class, benchmark_names
from ...metrics.scoring import Missing, score_pairs
from ...transforms.io.field_map import SAMPLE_ID
from ...transforms.process import quiet_root_logger
from ..config.settings import Configuration
from .arguments import SampleIdType, check_arguments
from .records import json_records
from .scorer import Plan, Result, Totals, count_of, result_of, score_records


@dataclass(frozen=True)
class PairScore:
    """The score of one pair: its per-sample metrics, the statistics behind them, and what matched what."""

    metrics: dict[str, float | None]
    statistics: dict[str, float]
    details: Any


def benchmarks() -> dict[str, str]:
    """Returns the benchmarks that are installed, each with what it scores."""
    return {name: benchmark_class(name).summary for name in benchmark_names()}


def score(
    benchmark: str,
    truth: Mapping[str, Any],
    prediction: Mapping[str, Any] | None = None,
    options: Mapping[str, Any] | None = None,
) -> PairScore:
    """Returns the score of one pair; a missing prediction (None) scores as wrong.

    truth, prediction: records of the benchmark, without `sample_id`. options: those of its configuration.

    Raises RejectedRecord where a record cannot be scored, ValueError where there is no such benchmark or option,
    TypeError where a record is no mapping, and MissingTool where a program that the benchmark needs is not installed. A
    fault of the machine, such as a full disk, is raised as it is.
    """
    kind = _ready(benchmark, json.dumps(dict(options or {}), sort_keys=True))
    pair: Pair[Any, Any] = Pair("", _decode(truth, kind.truth_type, "ground_truth"), None)
    if prediction is not None:
        pair = Pair("", pair.truth, _decode(prediction, kind.prediction_type, "prediction"))
    (outcome,) = score_pairs(kind, [pair])
    problem = outcome.prediction_rejected or outcome.rejected
    if problem is not None or outcome.score is None:
        raise problem or RejectedRecord("sample", "the sample was not scored")
    details = json.loads(msgspec.json.encode(outcome.score.details))
    return PairScore(dict(outcome.score.metrics), dict(outcome.score.statistics), details)


def _decode(record: Mapping[str, Any], kind: type[msgspec.Struct], side: Any) -> Any:
    try:
        (text,) = json_records([record], ())
        return msgspec.json.decode(text, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise RejectedRecord(side, str(error)) from None


class Scorer:
    """Scores what a loop gives it bit by bit, such as the validation of a training run.

    options: those of the benchmark's configuration. missing, slices, cluster, fields, sample_id_type: as the settings
    of those names. replicates, confidence, seed: of the intervals; no replicates, no intervals. processes: worker
    processes that score; each is started anew for every `update`, so more than one pays off for large ones.

    Raises ValueError where an argument is wrong, in the words of the command.
    """

    def __init__(
        self,
        benchmark: str,
        *,
        options: Mapping[str, Any] | None = None,
        missing: Missing = "wrong",
        slices: Sequence[str] = (),
        cluster: str | None = None,
        replicates: int = 200,
        confidence: float = 0.95,
        seed: int = 0,
        processes: int = 1,
        fields: Mapping[str, Mapping[str, str]] | None = None,
        sample_id_type: SampleIdType = "any",
    ) -> None:
        configuration = check_arguments(
            benchmark,
            options,
            missing=missing,
            slices=slices,
            cluster=cluster,
            replicates=replicates,
            confidence=confidence,
            seed=seed,
            processes=processes,
            fields=fields or {},
            sample_id_type=sample_id_type,
        )
        self._prepare(Plan(configuration, int(processes)))

    def _prepare(self, plan: Plan) -> None:
        self._plan = plan
        self._totals = Totals(plan.bootstrap)
        self._open = False

    @classmethod
    def _of(cls, configuration: Configuration, processes: int) -> Scorer:
        """Returns a scorer of a checked configuration."""
        scorer = cls.__new__(cls)
        scorer._prepare(Plan(configuration, processes))
        return scorer

    def update(self, truths: Any, predictions: Any) -> None:
        """Scores more samples: all of them, or none where it raises or is interrupted.

        truths, predictions: tables or iterables of records, paired by `sample_id`. Two sequences of equal length whose
        records have none are paired by position; a prediction may then be None.

        Raises ValueError where sequences without `sample_id` differ in length, TypeError where a side holds no records,
        and OSError, MemoryError or BrokenProcessPool where the machine fails.
        """
        self._update(truths, predictions)

    def _update(self, truths: Any, predictions: Any, all_columns: bool = False) -> None:
        if not self._open:
            self._plan.benchmark.setup()
            self._open = True
        numbered, truths, predictions = self._numbered(truths, predictions)
        added = score_records(self._plan, self._totals.rows, truths, predictions, all_columns)
        added.numbered = numbered
        self._totals.merge(added)

    def _numbered(self, truths: Any, predictions: Any) -> tuple[int, Any, Any]:
        """Returns how many samples are paired by position, and both sides; those get ids."""
        has_own_ids = any(SAMPLE_ID in fields for fields in self._plan.configuration.settings.fields.values())
        if has_own_ids or not (_unnamed(truths) and _unnamed(predictions)):
            return 0, truths, predictions
        if len(truths) != len(predictions):
            raise ValueError(f"{len(truths)} ground-truth records and {len(predictions)} predictions without sample_id")
        if None in truths:
            raise TypeError("a ground-truth record must be a mapping, not None")
        first = self._totals.numbered
        ids = list(map(str, range(first, first + len(truths))))
        given = zip(ids, predictions, strict=True)
        return (
            len(ids),
            [{**record, SAMPLE_ID: each} for each, record in zip(ids, truths, strict=True)],
            [{**record, SAMPLE_ID: each} for each, record in given if record is not None],
        )

    def compute(self) -> Result:
        """Returns the result of all samples so far; warns where nothing was scored, and says why."""
        result = result_of(self._plan, self._totals)
        _warn(result)
        return result

    def merge(self, other: Scorer) -> None:
        """Adds what `other` has scored, of other samples: all of it, or nothing where it raises or is interrupted.

        Raises ValueError where both scored a sample of the same id, or under other options.
        """
        if self._plan.scores_as() != other._plan.scores_as():
            raise ValueError("the scorers have other benchmarks, options or settings")
        self._totals.merge(other._totals)

    def reset(self) -> None:
        """Forgets all samples so far."""
        self._totals = Totals(self._plan.bootstrap)

    def close(self) -> None:
        """Removes what scoring needed, such as a scratch folder; the next `update` makes it anew."""
        if self._open:
            self._plan.benchmark.teardown()
            self._open = False

    def __repr__(self) -> str:
        """Returns the benchmark and the number of samples so far."""
        return f"Scorer({self._plan.benchmark.name}: {count_of(len(self._totals.rows), 'sample')})"

    def __enter__(self) -> Scorer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def evaluate(
    benchmark: str,
    ground_truth: Any,
    predictions: Any,
    *,
    options: Mapping[str, Any] | None = None,
    missing: Missing = "wrong",
    slices: Sequence[str] = (),
    cluster: str | None = None,
    replicates: int = 200,
    confidence: float = 0.95,
    seed: int = 0,
    processes: int = 1,
    fields: Mapping[str, Mapping[str, str]] | None = None,
    sample_id_type: SampleIdType = "any",
) -> Result:
    """Returns the result of scoring `predictions` against `ground_truth`.

    Each side is a path or glob, a list of them, or records in memory: any iterable of mappings, an Arrow table, a
    pandas or Polars frame. Records in memory are scored without Beam and without files, in this process or in
    `processes` workers; two sides of files by the pipeline of the command. The other arguments are those of `Scorer`.
    Where nothing was scored, it warns and says why.

    Raises ValueError where an argument or an input is wrong, also where no ground truth has a column to slice or draw
    by, TypeError where a side is neither files nor records, MissingTool where a program that the benchmark needs is not
    installed, and OSError, MemoryError or BrokenProcessPool where the machine fails.
    """
    files = [_paths(side) for side in (ground_truth, predictions)]
    configuration = check_arguments(
        benchmark,
        options,
        missing=missing,
        slices=slices,
        cluster=cluster,
        replicates=replicates,
        confidence=confidence,
        seed=seed,
        processes=processes,
        fields=fields or {},
        sample_id_type=sample_id_type,
        ground_truth=files[0] or [],
        predictions=files[1] or [],
    )
    if all(files):
        # Beam is imported in there.
        with quiet_root_logger:
            from .from_files import evaluate_files

            result = evaluate_files(configuration, int(processes))
        _warn(result)
        return result
    if any(files):
        raise TypeError("ground_truth and predictions must both be files, or both records in memory")
    with Scorer._of(configuration, int(processes)) as scorer:
        scorer._update(ground_truth, predictions, all_columns=True)
        result = result_of(scorer._plan, scorer._totals)
    _warn(result)
    return result


def _warn(result: Result) -> None:
    """Warns whoever called the caller of this."""
    for line in result.warnings:
        warnings.warn(line, stacklevel=3)


def _unnamed(side: Any) -> bool:
    """Tells whether a side is a sequence of records, or None, none of which has a `sample_id`."""
    return isinstance(side, (list, tuple)) and all(
        record is None or (isinstance(record, Mapping) and SAMPLE_ID not in record) for record in side
    )


def _paths(side: Any) -> list[str] | None:
    """Returns the paths of a side; None where it holds records."""
    if isinstance(side, (str, os.PathLike)):
        return [os.fspath(side)]
    if isinstance(side, (list, tuple)) and side and all(isinstance(each, (str, os.PathLike)) for each in side):
        return [os.fspath(each) for each in side]
    return None


@cache
def _ready(benchmark: str, options: str) -> Benchmark[Any, Any, Any]:
    """Returns a benchmark that is set up, and stays so until the end of the program: `score` may be called often."""
    made = check_arguments(benchmark, json.loads(options)).benchmark
    made.setup()
    atexit.register(made.teardown)
    return made
