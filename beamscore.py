"""Scores machine predictions against ground truth, as published benchmarks define it, from Python.

    result = beamscore.evaluate("formula", ground_truth=truths, predictions=predictions)
    result.values["cdm"]

`evaluate` scores records in memory or files, `score` one pair, and a `Scorer` whatever a loop gives it bit by bit. The
sums are those of the command `beamscore`, to the last bit. docs/python.md explains each with examples.
"""

from __future__ import annotations

import atexit
import importlib.util
import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

_FOLDER = Path(__file__).resolve().parent
for _name in ("metrics", "transforms", "pipelines"):
    # Looked up before anything of ours is imported: whoever has a package of this name would get ours from then on.
    _spec = sys.modules[_name].__spec__ if _name in sys.modules else importlib.util.find_spec(_name)
    _found = Path(_spec.origin).resolve().parents[1] if _spec is not None and _spec.origin else None
    if _found != _FOLDER:
        raise ImportError(
            f"the package {_name} in {_found or 'no folder'} shadows that of beamscore in {_FOLDER}; "
            "rename it, or start Python in another folder"
        )

import msgspec  # noqa: E402

from metrics.benchmark import Benchmark, MissingTool, Pair, RejectedRecord  # noqa: E402
from metrics.registry import benchmark_class, benchmark_names  # noqa: E402
from metrics.scoring import Missing, score_pairs  # noqa: E402
from metrics.statistics.bootstrap import Bootstrap  # noqa: E402
from metrics.version import VERSION  # noqa: E402
from pipelines.api.records import json_records  # noqa: E402
from pipelines.api.scorer import (  # noqa: E402
    Plan,
    Rejected,
    Result,
    SliceResult,
    Totals,
    result_of,
    score_records,
)
from pipelines.config.systems import DEFAULT_SYSTEM  # noqa: E402

__all__ = [
    "MissingTool",
    "PairScore",
    "Rejected",
    "RejectedRecord",
    "Result",
    "Scorer",
    "SliceResult",
    "__version__",
    "benchmarks",
    "evaluate",
    "score",
]

