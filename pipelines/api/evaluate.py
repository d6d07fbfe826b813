"""The functions of the Python API: `evaluate`, `score`, `compare` and `benchmarks`."""

from __future__ import annotations

import atexit
import contextlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from ...metrics.benchmark import Benchmark, Pair, RejectedRecord, record_fields, text_fields
from ...metrics.registry import usable_benchmarks
from ...metrics.scoring import score_pairs
from ...transforms.io.field_map import fields_of, needed_fields, not_json
from ...transforms.process import quiet_root_logger
from ...transforms.records import decode_record
from .arguments import Arguments, check_arguments, yaml_value
from .result import Comparison, Result
from .scorer import Scorer, json_records

if TYPE_CHECKING:
    from typing_extensions import Unpack


@dataclass(frozen=True)
class PairScore:
    """The score of one pair: its per-sample metrics, the statistics behind them, and the details of the matching."""

    metrics: dict[str, float | None]
    statistics: dict[str, float]
    details: Any


def benchmarks() -> dict[str, str]:
    """Returns the installed benchmarks, each with a summary of what it scores."""
    return {name: kind.summary for name, kind in usable_benchmarks().items()}


def score(
    benchmark: str,
    truth: Mapping[str, Any],
    prediction: Mapping[str, Any] | None = None,
    options: Mapping[str, Any] | None = None,
) -> PairScore:
    """Returns the score of one pair; a missing prediction (None) scores as wrong.

    truth, prediction: records of the benchmark, without `sample_id`. options: those of its configuration.

    Raises RejectedRecord if a record cannot be scored, ValueError if there is no such benchmark or option, TypeError if
    a record is not a mapping, and MissingTool if a program that the benchmark needs is not installed. A fault of the
    machine, such as a full disk, is raised unchanged.
    """
    kind = _ready(benchmark, json.dumps(yaml_value(options or {}), sort_keys=True), _source_of(benchmark))
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
    text, known = b"", record_fields(kind).keys()
    given = json_records([record], (), text_fields(kind), lambda each: needed_fields(fields_of(each), known))
    try:
        ((text, unreadable),) = given
        if unreadable is not None:
            raise RejectedRecord(side, unreadable)
        return decode_record(text, kind)
    except msgspec.ValidationError as error:
        raise RejectedRecord(side, str(error)) from None
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise RejectedRecord(side, not_json(text, error)) from None


def evaluate(
    benchmark: str, ground_truth: Any, predictions: Any, *, processes: int = 1, **arguments: Unpack[Arguments]
) -> Result:
    """Returns the result of scoring `predictions` against `ground_truth`.

    Each side is a path or glob, a list of them, or records in memory: any iterable of mappings, an Arrow table, a
    pandas or Polars frame. Records in memory are scored without Beam and without files, in this process or in
    `processes` workers; two sides of files by the pipeline of the command. The other arguments are those of `Scorer`:
    options, missing, slices, cluster, repeats, derived, replicates, confidence, seed, fields, sample_id_type. It
    warns of duplicates and rejected records, and if nothing was scored. Files have the limits of the command, such as
    limits.slices, which only its `--set` raises; records in memory have only limits.slices_per_sample.

    Raises ValueError if an argument or an input is wrong, also if no ground truth has a column to slice or draw by,
    TypeError if a side is neither files nor records, MissingTool if a program that the benchmark needs is not
    installed, and OSError, MemoryError or BrokenProcessPool if the machine fails.
    """
    files = [_paths(side) for side in (ground_truth, predictions)]
    configuration = check_arguments(
        benchmark, arguments, processes=processes, ground_truth=files[0] or (), predictions=files[1] or ()
    )
    if all(files):
        # This imports Beam.
        with quiet_root_logger:
            from .from_files import evaluate_files

            result = evaluate_files(configuration, int(processes))
    elif any(files):
        raise TypeError("ground_truth and predictions must both be files, or both records in memory")
    else:
        with Scorer(configuration, processes=int(processes)) as scorer:
            scorer._update(ground_truth, predictions, all_columns=True)
            result = scorer._result()
    result.warn()
    return result


def _paths(side: Any) -> list[str] | None:
    """Returns the paths of a side; None if it holds records."""
    if isinstance(side, (str, os.PathLike)):
        return [os.fspath(side)]
    if isinstance(side, (list, tuple)) and side and all(isinstance(each, (str, os.PathLike)) for each in side):
        return [os.fspath(each) for each in side]
    return None


def compare(
    baseline: Result | str | os.PathLike[str],
    candidate: Result | str | os.PathLike[str],
    *,
    allow_differences: bool = False,
    threshold: float = 0.1,
) -> Comparison:
    """Compares a candidate with a baseline, each a result or a finished run, and returns which is better.

    A run is its folder, or FOLDER:SYSTEM. allow_differences: compare even if options, versions or ground truth differ.
    threshold: a larger change of a sample is counted in `document["changes"]`.

    Raises ValueError if a run cannot be read, or the two do not compare, and OSError if the machine fails.
    """
    # This imports Beam.
    with quiet_root_logger:
        from .from_files import compare_runs

        sides = [side if isinstance(side, Result) else os.fspath(side) for side in (baseline, candidate)]
        document = compare_runs(sides[0], sides[1], allow_differences, threshold)
    verdict, results = document["verdict"], (document["metrics"], document["slices"], document["samples"])
    return Comparison(verdict["judgement"], verdict["sentence"], *results, document)


def _source_of(benchmark: str) -> bytes:
    """Returns the content of the file of FILE.py:CLASS, empty for other names or without a file."""
    # What is no name is refused by `check_arguments`.
    path = str(benchmark).rpartition(":")[0]
    with contextlib.suppress(OSError):
        return Path(path).read_bytes() if path.endswith(".py") else b""
    return b""


@cache
def _ready(benchmark: str, options: str, source: bytes) -> Benchmark[Any, Any, Any]:
    """Returns a benchmark that is set up until the program exits, as `score` may be called often.

    source: of its file; after an edit it is another benchmark.
    """
    made = check_arguments(benchmark, {"options": json.loads(options)}).benchmark
    made.setup()
    atexit.register(made.teardown)
    return made
