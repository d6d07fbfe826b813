"""Evaluates the gates of a run: pass, fail, inconclusive or invalid, each with its numbers and the reason as text.

A bound is judged on the interval of the metric, a comparison on the interval of the paired difference: pass only if
the whole interval is on the good side, fail if it is on the bad side, else inconclusive, as is what samples that only
one side measured may hide or explain (see `sides`). If anything is missing (the
slice, the value, the interval, the baseline), the gate is invalid: no gate passes without something to judge.

A gate with `looks` is judged that often on the same samples, and each look may fail by chance. So it fails only if the
interval at a higher confidence is on the bad side (see `looks`). A pass is about one run and keeps its confidence. At
the end of a week of looks, the gate can also fail on the mean of the last runs.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import fmean
from typing import Any, NamedTuple

from scipy.special import stdtr

from ...metrics.common.text import nearest
from ...metrics.statistics.intervals import ROUNDING, interval, t_quantile
from ...metrics.statistics.measured import spec_or_undeclared
from ...metrics.statistics.paired import (
    PairedDifference,
    paired_differences,
    relative_excess,
    widened_error,
)
from ...transforms.repeats import COUNTED_REPEATS, MISSING_REPEATS
from ..config.errors import UsageError
from ..config.gates import BASELINE, gate_target
from ..config.settings import Configuration, Settings, system_prefix
from .causes import DAMAGED_COVERAGE, QuarantineCause, most_frequent, most_often, stored_causes, unscored_systems
from .differences import PAIRED, differences
from .documents import GateVerdict, GateWord, Interval, SliceSummary, worst_verdict
from .looks import WEEK, look_confidence, mean_of, runs_of_week, week_confidence
from .numbers import digits_apart
from .run import Run
from .sides import MeasuredSide, apart, attributable_shift, side_of

NIGHTS = 365
RUNS_NAMED = 3
_ONLY_LOOK = "would fail with looks: 1, but not with looks: {}"
_NO_INTERVAL = (
    "fewer than half of the replicates have a value, all values are the same, there are too few replicates, or the "
    "metric has no denominator"
)


def gate_verdicts(configuration: Configuration, run: Run, baseline: Run | None) -> list[GateVerdict]:
    """Returns the verdicts in the order of the gates, one for each system that a gate applies to.

    baseline: the run that gates compare with.
    """
    verdicts = []
    is_itself = baseline is not None and bool(run.run_id) and baseline.run_id == run.run_id
    for key, gate in configuration.settings.gates.items():
        other = baseline.system if baseline and is_itself and gate.not_worse_than == BASELINE else gate.not_worse_than
        systems = [gate.system] if gate.system else [name for name in run.systems if name != other]
        verdicts += [_GateEvaluator(configuration, run, baseline, key, name).verdict() for name in systems or [""]]
    return verdicts


class _Check(NamedTuple):
    """The result of one bound or comparison of a gate."""

    word: GateWord
    reason: str
    reference: float | None = None
    difference: float | None = None
    interval: Interval | None = None


class _GateEvaluator:
    """Evaluates one gate of a configuration on a system of a run; `system` is empty if there is no other system."""

    def __init__(self, configuration: Configuration, run: Run, baseline: Run | None, key: str, system: str) -> None:
        self.configuration = configuration
        self.settings, self.benchmark = configuration.settings, configuration.benchmark
        self.run, self.baseline, self.key, self.system = run, baseline, key, system
        self.gate = self.settings.gates[key]
        target = gate_target(key, type(self.benchmark))
        assert target is not None, "the configuration was not checked"
        self.metric, self.label = target.metric, target.label
        self.spec = spec_or_undeclared(type(self.benchmark), self.metric)
        self.confidence = self.settings.bootstrap.confidence
        counted = self.gate.not_worse_than == BASELINE and baseline is not None and baseline.judged is not None
        self.weekly = counted and self.gate.looks >= WEEK
        # The gate fails at this confidence: all its looks share the chance of a false failure.
        self.look_confidence = look_confidence(self.confidence, self.gate.looks, self.weekly)

    def verdict(self) -> GateVerdict:
        """Returns the worst verdict of the checks, with the reasons of all checks that have it."""
        gate, summary = self.gate, self._slice()
        value, within, checks = None, None, []
        if isinstance(summary, str):
            checks = [_invalid(summary)]
        elif (value := summary.values.get(self.metric)) is None or not math.isfinite(value):
            value, checks = None, [_invalid("the metric was not measured")]
        else:
            within = _usable(summary.intervals.get(self.metric), value)
            if not summary.measured_samples(self.settings.missing):
                checks = [_invalid("no sample was measured")]
            else:
                checks = [*self._bounds(value, within), *(self._compare() if gate.not_worse_than is not None else ())]
        word = worst_verdict(check.word for check in checks) or "invalid"
        compared = next((check for check in checks if check.reference is not None), _invalid(""))
        allowed = (gate.inconclusive or self.settings.inconclusive) == "pass"
        accepted = word == "pass" or (word == "inconclusive" and allowed)
        return GateVerdict(
            gate=gate.name or self.key,
            tier=gate.tier,
            system=self.system or None,
            metric=self.metric,
            slice=self.label or None,
            judge=gate.judge,
            verdict=word,
            blocks=gate.tier == "blocking" and not accepted,
            reason="; ".join(check.reason for check in checks if check.word == word) or "nothing was judged",
            value=value,
            interval=within,
            minimum=gate.minimum,
            maximum=gate.maximum,
            not_worse_than=gate.not_worse_than,
            margin=gate.margin if gate.not_worse_than is not None else None,
            reference=compared.reference,
            difference=compared.difference,
            difference_interval=compared.interval,
        )

    def _slice(self) -> SliceSummary | str:
        """Returns the slice that the gate is about, or why there is none."""
        if not self.system:
            return f"the run has only {self.gate.not_worse_than}, and needs another system to compare"
        whole = self.run.systems.get(self.system)
        if whole is None:
            return f"the run has no system {self.system}{nearest(self.system, list(self.run.systems))}"
        summary = whole.slice(self.label)
        return summary or f"the run has no slice {self.label}{nearest(self.label, ['', *whole.slices])}"

    def _bounds(self, value: float, value_interval: Interval | None) -> Iterator[_Check]:
        """Yields the check of a value with this interval against each bound."""
        gate = self.gate
        if gate.minimum is None and gate.maximum is None:
            return
        ends: Interval = (value, value)
        look = ends
        if gate.judge == "interval":
            if value_interval is None:
                yield _invalid(f"{value:.4g} has no interval: {_NO_INTERVAL}")
                return
            ends, look = value_interval, self._look_interval(value, value_interval)
        for name, bound, good, bad, sign in (
            ("minimum", gate.minimum, "at least", "below", 1),
            ("maximum", gate.maximum, "at most", "above", -1),
        ):
            if bound is None:
                continue
            digits = digits_apart(bound, value, *ends)
            text, low, high = (f"{each:.{digits}g}" for each in (value, *ends))
            text += f" ({low} to {high})" if gate.judge == "interval" else ""
            limit = f"the {name} {bound:.{max(digits, 6)}g}"
            worst, best = sorted(sign * (end - bound) for end in ends)
            if worst >= -ROUNDING:
                if self._may_hide(value, sign, bound):
                    doubt = ", but samples as few or as similar as these may hide a rare, large loss"
                    yield _Check("inconclusive", f"{text} is {good} {limit}{doubt}")
                else:
                    yield _Check("pass", f"{text} is {good} {limit}")
            elif max(sign * (end - bound) for end in look) < -ROUNDING:
                yield _Check("fail", f"{text} is {bad} {limit}")
            elif best < -ROUNDING:
                yield _Check("inconclusive", f"{text} is {bad} {limit}, which {_ONLY_LOOK.format(gate.looks)}")
            else:
                yield _Check("inconclusive", f"{text}: the interval contains {limit}")

    def _may_hide(self, value: float, sign: int, bound: float) -> bool:
        """Returns whether the bound is within the reach of a value with the losses that no unit shows.

        See `metrics.statistics.paired`: with so small a spread, a rare and large loss may not be among the samples.
        """
        summary, (low, high) = self.run.slice(self.system, self.label), self.spec.bounds
        if self.gate.judge == "point" or summary is None or low is None or high is None:
            return False
        error, units = summary.errors.get(self.metric), summary.units.get(self.metric, 0.0)
        # No loss is beyond a bound of the metric itself.
        if error is None or (bound <= low if sign > 0 else bound >= high):
            return False
        # At a bound, the interval is at least Wilson's, of a share of losses that none of the units shows.
        if min(value - low, high - value) <= ROUNDING:
            return False
        wider = widened_error(error, units, value - low if sign > 0 else high - value, None)
        return wider > error and sign * (value - bound) < t_quantile(units, self.confidence) * wider

    def _look_interval(self, value: float, value_interval: Interval) -> Interval:
        """Returns the interval of a value at the confidence that a failure needs."""
        if self.gate.looks == 1:
            return value_interval
        measured, name = self.run.measured(self.system, self.label), self.metric
        more = measured.errors[name], measured.replicates[name], measured.units[name]
        return _usable(interval(self.spec, value, *more, self.look_confidence), value) or value_interval

    def _compare(self) -> Iterator[_Check]:
        """Yields the checks of the paired difference from the baseline or the other system."""
        theirs, ours = self._reference(), self._side(self.run, self.system, "this run")
        if isinstance(theirs, str):
            yield _invalid(theirs)
            return
        assert ours is not None
        paired, look = (
            paired_differences(self.benchmark, theirs.measured, ours.measured, confidence).get(self.metric)
            for confidence in (self.confidence, self.look_confidence)
        )
        if paired is None or look is None or paired.baseline is None or not math.isfinite(paired.baseline):
            yield _invalid(f"the metric was not measured in {theirs.name}")
        elif not theirs.samples:
            yield _invalid(f"no sample was measured in {theirs.name}")
        else:
            yield self._difference(paired, look.interval, ours, theirs)
            if self.weekly:
                yield from self._week(ours, theirs)

    def _reference(self) -> MeasuredSide | str:
        """Returns the side that the system is compared with, or why there is none."""
        other, baseline = self.gate.not_worse_than or "", self.baseline
        if other != BASELINE:
            if other not in self.run.systems:
                return f"the run has no system {other}"
            return self._side(self.run, other, other) or f"{other} has no such slice"
        if baseline is None:
            return "there is no baseline; give --baseline RUN"
        if reasons := differences(self.run.signature, baseline.signature, PAIRED):
            return f"cannot be compared with the baseline {baseline.path}: {reasons[0]}; evaluate it again"
        name = baseline.system_for(self.system)
        if name is None:
            names = ", ".join(baseline.systems)
            return f"the baseline has no system {self.system}; give --baseline RUN:SYSTEM with one of {names}"
        return self._side(baseline, name, "the baseline") or f"the baseline has no slice {self.label}"

    def _side(self, run: Run, system: str, name: str) -> MeasuredSide | None:
        """Returns one side of a comparison; None if the run has no such slice."""
        return side_of(self.benchmark, self.metric, run, system, self.label, name=name)

    def _difference(
        self, paired: PairedDifference, look: Interval | None, ours: MeasuredSide, theirs: MeasuredSide
    ) -> _Check:
        """Returns the check of a paired difference; look: its interval at the confidence that a failure needs."""
        gate, signed_value = self.gate, self.spec.signed_value
        difference = paired.difference if paired.difference is not None else math.nan
        difference_interval = _usable(paired.interval, difference)
        numbers = (paired.baseline, difference, difference_interval)
        by_interval = gate.judge == "interval"
        if by_interval and difference_interval is None:
            reason = f"{difference + 0.0:+.4g} from {theirs.name} has no interval: {_NO_INTERVAL}"
            return _Check("invalid", reason, *numbers)
        ends = difference_interval if by_interval and difference_interval is not None else (difference, difference)
        look = ends if look is None or gate.looks == 1 else look
        beyond = f" beyond the margin of {gate.margin:g}" if gate.margin else ""
        word: GateWord = "inconclusive"
        if min(map(signed_value, ends)) >= self.limit:
            hidden = self._hidden(paired, ends, ours, theirs)
            if hidden:
                claim = f"; {hidden}, which may hide a loss{beyond}"
            else:
                word, claim = "pass", f", within the margin of {gate.margin:g}" if gate.margin else ", no loss"
                if by_interval and not paired.same_predictions and self.spec.width is None:
                    claim += " on these samples (the metric lacks two bounds: losses on other samples are not covered)"
        elif (best := max(map(signed_value, ends))) < self.limit:
            shift, reason = attributable_shift(self.configuration, self.metric, ours, theirs)
            if best + shift >= self.limit:
                claim = f"; {reason}, which may look like a loss{beyond}"
            elif max(map(signed_value, look)) + shift < self.limit:
                word, claim = "fail", self._worse + (f"; {reason}" if reason else "")
            else:
                claim = f", a loss{beyond} that {_ONLY_LOOK.format(gate.looks)}"
        else:
            _, reason = apart(self.configuration, self.metric, ours, theirs, paired.same_predictions)
            claim = f", too wide to tell whether it is a loss{beyond}" + (f"; {reason}" if reason else "")
        text = f"{self._signed(difference, difference_interval if by_interval else None)} from {theirs.name}"
        return _Check(word, f"{text}{claim}{self._margin_in_errors(paired)}", *numbers)

    def _signed(self, difference: float, ends: Interval | None, more: str = "") -> str:
        """Returns a difference with its interval and `more`, in digits that distinguish them from the margin."""
        digits = digits_apart(self.spec.signed_value(-self.gate.margin), difference, *(ends or ()))
        text, *shown = (f"{each + 0.0:+.{digits}g}" for each in (difference, *(ends or ())))
        return f"{text} ({' to '.join(shown)}{more})" if shown else text

    @property
    def limit(self) -> float:
        """A difference is a loss if its signed value is below this."""
        return -self.gate.margin - ROUNDING

    @property
    def _worse(self) -> str:
        return f", worse by more than the margin of {self.gate.margin:g}" if self.gate.margin else ", worse"

    def _hidden(self, paired: PairedDifference, ends: Interval, ours: MeasuredSide, theirs: MeasuredSide) -> str | None:
        """Returns why a difference that passes may still hide a loss; None if it does not."""
        share, reason = apart(self.configuration, self.metric, ours, theirs, paired.same_predictions)
        if share:
            parts = self.spec.parts or (self.metric,)
            share = max(share, *(relative_excess(each, ours.measured, theirs.measured) for each in parts))
        shift = math.inf if self.spec.width is None else share * self.spec.width
        if share and min(map(self.spec.signed_value, ends)) - shift < self.limit:
            return reason
        cautious = min(map(self.spec.signed_value, paired.cautious or ends))
        if self.gate.judge == "interval" and not paired.same_predictions and cautious < self.limit:
            return "few units differ by much"
        return None

    def _margin_in_errors(self, paired: PairedDifference) -> str:
        """Returns the margin in standard errors, as text; below 2, also how often it fails by chance."""
        if not paired.error or paired.detectable is None:
            return ""
        margin = self.gate.margin / paired.error
        if margin >= 2:
            return f"; the margin is {margin:.1f} standard errors"
        confidences = [(NIGHTS, self.look_confidence)]
        if self.weekly:
            # The mean of a week has a smaller standard error, so this slightly overstates its failures.
            confidences.append((NIGHTS // WEEK, week_confidence(self.confidence, self.gate.looks)))
        failures = 0.0
        for times, confidence in confidences:
            limit = margin + (t_quantile(paired.units, confidence) if self.gate.judge == "interval" else 0.0)
            failures += times * float(stdtr(paired.units - 1, -limit))
        rounded = round(failures, 0 if failures >= 1 else 2)
        often = f"about {rounded:g} time{'s' * (rounded != 1)}" if failures >= 0.01 else "fewer than 0.01 times"
        given = f"with this margin ({margin:.1f} standard errors)" if margin else "without a margin"
        return f"; {given}, an unchanged system with random answers would fail this gate {often} in {NIGHTS} nights"

    def _week(self, ours: MeasuredSide, theirs: MeasuredSide) -> Iterator[_Check]:
        """Yields a check of the mean of the last runs if this run closes a week of looks."""
        assert self.baseline is not None
        assert self.baseline.judged is not None
        try:
            earlier = runs_of_week(self.baseline.judged, self.run)
        except UsageError as error:
            yield _Check("inconclusive", str(error))
            return
        if earlier is None:
            return
        sides, lacking = list[MeasuredSide](), []
        for run in [*earlier, self.run]:
            name = self.system if run is self.run else run.system_for(self.system)
            side = None if name is None else ours if run is self.run else self._side(run, name, run.path)
            if side is None or side.measured.values.get(self.metric) is None:
                lacking.append(run.path)
            else:
                sides.append(side)
        text = f"the mean of {len(sides)} of the last {WEEK} runs" if len(sides) < WEEK else f"the mean of {WEEK} runs"
        text += f" ({' and '.join(lacking)} did not measure it)" if lacking else ""
        confidence = week_confidence(self.confidence, self.gate.looks)
        mean = mean_of([side.measured for side in sides], self.metric)
        paired = paired_differences(self.benchmark, theirs.measured, mean, confidence)[self.metric]
        if len(sides) < 2 or paired.difference is None or paired.interval is None or paired.cautious is None:
            yield _Check("pass", f"{text} is not judged")
            return
        shown = self._signed(paired.difference, paired.interval, f" at a confidence of {confidence:.4g}")
        text += f" is {shown} from the baseline"
        margin = f" beyond the margin of {self.gate.margin:g}" if self.gate.margin else ""
        best, cautious = (max(map(self.spec.signed_value, ends)) for ends in (paired.interval, paired.cautious))
        shifts = [attributable_shift(self.configuration, self.metric, side, theirs) for side in sides]
        reason = max(shifts)[1] if best + fmean(shift for shift, _ in shifts) >= self.limit else ""
        # Rare errors, others on each night, all count against a baseline that happens to have none.
        if cautious >= -ROUNDING:
            reason = "few units differ by much"
        if best >= self.limit:
            yield _Check("pass", f"{text}, no loss shown{margin}")
        elif reason:
            claim = f"{reason}, which may look like a loss{margin}"
            yield _Check("inconclusive", f"{text}; {claim}; {self._worst_of(sides)}")
        else:
            yield _Check("fail", f"{text}{self._worse}; {self._worst_of(sides)}")

    def _worst_of(self, sides: Iterable[MeasuredSide]) -> str:
        """Returns the runs with the lowest values of a mean, as text: one bad night may fail its whole week."""
        values = [(side.measured.values[self.metric] or 0.0, side.name) for side in sides]
        values.sort(key=lambda each: self.spec.signed_value(each[0]))
        shown = ", ".join(f"{name} ({value:.4g})" for value, name in values[:RUNS_NAMED])
        return f"the worst runs: {shown}{', ...' * (len(values) > RUNS_NAMED)}"


def _invalid(reason: str) -> _Check:
    return _Check("invalid", reason)


def _usable(ends: Sequence[float] | None, value: float) -> Interval | None:
    """Returns the interval if it is usable: two finite numbers with the value between them; else None."""
    if ends is None:
        return None
    low, high = ends
    # A value at a bound may lie a rounding error beyond it.
    return (low, high) if math.isfinite(low + high) and low - ROUNDING <= value <= high + ROUNDING else None


class Decision(NamedTuple):
    """What the command reports for a judged run, one line each."""

    failures: list[str]
    inconclusive: list[str]
    warnings: list[str]


def decide(verdicts: Sequence[Mapping[str, Any]], skipped: Sequence[str] = ()) -> Decision:
    """Sorts verdicts, as in summary.json, by their effect on the command; systems in `skipped` are left out."""
    decision = Decision([], [], [])
    for each in verdicts:
        if each["system"] in skipped or each["verdict"] == "pass":
            continue
        word, reason = each["verdict"], each["reason"]
        line = f"{each['system']}: " if each["system"] else ""
        line += f"gate {each['gate']}: {reason if word == 'fail' else f'{word}: {reason}'}"
        if not each["blocks"]:
            decision.warnings.append(f"{line} (advisory)" if each["tier"] == "advisory" else line)
        elif word == "inconclusive":
            decision.inconclusive.append(line)
        else:
            decision.failures.append(line)
    return decision


class RecordFailure(NamedTuple):
    """Why a system fails in addition to its gates, in one line. status: of the samples that it is about; empty: all."""

    system: str
    text: str
    status: str = ""


def record_failures(
    systems: Mapping[str, Any], settings: Settings, causes: Sequence[QuarantineCause]
) -> list[RecordFailure]:
    """Returns why a run fails in addition to its gates, from the coverage of its systems.

    A system fails if nothing was scored: a failure rate over no samples would be 0. causes: why records were
    quarantined; a line names the most frequent cause.
    """
    unscored = []
    for name, reason in unscored_systems(systems).items():
        is_empty = not systems[name]["coverage"]["ground_truth"]["scored"]
        cause = most_frequent(causes, name, ("ground_truth", name), ("duplicate",)) if is_empty else None
        unscored.append(RecordFailure(name, f"{system_prefix(name)}nothing was scored: {reason}{most_often(cause)}"))
    return [*unscored, *coverage_failures(systems, settings, causes)]


def stored_failures(run: Run, settings: Settings) -> list[RecordFailure]:
    """Returns the `record_failures` of a stored run; raises UsageError if its coverage is damaged."""
    try:
        return record_failures(run.summary.document()["systems"], settings, stored_causes(run.provenance))
    except (KeyError, TypeError) as error:
        raise UsageError(f"{run.path}: {DAMAGED_COVERAGE}") from error


def coverage_failures(
    systems: Mapping[str, Any], settings: Settings, causes: Sequence[QuarantineCause]
) -> list[RecordFailure]:
    """Returns each side with too much rejected or missing, and the systems whose counts do not add up."""
    allowed, failures = settings.max_rejected_fraction, []
    for name, system in systems.items():
        coverage, label = system["coverage"], system_prefix(name)
        failures += [
            RecordFailure(
                name, f"{text}, more than max_rejected_fraction {allowed:g} allows{often}; see quarantine/", status
            )
            for text, share, often, status in _rejections(name, coverage, causes)
            if share > allowed
        ]
        missing, what = coverage["ground_truth"]["missing_prediction"], "samples"
        expected = coverage["ground_truth"]["scored"] + missing
        if COUNTED_REPEATS in coverage:
            expected, what, missing = coverage[COUNTED_REPEATS], "repeats of samples", coverage.get(MISSING_REPEATS, 0)
        if expected and missing / expected > settings.max_missing_fraction:
            limit = f"more than max_missing_fraction {settings.max_missing_fraction:g} allows"
            text = f"{label}{missing} of {expected} {what} have no prediction, {limit}"
            failures.append(RecordFailure(name, text, "missing_prediction"))
        if not coverage["balanced"]:
            failures.append(RecordFailure(name, f"{label}the record counts do not add up: {coverage}"))
    return failures


def rejection_notes(systems: Mapping[str, Any], settings: Settings, causes: Sequence[QuarantineCause]) -> list[str]:
    """Returns a line for each side with rejected records within the limit, with the most frequent cause."""
    return [
        f"{text}{often}"
        for name, system in systems.items()
        for text, share, often, _ in _rejections(name, system["coverage"], causes)
        if share <= settings.max_rejected_fraction
    ]


def _rejections(
    name: str, coverage: Mapping[str, Any], causes: Sequence[QuarantineCause]
) -> Iterator[tuple[str, float, str, str]]:
    """Yields for each side with rejected records: the count as text, the share, the most frequent cause, and the status
    of the samples without their record.
    """
    sides = (
        ("ground_truth", "ground_truth", "ground-truth records", "rejected"),
        ("predictions", name, "predictions", "missing_prediction"),
    )
    for side, quarantined_as, label, status in sides:
        rejected, read = coverage[side]["rejected"], coverage[side]["read"]
        if rejected:
            text = f"{system_prefix(name)}{rejected} of {read} {label} were rejected"
            # If the counts do not add up, nothing may have been read.
            yield text, rejected / (read or 1), most_often(most_frequent(causes, name, (quarantined_as,))), status
