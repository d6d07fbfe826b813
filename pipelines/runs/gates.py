"""Evaluates the gates of a run: pass, fail, inconclusive or invalid, each with its numbers and the reason in words.

A bound is judged on the interval of the metric, a comparison on the interval of the paired difference: pass only where
the whole of it lies on the good side, fail where it lies on the bad side, inconclusive between. Whatever is missing
(the metric, the slice, the interval, the baseline) makes a gate invalid: none passes where there is nothing to judge.

A gate with `looks` is judged that often on the same samples, and each look may fail by chance. So it fails only where
the interval at a higher confidence lies on the bad side, see `looks`, while a pass, which speaks of one run, keeps its
confidence. Once a week of looks it fails for the mean of the last runs too.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import msgspec
from scipy.special import stdtr

from ...metrics.statistics.intervals import ROUNDING, interval, t_quantile
from ...metrics.statistics.measured import Measured, spec_of
from ...metrics.statistics.paired import (
    MIN_DIFFERING_UNITS,
    PairedDifference,
    distance,
    paired_differences,
    same_samples,
)
from ...transforms.repeats import COUNTED_REPEATS, MISSING_REPEATS
from ..config.errors import UsageError, nearest
from ..config.gates import BASELINE, Gate, GateTarget, gate_target
from ..config.settings import Configuration, Settings, label_of
from .causes import QuarantineCause, most_frequent, most_often
from .differences import PAIRED, differences
from .looks import WEEK, look_confidence, mean_of, runs_of_week, week_confidence
from .run import Run
from .verdict import GateVerdict, Interval, Word

_WORST_LAST: tuple[Word, ...] = ("pass", "inconclusive", "invalid", "fail")


def with_verdicts(run: Run, baseline: Run | None) -> Run:
    """Returns a run that is about to be written with the verdicts of the gates of its configuration."""
    verdicts = GateEvaluator(run.configuration, run, baseline).verdicts()
    return run.changed(gates=msgspec.to_builtins(verdicts))


class _Side(NamedTuple):
    """One side of a comparison. samples: how many were measured. left_out: how many were not, as they were rejected, or
    lack a prediction and missing ones are left out."""

    name: str
    samples: int
    left_out: int
    measured: Measured


@dataclass(frozen=True)
class GateEvaluator:
    """Evaluates the gates of a configuration on the systems of a run; baseline: the run that they compare with."""

    configuration: Configuration
    run: Run
    baseline: Run | None = None

    def verdicts(self) -> list[GateVerdict]:
        """Returns the verdict of each gate on each system that it is about, in order of the gates."""
        found: list[GateVerdict] = []
        kind = type(self.configuration.benchmark)
        for key, gate in self.configuration.settings.gates.items():
            target = gate_target(key, kind)
            if target is None:
                found.append(self._verdict(key, gate, None, GateTarget(key, ""), [_invalid("there is no such metric")]))
                continue
            names = [gate.system] if gate.system else [name for name in self.run.systems if name != gate.not_worse_than]
            found += [self._evaluate(key, gate, target, name) for name in names]
            if not names:
                reason = f"the run has no system but {gate.not_worse_than}, with which others are compared"
                found.append(self._verdict(key, gate, None, target, [_invalid(reason)]))
        return found

    def _evaluate(self, key: str, gate: Gate, target: GateTarget, system: str) -> GateVerdict:
        whole = self.run.systems.get(system)
        if whole is None:
            reason = f"the run has no system {system}{nearest(system, list(self.run.systems))}"
            return self._verdict(key, gate, system, target, [_invalid(reason)])
        found = whole.slice(target.label)
        if found is None:
            reason = f"the run has no slice {target.label}{nearest(target.label, ['', *whole.slices])}"
            return self._verdict(key, gate, system, target, [_invalid(reason)])
        value = found.values.get(target.metric)
        if value is None or not math.isfinite(value):
            return self._verdict(key, gate, system, target, [_invalid("the metric was not measured")])
        within = _usable(found.intervals.get(target.metric), value)
        if not found.measured_samples(self.configuration.settings.missing):
            checks = [_invalid("no sample was measured")]
        else:
            checks = [*_bounds(gate, value, within, self._shared_interval(gate, target, system, value, within))]
            if gate.not_worse_than is not None:
                checks += self._compare(gate, target, system)
        return self._verdict(key, gate, system, target, checks, value, within)

    def _compare(self, gate: Gate, target: GateTarget, system: str) -> Iterator[_Check]:
        theirs = self._reference(gate, target, system)
        if isinstance(theirs, str):
            yield _invalid(theirs)
            return
        ours = self._side(self.run, system, target.label, "")
        assert isinstance(ours, _Side)
        benchmark, confidences = self.configuration.benchmark, (self._confidence, self._shared_confidence(gate))
        paired, shared = (
            paired_differences(benchmark, theirs.measured, ours.measured, each).get(target.metric)
            for each in confidences
        )
        if paired is None or paired.baseline is None or not math.isfinite(paired.baseline):
            yield _invalid(f"the metric was not measured in {theirs.name}")
        elif not theirs.samples:
            yield _invalid(f"no sample was measured in {theirs.name}")
        else:
            apart = self._apart(target, ours, theirs, gate.not_worse_than == BASELINE)
            yield self._difference(gate, target, paired, shared.interval if shared else None, theirs.name, apart)
            if self._has_weeks(gate):
                yield from self._week(gate, target, system, theirs.measured)

    def _week(self, gate: Gate, target: GateTarget, system: str, theirs: Measured) -> Iterator[_Check]:
        """Yields what the mean of the last runs says, if this one closes a week of looks: a failure, or nothing bad."""
        assert self.baseline is not None
        assert self.baseline.judged is not None
        try:
            earlier = runs_of_week(self.baseline.judged, self.run)
        except UsageError as error:
            yield _Check("inconclusive", str(error))
            return
        if earlier is None:
            return
        metric, sides, lacking = target.metric, {}, []
        for run in [*earlier, self.run]:
            name = system if run is self.run else run.system_for(system)
            found = None if name is None else run.slice(name, target.label)
            if name is not None and found is not None and found.values.get(metric) is not None:
                predictions = run.systems[name].predictions_fingerprint
                sides[predictions or run.path] = run.measured(name, target.label)
            else:
                lacking.append(run.path)
        text = f"the mean of {len(sides)} of the last {WEEK} runs" if len(sides) < WEEK else f"the mean of {WEEK} runs"
        text += f" ({' and '.join(lacking)} did not measure it)" if lacking else ""
        confidence = week_confidence(self._confidence, gate.looks)
        mean = mean_of(list(sides.values()), metric)
        paired = paired_differences(self.configuration.benchmark, theirs, mean, confidence)[metric]
        if len(sides) < 2 or paired.difference is None or paired.interval is None:
            yield _Check("pass", f"{text} is not judged")
            return
        spec = spec_of(type(self.configuration.benchmark), metric)
        low, high = map(_signed, paired.interval)
        text += (
            f" is {_signed(paired.difference)} ({low} to {high} at a confidence of {confidence:.6g}) from the baseline"
        )
        if max(map(spec.goodness, paired.interval)) < -gate.margin - ROUNDING:
            worse = f"worse than the margin of {gate.margin:g} allows" if gate.margin else "worse"
            yield _Check("fail", f"{text}, {worse}")
        else:
            yield _Check("pass", f"{text}, no loss shown{f' beyond the margin of {gate.margin:g}' * bool(gate.margin)}")

    @property
    def _confidence(self) -> float:
        return self.configuration.settings.bootstrap.confidence

    def _has_weeks(self, gate: Gate) -> bool:
        """Returns whether a gate judges the mean of the runs of a week too."""
        counted = gate.not_worse_than == BASELINE and self.baseline is not None and self.baseline.judged is not None
        return counted and gate.looks >= WEEK

    def _shared_confidence(self, gate: Gate) -> float:
        """Returns the confidence at which a gate fails: the chance of a false failure is that of all its looks."""
        return look_confidence(self._confidence, gate.looks, self._has_weeks(gate))

    def _shared_interval(
        self, gate: Gate, target: GateTarget, system: str, value: float, found: Interval | None
    ) -> Interval | None:
        """Returns the interval of a metric at the confidence at which a gate fails."""
        if gate.looks == 1 or found is None:
            return found
        measured, name = self.run.measured(system, target.label), target.metric
        spec, replicates = spec_of(type(self.configuration.benchmark), name), measured.replicates[name]
        units, confidence = measured.units[name], self._shared_confidence(gate)
        return _usable(interval(spec, value, measured.errors[name], replicates, units, confidence), value)

    def _side(self, run: Run, system: str, label: str, name: str) -> _Side | None:
        """Returns one side of a comparison; None where it has no such slice."""
        found = run.slice(system, label)
        if found is None:
            return None
        samples = found.measured_samples(run.configuration.settings.missing)
        return _Side(name, samples, found.samples - samples, run.measured(system, label))

    def _apart(self, target: GateTarget, ours: _Side, theirs: _Side, runs: bool) -> _Apart | None:
        """Returns what one side alone measured; None where both measured the same samples.

        runs: whether the sides are of two runs, which may have put other samples into a slice.
        """
        benchmark, metric = self.configuration.benchmark, target.metric
        same = same_samples(benchmark, metric, ours.measured, theirs.measured)
        counted = spec_of(type(benchmark), metric).per_sample is not None
        more = abs(ours.samples - theirs.samples)
        if same and (counted or not more):
            return None
        # Of as many, as were left out on both sides, each may have left out its own.
        samples = max(more, ours.left_out + theirs.left_out)
        if not samples:
            other_slice = runs and target.label and same is False
            return _Apart(math.inf, "the slice has other samples there") if other_slice else None
        parts = spec_of(type(benchmark), metric).parts or (metric,)
        further = max(distance(part, ours.measured, theirs.measured) for part in parts)
        share = max(samples / min(ours.samples, theirs.samples), further)
        if samples == more:
            return _Apart(share, f"one side measured {more} samples more")
        return _Apart(share, f"up to {samples} samples may have been measured on one side alone")

    def _reference(self, gate: Gate, target: GateTarget, system: str) -> _Side | str:
        """Returns what a system is compared with, or why there is nothing."""
        other = gate.not_worse_than or ""
        if other != BASELINE:
            if other not in self.run.systems:
                return f"the run has no system {other}"
            return self._side(self.run, other, target.label, other) or f"{other} has no such slice"
        if self.baseline is None:
            return "there is no baseline; give --baseline RUN"
        reasons = differences(self.run.signature, self.baseline.signature, PAIRED)
        if reasons:
            return f"the baseline {self.baseline.path} cannot be compared with: {reasons[0]}; evaluate it again"
        name = self.baseline.system_for(system)
        if name is None:
            there = ", ".join(self.baseline.systems)
            return f"the baseline has no system {system}; give --baseline RUN:SYSTEM with one of {there}"
        found = self._side(self.baseline, name, target.label, "the baseline")
        return found or f"the baseline has no slice {target.label}"

    def _difference(
        self,
        gate: Gate,
        target: GateTarget,
        paired: PairedDifference,
        shared: Interval | None,
        name: str,
        apart: _Apart | None,
    ) -> _Check:
        """Evaluates a paired difference; shared: its interval for all looks; apart: what one side alone measured."""
        spec = spec_of(type(self.configuration.benchmark), target.metric)
        difference = paired.difference if paired.difference is not None else math.nan
        interval = _usable(paired.interval, difference)
        text = _signed(difference)
        numbers = (paired.baseline, difference, interval)
        if gate.judge == "interval":
            if interval is None:
                return _Check("invalid", f"{text} from {name} has no interval: {_NO_INTERVAL}", *numbers)
            text += f" ({_signed(interval[0])} to {_signed(interval[1])})"
        text += f" from {name}"
        ends = (difference, difference) if interval is None or gate.judge == "point" else interval
        worst, best = sorted(spec.goodness(end) for end in ends)
        shared = ends if shared is None or gate.looks == 1 else shared
        word: Word = "inconclusive"
        if worst >= -gate.margin - ROUNDING:
            word = "pass"
        elif max(spec.goodness(end) for end in shared) < -gate.margin - ROUNDING:
            word = "fail"
        beyond = f" beyond the margin of {gate.margin:g}" if gate.margin else ""
        in_errors = self._margin(gate, paired)
        within = f"within the margin of {gate.margin:g}" if gate.margin else "no loss"
        if word == "pass" and apart is not None:
            low, high = spec.bounds
            shift = math.inf if low is None or high is None else apart.share * (high - low)
            if worst - shift < -gate.margin - ROUNDING:
                text += f"; {apart.reason}, which may hide a loss{beyond}{in_errors}"
                return _Check("inconclusive", text, *numbers)
        if word == "pass" and gate.judge == "interval" and not paired.same_predictions:
            if min(spec.goodness(end) for end in paired.cautious or ends) < -gate.margin - ROUNDING:
                text += f"; fewer than {MIN_DIFFERING_UNITS} units may differ, which may hide a loss{beyond}{in_errors}"
                return _Check("inconclusive", text, *numbers)
            if spec.width is None:
                within += " on these samples (a metric without two bounds: a loss that none of them has is not seen)"
        said = {
            "pass": f"{text}, {within}",
            "fail": f"{text}, worse than the margin of {gate.margin:g} allows" if gate.margin else f"{text}, worse",
            "inconclusive": f"{text}, too wide to tell whether it is a loss{beyond}",
        }
        if word == "inconclusive" and best < -gate.margin - ROUNDING:
            said[word] = f"{text}, a loss{beyond} that {_ONLY_LOOK.format(gate.looks)}"
        return _Check(word, said[word] + in_errors, *numbers)

    def _margin(self, gate: Gate, paired: PairedDifference) -> str:
        """Returns the margin in standard errors, in words; of one below 2, also how often it fails by chance."""
        if not paired.error or paired.error <= ROUNDING or paired.units <= 1:
            return ""
        margin = gate.margin / paired.error
        text = f"; a margin of {margin:.1f} standard errors"
        if margin >= 2:
            return text
        confidences = [(NIGHTS, self._shared_confidence(gate))]
        if self._has_weeks(gate):
            # The mean of a week has a smaller standard error, so this is a little more than it fails.
            confidences.append((NIGHTS // WEEK, week_confidence(self._confidence, gate.looks)))
        failures = 0.0
        for times, confidence in confidences:
            limit = margin + (t_quantile(paired.units, confidence) if gate.judge == "interval" else 0.0)
            failures += times * float(stdtr(paired.units - 1, -limit))
        often = f"about {failures:.2g}" if failures >= 0.01 else "fewer than 0.01"
        return f"{text}, which an unchanged system that decodes anew fails {often} times in {NIGHTS} nights"

    def _verdict(
        self,
        key: str,
        gate: Gate,
        system: str | None,
        target: GateTarget,
        checks: Sequence[_Check],
        value: float | None = None,
        interval: Interval | None = None,
    ) -> GateVerdict:
        """Returns the verdict of a gate: the worst of its checks, with the reasons of those that are as bad."""
        word: Word = max((check.word for check in checks), key=_WORST_LAST.index, default="invalid")
        compared = next((check for check in checks if check.reference is not None), _invalid(""))
        allowed = (gate.inconclusive or self.configuration.settings.inconclusive) == "pass"
        accepted = word == "pass" or (word == "inconclusive" and allowed)
        return GateVerdict(
            gate=gate.name or key,
            tier=gate.tier,
            system=system,
            metric=target.metric,
            slice=target.label or None,
            judge=gate.judge,
            verdict=word,
            blocks=gate.tier == "blocking" and not accepted,
            reason="; ".join(check.reason for check in checks if check.word == word) or "nothing was judged",
            value=value,
            interval=interval,
            minimum=gate.minimum,
            maximum=gate.maximum,
            not_worse_than=gate.not_worse_than,
            margin=gate.margin if gate.not_worse_than is not None else None,
            reference=compared.reference,
            difference=compared.difference,
            difference_interval=compared.interval,
        )


@dataclass(frozen=True, slots=True)
class _Check:
    """One bound or comparison of a gate."""

    word: Word
    reason: str
    reference: float | None = None
    difference: float | None = None
    interval: Interval | None = None


@dataclass(frozen=True, slots=True)
class _Apart:
    """What one side of a comparison measured and the other did not, as a share of what both did, in words too."""

    share: float
    reason: str


NIGHTS = 365
_ONLY_LOOK = "would fail as the only look, not as one of {}"
_NO_INTERVAL = "fewer than half of the replicates have a value, or there are none"


def _invalid(reason: str) -> _Check:
    return _Check("invalid", reason)


def _usable(interval: Sequence[float] | None, value: float) -> Interval | None:
    """Returns an interval that says something of its value: two finite numbers, the value between them."""
    if interval is None or len(interval) != 2:
        return None
    low, high = interval
    # A value at a bound may lie a rounding error beyond it.
    return (low, high) if math.isfinite(low + high) and low - ROUNDING <= value <= high + ROUNDING else None


def _bounds(gate: Gate, value: float, interval: Interval | None, shared: Interval | None) -> Iterator[_Check]:
    """Yields what the bounds say of a value; shared: its interval for all looks."""
    if gate.minimum is None and gate.maximum is None:
        return
    text = f"{value:.6g}"
    if gate.judge == "interval":
        if interval is None:
            yield _invalid(f"{text} has no interval: {_NO_INTERVAL}")
            return
        text += f" ({interval[0]:.6g} to {interval[1]:.6g})"
    low, high = (value, value) if interval is None or gate.judge == "point" else interval
    lowest, highest = (low, high) if shared is None or gate.judge == "point" else shared
    least, most = gate.minimum or 0.0, gate.maximum or 0.0
    for name, bound, holds, broken, once in (
        ("minimum", gate.minimum, low - least >= -ROUNDING, highest - least < -ROUNDING, high - least < -ROUNDING),
        ("maximum", gate.maximum, high - most <= ROUNDING, lowest - most > ROUNDING, low - most > ROUNDING),
    ):
        if bound is None:
            continue
        if holds:
            yield _Check("pass", f"{text} is {'at least' if name == 'minimum' else 'at most'} the {name} {bound:g}")
        elif once:
            beyond = f"{text} is {'below' if name == 'minimum' else 'above'} the {name} {bound:g}"
            yield (
                _Check("fail", beyond)
                if broken
                else _Check("inconclusive", f"{beyond}, which {_ONLY_LOOK.format(gate.looks)}")
            )
        else:
            yield _Check("inconclusive", f"{text} does not tell: the interval contains the {name} {bound:g}")


def _signed(number: float) -> str:
    return f"{number + 0.0:+.4g}"


@dataclass(frozen=True)
class Decision:
    """What the command tells of a run after it was judged. failures, inconclusive, warnings: a line each."""

    failures: list[str]
    inconclusive: list[str]
    warnings: list[str]


def decide(verdicts: Sequence[Mapping[str, Any]], skipped: Sequence[str] = ()) -> Decision:
    """Returns what verdicts, as in summary.json, mean for the command; those on systems in `skipped` are left out."""
    decision = Decision([], [], [])
    for each in verdicts:
        if each["system"] in skipped or each["verdict"] == "pass":
            continue
        word, reason = each["verdict"], each["reason"]
        line = f"gate {each['gate']}: {reason if word == 'fail' else f'{word}: {reason}'}"
        line = f"{each['system']}: {line}" if each["system"] else line
        if not each["blocks"]:
            decision.warnings.append(f"{line} (advisory)" if each["tier"] == "advisory" else line)
        elif word == "inconclusive":
            decision.inconclusive.append(line)
        else:
            decision.failures.append(line)
    return decision


def record_failures(
    systems: Mapping[str, Any], settings: Settings, causes: Sequence[QuarantineCause] = ()
) -> list[str]:
    """Returns why a run fails in addition to its gates, a line each, from the coverage of its systems.

    causes: why records were quarantined, of which a line names the most frequent.
    """
    return [*unscored_failures(systems, causes), *coverage_failures(systems, settings, causes)]


def unscored_failures(systems: Mapping[str, Any], causes: Sequence[QuarantineCause] = ()) -> list[str]:
    """Returns, a line each, the systems of which nothing was scored: a rate of failures among nothing is 0."""
    return [
        f"{label_of(name)}nothing was scored: no readable prediction has a readable ground truth"
        f"{most_often(most_frequent(causes, ('ground_truth', name), without=('duplicate',)))}"
        for name, system in systems.items()
        if not system["coverage"]["ground_truth"]["scored"]
    ]


def coverage_failures(
    systems: Mapping[str, Any], settings: Settings, causes: Sequence[QuarantineCause] = ()
) -> list[str]:
    """Returns, a line each, the sides of which too much was rejected or missing, and counts that do not add up."""
    failures = []
    for name, system in systems.items():
        for rejected in _rejections(name, system, causes):
            if rejected.share > settings.max_rejected_fraction:
                limit = f"more than max_rejected_fraction {settings.max_rejected_fraction:g} allows"
                failures.append(f"{rejected.text}, {limit}{rejected.often}; see quarantine/")
        counts = system["coverage"]["ground_truth"]
        missing, what = counts["missing_prediction"], "samples"
        due = counts["scored"] + missing
        if COUNTED_REPEATS in system["coverage"]:
            due, what = system["coverage"][COUNTED_REPEATS], "repeats of samples"
            missing = system["coverage"].get(MISSING_REPEATS, 0)
        if due and missing / due > settings.max_missing_fraction:
            failures.append(
                f"{label_of(name)}{missing} of {due} {what} have no prediction, more than "
                f"max_missing_fraction {settings.max_missing_fraction:g} allows"
            )
        if not system["coverage"]["balanced"]:
            failures.append(f"{label_of(name)}the record counts do not add up: {system['coverage']}")
    return failures


def rejection_notes(systems: Mapping[str, Any], settings: Settings, causes: Sequence[QuarantineCause]) -> list[str]:
    """Returns, a line each, the sides of which some records were rejected, and not too many, with the usual cause."""
    return [
        f"{rejected.text}{rejected.often}"
        for name, system in systems.items()
        for rejected in _rejections(name, system, causes)
        if rejected.share <= settings.max_rejected_fraction
    ]


@dataclass(frozen=True, slots=True)
class _Rejections:
    """The records of a side that were rejected: how many, in words, their share, and the most frequent cause."""

    text: str
    share: float
    often: str


def _rejections(name: str, system: Mapping[str, Any], causes: Sequence[QuarantineCause]) -> Iterator[_Rejections]:
    sides = ("ground_truth", "ground_truth", "ground-truth records"), ("predictions", name, "predictions")
    for side, quarantined_as, label in sides:
        counts = system["coverage"][side]
        if counts["rejected"]:
            text = f"{label_of(name)}{counts['rejected']} of {counts['read']} {label} were rejected"
            often = most_often(most_frequent(causes, (quarantined_as,)))
            # Counts that do not add up may have nothing that was read.
            yield _Rejections(text, counts["rejected"] / counts["read"] if counts["read"] else math.inf, often)
