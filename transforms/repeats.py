"""The repeats of a sample: several predictions of one system, with different values in their field `repeat`.

They are scored as if each repeat were a system, and then folded to one sample with one row; see metrics.repeats. Each
sample should have every repeat that any prediction of its system has: a missing one is a missing prediction. Needs no
Beam, so the Python API can use it too.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from ..metrics.benchmark import Benchmark, Pair, SampleScore, error_text
from ..metrics.repeats import MAX_REPEATS, fold_metrics, fold_statistics
from ..metrics.scoring import Outcome, Status
from ..metrics.statistics.sums import Sums
from .hashes import digest
from .records import ColumnsReader, EncodedRecord, InputProblem, with_integers
from .scored import NO_DETAILS, BatchDecoder, PairedSample, ScoredBatch, ScoredSample, hash_of

REPEAT = "repeat"
"""The field of a prediction that holds its repeat."""
MAX_LABEL_LENGTH = 64
COUNTED_REPEATS, MISSING_REPEATS = "repeats", "missing_repeats"
"""The counts, in the coverage, of repeats that were not rejected, and of repeats without a prediction."""

_STATUSES: tuple[Status, ...] = ("scored", "missing_prediction", "rejected")
_READER = ColumnsReader([REPEAT])
_OUTCOME, _PAIRED = "repeat ", "paired repeat "


class _Repeat(msgspec.Struct):
    status: Status


class _Folded(msgspec.Struct):
    worst: str
    repeats: dict[str, _Repeat]


_FOLDED = msgspec.json.Decoder(_Folded | None)

Labels = Iterable[tuple[int, str]]
"""The numbers of systems, each with one of its repeats."""


def label_of(record: EncodedRecord) -> str:
    """Returns the repeat of a prediction as text, so that 1, 1.0 and "1" are one; raises ValueError if it has none."""
    try:
        (value,) = map(with_integers, _READER.read(record))
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError(error_text(error)) from error
    label = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
    if isinstance(label, str) and 0 < len(label) <= MAX_LABEL_LENGTH:
        return label
    got = "null or missing" if value is None else f"{value!r:.80}"
    raise ValueError(f"repeat must be an integer or a text of 1 to {MAX_LABEL_LENGTH} characters; it is {got}")


def prediction_of(sample: PairedSample, system: int, label: str | None = None) -> EncodedRecord | None:
    """Returns the prediction of a system, of the repeat with this label if one is given; None if it has none."""
    of_system = (each for each in sample.predictions if each is not None and each.side == system)
    return next((each for each in of_system if label is None or label_of(each) == label), None)


def worst_of(details: bytes | str) -> str | None:
    """Returns the label of the worst repeat, from the details of a row; None if no repeat has a score."""
    folded = _FOLDED.decode(details)
    return None if folded is None else folded.worst


def hashes_of(
    predictions: Iterable[EncodedRecord], details: bytes | str, kind: type[msgspec.Struct]
) -> set[str | None]:
    """Returns the hashes that a row with these details may have if its sample had these predictions.

    There are two if a repeat was rejected, as the row does not say by which side; none if nothing was scored. kind: the
    type of a prediction.
    """
    folded = _FOLDED.decode(details)
    if folded is None:
        return set()
    repeats, now = folded.repeats, {label_of(each): hash_of(each, kind) for each in predictions}

    def status(label: str, of_rejected: str) -> str | None:
        if label not in now:
            return None
        was_rejected = repeats[label].status == "rejected" and now[label] is not None
        return of_rejected if was_rejected else "scored" if repeats[label].status == "scored" else "rejected"

    hashes = [now.get(label) for label in repeats]
    return {_hash([*repeats], hashes, [status(label, word) for label in repeats]) for word in ("rejected", "unmatched")}


def outcome_of(label: str) -> str:
    """Returns the name of the outcome that counts the predictions of a repeat that were read."""
    return _OUTCOME + label


def paired_of(label: str) -> str:
    """Returns the name of the outcome that counts the predictions of a repeat whose sample has a ground truth."""
    return _PAIRED + label


def labels_of(side: int, outcomes: Sums) -> Iterator[tuple[int, str]]:
    """Yields the repeats that the outcomes of a side name."""
    for name in outcomes:
        if name.startswith(_OUTCOME):
            yield side, name.removeprefix(_OUTCOME)


def check_count(labels: Iterable[Any]) -> None:
    """Raises InputProblem if a system has too many repeats."""
    if len(set(labels)) > MAX_REPEATS:
        raise InputProblem(f"repeats: a system has more than {MAX_REPEATS}; `repeat` must number its predictions")


def score_batch(
    decoder: BatchDecoder,
    samples: Sequence[PairedSample],
    labels: Labels,
    score: Callable[[list[Pair[Any, Any]]], Iterable[Outcome]],
) -> tuple[Sequence[PairedSample], ScoredBatch]:
    """Scores a batch; samples whose scores an earlier run has are not passed to `score`.

    labels: the repeats of each system, if it has any; each sample is then one of its worst repeat, see `Repeats.fold`.
    """
    plan = decoder.plan
    repeats = Repeats(plan.benchmark, len(plan.names), labels) if plan.repeats else None
    if repeats is not None:
        samples = repeats.spread(samples)
    batch = ScoredBatch(plan.names)
    decoded = decoder.decode(samples, batch)
    known: list[Outcome | None] = [None] * len(decoded) if plan.reuse is None else plan.reuse.find(samples, decoded)
    scored = iter(score([each.pair for each, outcome in zip(decoded, known, strict=True) if outcome is None]))
    batch.add(decoded, [next(scored) if outcome is None else outcome for outcome in known])
    if repeats is not None:
        samples, batch.samples = repeats.fold(samples, batch.samples)
    return samples, batch


class Repeats:
    """The repeats of each system; spreads a batch over them and folds its scores.

    systems: their number. labels: a system without any has one repeat, in which all predictions are missing.
    """

    def __init__(self, benchmark: Benchmark[Any, Any, Any], systems: int, labels: Labels) -> None:
        self._benchmark = benchmark
        labels_by_system: list[set[str]] = [set() for _ in range(systems)]
        for system, label in labels:
            labels_by_system[system].add(label)
        for each in labels_by_system:
            check_count(each)
        # By length first, so that most numbers are in their order.
        self._labels = [sorted(each, key=lambda label: (len(label), label)) or [""] for each in labels_by_system]
        self._runs = [(system, label) for system, each in enumerate(self._labels) for label in each]
        self._systems = tuple(system for system, _ in self._runs)

    def spread(self, samples: Iterable[PairedSample]) -> list[PairedSample]:
        """Returns the samples with one prediction or None per repeat of each system; theirs may be in any order."""
        return [self._spread(sample) for sample in samples]

    def _spread(self, sample: PairedSample) -> PairedSample:
        by_run = {(each.side, label_of(each)): each for each in sample.predictions if each is not None}
        predictions = tuple([by_run.get(run) for run in self._runs])
        return PairedSample(sample.sample_id, sample.truth, predictions, sample.rows, self._systems)

    def fold(
        self, samples: Sequence[PairedSample], scored: Sequence[ScoredSample]
    ) -> tuple[list[PairedSample], list[ScoredSample]]:
        """Returns spread samples with the prediction of the worst repeat of each system, and their scores."""
        runs: defaultdict[tuple[str, int], list[ScoredSample]] = defaultdict(list)
        for each in scored:
            runs[each.sample_id, each.system].append(each)
        worst = {key: self._worst(each) for key, each in runs.items()}
        folded = [self._folded(runs[key], place) for key, place in worst.items()]
        starts = [self._systems.index(system) for system in range(len(self._labels))]
        shown = []
        for sample in samples:
            places = [start + worst[sample.sample_id, system] for system, start in enumerate(starts)]
            predictions = tuple([sample.predictions[place] for place in places])
            shown.append(PairedSample(sample.sample_id, sample.truth, predictions, sample.rows))
        return shown, folded

    def _worst(self, runs: Sequence[ScoredSample]) -> int:
        """Returns the index of the worst repeat by the main per-sample metric; scored repeats come first."""
        spec = self._benchmark.main_sample_metric()

        def order(index: int) -> tuple[bool, bool, float]:
            value = runs[index].metrics.get(spec.name)
            return runs[index].status != "scored", value is None, 0.0 if value is None else spec.signed_value(value)

        return min(range(len(runs)), key=order)

    def _folded(self, runs: Sequence[ScoredSample], worst: int) -> ScoredSample:
        """Returns one sample of one system from its repeats."""
        first, labels = runs[0], self._labels[runs[0].system]
        statuses = [each.prediction_status for each in runs]
        scores = {
            label: SampleScore(each.statistics, each.metrics)
            for label, each in zip(labels, runs, strict=True)
            if each.statistics is not None
        }
        details = {
            label: {"status": each.status, "metrics": each.metrics, "details": msgspec.Raw(each.details)}
            for label, each in zip(labels, runs, strict=True)
        }
        status = next(status for status in _STATUSES if any(each.status == status for each in runs))
        return msgspec.structs.replace(
            first,
            status=status,
            prediction_status="scored" if "scored" in statuses else next(filter(None, statuses), None),
            coverage=_coverage(runs, status),
            statistics=fold_statistics(type(self._benchmark), scores) if scores else None,
            metrics=fold_metrics([score.metrics for score in scores.values()]),
            prediction_hash=_hash(labels, [each.prediction_hash for each in runs], statuses),
            details=msgspec.json.encode({"worst": labels[worst], "repeats": details}) if scores else NO_DETAILS,
        )


def _coverage(runs: Sequence[ScoredSample], status: Status) -> Mapping[str, int]:
    """Returns what a sample adds to the coverage: one ground truth, and the predictions of all repeats."""
    counts: dict[str, int] = {f"ground_truth.{status}": 1}
    for each in runs:
        for name, count in each.coverage.items():
            if not name.startswith("ground_truth"):
                counts[name] = counts.get(name, 0) + count
            elif "." not in name:
                counts[name] = max(counts.get(name, 0), count)
    statuses = [each.status for each in runs]
    missing, rejected = (statuses.count(status) for status in ("missing_prediction", "rejected"))
    more = {COUNTED_REPEATS: len(runs) - rejected, MISSING_REPEATS: missing}
    return {**counts, **{name: count for name, count in more.items() if count}}


def _hash(labels: Sequence[str], hashes: Sequence[str | None], statuses: Sequence[str | None]) -> str | None:
    """Returns the hash of the predictions of all repeats; None without any."""
    if not any(statuses):
        return None
    return digest(msgspec.json.encode([*zip(labels, hashes, statuses, strict=True)])).hex()