__version__ = VERSION


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

    Raises RejectedRecord where a record cannot be scored, ValueError where there is no such benchmark or option, and
    MissingTool where a program that the benchmark needs is not installed.
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

    options: those of the benchmark's configuration. missing, slices, cluster: as the settings of those names.
    replicates, confidence, seed: of the intervals; no replicates, no intervals. processes: worker processes that score;
    each is started anew for every `update`, so more than one pays off for large ones.
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
    ) -> None:
        columns = tuple(tuple(part.strip() for part in each.split(",")) for each in slices)
        made = _make(benchmark, options or {})
        self._plan = Plan(made, missing, columns, cluster, Bootstrap(replicates, seed), confidence, processes)
        self._totals = Totals(self._plan.bootstrap)
        self._numbers = count()
        self._open = False

    def update(self, truths: Any, predictions: Any) -> None:
        """Scores more samples.

        truths, predictions: tables or iterables of records, paired by `sample_id`. Two sequences of equal length whose
        records have none are paired by position; a prediction may then be None.

        Raises ValueError where sequences without `sample_id` differ in length.
        """
        if not self._open:
            self._plan.benchmark.setup()
            self._open = True
        score_records(self._plan, self._totals, *self._numbered(truths, predictions))

    def _numbered(self, truths: Any, predictions: Any) -> tuple[Any, Any]:
        if not (_unnamed(truths) and _unnamed(predictions)):
            return truths, predictions
        if len(truths) != len(predictions):
            raise ValueError(f"{len(truths)} ground-truth records and {len(predictions)} predictions without sample_id")
        ids = [str(next(self._numbers)) for _ in truths]
        given = zip(ids, predictions, strict=True)
        return (
            [{**record, "sample_id": each} for each, record in zip(ids, truths, strict=True)],
            [{**record, "sample_id": each} for each, record in given if record is not None],
        )

    def compute(self) -> Result:
        """Returns the result of all samples so far."""
        return result_of(self._plan, self._totals)

    def merge(self, other: Scorer) -> None:
        """Adds what `other` has scored, of other samples.

        Raises ValueError where both scored a sample of the same id, or under other options.
        """
        mine, theirs = self._plan, other._plan
        same = (mine.benchmark.name, mine.benchmark.options, mine.missing, mine.slices, mine.cluster, mine.bootstrap)
        if same != (theirs.benchmark.name, theirs.benchmark.options, theirs.missing, theirs.slices, theirs.cluster,
                    theirs.bootstrap):  # fmt: skip
            raise ValueError("the scorers have other benchmarks, options or settings")
        self._totals.merge(other._totals)

    def close(self) -> None:
        """Removes what scoring needed, such as a scratch folder; the next `update` makes it anew."""
        if self._open:
            self._plan.benchmark.teardown()
            self._open = False

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
) -> Result:
    """Returns the result of scoring `predictions` against `ground_truth`.

    Each side is a path or glob, a list of them, or records in memory: any iterable of mappings, an Arrow table, a
    pandas or Polars frame. Records in memory are scored without Beam and without files, in this process or in
    `processes` workers; two sides of files by the pipeline of the command. The other arguments are those of `Scorer`.

    Raises ValueError where an option or an input is wrong, TypeError where a side is neither files nor records, and
    MissingTool where a program that the benchmark needs is not installed.
    """
    files = [_paths(side) for side in (ground_truth, predictions)]
    if all(files):
        configuration = {
            **(options or {}),
            "benchmark": benchmark,
            "ground_truth": files[0],
            "predictions": {DEFAULT_SYSTEM: files[1]},
            "missing": missing,
            "slices": list(slices),
            "cluster": cluster,
            "bootstrap": {"replicates": replicates, "confidence": confidence, "seed": seed},
        }
        return _evaluate_files(configuration, processes)
    if any(files):
        raise TypeError("ground_truth and predictions must both be files, or both records in memory")
    with Scorer(
        benchmark,
        options=options,
        missing=missing,
        slices=slices,
        cluster=cluster,
        replicates=replicates,
        confidence=confidence,
        seed=seed,
        processes=processes,
    ) as scorer:
        scorer.update(ground_truth, predictions)
        return scorer.compute()


def _unnamed(side: Any) -> bool:
    """Tells whether a side is a sequence of records, or None, none of which has a `sample_id`."""
    return isinstance(side, (list, tuple)) and all(
        record is None or (isinstance(record, Mapping) and "sample_id" not in record) for record in side
    )


def _paths(side: Any) -> list[str] | None:
    """Returns the paths of a side; None where it holds records."""
    if isinstance(side, (str, os.PathLike)):
        return [os.fspath(side)]
    if isinstance(side, (list, tuple)) and side and all(isinstance(each, (str, os.PathLike)) for each in side):
        return [os.fspath(each) for each in side]
    return None


def _evaluate_files(configuration: Mapping[str, Any], processes: int) -> Result:
    from pipelines.api.from_files import evaluate_files
    from pipelines.config.errors import UsageError

    try:
        return evaluate_files(configuration, processes)
    except UsageError as error:
        raise ValueError(str(error)) from None


def _make(benchmark: str, options: Mapping[str, Any]) -> Benchmark[Any, Any, Any]:
    if benchmark not in benchmark_names():
        raise ValueError(f"there is no benchmark {benchmark!r}; there are {', '.join(benchmark_names())}")
    kind = benchmark_class(benchmark)
    try:
        return kind(msgspec.convert(dict(options), kind.options_type))
    except msgspec.ValidationError as error:
        raise ValueError(f"options of {benchmark}: {error}") from None


@cache
def _ready(benchmark: str, options: str) -> Benchmark[Any, Any, Any]:
    """Returns a benchmark that is set up, and stays so until the end of the program: `score` may be called often."""
    made = _make(benchmark, json.loads(options))
    made.setup()
    atexit.register(made.teardown)
    return made
